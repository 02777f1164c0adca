use drivelab_core::Bytes;
use drivelab_serve::drive::{Null, ServedDrive};
use drivelab_serve::fault::Fault;
use drivelab_serve::medium::Memory as Medium;
use drivelab_serve::store::Store;
use proptest::prelude::*;

use super::registers as at;
use super::*;
use crate::mirror::Write;

const CAPACITY: Sectors = Sectors::new(2048);
const LIST_AT: u64 = 0x1000;
const FRAMES_AT: u64 = 0x2000;
const TABLES_AT: u64 = 0x4000;
const TABLE_BYTES: u64 = 0x200;
const DATA_AT: u64 = 0x1_0000;
/// Two pieces for each slot.
const PIECE_BYTES: u64 = 0x800;

/// A guest that drives the adapter by its registers, with a drive that takes no time.
struct Rig {
    ahci: Ahci<ServedDrive>,
    memory: Vec<u8>,
    now: Time,
    done: Vec<TraceEntry>,
    interrupts: u32,
}

impl Rig {
    /// An adapter whose link is up and whose port runs.
    fn new() -> Self {
        let mut rig = Self::bare();
        rig.set(at::CLB, LIST_AT);
        rig.set(at::FB, FRAMES_AT);
        rig.port(at::CMD, at::RECEIVE);
        rig.run();
        rig.start();
        rig
    }

    fn bare() -> Self {
        let store = Store::new(Box::new(Medium::new(CAPACITY, Bytes::mib(4))), Sectors::new(1));
        let disk = ServedDrive::new(Null::new(CAPACITY), store, 1);
        let ahci = Ahci::new(disk, AtaConfig::for_tests(CAPACITY));
        let (memory, done) = (vec![0; 1 << 18], Vec::new());
        Self { ahci, memory, now: Time::ZERO, done, interrupts: 0 }
    }

    fn start(&mut self) {
        self.port(at::SERR, u32::MAX);
        self.port(at::PXIS, u32::MAX);
        self.port(at::IE, u32::MAX);
        self.ahci.write_register(self.now, at::IS, u32::MAX).unwrap();
        self.ahci.write_register(self.now, at::GHC, at::INTERRUPTS).unwrap();
        self.port(at::CMD, at::START | at::RECEIVE);
        self.run();
        self.interrupts = 0;
    }

    fn set(&mut self, register: u64, address: u64) {
        self.port(register, u32::try_from(address).unwrap());
    }

    fn port(&mut self, register: u64, value: u32) {
        self.ahci.write_register(self.now, at::PORT + register, value).unwrap();
    }

    fn of_port(&mut self, register: u64) -> u32 {
        self.ahci.read_register(self.now, at::PORT + register)
    }

    /// Lets everything happen that is going to.
    fn run(&mut self) {
        for _ in 0..1000 {
            let Some(next) = self.ahci.next_event() else { return };
            assert!(next >= self.now, "an event lies in the past");
            self.now = next;
            let interrupt = self.ahci.advance(next, &mut self.memory, &mut self.done).unwrap();
            self.interrupts += u32::from(interrupt);
        }
        panic!("it never comes to rest");
    }

    /// Puts a command into a slot, with `bytes` of data in two pieces.
    fn list(&mut self, slot: u8, fis: &[u8], bytes: u64) {
        let table = TABLES_AT + u64::from(slot) * TABLE_BYTES;
        let header = LIST_AT + u64::from(slot) * 32;
        let data = Self::data_at(slot);
        let pieces = [(data, bytes / 2), (data + PIECE_BYTES, bytes - bytes / 2)];
        let pieces: Vec<(u64, u64)> = pieces.into_iter().filter(|piece| piece.1 > 0).collect();
        let entries = u32::try_from(pieces.len()).unwrap() << 16;
        self.memory.write(header, &(entries | 5).to_le_bytes()).unwrap();
        self.memory.write(header + 8, &table.to_le_bytes()).unwrap();
        let mut whole = [0; 20];
        whole[..fis.len()].copy_from_slice(fis);
        self.memory.write(table, &whole).unwrap();
        for (place, (address, length)) in (0..).zip(pieces) {
            let entry = table + 0x80 + 16 * place;
            self.memory.write(entry, &address.to_le_bytes()).unwrap();
            let length = u32::try_from(length - 1).unwrap();
            self.memory.write(entry + 12, &length.to_le_bytes()).unwrap();
        }
    }

    fn data_at(slot: u8) -> u64 {
        DATA_AT + u64::from(slot) * 2 * PIECE_BYTES
    }

    fn put_data(&mut self, slot: u8, data: &[u8]) {
        let (first, second) = data.split_at(data.len() / 2);
        self.memory.write(Self::data_at(slot), first).unwrap();
        self.memory.write(Self::data_at(slot) + PIECE_BYTES, second).unwrap();
    }

    fn data(&self, slot: u8, bytes: usize) -> Vec<u8> {
        let mut data = vec![0; bytes];
        let (first, second) = data.split_at_mut(bytes / 2);
        self.memory.read(Self::data_at(slot), first).unwrap();
        self.memory.read(Self::data_at(slot) + PIECE_BYTES, second).unwrap();
        data
    }

    /// Issues slots at once and waits for them.
    fn issue(&mut self, slots: u32, queued: bool) {
        if queued {
            self.port(at::SACT, slots);
        }
        self.port(at::CI, slots);
        self.run();
    }

    fn frame(&self, at: u64, bytes: usize) -> Vec<u8> {
        let mut frame = vec![0; bytes];
        self.memory.read(FRAMES_AT + at, &mut frame).unwrap();
        frame
    }
}

#[test]
fn the_disk_is_not_exchanged_under_a_command() {
    let mut rig = Rig::new();
    assert!(rig.ahci.idle_disk().is_some());
    rig.list(3, &queued(0x60, 3, 8, 1), 512);
    rig.port(at::SACT, 1 << 3);
    rig.port(at::CI, 1 << 3);
    assert!(rig.ahci.idle_disk().is_none(), "a read is issued");
    rig.ahci.advance(rig.ahci.next_event().unwrap(), &mut rig.memory, &mut rig.done).unwrap();
    rig.run();
    assert!(rig.ahci.idle_disk().is_some() && rig.done.len() == 1);
}

/// READ or WRITE FPDMA QUEUED.
fn queued(command: u8, slot: u8, lba: u8, sectors: u8) -> [u8; 13] {
    [0x27, 0x80, command, sectors, lba, 0, 0, 0x40, 0, 0, 0, 0, slot << 3]
}

/// A command of 48 bits that is not queued.
fn single(command: u8, lba: u8, sectors: u8) -> [u8; 13] {
    [0x27, 0x80, command, 0, lba, 0, 0, 0x40, 0, 0, 0, 0, sectors]
}

fn pattern(seed: u8, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| seed.wrapping_add(u8::try_from(at % 251).unwrap())).collect()
}

#[test]
fn the_link_comes_up_and_the_drive_shows_its_signature() {
    let mut rig = Rig::new();
    assert_eq!((rig.of_port(at::SSTS), rig.of_port(at::SIG)), (0x123, 0x101));
    assert_eq!(rig.of_port(at::TFD), 0x150);
    assert_eq!(rig.frame(fis::REGISTER_AT, 5), [0x34, 0, 0x50, 1, 1]);
}

#[test]
fn queued_commands_are_accepted_at_once_and_answered_by_one_frame() {
    let mut rig = Rig::new();
    rig.list(3, &queued(0x61, 3, 10, 2), 1024);
    rig.list(7, &queued(0x61, 7, 20, 1), 512);
    rig.put_data(3, &pattern(1, 1024));
    rig.put_data(7, &pattern(2, 512));
    rig.issue(1 << 3 | 1 << 7, true);
    assert_eq!((rig.of_port(at::CI), rig.of_port(at::SACT)), (0, 0));
    assert_eq!(rig.frame(fis::DEVICE_BITS_AT, 8), [0xA1, 0x40, 0x50, 0, 0x88, 0, 0, 0]);
    assert_eq!(rig.of_port(at::PXIS), at::DEVICE_BITS);
    assert_eq!(rig.interrupts, 1, "one for both");
    rig.list(0, &queued(0x60, 0, 10, 2), 1024);
    rig.issue(1, true);
    assert_eq!(rig.data(0, 1024), pattern(1, 1024));
    let kinds: Vec<(u32, u64, u8)> =
        rig.done.iter().map(|done| (done.kind, done.lba.get(), done.status)).collect();
    assert_eq!(kinds, [(0x61, 10, 0), (0x61, 20, 0), (0x60, 10, 0)]);
}

#[test]
fn a_tag_that_is_issued_again_while_it_is_in_use_aborts_all() {
    let mut rig = Rig::new();
    rig.list(3, &queued(0x60, 3, 10, 2), 1024);
    rig.list(7, &queued(0x60, 7, 20, 1), 512);
    rig.port(at::SACT, 1 << 3 | 1 << 7);
    rig.port(at::CI, 1 << 3 | 1 << 7);
    let first = rig.ahci.next_event().unwrap();
    rig.now = first;
    rig.ahci.start_due(first, &mut rig.memory, &mut rig.done).unwrap();
    assert_eq!((rig.ahci.running.len(), rig.ahci.port.issued), (2, 0), "the drive has both");
    rig.issue(1 << 3, true);
    assert!(rig.ahci.running.is_empty());
    assert_eq!(rig.of_port(at::TFD) & 1, 1, "an error");
    let answered: Vec<(u64, u8)> =
        rig.done.iter().map(|done| (done.lba.get(), done.status)).collect();
    assert_eq!(answered, [(10, 1)]);
}

#[test]
fn commands_that_are_not_queued_are_taken_one_at_a_time() {
    let mut rig = Rig::new();
    rig.list(0, &single(0x35, 5, 2), 1024);
    rig.list(1, &single(0x25, 5, 2), 1024);
    rig.list(2, &single(0xEA, 0, 0), 0);
    rig.put_data(0, &pattern(9, 1024));
    rig.port(at::CI, 7);
    let first = rig.ahci.next_event().unwrap();
    rig.now = first;
    rig.ahci.start_due(first, &mut rig.memory, &mut rig.done).unwrap();
    assert_eq!((rig.ahci.running.len(), rig.of_port(at::TFD)), (1, 0xD0), "the drive is busy");
    rig.run();
    assert_eq!(rig.data(1, 1024), pattern(9, 1024));
    assert_eq!((rig.of_port(at::CI), rig.of_port(at::TFD)), (0, 0x50));
    assert_eq!(rig.of_port(at::PXIS), at::REGISTER_FIS);
    let moved = u32::from_le_bytes(rig.memory[0x1024..0x1028].try_into().unwrap());
    assert_eq!(moved, 1024, "of slot 1");
}

#[test]
fn the_drive_says_what_it_is_by_programmed_io() {
    let mut rig = Rig::new();
    rig.list(0, &single(0xEC, 0, 0), 512);
    rig.issue(1, false);
    let data = rig.data(0, 512);
    assert_eq!(data[54..58], *b"eTts", "the model");
    assert_eq!(rig.frame(fis::PIO_SETUP_AT, 4), [0x5F, 0x60, 0x58, 0]);
    assert_eq!((rig.of_port(at::PXIS), rig.of_port(at::CI)), (at::PIO_SETUP, 0));
}

#[test]
fn a_list_of_ranges_is_trimmed_one_after_the_other() {
    let mut rig = Rig::new();
    rig.list(0, &single(0x35, 10, 2), 1024);
    rig.put_data(0, &pattern(1, 1024));
    rig.issue(1, false);
    let trim = |rig: &mut Rig, slot: u8, entries: &[(u64, u64)]| {
        let mut list = vec![0; 512];
        for (place, (lba, count)) in list.chunks_mut(8).zip(entries) {
            place.copy_from_slice(&(lba | count << 48).to_le_bytes());
        }
        rig.list(slot, &[0x27, 0x80, 0x06, 1, 0, 0, 0, 0x40, 0, 0, 0, 0, 1], 512);
        rig.put_data(slot, &list);
        rig.issue(1 << slot, false);
        rig.of_port(at::TFD) & 0xFF
    };
    assert_eq!(trim(&mut rig, 1, &[(10, 1), (100, 8), (108, 8)]), 0x50);
    assert_eq!(trim(&mut rig, 2, &[]), 0x50);
    rig.list(3, &single(0x25, 10, 2), 1024);
    rig.issue(1 << 3, false);
    let data = rig.data(3, 1024);
    assert_eq!((&data[..512], &data[512..]), (&[0; 512][..], &pattern(1, 1024)[512..]));
    assert_eq!(trim(&mut rig, 4, &[(2047, 2)]), 0x51);
}

/// A sector that cannot be read fails its command with all that are queued; the log says which.
#[test]
fn an_unreadable_sector_ends_the_queue_and_is_found_in_the_log() {
    let mut rig = Rig::new();
    let fault = r#"{"kind": "read-error", "range": [10240, 10752]}"#;
    rig.ahci.disk.add_fault(Time::ZERO, Fault::from_json(fault).unwrap());
    rig.list(4, &queued(0x60, 4, 16, 8), 4096);
    rig.issue(1 << 4, true);
    assert_eq!(rig.of_port(at::TFD), 0x4041);
    let reasons = at::DEVICE_BITS | at::TASK_FILE_ERROR;
    assert_eq!((rig.of_port(at::PXIS) & reasons, rig.of_port(at::SACT)), (reasons, 1 << 4));
    // As libata does: stop, start, read the log.
    rig.port(at::CMD, at::RECEIVE);
    assert_eq!(rig.of_port(at::SACT), 0);
    rig.start();
    rig.list(0, &single(0x2F, 0x10, 1), 512);
    rig.issue(1, false);
    let log = rig.data(0, 512);
    assert_eq!((log[0], log[2], log[3], log[4]), (4, 0x41, 0x40, 20), "tag, status, UNC, sector");
    // And the same sector by a command of its own.
    rig.list(1, &single(0x25, 16, 8), 4096);
    rig.issue(2, false);
    assert_eq!((rig.of_port(at::TFD) & 0x4001, rig.of_port(at::CI)), (0x4001, 2));
    assert_eq!(rig.frame(fis::REGISTER_AT, 5)[2..], [0x51, 0x40, 20]);
}

#[test]
fn a_reset_of_the_link_forgets_commands_and_brings_the_drive_back() {
    let mut rig = Rig::new();
    rig.list(0, &single(0x25, 0, 8), 4096);
    rig.port(at::CI, 1);
    rig.port(at::SCTL, 0x301);
    assert_eq!(rig.of_port(at::CI), 0);
    rig.port(at::SCTL, 0x300);
    rig.run();
    assert!(rig.done.is_empty(), "it was never answered: {:?}", rig.done);
    assert_eq!(rig.of_port(at::SSTS), 0x123);
    rig.start();
    rig.issue(1, false);
    assert_eq!(rig.done.len(), 1);
}

#[test]
fn a_soft_reset_ends_with_the_signature() {
    let mut rig = Rig::new();
    let mut control = [0; 16];
    (control[0], control[15]) = (0x27, 4);
    rig.list(0, &control, 0);
    rig.issue(1, false);
    assert_eq!((rig.of_port(at::TFD), rig.of_port(at::CI)), (0xD0, 0));
    control[15] = 0;
    rig.list(1, &control, 0);
    rig.issue(2, false);
    assert_eq!((rig.of_port(at::TFD), rig.of_port(at::SIG)), (0x150, 0x101));
}

#[test]
fn a_buffer_that_is_not_in_memory_is_an_error_of_the_bus() {
    let mut rig = Rig::new();
    rig.list(0, &single(0x35, 0, 8), 4096);
    let entry = TABLES_AT + 0x80;
    rig.memory.write(entry, &(1_u64 << 40).to_le_bytes()).unwrap();
    rig.issue(1, false);
    assert_eq!(rig.of_port(at::PXIS) & at::BUS_ERROR, at::BUS_ERROR);
    // Too short a table, too.
    let mut rig = Rig::new();
    rig.list(0, &single(0x25, 0, 8), 512);
    rig.issue(1, false);
    assert_eq!(rig.of_port(at::PXIS) & at::BUS_ERROR, at::BUS_ERROR);
}

#[test]
fn a_command_that_follows_reads_of_registers_reaches_the_drive_later() {
    let mut rig = Rig::new();
    let begun = rig.now;
    for _ in 0..3 {
        rig.ahci.read_register(begun, at::PORT + at::PXIS);
    }
    rig.list(0, &queued(0x60, 0, 0, 1), 512);
    rig.issue(1, true);
    assert_eq!(rig.done[0].submitted, begun);
    assert_eq!(rig.done[0].at.since(begun), Span::from_ns(3 * REGISTER_READ.ns()));
}

/// The guest adds in the page exactly the time that the adapter adds for reads by messages.
#[test]
fn reads_in_the_page_delay_a_command_as_reads_by_messages_do() {
    let begins = |in_page: bool| {
        let mut rig = Rig::new();
        let (mirror, mut waits) = rig.ahci.mirror();
        for after in [0, 100, 5_000, 5_100] {
            let now = rig.now + Span::from_ns(after);
            if in_page {
                waits = waits.max(now) + mirror.read;
            } else {
                rig.ahci.read_register(now, at::PORT + at::PXIS);
            }
        }
        rig.now += Span::from_ns(5_200);
        rig.ahci.wait_until(waits);
        // One that was shortened is none of a guest's reads.
        rig.ahci.wait_until(Time::ZERO);
        rig.list(0, &queued(0x60, 0, 0, 1), 512);
        rig.issue(1, true);
        (rig.done[0].submitted, rig.done[0].at)
    };
    let (submitted, reached) = begins(true);
    assert_eq!(begins(false), (submitted, reached));
    assert_eq!(reached.since(submitted).ns(), 2 * REGISTER_READ.ns() - 200);
}

proptest! {
    /// The guest's changes of its mirror are those of the adapter, until the guest writes
    /// elsewhere: acknowledgements that raise no interrupt may wait.
    #[test]
    fn a_mirror_is_right_until_the_guest_writes_elsewhere(
        slots in prop::collection::vec(0_u8..32, 1..8),
        is_queued in any::<bool>(),
        is_exchanged in any::<bool>(),
        acknowledged in prop::collection::vec((any::<bool>(), 0_u32..16), 0..6),
    ) {
        let mut rig = Rig::new();
        if is_exchanged {
            rig.port(at::SCTL, 0x301);
            rig.port(at::SCTL, 0x300);
            rig.run();
        }
        for slot in slots {
            let command = if is_queued { queued(0x60, slot, 8, 1) } else { single(0x25, 8, 1) };
            rig.list(slot, &command, 512);
            if is_queued {
                rig.port(at::SACT, 1 << slot);
            }
            rig.port(at::CI, 1 << slot);
            if slot % 2 == 0 {
                rig.run();
            }
        }
        let (mut shown, _) = rig.ahci.mirror();
        for (is_port, value) in acknowledged {
            let number = usize::from(is_port);
            let register = &mut shown.registers[number];
            let (offset, write) = (u64::from(register.at), register.write);
            register.value &= !value;
            let is_left = shown.registers[..2].iter().any(|it| it.value != 0);
            let before = rig.ahci.next_event();
            rig.ahci.write_register(rig.now, offset, value).unwrap();
            if write == Write::Acts || write == Write::ClearsAndRepeats && is_left {
                break;
            }
            prop_assert_eq!(rig.ahci.next_event(), before, "it raised an interrupt");
            prop_assert_eq!(rig.ahci.mirror().0, shown);
            for register in &shown.registers {
                let value = rig.ahci.read_register(rig.now, register.at.into());
                prop_assert_eq!(value, register.value, "at {:#x}", register.at);
            }
        }
    }

    /// Whatever a guest writes, wherever its tables point: no panic, and an end.
    #[test]
    fn no_sequence_of_registers_breaks_the_adapter(
        writes in prop::collection::vec((0_u64..0x180, any::<u32>(), any::<bool>()), 1..60),
        noise in prop::collection::vec(any::<u8>(), 4096),
    ) {
        let mut rig = Rig::bare();
        rig.memory[..4096].copy_from_slice(&noise);
        rig.set(at::FB, 0x800);
        rig.port(at::CMD, at::RECEIVE);
        rig.run();
        rig.port(at::CMD, at::START | at::RECEIVE);
        for (offset, value, runs) in writes {
            rig.ahci.write_register(rig.now, offset & !3, value).unwrap();
            if runs {
                rig.run();
            }
            rig.ahci.read_register(rig.now, offset);
        }
        rig.run();
    }
}
