use drivelab_core::Bytes;
use drivelab_serve::drive::{Null, ServedDrive};
use drivelab_serve::fault::Fault;
use drivelab_serve::medium::Memory as Medium;
use drivelab_serve::store::Store;
use proptest::prelude::*;

use super::function::{COMMANDS, CONTROL, CONTROLS, MASTER};
use super::registers as at;
use super::*;
use crate::machine::pci_device::Function as _;

const CAPACITY: Sectors = Sectors::new(2048);
const TABLE_AT: u32 = 0x1000;
const DATA_AT: u32 = 0x1_0000;
/// Two pieces for each command.
const PIECE_BYTES: u32 = 0x1000;
const END: u32 = 1 << 31;

const READ_EXT: u8 = 0x25;
const WRITE_EXT: u8 = 0x35;
const IDENTIFY: u8 = 0xEC;
const FLUSH_EXT: u8 = 0xEA;
const SET_FEATURES: u8 = 0xEF;
const READ_LOG: u8 = 0x2F;

/// A guest that drives the controller as `ata_piix` does, with a drive that takes no time.
struct Rig {
    ide: Ide<ServedDrive>,
    memory: Vec<u8>,
    now: Time,
    done: Vec<TraceEntry>,
    interrupts: u32,
    accesses: u64,
    /// 0x10 for commands to the second drive.
    select: u8,
}

impl Rig {
    fn new() -> Self {
        Self::with(Ide::new(Self::drive(), None))
    }

    /// With both drives of the channel.
    fn of_two() -> Self {
        Self::with(Ide::new(Self::drive(), Some(Self::drive())))
    }

    fn with(ide: Ide<ServedDrive>) -> Self {
        let (memory, done) = (vec![0; 1 << 18], Vec::new());
        Self { ide, memory, now: Time::ZERO, done, interrupts: 0, accesses: 0, select: 0 }
    }

    fn drive() -> (ServedDrive, AtaConfig) {
        let store = Store::new(Box::new(Medium::new(CAPACITY, Bytes::mib(4))), Sectors::new(1));
        let disk = ServedDrive::new(Null::new(CAPACITY), store, 1);
        (disk, AtaConfig::for_tests(CAPACITY))
    }

    fn out(&mut self, bar: u8, offset: u64, value: u8) {
        self.accesses += 1;
        self.ide.write(self.now, bar, offset, &[value]).unwrap();
    }

    fn get(&mut self, bar: u8, offset: u64) -> u8 {
        self.accesses += 1;
        let mut byte = [0];
        self.ide.read(self.now, bar, offset, &mut byte);
        byte[0]
    }

    fn alternate_status(&mut self) -> u8 {
        self.get(CONTROLS, CONTROL)
    }

    /// Lets everything happen that is going to.
    fn run(&mut self) {
        for _ in 0..1000 {
            let Some(next) = self.ide.next_event() else { return };
            assert!(next >= self.now, "an event lies in the past");
            self.now = next;
            let interrupt = self.ide.advance(next, &mut self.memory, &mut self.done).unwrap();
            self.interrupts += u32::from(interrupt);
        }
        panic!("it never comes to rest");
    }

    /// `ata_sff_tf_load` for an address of 48 bits, with what is written before it.
    fn load(&mut self, features: u8, lba: u64, count: u16) {
        self.get(COMMANDS, at::STATUS);
        self.out(COMMANDS, at::DEVICE, 0x40 | self.select);
        self.alternate_status();
        let [l0, l1, l2, l3, l4, l5, ..] = lba.to_le_bytes();
        let [c0, c1] = count.to_le_bytes();
        for (count, low, mid, high, features) in [(c1, l3, l4, l5, 0), (c0, l0, l1, l2, features)] {
            self.out(COMMANDS, at::ERROR, features);
            self.out(COMMANDS, at::COUNT, count);
            self.out(COMMANDS, at::LOW, low);
            self.out(COMMANDS, at::MID, mid);
            self.out(COMMANDS, at::HIGH, high);
        }
        self.out(COMMANDS, at::DEVICE, 0x40 | self.select);
        self.get(COMMANDS, at::STATUS);
    }

    /// A command without data, or with data by programmed I/O.
    fn issue(&mut self, command: u8, features: u8, lba: u64, count: u16) {
        self.load(features, lba, count);
        self.out(COMMANDS, at::STATUS, command);
        self.alternate_status();
    }

    /// `ata_bmdma_setup` and `ata_bmdma_start`.
    fn issue_dma(&mut self, command: u8, lba: u64, sectors: u16) {
        self.load(0, lba, sectors);
        self.accesses += 1;
        self.ide.write(self.now, MASTER, master::TABLE, &TABLE_AT.to_le_bytes()).unwrap();
        let direction = if command == READ_EXT { 8 } else { 0 };
        self.get(MASTER, master::COMMAND);
        self.out(MASTER, master::COMMAND, direction);
        self.out(COMMANDS, at::STATUS, command);
        self.alternate_status();
        self.get(MASTER, master::COMMAND);
        self.out(MASTER, master::COMMAND, direction | 1);
    }

    /// `ata_bmdma_interrupt` for a command that moved data; gives the status of bus master and
    /// drive.
    fn serve(&mut self) -> (u8, u8) {
        let of_master = self.get(MASTER, master::STATUS);
        self.get(MASTER, master::STATUS);
        let command = self.get(MASTER, master::COMMAND);
        self.out(MASTER, master::COMMAND, command & !1);
        self.alternate_status();
        let status = self.get(COMMANDS, at::STATUS);
        let pending = self.get(MASTER, master::STATUS);
        self.out(MASTER, master::STATUS, pending);
        (of_master, status)
    }

    fn put_table(&mut self, entries: &[(u32, u32)]) {
        for (at, (address, length)) in (u64::from(TABLE_AT)..).step_by(8).zip(entries) {
            self.memory.write(at, &address.to_le_bytes()).unwrap();
            self.memory.write(at + 4, &length.to_le_bytes()).unwrap();
        }
    }

    /// A table for `bytes` of data in two pieces.
    fn put_halves(&mut self, bytes: u32) {
        self.put_table(&[(DATA_AT, bytes / 2), (DATA_AT + PIECE_BYTES, (bytes / 2) | END)]);
    }

    fn put_data(&mut self, data: &[u8]) {
        let (first, second) = data.split_at(data.len() / 2);
        self.memory.write(u64::from(DATA_AT), first).unwrap();
        self.memory.write(u64::from(DATA_AT + PIECE_BYTES), second).unwrap();
    }

    fn data(&self, bytes: usize) -> Vec<u8> {
        let mut data = vec![0; bytes];
        let (first, second) = data.split_at_mut(bytes / 2);
        self.memory.read(u64::from(DATA_AT), first).unwrap();
        self.memory.read(u64::from(DATA_AT + PIECE_BYTES), second).unwrap();
        data
    }

    /// Reads `bytes` from the data register, four at a time.
    fn take(&mut self, bytes: usize) -> Vec<u8> {
        let mut data = vec![0; bytes];
        for word in data.chunks_mut(4) {
            self.ide.read(self.now, COMMANDS, at::DATA, word);
        }
        data
    }

    fn reset(&mut self) {
        self.out(CONTROLS, CONTROL, 0x08);
        self.out(CONTROLS, CONTROL, 0x0C);
        assert_eq!(self.alternate_status(), 0x80, "held in reset");
        self.out(CONTROLS, CONTROL, 0x08);
    }
}

fn pattern(seed: u8, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| seed.wrapping_add(u8::try_from(at % 251).unwrap())).collect()
}

#[test]
fn the_disk_is_not_exchanged_under_a_command() {
    let mut rig = Rig::new();
    assert!(rig.ide.idle_disk().is_some());
    rig.put_halves(1024);
    rig.issue_dma(READ_EXT, 10, 2);
    assert!(rig.ide.idle_disk().is_none(), "a read is issued");
    rig.run();
    assert!(rig.ide.idle_disk().is_some() && rig.done.len() == 1);
}

#[test]
fn the_driver_finds_one_drive_on_the_channel() {
    let mut rig = Rig::new();
    // `ata_devchk`: registers keep what is written to them.
    let check = |rig: &mut Rig, device: u8| {
        rig.out(COMMANDS, at::DEVICE, device);
        for (count, low) in [(0x55, 0xAA), (0xAA, 0x55), (0x55, 0xAA)] {
            rig.out(COMMANDS, at::COUNT, count);
            rig.out(COMMANDS, at::LOW, low);
        }
        (rig.get(COMMANDS, at::COUNT), rig.get(COMMANDS, at::LOW))
    };
    assert_eq!(check(&mut rig, 0xA0), (0x55, 0xAA));
    assert_eq!(check(&mut rig, 0xB0), (0, 0));
    rig.reset();
    let signature = [at::ERROR, at::COUNT, at::LOW, at::MID, at::HIGH, at::STATUS];
    assert_eq!(signature.map(|register| rig.get(COMMANDS, register)), [1, 1, 1, 0, 0, 0x50]);
}

#[test]
fn both_drives_of_a_channel_answer_when_they_are_selected() {
    let mut rig = Rig::of_two();
    for device in [0xB0, 0xA0, 0xB0] {
        rig.out(COMMANDS, at::DEVICE, device);
        rig.out(COMMANDS, at::COUNT, 0x55);
        assert_eq!((rig.get(COMMANDS, at::COUNT), rig.alternate_status()), (0x55, 0x50));
    }
    rig.reset();
    let signature = [at::ERROR, at::COUNT, at::LOW, at::MID, at::HIGH, at::STATUS];
    for device in [0xA0, 0xB0] {
        rig.out(COMMANDS, at::DEVICE, device);
        assert_eq!(signature.map(|register| rig.get(COMMANDS, register)), [1, 1, 1, 0, 0, 0x50]);
    }
}

#[test]
fn each_drive_of_a_channel_has_its_bytes_and_one_command_runs_at_a_time() {
    let mut rig = Rig::of_two();
    rig.put_halves(1024);
    for (select, seed) in [(0x10, 1), (0, 2)] {
        rig.select = select;
        rig.put_data(&pattern(seed, 1024));
        rig.issue_dma(WRITE_EXT, 10, 2);
        rig.run();
        assert_eq!(rig.serve(), (4, 0x50));
    }
    for (select, seed) in [(0, 2), (0x10, 1)] {
        rig.select = select;
        rig.put_data(&[0; 1024]);
        rig.issue_dma(READ_EXT, 10, 2);
        rig.run();
        assert_eq!((rig.serve(), rig.data(1024)), ((4, 0x50), pattern(seed, 1024)));
    }
    let disks: Vec<u16> = rig.done.iter().map(|done| done.disk).collect();
    assert_eq!(disks, [1, 0, 0, 1]);
    // While the second drive has a command, the first takes none.
    rig.issue_dma(READ_EXT, 0, 2);
    rig.select = 0;
    rig.issue(FLUSH_EXT, 0, 0, 0);
    rig.run();
    let last = rig.done.last().unwrap();
    assert_eq!((rig.done.len(), last.disk, last.kind), (5, 1, u32::from(READ_EXT)));
}

#[test]
fn data_is_written_and_read_through_the_table() {
    let mut rig = Rig::new();
    rig.put_halves(1024);
    rig.put_data(&pattern(1, 1024));
    rig.issue_dma(WRITE_EXT, 10, 2);
    assert_eq!((rig.alternate_status(), rig.interrupts), (0xD0, 0), "the drive is busy");
    rig.run();
    assert_eq!((rig.interrupts, rig.serve()), (1, (4, 0x50)));
    assert_eq!(rig.get(MASTER, master::STATUS), 0);
    rig.put_data(&[0; 1024]);
    rig.issue_dma(READ_EXT, 10, 2);
    rig.run();
    assert_eq!((rig.interrupts, rig.serve()), (2, (4, 0x50)));
    assert_eq!(rig.data(1024), pattern(1, 1024));
    let kinds: Vec<(u32, u64, u8)> =
        rig.done.iter().map(|done| (done.kind, done.lba.get(), done.status)).collect();
    assert_eq!(kinds, [(0x35, 10, 0), (0x25, 10, 0)]);
}

#[test]
fn a_table_longer_than_the_data_leaves_the_bus_master_active() {
    let mut rig = Rig::new();
    rig.put_halves(2048);
    rig.issue_dma(READ_EXT, 0, 2);
    rig.run();
    assert_eq!(rig.serve(), (5, 0x50));
}

/// The bus master of such a command never ends it: the driver's time-out does, by a reset.
#[test]
fn a_table_that_cannot_be_used_ends_in_a_reset() {
    let check = |entries: &[(u32, u32)], command: u8, expected: u8| {
        let mut rig = Rig::new();
        rig.put_table(entries);
        rig.issue_dma(command, 0, 2);
        rig.run();
        assert_eq!((rig.interrupts, rig.done.len()), (0, 0), "{entries:?}");
        assert_eq!(rig.get(MASTER, master::STATUS), expected, "{entries:?}");
        assert_eq!(rig.alternate_status(), 0x58);
        rig.out(MASTER, master::COMMAND, 0);
        rig.reset();
        rig.put_halves(1024);
        rig.issue_dma(READ_EXT, 0, 2);
        rig.run();
        assert_eq!((rig.interrupts, rig.serve().1), (1, 0x50));
    };
    check(&[(DATA_AT, 512 | END)], READ_EXT, 0);
    check(&[(DATA_AT, 512), (0x7000_0000, 512 | END)], WRITE_EXT, 2);
    // What a read found is put into memory at its end.
    let mut rig = Rig::new();
    rig.put_table(&[(0x7000_0000, 1024 | END)]);
    rig.issue_dma(READ_EXT, 0, 2);
    rig.run();
    assert_eq!(rig.serve().0, 6, "error and interrupt");
    // And a bus master that moves the other way moves nothing.
    let mut rig = Rig::new();
    rig.put_halves(1024);
    rig.load(0, 0, 2);
    rig.ide.write(rig.now, MASTER, master::TABLE, &TABLE_AT.to_le_bytes()).unwrap();
    rig.out(COMMANDS, at::STATUS, WRITE_EXT);
    rig.out(MASTER, master::COMMAND, 9);
    rig.run();
    assert_eq!((rig.interrupts, rig.get(MASTER, master::STATUS)), (0, 2));
}

#[test]
fn a_command_waits_for_the_start_of_the_bus_master() {
    let mut rig = Rig::new();
    rig.put_halves(1024);
    rig.load(0, 0, 2);
    rig.ide.write(rig.now, MASTER, master::TABLE, &TABLE_AT.to_le_bytes()).unwrap();
    rig.out(COMMANDS, at::STATUS, READ_EXT);
    rig.run();
    assert!(rig.done.is_empty());
    // One that the drive is busy with is not replaced.
    rig.out(COMMANDS, at::STATUS, FLUSH_EXT);
    rig.out(MASTER, master::COMMAND, 9);
    rig.run();
    assert_eq!(rig.done.iter().map(|done| done.kind).collect::<Vec<_>>(), [0x25]);
}

#[test]
fn the_drive_says_what_it_is_by_programmed_io() {
    let mut rig = Rig::new();
    rig.issue(IDENTIFY, 0, 0, 0);
    rig.run();
    assert_eq!((rig.interrupts, rig.get(COMMANDS, at::STATUS)), (1, 0x58));
    let data = rig.take(512);
    assert_eq!(data[54..58], *b"eTts", "the model");
    assert_eq!((data[150], data[153] & 1), (31, 1), "it could queue 32 commands");
    assert_eq!(rig.get(COMMANDS, at::STATUS), 0x50);
    assert_eq!(rig.take(4), [0; 4], "there is no more");
    // Two blocks, each with its interrupt.
    rig.issue(READ_LOG, 0, 0, 2);
    rig.run();
    assert_eq!(rig.take(512)[0], 1);
    rig.run();
    assert_eq!((rig.interrupts, rig.alternate_status()), (3, 0x58));
    rig.take(512);
    rig.run();
    assert_eq!((rig.interrupts, rig.alternate_status()), (3, 0x50));
}

#[test]
fn the_write_cache_is_switched_and_flushed() {
    let mut rig = Rig::new();
    let mut at_end = |command: u8, features: u8| {
        rig.issue(command, features, 0, 0x46);
        rig.run();
        rig.get(COMMANDS, at::STATUS)
    };
    assert_eq!(at_end(SET_FEATURES, 0x03), 0x50, "a transfer mode");
    assert_eq!(at_end(SET_FEATURES, 0x82), 0x50);
    assert_eq!(at_end(FLUSH_EXT, 0), 0x50);
    assert_eq!(at_end(SET_FEATURES, 0x77), 0x51);
    assert_eq!(at_end(DIAGNOSTIC, 0), 0x50);
    // Queued commands need another interface.
    assert_eq!(at_end(0x60, 1), 0x51);
    assert_eq!(rig.get(COMMANDS, at::ERROR), 4);
    let kinds: Vec<(u32, u8)> = rig.done.iter().map(|done| (done.kind, done.status)).collect();
    let expected =
        [(0xEF, 0), (0xEF, 0), (0xEA, 0), (0xEF, 1), (u32::from(DIAGNOSTIC), 0), (0x60, 1)];
    assert_eq!(kinds, expected);
    assert_eq!(rig.interrupts, 6);
}

#[test]
fn a_list_of_ranges_is_trimmed_one_after_the_other() {
    let mut rig = Rig::new();
    rig.put_halves(1024);
    rig.put_data(&pattern(1, 1024));
    rig.issue_dma(WRITE_EXT, 10, 2);
    rig.run();
    rig.serve();
    let trim = |rig: &mut Rig, entries: &[(u64, u64)]| {
        let mut list = vec![0; 512];
        for (place, (lba, count)) in list.chunks_mut(8).zip(entries) {
            place.copy_from_slice(&(lba | count << 48).to_le_bytes());
        }
        rig.memory.write(u64::from(DATA_AT), &list).unwrap();
        rig.put_table(&[(DATA_AT, 512 | END)]);
        rig.load(1, 0, 1);
        rig.ide.write(rig.now, MASTER, master::TABLE, &TABLE_AT.to_le_bytes()).unwrap();
        rig.out(COMMANDS, at::STATUS, 0x06);
        rig.out(MASTER, master::COMMAND, 1);
        rig.run();
        rig.serve()
    };
    assert_eq!(trim(&mut rig, &[(10, 1), (100, 8), (108, 8)]), (4, 0x50));
    assert_eq!(trim(&mut rig, &[]), (4, 0x50));
    assert_eq!(trim(&mut rig, &[(2047, 2)]), (4, 0x51));
    let lines: Vec<(u32, u64, u8)> =
        rig.done[1..].iter().map(|done| (done.kind, done.lba.get(), done.status)).collect();
    assert_eq!(lines, [(6, 10, 0), (6, 0, 0), (6, 0, 1)]);
    rig.put_halves(1024);
    rig.issue_dma(READ_EXT, 10, 2);
    rig.run();
    let data = rig.data(1024);
    assert_eq!((&data[..512], &data[512..]), (&[0; 512][..], &pattern(1, 1024)[512..]));
}

#[test]
fn an_unreadable_sector_is_named_in_the_registers() {
    let mut rig = Rig::new();
    let fault = r#"{"kind": "read-error", "range": [10240, 10752]}"#;
    rig.ide.drives[0].disk.add_fault(Time::ZERO, Fault::from_json(fault).unwrap());
    rig.put_halves(4096);
    rig.issue_dma(READ_EXT, 16, 8);
    rig.run();
    assert_eq!((rig.interrupts, rig.serve()), (1, (5, 0x51)));
    assert_eq!((rig.get(COMMANDS, at::ERROR), rig.get(COMMANDS, at::LOW)), (0x40, 20));
    assert_eq!(rig.done[0].status, 1);
    rig.issue_dma(READ_EXT, 2047, 2);
    rig.run();
    assert_eq!((rig.serve().1, rig.get(COMMANDS, at::ERROR)), (0x51, 0x10), "beyond the end");
}

#[test]
fn a_reset_forgets_the_command_that_the_drive_has() {
    let mut rig = Rig::new();
    rig.put_halves(1024);
    rig.issue_dma(READ_EXT, 0, 2);
    let start = rig.ide.next_event().unwrap();
    rig.now = start;
    let given = rig.ide.given.take().unwrap();
    rig.ide.carry_out(start, given, &rig.memory, &mut rig.done).unwrap();
    assert!(rig.ide.running.is_some());
    rig.reset();
    rig.run();
    assert!(rig.done.is_empty() && rig.interrupts == 0, "it was never answered: {:?}", rig.done);
    // The same while it waits for its time.
    rig.issue(FLUSH_EXT, 0, 0, 0);
    rig.reset();
    rig.run();
    assert!(rig.done.is_empty());
}

#[test]
fn an_interrupt_is_kept_in_the_drive_and_withdrawn_by_its_status() {
    let mut rig = Rig::new();
    rig.out(CONTROLS, CONTROL, 0x0A);
    rig.issue(FLUSH_EXT, 0, 0, 0);
    rig.run();
    assert_eq!((rig.interrupts, rig.get(MASTER, master::STATUS)), (0, 0), "it polls");
    rig.out(CONTROLS, CONTROL, 0x08);
    rig.run();
    assert_eq!((rig.interrupts, rig.get(MASTER, master::STATUS)), (1, 4));
    rig.out(CONTROLS, CONTROL, 0x0A);
    rig.get(COMMANDS, at::STATUS);
    rig.out(CONTROLS, CONTROL, 0x08);
    rig.run();
    assert_eq!(rig.interrupts, 1, "the status was read");
}

/// What a command of `ata_piix` costs in accesses: the estimate of the model, 12 us, is of less.
#[test]
fn a_command_reaches_the_drive_after_its_accesses() {
    let mut rig = Rig::new();
    rig.put_halves(1024);
    let begun = rig.now;
    rig.issue_dma(READ_EXT, 0, 2);
    assert_eq!(rig.accesses, 22);
    rig.run();
    assert_eq!(rig.done[0].at.since(begun), Span::from_ns(22 * ACCESS.ns()));
    rig.serve();
    assert_eq!(rig.accesses, 30);
    // The next waits for those of the interrupt, too.
    let now = rig.now;
    rig.issue(FLUSH_EXT, 0, 0, 0);
    rig.run();
    assert_eq!(rig.done[1].at.since(now), Span::from_ns((8 + 16) * ACCESS.ns()));
}

proptest! {
    /// Whatever a guest writes and reads, wherever its table points: no panic, and an end.
    #[test]
    fn no_sequence_of_registers_breaks_the_controller(
        accesses in prop::collection::vec(
            (0_u8..6, prop_oneof![0_u64..16, any::<u64>()], any::<u32>(), 0_usize..3, any::<bool>()),
            1..80,
        ),
        noise in prop::collection::vec(any::<u8>(), 4096),
        has_second in any::<bool>(),
    ) {
        let mut rig = if has_second { Rig::of_two() } else { Rig::new() };
        rig.memory[..4096].copy_from_slice(&noise);
        for (bar, offset, value, size, runs) in accesses {
            let value = value.to_le_bytes();
            rig.ide.write(rig.now, bar, offset, &value[..1 << size]).unwrap();
            if runs {
                rig.run();
            }
            rig.ide.read(rig.now, bar, offset, &mut [0; 8][..1 << size]);
        }
        rig.run();
    }
}
