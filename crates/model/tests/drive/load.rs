//! A closed loop in virtual time, reduced to what these tests measure.

use drivelab_core::{
    Completion, Device, Lba, Op, Request, RequestId, Rng, Sectors, ServedBy, Span, Time,
};
use drivelab_model::options::{DriveSpec, ProfileRef};
use drivelab_model::profile::Profile;
use drivelab_model::{Drive, build};

/// Builds the drive that `spec` names, with `overrides` on top of its profile.
pub(crate) fn drive_with(spec: &str, overrides: &str) -> Drive {
    let spec: DriveSpec = spec.parse().unwrap();
    let ProfileRef::Embedded(name) = &spec.profile else { panic!("an embedded profile") };
    let text = format!("base = \"{name}\"\n{overrides}");
    let profile = Profile::parse("test.toml", &text, &|_| None).unwrap();
    build(&profile, &spec.options, 1).unwrap()
}

pub(crate) fn drive(spec: &str) -> Drive {
    drive_with(spec, "")
}

/// What a closed loop asks for.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) depth: usize,
    pub(crate) requests: usize,
    pub(crate) sectors: u64,
    /// Percent of reads.
    pub(crate) reads: u64,
    pub(crate) sequential: bool,
    /// Percent of the drive that is used ...
    pub(crate) span: u64,
    /// So many bytes of it at most.
    pub(crate) within: u64,
    /// ... beginning this many percent into it.
    pub(crate) from: u64,
    pub(crate) seed: u64,
}

impl Default for Load {
    fn default() -> Self {
        let (depth, requests, sectors) = (1, 20_000, 8);
        Self {
            depth,
            requests,
            sectors,
            reads: 100,
            sequential: false,
            span: 100,
            within: u64::MAX,
            from: 0,
            seed: 1,
        }
    }
}

/// What came of it.
pub(crate) struct Outcome {
    pub(crate) latencies: Vec<u64>,
    pub(crate) elapsed: Span,
    pub(crate) completions: Vec<Completion>,
}

impl Outcome {
    pub(crate) fn iops(&self) -> f64 {
        self.latencies.len() as f64 * 1e9 / self.elapsed.ns() as f64
    }

    pub(crate) fn mean_ms(&self) -> f64 {
        self.latencies.iter().sum::<u64>() as f64 / self.latencies.len() as f64 / 1e6
    }

    pub(crate) fn quantile_ms(&self, share: f64) -> f64 {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        sorted[((sorted.len() - 1) as f64 * share) as usize] as f64 / 1e6
    }

    pub(crate) fn served_by(&self, what: ServedBy) -> usize {
        self.completions.iter().filter(|done| done.served_by == what).count()
    }
}

/// Keeps `load.depth` requests outstanding until all are done; the first tenth is not counted.
pub(crate) fn run(drive: &mut Drive, load: Load) -> Outcome {
    let mut addresses = Addresses::new(drive, load);
    let warm_up = load.requests / 10;
    let (mut now, mut began) = (Time::ZERO, Time::ZERO);
    let mut submitted = vec![Time::ZERO; load.requests];
    let (mut next, mut finished) = (0, 0);
    let (mut done, mut latencies, mut completions) = (Vec::new(), Vec::new(), Vec::new());
    while finished < load.requests {
        while next < load.requests && next - finished < load.depth {
            submitted[next] = now;
            drive.submit(now, addresses.request(next as u64)).expect("far from full");
            next += 1;
        }
        now = drive.next_event().expect("requests are outstanding");
        drive.advance(now, &mut done);
        for completion in done.drain(..) {
            finished += 1;
            let index = usize::try_from(completion.id.0).unwrap();
            if finished > warm_up {
                latencies.push(completion.at.since(submitted[index]).ns());
            } else {
                began = completion.at;
            }
            completions.push(completion);
        }
    }
    Outcome { latencies, elapsed: now.since(began), completions }
}

struct Addresses {
    load: Load,
    first: u64,
    slots: u64,
    rng: Rng,
}

impl Addresses {
    fn new(drive: &Drive, load: Load) -> Self {
        let span = (drive.capacity().get() / 100 * load.span).min(load.within / 512);
        let slots = span / load.sectors;
        let first = drive.capacity().get() / 100 * load.from / load.sectors;
        Self { load, first, slots, rng: Rng::new(load.seed) }
    }

    fn request(&mut self, id: u64) -> Request {
        let slot = if self.load.sequential { id % self.slots } else { self.rng.below(self.slots) };
        let op = if self.rng.below(100) < self.load.reads { Op::Read } else { Op::Write };
        let (lba, sectors) =
            (Lba::new((self.first + slot) * self.load.sectors), Sectors::new(self.load.sectors));
        Request { id: RequestId(id), op, lba, sectors, fua: false, submitter: 0 }
    }
}
