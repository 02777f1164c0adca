//! One test body for every target: what `Target` promises, in virtual time and on this machine.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::Arc;

use drivelab_core::request::{Completion, IoError, Op, Request, RequestId, ServedBy};
use drivelab_core::target::{Rejected, Target};
use drivelab_core::units::{Bytes, Lba, Sectors, Span, Time};
use drivelab_core::{Device, Polling, Rng};
use drivelab_engine::file::Clock;
use drivelab_engine::{Aio, Psync, Ring, TargetSetup};
use drivelab_load::VirtualTarget;

use crate::left_out;
use crate::scratch::Scratch;

const SIZE: Bytes = Bytes::mib(4);
const BLOCK: Sectors = Sectors::new(8);

/// A drive with one server and a queue of four.
#[derive(Default)]
struct Small {
    queue: Vec<(Time, Request)>,
}

impl Device for Small {
    fn capacity(&self) -> Sectors {
        Sectors::holding(SIZE)
    }

    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        if self.queue.len() == 4 {
            return Err(request);
        }
        let begin = self.queue.last().map_or(now, |(at, _)| *at);
        self.queue.push((begin + Span::from_us(50), request));
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        self.queue.first().map(|(at, _)| *at)
    }

    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        while self.next_event().is_some_and(|at| at <= now) {
            let (at, request) = self.queue.remove(0);
            let beyond = request.end() > Lba::at_byte(SIZE);
            let result = if beyond { Err(IoError::OutOfRange) } else { Ok(()) };
            completed.push(Completion { id: request.id, at, result, served_by: ServedBy::Medium });
        }
    }
}

/// Hands `request` over, waiting for room as long as it takes.
fn submit<T: Target>(target: &mut T, request: Request, completed: &mut Vec<Completion>) {
    let mut request = request;
    loop {
        match target.submit(request) {
            Ok(()) => return,
            Err(Rejected::Full(given_back)) => {
                assert_eq!(given_back, request, "a full queue gives the request back as it was");
                request = given_back;
                let before = completed.len();
                let until = target.now() + Span::from_secs(10);
                target.wait(until, completed).unwrap();
                assert!(completed.len() > before, "a full queue empties");
            }
            Err(Rejected::Broken(error)) => panic!("{error}"),
        }
    }
}

fn drain<T: Target>(target: &mut T, count: usize, completed: &mut Vec<Completion>) {
    while completed.len() < count {
        let until = target.now() + Span::from_secs(10);
        let before = completed.len();
        target.wait(until, completed).unwrap();
        assert!(completed.len() > before, "{} of {count} completed", completed.len());
    }
}

/// What every target must do.
fn check_contract<T: Target>(mut target: T, seed: u64) {
    assert_eq!(target.capacity(), SIZE);
    let before = target.now();

    // Nothing in flight: waiting ends when the clock says so, and a moment ago is no wait.
    let mut completed = Vec::new();
    let until = target.now() + Span::from_ms(2);
    target.wait(until, &mut completed).unwrap();
    assert!(completed.is_empty() && target.now() >= until);
    target.wait(before, &mut completed).unwrap();

    // Every request completes once, at or after it was handed over, whatever its kind.
    let mut rng = Rng::new(seed);
    let mut handed_over = Vec::new();
    for id in 0..200 {
        let lba = Lba::new(rng.below(SIZE.get() / 4096) * 8);
        let request = match id % 10 {
            0..5 => Request::read(id, lba, BLOCK),
            5..8 => Request::write(id, lba, BLOCK),
            8 => Request { fua: true, ..Request::write(id, lba, BLOCK) },
            _ => Request::flush(id),
        };
        let at = target.now();
        submit(&mut target, request, &mut completed);
        handed_over.push(at);
    }
    drain(&mut target, 200, &mut completed);
    let ids: BTreeSet<RequestId> = completed.iter().map(|done| done.id).collect();
    assert_eq!(ids.len(), 200);
    let end = target.now();
    for done in &completed {
        assert_eq!(done.result, Ok(()), "{done:?}");
        let at = handed_over[usize::try_from(done.id.0).unwrap()];
        assert!(at <= done.at && done.at <= end, "{done:?} handed over at {at}");
    }

    // Handed over and not waited for, requests complete all the same, and only once.
    completed.clear();
    for id in 0..3 {
        submit(&mut target, Request::read(id, Lba::ZERO, BLOCK), &mut completed);
        let ready = target.hand_over().unwrap();
        assert!(ready <= usize::try_from(id).unwrap() + 1);
    }
    drain(&mut target, 3, &mut completed);

    // What lies beyond the end is taken and fails by itself.
    completed.clear();
    let beyond = Request::read(7, Lba::at_byte(SIZE), BLOCK);
    submit(&mut target, beyond, &mut completed);
    submit(&mut target, Request::read(8, Lba::ZERO, BLOCK), &mut completed);
    drain(&mut target, 2, &mut completed);
    let result = |id| completed.iter().find(|done| done.id == RequestId(id)).unwrap().result;
    assert_eq!(result(7), Err(IoError::OutOfRange));
    assert_eq!(result(8), Ok(()));
}

/// A file of zeros, opened as told; `None` where the file system takes no direct I/O.
fn open(scratch: &Scratch, direct: bool) -> Option<File> {
    let path = scratch.file("data", &vec![0; usize::try_from(SIZE.get()).unwrap()]);
    let flags = if direct { libc::O_DIRECT } else { 0 };
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path);
    match file {
        Err(error) if direct && error.raw_os_error() == Some(libc::EINVAL) => {
            left_out("direct I/O", error);
            None
        }
        file => Some(file.unwrap()),
    }
}

fn job(file: File, iodepth: u32) -> TargetSetup {
    TargetSetup {
        polling: Polling::default(),
        file: Arc::new(file),
        capacity: SIZE,
        clock: Clock::start(),
        iodepth,
        largest: BLOCK.bytes(),
        complete_min: 1,
        memory_align: 4096,
        reads: true,
        writes: true,
        trim: drivelab_engine::file::Trim::Punch,
        flush_data_only: true,
        seed: 1,
        account: None,
        lock: None,
    }
}

#[test]
fn virtual_time_keeps_the_contract() {
    check_contract(VirtualTarget::new(Small::default()), 1);
}

#[test]
fn psync_keeps_the_contract() {
    for direct in [false, true] {
        let scratch = Scratch::new("conform");
        let Some(file) = open(&scratch, direct) else { continue };
        check_contract(Psync::new(job(file, 1)), 1);
    }
}

#[test]
fn a_ring_keeps_the_contract() {
    for (direct, iodepth) in [(false, 1), (false, 16), (true, 1), (true, 7), (true, 128)] {
        let scratch = Scratch::new("conform");
        let Some(file) = open(&scratch, direct) else { continue };
        match Ring::new(job(file, iodepth)) {
            Ok(ring) => check_contract(ring, 1),
            // A machine or sandbox without io_uring cannot show it; `ioengine` tests that case.
            Err(error) => {
                assert!(is_no_ring(&error), "{error}");
                left_out("io_uring", error);
            }
        }
    }
}

#[test]
fn linux_aio_keeps_the_contract() {
    for (direct, iodepth) in [(false, 1), (false, 16), (true, 1), (true, 7), (true, 128)] {
        let scratch = Scratch::new("conform");
        let Some(file) = open(&scratch, direct) else { continue };
        match Aio::new(job(file, iodepth)) {
            Ok(aio) => check_contract(aio, 1),
            Err(error) => left_out("Linux AIO", error),
        }
    }
}

fn is_no_ring(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM | libc::EACCES))
}

#[test]
fn what_is_written_is_read_back_and_no_block_is_written_twice_alike() {
    let scratch = Scratch::new("conform");
    let file = open(&scratch, false).unwrap();
    let mut target = Psync::new(job(file, 1));
    let mut completed = Vec::new();
    for id in 0..64 {
        submit(&mut target, Request::write(id, Lba::new(id * 8), BLOCK), &mut completed);
    }
    drain(&mut target, 64, &mut completed);
    let data = std::fs::read(scratch.path("data")).unwrap();
    let blocks: BTreeSet<&[u8]> = data[..64 * 4096].chunks(4096).collect();
    assert_eq!(blocks.len(), 64);
    assert!(data[64 * 4096..].iter().all(|byte| *byte == 0));
}

#[test]
fn a_trim_leaves_a_hole_and_a_short_read_is_an_error() {
    let run = |mut target: Box<dyn Trimmable>| target.trim_then_read_short();
    for ring in [false, true] {
        let scratch = Scratch::new("conform");
        let path = scratch.file("data", &vec![1; 8192 + 512]);
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let target: Box<dyn Trimmable> = if ring {
            let Ok(ring) = Ring::new(job(file, 4)) else { continue };
            Box::new(ring)
        } else {
            Box::new(Psync::new(job(file, 1)))
        };
        let [trim, short] = run(target);
        assert_eq!(short, Err(IoError::Short(512)), "ring {ring}");
        if trim == Err(IoError::Os(libc::EOPNOTSUPP)) {
            continue;
        }
        let data = std::fs::read(&path).unwrap();
        assert!(data[..4096].iter().all(|byte| *byte == 0), "ring {ring}");
        assert!(data[4096..].iter().all(|byte| *byte == 1), "ring {ring}");
    }
}

/// One call for two kinds of target.
trait Trimmable {
    fn trim_then_read_short(&mut self) -> [Result<(), IoError>; 2];
}

impl<T: Target> Trimmable for T {
    fn trim_then_read_short(&mut self) -> [Result<(), IoError>; 2] {
        let trim = Request { op: Op::Trim, ..Request::read(0, Lba::ZERO, BLOCK) };
        let short = Request::read(1, Lba::new(16), BLOCK);
        [trim, short].map(|request| {
            let mut completed = Vec::new();
            submit(self, request, &mut completed);
            drain(self, 1, &mut completed);
            completed[0].result
        })
    }
}
