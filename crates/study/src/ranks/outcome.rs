//! The results of many hosts: each by itself, and all of them together.

use drivelab_core::record::{HOSTS_SCHEMA, HostOutcome, HostRun, HostsRecord, Skew, Tally};
use drivelab_core::units::Time;

use super::{Crew, Ranks};

/// A host below this share of the median rate is a straggler.
const STRAGGLER: f64 = 0.8;
/// Fewest hosts whose median is taken as usual.
const HOSTS_MIN: usize = 3;

/// The results that rank 0 gathered.
#[derive(Debug, Clone, PartialEq)]
pub struct Gathered {
    /// Results of the ranks that answered, by rank.
    pub outcomes: Vec<HostOutcome>,
    /// The ranks that did not, or whose answer was no result.
    pub lost: Vec<u32>,
}

impl Gathered {
    /// Collects the results of all ranks, at rank 0; at the others, `None`. All have until
    /// `deadline`.
    pub fn of<R: Ranks>(crew: &mut Crew<'_, R>, own: &HostOutcome, deadline: Time) -> Option<Self> {
        let message = serde_json::to_vec(own).expect("plain data is always JSON");
        let answers = crew.gather(&message, deadline);
        if crew.rank() != 0 {
            return None;
        }
        let (mut outcomes, mut lost) = (Vec::new(), Vec::new());
        for (rank, answer) in (0..).zip(answers) {
            match answer.and_then(|answer| serde_json::from_slice(&answer).ok()) {
                Some(outcome) => outcomes.push(outcome),
                None => lost.push(rank),
            }
        }
        Some(Self { outcomes, lost })
    }

    /// The results that ranks have kept in files.
    pub fn of_kept(mut outcomes: Vec<HostOutcome>) -> Self {
        outcomes.sort_by_key(|outcome| outcome.host.rank);
        // A rank that was started twice has two files; one of them counts.
        outcomes.dedup_by_key(|outcome| outcome.host.rank);
        let ranks = outcomes.first().map_or(0, |outcome| outcome.ranks);
        let mut lost: Vec<u32> = (0..ranks).collect();
        lost.retain(|rank| outcomes.iter().all(|outcome| outcome.host.rank != *rank));
        Self { outcomes, lost }
    }
}

/// All hosts together. Counts and histograms are added, none of their figures is averaged.
pub fn together(gathered: Gathered) -> HostsRecord {
    let Gathered { outcomes, lost } = gathered;
    let mut total = Tally::default();
    for outcome in &outcomes {
        total.merge(&outcome.tally);
    }
    let ranks = outcomes.first().map_or(0, |outcome| outcome.ranks);
    let total = (!outcomes.is_empty()).then(|| total.record());
    let hosts: Vec<HostRun> = outcomes.into_iter().map(|outcome| outcome.host).collect();
    HostsRecord {
        schema: HOSTS_SCHEMA.to_owned(),
        ranks,
        stragglers: stragglers(&hosts),
        start_skew: skew(&hosts),
        hosts,
        lost,
        total,
    }
}

/// Ranks whose rate is far below the median of all: one slow path or host, which a total hides.
fn stragglers(hosts: &[HostRun]) -> Vec<u32> {
    let mut rates: Vec<f64> = hosts.iter().filter_map(rate).collect();
    if rates.len() < HOSTS_MIN {
        return Vec::new();
    }
    rates.sort_by(f64::total_cmp);
    // Of an even number the upper one, so that half of the hosts may be slow.
    let usual = rates[rates.len() / 2];
    let mut slow = Vec::new();
    for host in hosts {
        if rate(host).is_some_and(|rate| rate < STRAGGLER * usual) {
            slow.push(host.rank);
        }
    }
    slow
}

fn rate(host: &HostRun) -> Option<f64> {
    host.run.total.as_ref().map(|total| total.iops)
}

/// The skew of a common start: the spread of the delays, and the error of two clocks.
fn skew(hosts: &[HostRun]) -> Option<Skew> {
    if hosts.len() < 2 {
        return None;
    }
    let late = hosts.iter().map(|host| host.start.late_ns);
    let mut errors: Vec<u64> = hosts.iter().map(|host| host.clock.error_ns).collect();
    errors.sort_unstable();
    let ns = late.clone().max()? - late.min()?;
    // At worst the two least known clocks are the first and the last.
    Some(Skew { ns, error_ns: errors.iter().rev().take(2).sum() })
}
