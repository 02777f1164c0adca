//! What many hosts came to: each by itself, and all of them together.

use drivelab_core::record::{HOSTS_SCHEMA, HostOutcome, HostRun, HostsRecord, Skew, Tally};
use drivelab_core::units::Time;

use super::{Crew, Ranks};

/// A host below this share of the median rate is a straggler.
const STRAGGLER: f64 = 0.8;
/// Fewest hosts whose median says what is usual.
const HOSTS_MIN: usize = 3;

/// What rank 0 gathered.
#[derive(Debug, Clone, PartialEq)]
pub struct Gathered {
    /// Those that answered, by rank.
    pub outcomes: Vec<HostOutcome>,
    /// Those that did not, and ranks whose answer was none.
    pub lost: Vec<u32>,
}

impl Gathered {
    /// Collects what every rank came to, at rank 0; at the others, nothing. All have until
    /// `deadline`.
    pub fn of<R: Ranks>(crew: &mut Crew<'_, R>, own: &HostOutcome, deadline: Time) -> Option<Self> {
        let message = serde_json::to_vec(own).expect("plain data is always JSON");
        let answers = crew.gather(&message, deadline);
        if crew.rank() != 0 {
            return None;
        }
        let read = |answer: Option<Vec<u8>>| serde_json::from_slice(&answer?).ok();
        let read: Vec<Option<HostOutcome>> = answers.into_iter().map(read).collect();
        let lost = (0..).zip(&read).filter(|(_, outcome)| outcome.is_none());
        let lost = lost.map(|(rank, _)| rank).collect();
        Some(Self { outcomes: read.into_iter().flatten().collect(), lost })
    }

    /// The same from what ranks have kept in files.
    pub fn of_kept(mut outcomes: Vec<HostOutcome>) -> Self {
        outcomes.sort_by_key(|outcome| outcome.host.rank);
        outcomes.dedup_by_key(|outcome| outcome.host.rank);
        let ranks = outcomes.first().map_or(0, |outcome| outcome.ranks);
        let has = |rank: &u32| outcomes.iter().any(|outcome| outcome.host.rank == *rank);
        let lost = (0..ranks).filter(|rank| !has(rank)).collect();
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
    let rate = |host: &HostRun| host.run.total.as_ref().map(|total| total.iops);
    let mut rates: Vec<f64> = hosts.iter().filter_map(rate).collect();
    if rates.len() < HOSTS_MIN {
        return Vec::new();
    }
    rates.sort_by(f64::total_cmp);
    // Of an even number the upper one, so that half of the hosts may be slow.
    let usual = rates[rates.len() / 2];
    let is_slow = |host: &&HostRun| rate(host).is_some_and(|rate| rate < STRAGGLER * usual);
    hosts.iter().filter(is_slow).map(|host| host.rank).collect()
}

/// All were to begin at one instant: what remains is how late each was, and what is not known of
/// their clocks.
fn skew(hosts: &[HostRun]) -> Option<Skew> {
    if hosts.len() < 2 {
        return None;
    }
    let late = || hosts.iter().map(|host| host.start.late_ns);
    let mut errors: Vec<u64> = hosts.iter().map(|host| host.clock.error_ns).collect();
    errors.sort_unstable();
    Some(Skew { ns: late().max()? - late().min()?, error_ns: errors.iter().rev().take(2).sum() })
}
