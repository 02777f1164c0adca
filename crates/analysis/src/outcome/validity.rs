//! Decides if figures of runs may count: one rule for studies, comparisons, histories and fleets.
//!
//! A figure of the requests that succeeded is a figure of a selection where others failed: the
//! failed ones may be the slow ones. A figure of a drive that fell behind its rate depends on the
//! length of the run. Neither is what its name says, so that no verdict rests on it.

use drivelab_core::counted;
use drivelab_core::numbers::float;
use drivelab_core::record::{Flaw, JobRecord, Mark, MarkId, RunRecord};
use drivelab_core::workload::Pace;
use drivelab_stats::WarningId;

use super::{Outcome, Withheld};
use crate::figures;

/// Above this share of failed requests in any run of an arm the verdict is withheld: a p99 may
/// then consist of the requests that failed.
pub const FAILED_PERCENT: u64 = 1;

/// Above this share of requests that were due and never issued a run fell behind its rate.
const BEHIND_PERCENT: u64 = 1;

/// Everything that makes the figures of a run doubtful.
pub fn flaws(record: &RunRecord) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    match (&record.total, marked(record, MarkId::Errors)) {
        (Some(total), _) => flaws.extend(of_total(total, record)),
        // A command counts no requests: only its mark says that it failed.
        (None, Some(mark)) => flaws.push(Flaw::Error { what: mark.message.clone() }),
        (None, None) => {}
    }
    flaws.extend(
        marked(record, MarkId::Changed).map(|it| Flaw::Changed { what: it.message.clone() }),
    );
    flaws.extend(marked(record, MarkId::Void).map(|_| Flaw::Void));
    // Jobs that need more processors than there are wait for one another.
    let is_contended =
        marked(record, MarkId::Contended).filter(|_| marked(record, MarkId::CpuBound).is_none());
    let disturbed = marked(record, MarkId::Busy).or(marked(record, MarkId::Steal)).or(is_contended);
    flaws.extend(disturbed.map(|_| Flaw::Disturbed));
    flaws
}

fn of_total(total: &JobRecord, record: &RunRecord) -> Vec<Flaw> {
    let (failed, requests) = (total.errors, total.ios + total.errors);
    let failure = (failed > 0).then_some(Flaw::Failed { failed, requests });
    let nothing = (requests == 0).then_some(Flaw::Nothing);
    failure.into_iter().chain(nothing).chain(behind(total, record)).collect()
}

/// A flaw if requests of an open loop were due and never issued.
fn behind(total: &JobRecord, record: &RunRecord) -> Option<Flaw> {
    let workload = record.config.workload.as_ref()?;
    let (Pace::Fixed { per_s, .. } | Pace::Poisson { per_s, .. }) = workload.pace else {
        return None;
    };
    // Failed requests were issued, too.
    let issued = (total.late_ns.n + total.errors).saturating_sub(total.unsent);
    let jobs = u128::from(record.config.numjobs.max(1));
    let due = u128::from(per_s) * jobs * u128::from(total.elapsed_ns) / 1_000_000_000;
    let sent = u128::from(issued);
    // Poisson counts vary by their square root; four of them are tolerated.
    let is_behind =
        sent * 100 < due * u128::from(100 - BEHIND_PERCENT) && sent + 4 * due.isqrt() < due;
    is_behind.then(|| Flaw::Behind { issued, due: u64::try_from(due).unwrap_or(u64::MAX) })
}

/// True if most requests of a run failed: its figures are those of the exception.
pub fn mostly_failed(total: &JobRecord) -> bool {
    total.errors > total.ios
}

/// True if enough requests of a run failed that its figures are those of a selection.
pub fn is_selection(total: &JobRecord) -> bool {
    is_above(total.errors, total.ios + total.errors)
}

/// The share of requests that failed, `94 %`; `None` where none did.
pub fn failed_share(total: &JobRecord) -> Option<String> {
    (total.errors > 0).then(|| share(total.errors, total.ios + total.errors))
}

/// Returns true if one run by itself may count: in a history, among peers, or as a point of a
/// sweep.
pub fn counts(flaws: &[Flaw]) -> bool {
    !flaws.iter().any(|flaw| match flaw {
        Flaw::Failed { failed, requests } => is_above(*failed, *requests),
        Flaw::Disturbed => false,
        _ => true,
    })
}

/// Returns what is wrong with the figures of one run, as a clause for each flaw.
pub fn in_words(flaws: &[Flaw]) -> String {
    flaws
        .iter()
        .map(|flaw| match flaw {
            Flaw::Failed { failed, requests } => {
                format!("{} of the requests failed", share(*failed, *requests))
            }
            Flaw::Error { what } => what.clone(),
            Flaw::Nothing => "no request completed".to_owned(),
            Flaw::Behind { issued, due } => {
                format!("the rate was not kept up: {issued} of {due} requests were issued")
            }
            Flaw::Changed { what } => format!("the target changed during the run ({what})"),
            Flaw::Void => "the host served the drive too late".to_owned(),
            Flaw::Disturbed => "other load disturbed the run".to_owned(),
        })
        .collect::<Vec<String>>()
        .join("; ")
}

fn is_above(failed: u64, requests: u64) -> bool {
    // A count times 100 may exceed 64 bits.
    u128::from(failed) * 100 > u128::from(requests) * u128::from(FAILED_PERCENT)
}

/// A share in percent, which reads as 0 or 100 only if it is exactly that.
fn share(part: u64, of: u64) -> String {
    let rest = float(of - part) / float(of.max(1));
    let text = figures::percent_change(rest);
    // A few failures must not read as none.
    if text == "0 %" && part > 0 { "less than 0.01 %".to_owned() } else { text }
}

/// A reason to give no verdict on an arm although there are figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reason {
    pub id: WarningId,
    /// The arm, by index.
    pub arm: usize,
    /// The observation, as a clause.
    pub message: String,
    /// The remedy, as an imperative.
    pub hint: String,
}

impl Reason {
    /// The comparisons with the arm that are such.
    pub(crate) fn concerning(
        self,
        outcomes: &[Outcome],
        are: impl Fn(&Outcome) -> bool,
    ) -> Withheld {
        let Self { id, arm, message, hint } = self;
        let all = outcomes.iter().enumerate();
        let concerned = all.filter(|(_, it)| [it.from, it.to].contains(&arm) && are(it));
        Withheld { id, message, hint, outcomes: concerned.map(|(index, _)| index).collect() }
    }
}

/// An arm with the flaws of each of its runs.
#[derive(Debug, Clone)]
pub(crate) struct OfArm<'a> {
    pub name: &'a str,
    pub runs: Vec<&'a [Flaw]>,
}

/// The reasons for which no verdict may rest on these arms.
///
/// `voids` is false where the blocks leave void runs out already, as in studies.
pub(crate) fn reasons(arms: &[OfArm<'_>], voids: bool) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for (index, arm) in arms.iter().enumerate() {
        let all = [arm.failed(), arm.erred(), arm.empty(), arm.behind(), arm.changed()];
        let void = voids.then(|| arm.void()).flatten();
        let found = all.into_iter().flatten().chain(void);
        reasons.extend(found.map(|(id, message, hint)| Reason {
            id,
            arm: index,
            message,
            hint: hint.to_owned(),
        }));
    }
    reasons.extend(disturbed(arms));
    reasons
}

type Found = (WarningId, String, &'static str);

const REPAIR: &str =
    "find out why they failed (kernel log, size of the target) and repeat the runs";
const SLOWER: &str = "lower the rate until every arm keeps up, or compare without a rate";

impl OfArm<'_> {
    /// Runs that have a flaw, out of all: `3 of 8 runs`.
    fn runs_with(&self, has: impl Fn(&Flaw) -> bool) -> Option<String> {
        let count = self.runs.iter().filter(|flaws| flaws.iter().any(&has)).count();
        (count > 0).then(|| format!("{count} of {}", counted(self.runs.len(), "run")))
    }

    fn failed(&self) -> Option<Found> {
        let runs = self.runs_with(|flaw| match flaw {
            Flaw::Failed { failed, requests } => is_above(*failed, *requests),
            _ => false,
        })?;
        let mut worst = (0, 1);
        for flaw in self.runs.iter().copied().flatten() {
            let Flaw::Failed { failed, requests } = *flaw else { continue };
            // Cross products compare the shares exactly.
            let is_worse = u128::from(failed) * u128::from(worst.1)
                > u128::from(worst.0) * u128::from(requests);
            worst = if is_worse { (failed, requests) } else { worst };
        }
        let (name, share) = (self.name, share(worst.0, worst.1));
        let up_to = if self.runs.len() > 1 { "up to " } else { "" };
        let message = format!(
            "{up_to}{share} of the requests of `{name}` failed (in {runs} more than \
             {FAILED_PERCENT} %), and the figures of the others are those of a selection"
        );
        Some((WarningId::RequestsFailed, message, REPAIR))
    }

    fn erred(&self) -> Option<Found> {
        let mut all = self.runs.iter().copied().flatten();
        let what = all.find_map(|flaw| match flaw {
            Flaw::Error { what } => Some(what),
            _ => None,
        })?;
        let runs = self.runs_with(|flaw| matches!(flaw, Flaw::Error { .. }))?;
        let message = format!("{runs} of `{}` ended with an error ({what})", self.name);
        Some((WarningId::RequestsFailed, message, "repeat the runs without errors"))
    }

    fn empty(&self) -> Option<Found> {
        let runs = self.runs_with(|flaw| *flaw == Flaw::Nothing)?;
        let message = format!("`{}` completed no request in {runs}", self.name);
        Some((WarningId::RunsEmpty, message, "repeat the runs, with a longer `runtime`"))
    }

    fn behind(&self) -> Option<Found> {
        let runs = self.runs_with(|flaw| matches!(flaw, Flaw::Behind { .. }))?;
        let mut all = self.runs.iter().copied().flatten();
        let (issued, due) = all.find_map(|flaw| match *flaw {
            Flaw::Behind { issued, due } => Some((issued, due)),
            _ => None,
        })?;
        let message = format!(
            "`{}` did not keep up with the rate in {runs} (for example {issued} of {due} requests \
             issued), so its latencies depend on the length of the run",
            self.name
        );
        Some((WarningId::RateMissed, message, SLOWER))
    }

    fn changed(&self) -> Option<Found> {
        let mut all = self.runs.iter().copied().flatten();
        let what = all.find_map(|flaw| match flaw {
            Flaw::Changed { what } => Some(what),
            _ => None,
        })?;
        let runs = self.runs_with(|flaw| matches!(flaw, Flaw::Changed { .. }))?;
        let message = format!("the target of `{}` changed in {runs} ({what})", self.name);
        Some((WarningId::TargetChanged, message, "repeat the runs while nothing else changes it"))
    }

    fn void(&self) -> Option<Found> {
        let runs = self.runs_with(|flaw| *flaw == Flaw::Void)?;
        let message = format!("the host served `{}` too late in {runs}", self.name);
        Some((WarningId::RunsVoid, message, "compare without these runs, or use a quieter host"))
    }

    /// True, in this order, if most of its runs were disturbed and if none was.
    fn is_disturbed(&self) -> (bool, bool) {
        let count = self.runs.iter().filter(|flaws| flaws.contains(&Flaw::Disturbed)).count();
        (2 * count > self.runs.len(), count == 0)
    }
}

/// Other load that disturbed most runs of one arm and none of another is in their difference.
fn disturbed(arms: &[OfArm<'_>]) -> Option<Reason> {
    let calm = arms.iter().find(|arm| !arm.runs.is_empty() && arm.is_disturbed().1)?;
    let index = arms.iter().position(|arm| arm.is_disturbed().0)?;
    let arm = &arms[index];
    let runs = arm.runs_with(|flaw| *flaw == Flaw::Disturbed)?;
    let message = format!(
        "other load disturbed {runs} of `{}` and none of `{}`: the difference may be its effect",
        arm.name, calm.name
    );
    let hint = "alternate the arms on a quiet machine".to_owned();
    Some(Reason { id: WarningId::Disturbed, arm: index, message, hint })
}

/// The mark of this kind, if the run has it.
fn marked(record: &RunRecord, id: MarkId) -> Option<&Mark> {
    record.marks.iter().find(|mark| mark.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(failed: u64, requests: u64) -> Vec<Flaw> {
        vec![Flaw::Failed { failed, requests }]
    }

    fn reasons_of(arms: &[&[Vec<Flaw>]]) -> Vec<(WarningId, usize, String)> {
        let named = ["good", "failing"].into_iter().zip(arms);
        let arms: Vec<OfArm<'_>> = named
            .map(|(name, runs)| OfArm { name, runs: runs.iter().map(Vec::as_slice).collect() })
            .collect();
        let found = reasons(&arms, true).into_iter();
        found.map(|it| (it.id, it.arm, it.message)).collect()
    }

    #[test]
    fn more_than_one_percent_of_failed_requests_in_a_run_withholds_the_verdict() {
        let good = [vec![], vec![]];
        let check = |runs: &[Vec<Flaw>], expected: Option<&str>| {
            let found = reasons_of(&[&good, runs]);
            let message = found.first().map(|(id, arm, message)| {
                assert_eq!((*id, *arm), (WarningId::RequestsFailed, 1));
                message.split(" (").next().unwrap()
            });
            assert_eq!(message, expected);
        };
        check(&[failing(140_670, 149_998)], Some("94 % of the requests of `failing` failed"));
        check(&[vec![], failing(2, 100)], Some("up to 2 % of the requests of `failing` failed"));
        check(&[failing(1, 100), failing(1, 100)], None);
        check(&[failing(9999, 10_000)], Some("99.99 % of the requests of `failing` failed"));
        let what = "job `a` ended with system error 5".to_owned();
        check(&[vec![Flaw::Error { what }]], Some("1 of 1 run of `failing` ended with an error"));
    }

    #[test]
    fn load_of_others_counts_where_it_met_one_arm_only() {
        let check = |good: &[Vec<Flaw>], other: &[Vec<Flaw>], expected: usize| {
            assert_eq!(reasons_of(&[good, other]).len(), expected);
        };
        let (calm, disturbed) = (vec![], vec![Flaw::Disturbed]);
        let alike = [disturbed.clone(), disturbed.clone()];
        check(&[calm.clone(), calm.clone()], &alike, 1);
        check(&alike, &[calm.clone(), calm.clone()], 1);
        check(&alike, &alike, 0);
        check(&[calm.clone(), disturbed.clone()], &alike, 0);
        check(&[calm.clone(), calm.clone()], &[calm, disturbed], 0);
    }

    #[test]
    fn a_single_run_counts_unless_its_figures_are_of_something_else() {
        let check = |flaws: &[Flaw], expected| assert_eq!(counts(flaws), expected, "{flaws:?}");
        check(&[], true);
        check(&failing(1, 100), true);
        check(&[Flaw::Disturbed], true);
        check(&failing(2, 100), false);
        check(&[Flaw::Nothing], false);
        check(&[Flaw::Void], false);
    }
}
