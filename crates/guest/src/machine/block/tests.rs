use drivelab_core::Bytes;
use drivelab_serve::drive::{Null, ServedDrive};
use drivelab_serve::medium::Memory as Medium;
use drivelab_serve::store::Store;

use super::*;
use crate::machine::testing::{Driver, segment};

const CAPACITY: Sectors = Sectors::new(2048);
const HEADER_AT: u64 = 0x1000;
const STATUS_AT: u64 = 0x1100;
const DATA_AT: u64 = 0x2000;

/// A guest with a drive that takes no time.
struct Rig {
    driver: Driver,
    queue: Queue,
    block: Block<ServedDrive>,
    done: Vec<TraceEntry>,
}

fn disk() -> ServedDrive {
    let store = Store::new(Box::new(Medium::new(CAPACITY, Bytes::mib(4))), Sectors::new(1));
    ServedDrive::new(Null::new(CAPACITY), store, 1)
}

impl Rig {
    fn new() -> Self {
        let driver = Driver::new(8);
        let queue = Queue::new(driver.ring()).unwrap();
        let block = Block::new(disk(), true);
        Self { driver, queue, block, done: Vec::new() }
    }

    fn header(&mut self, kind: u32, sector: u64) {
        let header = Header { kind: kind.into(), reserved: 0.into(), sector: sector.into() };
        self.driver.memory.write(HEADER_AT, header.as_bytes()).unwrap();
        self.driver.memory.write(STATUS_AT, &[0xEE]).unwrap();
    }

    /// Sends a request with `out` bytes of data, or room for `room`; gives status and `written`.
    fn send(&mut self, kind: u32, sector: u64, out: u32, room: u32) -> (u8, u32) {
        self.header(kind, sector);
        let pieces = |length: u32| {
            let half = length / 2;
            [segment(DATA_AT, half), segment(DATA_AT + u64::from(half), length - half)]
        };
        let readable = [vec![segment(HEADER_AT, 16)], pieces(out).to_vec()].concat();
        let writable = [pieces(room).to_vec(), vec![segment(STATUS_AT, 1)]].concat();
        let some = |all: Vec<chain::Segment>| {
            all.into_iter().filter(|it| it.length > 0).collect::<Vec<_>>()
        };
        let head = self.driver.offer(&some(readable), &some(writable));
        self.answer(head)
    }

    fn answer(&mut self, head: u16) -> (u8, u32) {
        self.block.kick(Time::ZERO, &mut self.queue, &self.driver.memory).unwrap();
        let at = self.block.next_event().expect("it has something to answer");
        let memory = &mut self.driver.memory;
        assert!(self.block.advance(at, &mut self.queue, memory, &mut self.done).unwrap());
        let used = self.driver.used();
        let [(of, written)] = used[..] else { panic!("one answer: {used:?}") };
        assert_eq!((of, self.block.next_event()), (head, None));
        (self.driver.memory[usize::try_from(STATUS_AT).unwrap()], written)
    }

    fn data(&mut self) -> &mut [u8] {
        let at = usize::try_from(DATA_AT).unwrap();
        &mut self.driver.memory[at..at + 4096]
    }
}

#[test]
fn what_is_written_is_read_and_traced() {
    let mut rig = Rig::new();
    rig.data().fill(7);
    assert_eq!(rig.send(OUT, 8, 4096, 0), (OK, 1));
    rig.data().fill(0);
    assert_eq!(rig.send(FLUSH, 0, 0, 0), (OK, 1));
    assert_eq!(rig.send(IN, 8, 0, 4096), (OK, 4097));
    assert!(rig.data().iter().all(|byte| *byte == 7));
    assert_eq!(rig.send(IN, 7, 0, 512), (OK, 513));
    assert_eq!(rig.data()[..512], [0; 512]);
    let traced: Vec<_> =
        rig.done.iter().map(|done| (done.kind, done.lba.get(), done.sectors.get())).collect();
    assert_eq!(traced, [(OUT, 8, 8), (FLUSH, 0, 0), (IN, 8, 8), (IN, 7, 1)]);
}

#[test]
fn the_disk_is_exchanged_between_two_requests() {
    let mut rig = Rig::new();
    rig.data().fill(7);
    assert_eq!(rig.send(OUT, 8, 4096, 0), (OK, 1));
    *rig.block.idle_disk().unwrap() = disk();
    assert_eq!(rig.send(IN, 8, 0, 4096), (OK, 4097));
    assert!(rig.data().iter().all(|byte| *byte == 0));
    rig.header(IN, 8);
    rig.driver.offer(&[segment(HEADER_AT, 16)], &[segment(DATA_AT, 512), segment(STATUS_AT, 1)]);
    rig.block.kick(Time::ZERO, &mut rig.queue, &rig.driver.memory).unwrap();
    assert!(rig.block.idle_disk().is_none(), "a read is under way");
}

#[test]
fn discards_and_zeroes_name_their_range_in_their_data() {
    for kind in [DISCARD, WRITE_ZEROES] {
        let mut rig = Rig::new();
        rig.data().fill(7);
        assert_eq!(rig.send(OUT, 8, 4096, 0), (OK, 1));
        let range = Range { sector: 9.into(), sectors: 2.into(), flags: 0.into() };
        rig.driver.memory.write(DATA_AT, range.as_bytes()).unwrap();
        assert_eq!(rig.send(kind, 0, 16, 0), (OK, 1));
        rig.data().fill(1);
        assert_eq!(rig.send(IN, 8, 0, 2048), (OK, 2049));
        let expected = [vec![7; 512], vec![0; 1024], vec![7; 512]].concat();
        assert!(rig.data()[..2048] == expected, "kind {kind}");
        assert_eq!(rig.send(kind, 0, 32, 0), (IO_ERROR, 1), "two ranges");
    }
}

#[test]
fn what_lies_outside_the_drive_fails_and_unknown_requests_are_unsupported() {
    let mut rig = Rig::new();
    assert_eq!(rig.send(IN, 2047, 0, 1024), (IO_ERROR, 1));
    assert_eq!(rig.send(IN, u64::MAX, 0, 512), (IO_ERROR, 1));
    assert_eq!(rig.send(OUT, 2048, 512, 0), (IO_ERROR, 1));
    assert_eq!(rig.send(OUT, 0, 500, 0), (IO_ERROR, 1), "no whole sectors");
    assert_eq!(rig.send(IN, 0, 0, 0), (IO_ERROR, 1), "nothing to read");
    assert_eq!(rig.send(99, 0, 0, 0), (UNSUPPORTED, 1));
    assert_eq!(rig.send(GET_ID, 0, 0, 20), (OK, 21));
    assert_eq!(rig.data()[..9], *b"drivelab\0");
}

#[test]
fn without_the_write_cache_every_write_is_durable() {
    let mut rig = Rig::new();
    let fua = |rig: &mut Rig, kind| {
        rig.header(kind, 0);
        let (readable, writable) = (vec![segment(HEADER_AT, 528)], vec![segment(STATUS_AT, 1)]);
        let chain = Chain { head: 0, readable, writable };
        let done = TraceEntry {
            disk: 0,
            submitted: Time::ZERO,
            at: Time::ZERO,
            kind,
            lba: Lba::ZERO,
            sectors: Sectors::ZERO,
            status: OK,
        };
        let command = rig.block.command(&rig.driver.memory, &mut Pending { chain, done });
        command.unwrap().unwrap().fua
    };
    assert!(!fua(&mut rig, OUT));
    rig.block.set_write_cache(false);
    assert!(fua(&mut rig, OUT) && !fua(&mut rig, FLUSH));
}

#[test]
fn requests_that_cannot_be_answered_end_the_guest() {
    let mut rig = Rig::new();
    rig.driver.offer(&[segment(HEADER_AT, 15)], &[segment(STATUS_AT, 1)]);
    let error = rig.block.kick(Time::ZERO, &mut rig.queue, &rig.driver.memory).unwrap_err();
    assert!(matches!(error, BlockError::Malformed { readable: 15, writable: 1 }), "{error}");

    let mut rig = Rig::new();
    rig.header(FLUSH, 0);
    rig.driver.offer(&[segment(HEADER_AT, 16)], &[]);
    let error = rig.block.kick(Time::ZERO, &mut rig.queue, &rig.driver.memory).unwrap_err();
    assert!(matches!(error, BlockError::Malformed { writable: 0, .. }), "{error}");

    let mut rig = Rig::new();
    rig.header(FLUSH, 0);
    for _ in 0..5 {
        // Five chains of two descriptors in a table of eight: the first is used again.
        rig.driver.offer(&[segment(HEADER_AT, 16)], &[segment(STATUS_AT, 1)]);
    }
    let error = rig.block.kick(Time::ZERO, &mut rig.queue, &rig.driver.memory).unwrap_err();
    assert!(matches!(error, BlockError::InUse(0)), "{error}");
}

proptest::proptest! {
    /// Whatever a guest writes into its memory, the device refuses it or answers it.
    #[test]
    fn no_guest_memory_panics_the_device(
        words in proptest::collection::vec(proptest::prelude::any::<u32>(), 1..400),
        small in proptest::prelude::any::<bool>(),
    ) {
        let mut rig = Rig::new();
        for (place, word) in words.iter().enumerate() {
            // Small numbers make descriptors that lead somewhere.
            let word = if small { word & 0x0007_1fff } else { *word };
            rig.driver.memory.write(4 * place as u64, &word.to_le_bytes()).unwrap();
        }
        rig.driver.set_available(8);
        if rig.block.kick(Time::ZERO, &mut rig.queue, &rig.driver.memory).is_ok() {
            let memory = &mut rig.driver.memory;
            while let Some(at) = rig.block.next_event() {
                if rig.block.advance(at, &mut rig.queue, memory, &mut rig.done).is_err() {
                    break;
                }
            }
        }
    }
}
