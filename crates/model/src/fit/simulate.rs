//! Random reads on the drive of a profile.

use drivelab_core::{Device, Lba, Request, Rng, Sectors, Time};

use crate::options::Options;
use crate::profile::Profile;

#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) depth: u64,
    pub(super) requests: u64,
    pub(super) sectors: u64,
    pub(super) seed: u64,
}

pub(super) struct Times {
    /// Milliseconds, sorted.
    pub(super) sorted: Vec<f64>,
    pub(super) mean: f64,
    pub(super) per_s: f64,
}

/// Keeps `load.depth` random reads outstanding on the drive of `profile`.
#[expect(clippy::cast_precision_loss, reason = "times far below 2^52 ns")]
pub(super) fn random_reads(profile: &str, load: Load) -> Result<Times, String> {
    let profile = Profile::parse("fit.toml", profile, &|_| None).map_err(|e| e.to_string())?;
    let mut drive =
        crate::build(&profile, &Options::default(), load.seed).map_err(|e| e.to_string())?;
    let mut rng = Rng::for_part(load.seed, 2);
    let slots = (drive.capacity().get() / load.sectors).max(1);
    let (mut now, mut done) = (Time::ZERO, Vec::with_capacity(64));
    let mut begun: Vec<Time> = Vec::new();
    let mut times = Vec::new();
    while (times.len() as u64) < load.requests {
        while (begun.len() as u64) < load.requests
            && ((begun.len() - times.len()) as u64) < load.depth
        {
            let lba = Lba::new(rng.below(slots) * load.sectors);
            let request = Request::read(begun.len() as u64, lba, Sectors::new(load.sectors));
            drive.submit(now, request).map_err(|_| "the queue of the drive is full")?;
            begun.push(now);
        }
        now = drive.next_event().ok_or("a drive answers what it took")?;
        drive.advance(now, &mut done);
        for answer in done.drain(..) {
            let since = begun[usize::try_from(answer.id.0).expect("it is an index")];
            times.push(answer.at.since(since).ns() as f64 / 1e6);
        }
    }
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let per_s = times.len() as f64 / (now.since(Time::ZERO).ns() as f64 / 1e9);
    times.sort_unstable_by(f64::total_cmp);
    Ok(Times { sorted: times, mean, per_s })
}
