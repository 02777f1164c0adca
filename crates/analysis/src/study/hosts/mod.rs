//! A study whose runs were made by many hosts together: each host compared with itself.
//!
//! The figures of a run are those of all hosts together, which a few of them may decide. So the
//! same question is asked blocked by host: in each block the ratio of every host to itself, and
//! their geometric mean. Hosts measure at the same time and share what they measure, so they are
//! no independent samples: the block stays the unit.

use std::collections::BTreeMap;

use drivelab_core::record::Skew;
use drivelab_core::{Invalid, Refusal, invalid};
use drivelab_stats::{Role, Verdict, Warning, WarningId};

use super::{Experiment, HostSample, RunSample};
use crate::figures;
use crate::outcome::{Outcome, Question, Rules, Series, geometric_mean, judge};

/// The results of a study on each host.
#[derive(Debug, Clone)]
pub struct OnHosts {
    /// By rank.
    pub hosts: Vec<OneHost>,
    /// Each compared with itself, all together: the headline metrics and the primary one.
    pub blocked: Judged,
    /// Runs that were made.
    pub runs: usize,
    /// The farthest apart that hosts began a run.
    pub skew: Option<Skew>,
    /// Metrics that are not compared host by host, and the reasons.
    pub missing: Vec<String>,
}

/// One host, compared with itself.
#[derive(Debug, Clone)]
pub struct OneHost {
    /// Its rank.
    pub rank: u32,
    /// Its name.
    pub host: String,
    /// The target that it measured.
    pub target: String,
    /// Runs in which it was far below the median rate.
    pub straggled: usize,
    /// Its own comparisons.
    pub judged: Judged,
}

/// Metrics with what is concluded of them.
#[derive(Debug, Clone, Default)]
pub struct Judged {
    /// The metrics.
    pub series: Vec<Series>,
    /// One outcome for each question.
    pub outcomes: Vec<Outcome>,
}

impl Judged {
    /// Returns the comparison of two arms in a metric.
    pub fn of(&self, name: &str, (from, to): (usize, usize)) -> Option<&Outcome> {
        self.outcomes.iter().find(|outcome| {
            self.series[outcome.series].name == name && (outcome.from, outcome.to) == (from, to)
        })
    }
}

impl OneHost {
    /// The host and its rank, for messages.
    pub fn named(&self) -> String {
        format!("rank {} ({})", self.rank, self.host)
    }
}

/// Compares each host with itself in these metrics, of which `gate` is the primary one; nothing
/// where one process made the runs.
pub(super) fn analyse(
    experiment: &Experiment,
    (series, gate): (&[Series], &str),
    used: &[u32],
    rules: Rules<'_>,
) -> Result<Option<OnHosts>, Refusal> {
    let samples = Samples::new(experiment);
    let Some(first) = experiment.runs.iter().find(|run| !run.hosts.is_empty()) else {
        return Ok(None);
    };
    let (mut own, mut missing) = (vec![Vec::new(); first.hosts.len()], Vec::new());
    for one in series {
        let of_hosts = first.hosts.iter().map(|host| samples.series(one, host.rank, used));
        match of_hosts.collect::<Result<Vec<Series>, Invalid>>() {
            Ok(all) => own.iter_mut().zip(all).for_each(|(own, one)| own.push(one)),
            Err(why) => {
                missing.push(format!("`{}` is not compared host by host: {why}.", one.name));
            }
        }
    }
    let arms = experiment.arms.len();
    let blocked = judged(blocked(&own), arms, gate, rules)?;
    // All hosts are one family, so that their intervals hold together.
    let mut each = judged(own.concat(), arms, "", rules)?.split(own.len());
    let hosts = first.hosts.iter().map(|host| OneHost {
        rank: host.rank,
        host: host.host.clone(),
        target: host.target.clone(),
        straggled: times_straggled(experiment, host.rank),
        judged: each.next().unwrap_or_default(),
    });
    let hosts = hosts.collect();
    let skew = experiment.runs.iter().filter_map(|run| run.start_skew).max_by_key(|skew| skew.ns);
    Ok(Some(OnHosts { hosts, blocked, runs: experiment.runs.len(), skew, missing }))
}

/// Every host's part of every run, by workload, arm, block and rank.
struct Samples<'a>(BTreeMap<(usize, usize, u32, u32), Vec<&'a HostSample>>);

impl<'a> Samples<'a> {
    fn new(experiment: &'a Experiment) -> Self {
        let mut samples = BTreeMap::<_, Vec<_>>::new();
        for RunSample { workload, arm, block, hosts, .. } in &experiment.runs {
            for host in hosts {
                samples.entry((*workload, *arm, *block, host.rank)).or_default().push(host);
            }
        }
        Self(samples)
    }

    /// The same metric of one host alone.
    fn series(&self, of: &Series, rank: u32, used: &[u32]) -> Result<Series, Invalid> {
        let mut values = Vec::with_capacity(of.values.len());
        for arm in 0..of.values.len() {
            let blocks = used.iter().map(|block| {
                self.value(of, (arm, *block, rank)).ok_or_else(|| {
                    invalid!("rank {rank} has no figure of it in block {}", block + 1)
                })
            });
            values.push(blocks.collect::<Result<Vec<f64>, Invalid>>()?);
        }
        Ok(Series { values, ..of.clone() })
    }

    /// The value of a metric on one host in a block; `None` unless every run has one above 0.
    fn value(&self, of: &Series, (arm, block, rank): (usize, u32, u32)) -> Option<f64> {
        let found = self.0.get(&(of.workload, arm, block, rank));
        let figures = found
            .into_iter()
            .flatten()
            .filter_map(|host| host.metrics.iter().find(|metric| metric.name == of.metric));
        let values: Vec<f64> = figures.map(|metric| metric.value).collect();
        let is_usable = !values.is_empty() && values.iter().all(|it| it.is_finite() && *it > 0.0);
        is_usable.then(|| geometric_mean(&values))
    }
}

/// The geometric mean over hosts of each metric, arm and block: the ratio of two arms is then that
/// of the ratios of each host to itself.
fn blocked(own: &[Vec<Series>]) -> Vec<Series> {
    let Some(first) = own.first() else { return Vec::new() };
    first
        .iter()
        .enumerate()
        .map(|(index, one)| {
            let mut values = one.values.clone();
            for (arm, blocks) in values.iter_mut().enumerate() {
                for (block, value) in blocks.iter_mut().enumerate() {
                    let of_hosts = own.iter().map(|series| series[index].values[arm][block]);
                    *value = geometric_mean(&of_hosts.collect::<Vec<f64>>());
                }
            }
            Series { values, ..one.clone() }
        })
        .collect()
}

/// Every arm against the baseline.
fn judged(
    series: Vec<Series>,
    arms: usize,
    gate: &str,
    rules: Rules<'_>,
) -> Result<Judged, Refusal> {
    let questions: Vec<Question> = (0..series.len())
        .flat_map(|index| {
            let role = if series[index].name == gate { Role::Gate } else { Role::Other };
            (1..arms).map(move |to| Question { series: index, from: 0, to, role })
        })
        .collect();
    let outcomes = judge(&series, &questions, rules)?;
    Ok(Judged { series, outcomes })
}

impl Judged {
    /// The same number of metrics for each host, one host after the other.
    fn split(self, hosts: usize) -> impl Iterator<Item = Self> {
        // Each host has the same metrics, so equal parts are the hosts.
        debug_assert_eq!(self.series.len() % hosts.max(1), 0);
        let metrics = (self.series.len() / hosts.max(1)).max(1);
        let outcomes_each = (self.outcomes.len() / hosts.max(1)).max(1);
        let series: Vec<Vec<Series>> = self.series.chunks(metrics).map(<[_]>::to_vec).collect();
        let outcomes = self.outcomes.chunks(outcomes_each).map(move |own| {
            own.iter().map(|it| Outcome { series: it.series % metrics, ..it.clone() }).collect()
        });
        let outcomes: Vec<Vec<Outcome>> = outcomes.collect();
        series.into_iter().zip(outcomes).map(|(series, outcomes)| Self { series, outcomes })
    }
}

impl OnHosts {
    /// Withholds verdicts that all hosts together and each compared with itself do not share:
    /// what some gain, others lose.
    pub fn withhold(&self, series: &[Series], outcomes: &mut [Outcome]) {
        for outcome in outcomes {
            let arms = (outcome.from, outcome.to);
            let Some(own) = self.blocked.of(&series[outcome.series].name, arms) else { continue };
            let verdicts = (outcome.verdict(), own.verdict());
            let opposed = [(Verdict::Faster, Verdict::Slower), (Verdict::Slower, Verdict::Faster)];
            // Only opposite directions contradict: one of both may be inconclusive.
            if !opposed.contains(&verdicts) {
                continue;
            }
            let [all, each] = [&*outcome, own].map(|it| it.adjusted.comparison.ratio);
            let advice = format!(
                "all hosts together have {}, but compared with themselves they have {}: some gain \
                 what others lose, so the verdict is withheld; see each host",
                figures::times(all),
                figures::times(each),
            );
            outcome.withhold(Warning::new(WarningId::HostsDisagree, advice));
        }
    }

    /// Notes on the hosts for the reader.
    pub fn notes(&self) -> Vec<String> {
        let slow = self.hosts.iter().filter(|host| host.straggled > 0).map(|host| {
            format!(
                "Straggler: {} was at least 20 % below the median rate in {} of {} runs.",
                host.named(),
                host.straggled,
                self.runs
            )
        });
        slow.chain(self.missing.iter().cloned()).collect()
    }
}

/// The number of runs in which a rank was a straggler.
fn times_straggled(experiment: &Experiment, rank: u32) -> usize {
    let hosts = experiment.runs.iter().flat_map(|run| &run.hosts);
    hosts.filter(|host| host.rank == rank && host.is_straggler).count()
}
