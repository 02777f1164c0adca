//! Nothing is allocated between two requests: every allocation of the process is counted.
#![expect(clippy::unwrap_used, reason = "in a test a panic with its place is the report")]
#![expect(unsafe_code, reason = "an allocator is unsafe to implement; this one only counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs::OpenOptions;
use std::sync::Arc;

use drivelab_core::control::{Phase, Progress};
use drivelab_core::record::Stamp;
use drivelab_core::units::{Bytes, Span};
use drivelab_core::workload::{Rw, WorkloadOptions};
use drivelab_core::{Polling, Target};
use drivelab_engine::file::Clock;
use drivelab_engine::{Null, Psync, Ring, TargetSetup};
use drivelab_load::{Job, Watch};

#[path = "../src/testing.rs"]
mod scratch;

/// The system's allocator, counting what each thread asks of it.
struct Counting;

thread_local! {
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.with(|asked| asked.set(asked.get() + 1));
        // SAFETY: that the layout is not empty is our caller's duty, and it is not changed here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: all memory comes from `alloc` above and so from the system's allocator; that it
        // was of this layout is our caller's duty.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Notes how often memory was asked for when a phase began.
#[derive(Default)]
struct Notes {
    began: [u64; 3],
    ticks: u64,
}

impl Watch for Notes {
    fn stop(&mut self) -> bool {
        false
    }

    fn enter(&mut self, phase: Phase) {
        let place = match phase {
            Phase::Ramp | Phase::LayOut => 0,
            Phase::Measure => 1,
            Phase::Drain => 2,
        };
        self.began[place] = ASKED.with(Cell::get);
    }

    fn tick(&mut self, _: &Progress) {
        self.ticks += 1;
    }
}

const SIZE: Bytes = Bytes::mib(4);

/// Runs long enough for ticks and whole seconds to pass and measures nothing by time.
fn check<T: Target>(mut target: T, what: &str, change: impl FnOnce(&mut WorkloadOptions)) {
    let mut options = WorkloadOptions {
        rw: Some(Rw::RandRw),
        bssplit: Some("4k/50:8k/50".parse().unwrap()),
        iodepth: Some(8),
        runtime: Some(Span::from_ms(1100)),
        ss: Some("iops:0.000001%".parse().unwrap()),
        ss_dur: Some(Span::from_secs(2)),
        ..WorkloadOptions::default()
    };
    change(&mut options);
    let workload = options.check().unwrap();
    let job = Job { workload: &workload, seed: 1, stamp: Stamp::Io, flow: None, latency: None };
    let mut notes = Notes::default();
    let loaded = drivelab_load::run(&mut target, job, &mut notes).unwrap();
    assert!(loaded.tally.ios() > 0 && notes.ticks > 3, "{what}: {} requests", loaded.tally.ios());
    let [ramp, measure, drain] = notes.began;
    assert_eq!((measure - ramp, drain - measure), (0, 0), "{what}");
    assert!(ASKED.with(Cell::get) > 0, "the counter counts");
}

fn job(scratch: &scratch::Scratch) -> TargetSetup {
    let file = scratch.file("data", &vec![7; 4 << 20]);
    let file = OpenOptions::new().read(true).write(true).open(file).unwrap();
    TargetSetup {
        file: Arc::new(file),
        capacity: SIZE,
        clock: Clock::start(),
        polling: Polling::default(),
        iodepth: 8,
        largest: Bytes::kib(8),
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
fn nothing_is_allocated_while_a_target_is_loaded() {
    let open = |options: &mut WorkloadOptions| {
        (options.rate_iops, options.poisson) = (Some(20_000), Some(true));
    };
    let null = || Null::new(Clock::start(), SIZE, 8);
    check(null(), "null", |_| ());
    check(null(), "null, Poisson", open);
    check(null(), "null, zipf", |options| {
        options.random_distribution = Some("zipf:1.1".parse().unwrap());
    });
    let scratch = scratch::Scratch::new("allocation");
    check(Psync::new(job(&scratch)), "psync", |options| options.iodepth = Some(1));
    match Ring::new(job(&scratch)) {
        Ok(ring) => {
            check(ring, "io_uring", |_| ());
            check(Ring::new(job(&scratch)).unwrap(), "io_uring, Poisson", open);
        }
        Err(refused) => {
            use std::io::Write as _;
            // Straight to the stream: the runner would keep a passing test's output to itself.
            let _ = writeln!(std::io::stderr(), "left out: io_uring: {refused}");
        }
    }
}
