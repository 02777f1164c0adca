//! Simulation of a drive under the measured loads.

use drivelab_core::numbers::float;
use drivelab_core::{Device, Invalid, Lba, Op, Request, RequestId, Rng, Sectors, Span, Time};

use crate::drive::Drive;
use crate::options::Options;
use crate::profile::Profile;

/// Requests of the simulations for the scatter of times and for the reported figures.
pub(super) const MANY: u64 = 20_000;

/// One load of a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Task {
    /// Random requests within the first `span` sectors.
    Random { write: bool, span: Option<u64>, depth: u64, sectors: u64 },
    /// Flushes behind random writes.
    Flush { writes: u64 },
    /// Long writes; `ramp` requests that fill the buffer do not count.
    Sustained { sequential: bool, depth: u64, sectors: u64, ramp: u64 },
    /// Bursts of single random writes after a flush, which fit into the buffer.
    Burst { writes: u64 },
}

impl Task {
    /// Random reads of 4 KiB over the whole drive.
    pub(super) const fn random_reads(depth: u64) -> Self {
        Self::Random { write: false, span: None, depth, sectors: 8 }
    }
}

/// The observation of a task.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    /// Milliseconds of each request, or of each flush, sorted.
    pub(super) sorted: Vec<f64>,
    pub(super) mean: f64,
    /// Requests a second.
    pub(super) per_s: f64,
}

impl Seen {
    fn of(mut times: Vec<f64>, per_s: f64) -> Self {
        debug_assert!(!times.is_empty(), "an observation without requests");
        times.sort_unstable_by(f64::total_cmp);
        let mean = times.iter().sum::<f64>() / float(times.len() as u64);
        Self { sorted: times, mean, per_s }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index into a small sample"
    )]
    pub(super) fn quantile(&self, share: f64) -> f64 {
        debug_assert!((0.0..=1.0).contains(&share), "{share} is not a share");
        let last = self.sorted.len() - 1;
        let position = (share * float(last as u64)).max(0.0);
        let below = (position as usize).min(last);
        let above = (below + 1).min(last);
        let part = position - float(below as u64);
        self.sorted[below] * (1.0 - part) + self.sorted[above] * part
    }
}

/// Runs `tasks` in sequence on the drive of `profile`, each with about `requests` requests.
pub(super) fn observe(
    profile: &str,
    tasks: &[Task],
    requests: u64,
    seed: u64,
) -> Result<Vec<Seen>, Invalid> {
    let profile = Profile::parse("fit.toml", profile, &|_| None).map_err(Invalid::new)?;
    observe_with(&profile, &Options::default(), tasks, requests, seed)
}

/// Like [`observe`], for a drive with `options`.
pub(super) fn observe_with(
    profile: &Profile,
    options: &Options,
    tasks: &[Task],
    requests: u64,
    seed: u64,
) -> Result<Vec<Seen>, Invalid> {
    let drive = crate::build(profile, options, seed).map_err(Invalid::new)?;
    let rng = Rng::for_part(seed, 2);
    let mut simulation = Simulation { drive, now: Time::ZERO, rng, done: Vec::new() };
    tasks.iter().map(|task| simulation.run(*task, requests)).collect()
}

struct Simulation {
    drive: Drive,
    now: Time,
    rng: Rng,
    done: Vec<(u64, Time)>,
}

impl Simulation {
    fn run(&mut self, task: Task, requests: u64) -> Result<Seen, Invalid> {
        match task {
            Task::Random { write, span, depth, sectors } => {
                // Requests that fill a queue or a cache at first do not count.
                // Six rounds of the queue bring it into its stationary order; writes first fill the
                // cache.
                let ramp = if write { 400 } else { 6 * (depth - 1) };
                let slots = span.unwrap_or(u64::MAX).min(self.drive.capacity().get()) / sectors;
                let slots = slots.max(1);
                let load = Load { write, sequential: false, slots, depth, sectors };
                let seen = self.load(load, ramp, requests)?;
                if write {
                    // The next task begins with an empty cache.
                    self.single(Request::flush(0))?;
                }
                Ok(seen)
            }
            Task::Flush { writes } => self.flushes(writes, (requests / 2 / writes).max(4)),
            Task::Sustained { sequential, depth, sectors, ramp } => {
                let slots = (self.drive.capacity().get() / sectors).max(1);
                let load = Load { write: true, sequential, slots, depth, sectors };
                self.load(load, ramp, requests)
            }
            Task::Burst { writes } => self.bursts(writes, (requests / writes).max(4)),
        }
    }

    fn load(&mut self, load: Load, ramp: u64, requests: u64) -> Result<Seen, Invalid> {
        let all = ramp + requests;
        let (mut begun, mut ended) = (Vec::new(), 0);
        let (mut times, mut since) = (Vec::new(), self.now);
        while ended < all {
            while (begun.len() as u64) < all && begun.len() as u64 - ended < load.depth {
                let slot = if load.sequential {
                    begun.len() as u64 % load.slots
                } else {
                    self.rng.below(load.slots)
                };
                let lba = Lba::new(slot * load.sectors);
                let op = if load.write { Op::Write } else { Op::Read };
                let (id, sectors) = (RequestId(begun.len() as u64), Sectors::new(load.sectors));
                self.submit(Request { id, op, lba, sectors, fua: false, submitter: 0 })?;
                begun.push(self.now);
            }
            self.advance()?;
            for (id, at) in std::mem::take(&mut self.done) {
                ended += 1;
                // Time counts from the end of the ramp.
                if ended == ramp {
                    since = at;
                } else if ended > ramp {
                    let index = usize::try_from(id).expect("it is an index");
                    times.push(milliseconds(at.since(begun[index])));
                }
            }
        }
        let elapsed = milliseconds(self.now.since(since)) / 1000.0;
        let per_s = float(requests) / elapsed;
        Ok(Seen::of(times, per_s))
    }

    fn flushes(&mut self, writes: u64, count: u64) -> Result<Seen, Invalid> {
        let begin = self.now;
        let mut times = Vec::new();
        let slots = self.drive.capacity().get() / 8;
        for _ in 0..count {
            for _ in 0..writes {
                let lba = Lba::new(self.rng.below(slots) * 8);
                self.single(Request::write(0, lba, Sectors::new(8)))?;
            }
            times.push(milliseconds(self.single(Request::flush(0))?));
        }
        let per_s = float(count) / (milliseconds(self.now.since(begin)) / 1000.0);
        Ok(Seen::of(times, per_s))
    }

    fn bursts(&mut self, writes: u64, count: u64) -> Result<Seen, Invalid> {
        let begin = self.now;
        let mut times = Vec::new();
        let slots = self.drive.capacity().get() / 8;
        for _ in 0..count {
            self.single(Request::flush(0))?;
            for _ in 0..writes {
                let lba = Lba::new(self.rng.below(slots) * 8);
                let write = Request::write(0, lba, Sectors::new(8));
                times.push(milliseconds(self.single(write)?));
            }
        }
        let per_s = float(count) / (milliseconds(self.now.since(begin)) / 1000.0);
        Ok(Seen::of(times, per_s))
    }

    fn single(&mut self, request: Request) -> Result<Span, Invalid> {
        let sent = self.now;
        self.submit(request)?;
        while self.done.is_empty() {
            self.advance()?;
        }
        self.done.clear();
        Ok(self.now.since(sent))
    }

    fn submit(&mut self, request: Request) -> Result<(), Invalid> {
        match self.drive.submit(self.now, request) {
            Ok(()) => Ok(()),
            Err(_) => Err("the queue of the drive is full".into()),
        }
    }

    fn advance(&mut self) -> Result<(), Invalid> {
        let mut answers = Vec::new();
        let event = self.drive.next_event().ok_or("a drive answers what it took")?;
        self.now = self.now.max(event);
        self.drive.advance(self.now, &mut answers);
        self.done.extend(answers.into_iter().map(|answer| (answer.id.0, answer.at)));
        Ok(())
    }
}

#[derive(Debug, Clone, Copy)]
struct Load {
    write: bool,
    sequential: bool,
    slots: u64,
    depth: u64,
    sectors: u64,
}

fn milliseconds(span: Span) -> f64 {
    float(span.ns()) / 1e6
}
