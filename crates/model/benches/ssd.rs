//! Simulated requests per second of processor time on a solid-state drive:
//! `cargo bench -p drivelab-model --bench ssd`.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use drivelab_core::dispatch::Dispatch;
use drivelab_core::{Device, Lba, Op, Request, RequestId, Rng, Sectors, Span, Time};
use drivelab_model::ssd::flash::{FlashRules, PageTimes};
use drivelab_model::ssd::ftl::{Choice, Rules, Shape};
use drivelab_model::ssd::{BackendRules, SsdParts};
use drivelab_model::{Attachment, Controller, Drive, Scheduler};

const DEPTH: u64 = 32;
const REQUESTS: u64 = 1_000_000;
/// 7 GiB in units of 4 KiB, on 8 GiB of flash.
const UNITS: u32 = 7 << 18;

fn drive() -> Drive {
    let page =
        |read, program| PageTimes { read: Span::from_us(read), program: Span::from_us(program) };
    let dies = 32;
    let flash = FlashRules {
        channels: 8,
        dies,
        pages: vec![page(50, 600), page(70, 1_200)],
        slc: None,
        commit: None,
        erase: Span::from_ms(3),
        transfer: Span::from_us(10),
        channel_command: Span::ZERO,
        suspend: None,
        overtaking_reads: 8,
        retry: None,
        seed: 1,
    };
    let shape = Shape { dies, blocks_per_die: 64, slots_per_block: 1024, units: UNITS };
    let ftl = Rules { choice: Choice::Greedy, low_water: 2, page_slots: 1, seed: 1 };
    let parts = SsdParts {
        backend: BackendRules {
            shape,
            ftl,
            flash,
            units_per_page: 4,
            erase_every: 1,
            planes: 2,
            slc: None,
        },
        sectors_per_unit: 8,
        read_processing: Span::from_us(20),
        write_processing: Span::from_us(15),
        flush_processing: Span::from_us(30),
        buffer_units: 1024,
        write_cache: true,
        protected: false,
        commit: None,
        fold_after: Span::ZERO,
        map_cache: None,
        throttle: None,
    };
    let attached = Attachment {
        controller: Controller::Ahci,
        dispatch: Dispatch::Shared,
        tags: 32,
        queued: true,
        link: None,
        wire_bytes_per_s: 600_000_000,
        scheduler: Scheduler::None,
        nr_requests: 64,
        write_cache_bytes: None,
        reports_cache: false,
        fua: None,
        guard_ns: None,
        guard_growth: None,
        notice: None,
        queue_pairs: None,
        flash: None,
        shingles: None,
    };
    Drive::solid_state("bench".to_owned(), attached, Span::from_ns(3_300), parts)
        .expect("the parts make a drive")
}

/// Keeps requests outstanding; where each goes is drawn by `place`.
fn run(drive: &mut Drive, now: &mut Time, count: u64, op: Op, mut place: impl FnMut(u64) -> u64) {
    let mut completed = Vec::with_capacity(64);
    let (mut next, mut done) = (0, 0);
    while done < count {
        while next < count && next - done < DEPTH {
            let (lba, sectors) = (Lba::new(place(next) * 8), Sectors::new(8));
            let request =
                Request { id: RequestId(next), op, lba, sectors, fua: false, submitter: 0 };
            drive.submit(*now, request).expect("the queue is far from full");
            next += 1;
        }
        *now = drive.next_event().expect("requests are outstanding");
        drive.advance(*now, &mut completed);
        done += completed.len() as u64;
        completed.clear();
    }
}

/// What this process has had of a processor: another that takes it away slows nothing down here.
#[expect(clippy::disallowed_methods, reason = "the kernel tells it in a file")]
fn processor_time() -> Span {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux counts it");
    let ns = text.split_whitespace().next().and_then(|ns| ns.parse().ok());
    Span::from_ns(ns.expect("the first number is in nanoseconds"))
}

fn timed(name: &str, work: impl FnOnce()) {
    let began = processor_time();
    work();
    let rate = REQUESTS * 1_000_000_000 / (processor_time().ns() - began.ns());
    println!("{name:24} depth {DEPTH} {rate:12} requests/s");
}

fn main() {
    let (mut drive, mut now, mut rng) = (drive(), Time::ZERO, Rng::new(1));
    let units = u64::from(UNITS);
    run(&mut drive, &mut now, units, Op::Write, |id| id);
    timed("random read", || {
        run(&mut drive, &mut now, REQUESTS, Op::Read, |_| rng.below(units));
    });
    run(&mut drive, &mut now, units * 2, Op::Write, |_| rng.below(units));
    timed("steady random write", || {
        run(&mut drive, &mut now, REQUESTS, Op::Write, |_| rng.below(units));
    });
}
