//! Arms that did different work: what differs is named key by key, and withholds the verdict unless
//! it was declared.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drivelab_core::factor::{self, Factor};
use drivelab_core::record::{Work, WorkDifference, differences, scope, short};
use drivelab_core::{Refusal, config};
use drivelab_stats::WarningId;
use serde::Serialize;

use super::Withheld;
use crate::comparison::{ArmRuns, Input};
use crate::outcome::{Outcome, Series};

/// Keys that a message names; the JSON has all.
const KEYS_MAX: usize = 6;

/// A key of the work in which arms differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkRow {
    /// The key.
    pub key: String,
    /// The values of each arm; none where the arm does not state the key.
    pub values: Vec<Vec<String>>,
    /// True if the arms are meant to differ in it.
    pub declared: bool,
}

/// The work of all runs, and in what they are meant to differ.
pub(crate) struct Asked<'a> {
    arms: &'a [ArmRuns],
    factors: &'a [String],
    /// The arms are those of one study, which says what they are.
    all: bool,
    differences: Vec<WorkDifference>,
}

impl<'a> Asked<'a> {
    /// # Errors
    /// A factor is neither a setting of an attachment nor a key of the work of any run.
    pub(crate) fn new(input: &'a Input, factors: &'a [String]) -> Result<Self, Refusal> {
        let works: Vec<Vec<&Work>> = input.arms.iter().map(different_works).collect();
        let mut keys: Vec<&str> =
            works.iter().flatten().flat_map(|work| work.iter()).map(|it| it.0).collect();
        keys.sort_unstable();
        keys.dedup();
        for factor in factors {
            if factor::find(factor).is_none() && !keys.iter().any(|key| is_meant(factor, key)) {
                return Err(unknown(factor, &keys));
            }
        }
        let all = input.work_is_declared;
        Ok(Self { arms: &input.arms, factors, all, differences: differences(&works) })
    }

    /// True if arms are known to differ in their work.
    pub(crate) fn differ(&self) -> bool {
        self.differences.iter().any(|it| (1..self.arms.len()).any(|to| it.is_between((0, to))))
    }

    fn is_declared(&self, key: &str) -> bool {
        self.all || self.factors.iter().any(|factor| is_meant(factor, key))
    }

    /// The undeclared differences between two arms that are about a metric.
    fn undeclared(&self, arms: (usize, usize), metric: &str) -> Vec<&WorkDifference> {
        self.differences
            .iter()
            .filter(|it| {
                let mixed = it.is_within(arms.0) || it.is_within(arms.1);
                (it.is_between(arms) || mixed)
                    && concerns(&it.key, metric)
                    && !self.is_declared(&it.key)
            })
            .collect()
    }
}

/// The works of the runs of an arm, one that runs share once.
fn different_works(arm: &ArmRuns) -> Vec<&Work> {
    let mut seen = BTreeSet::new();
    let works = arm.runs.iter().map(|run| &run.work);
    works.filter(|work| seen.insert(Arc::as_ptr(work))).map(|work| &**work).collect()
}

/// Options whose value is kept under the key of another option.
const OTHER_NAMES: [(&str, &str); 4] = [
    ("rate", "rate_iops"),
    ("poisson", "rate_process"),
    ("bssplit", "bs"),
    ("read_share", "rwmixread"),
];

/// True if a factor that was typed means a key.
fn is_meant(factor: &str, key: &str) -> bool {
    let plain = short(key);
    let option = plain.strip_prefix(drivelab_core::record::SUITE).unwrap_or(plain);
    // Factors are written as options are, keys as in a file.
    let factor_key = factor.replace('-', "_");
    let other = OTHER_NAMES.iter().find(|it| it.0 == factor_key).map(|it| it.1);
    if [key, plain, option].iter().any(|name| {
        let name = name.replace('-', "_");
        name == factor_key || other == Some(name.as_str())
    }) {
        return true;
    }
    let names = [factor, plain].map(|name| factor::find(name).map(|it: &Factor| it.name));
    names[0].is_some() && names[0] == names[1]
}

fn unknown(factor: &str, keys: &[&str]) -> Refusal {
    let known = factor::names().into_iter().chain(keys.iter().map(|key| short(key)));
    let mut names: Vec<&str> = known.collect();
    if let Some(meant) = config::nearest(factor, names.iter().copied()) {
        return Refusal::request(format!("unknown factor `{factor}`; did you mean `{meant}`?"))
            .hint(format!("declare it: --factor {meant}"));
    }
    names.dedup();
    Refusal::request(format!("unknown factor `{factor}`"))
        .hint(format!("name one of these: {}", names.join(", ")))
}

/// True if a key is about the part of a run that yields a metric.
fn concerns(key: &str, metric: &str) -> bool {
    let part = scope(key);
    metric.starts_with(part) || metric == part.trim_end_matches(['.', '/'])
}

/// Every key in which arms differ or runs of an arm do.
pub(crate) fn rows(asked: &Asked<'_>) -> Vec<WorkRow> {
    asked
        .differences
        .iter()
        .map(|it| WorkRow {
            key: it.key.clone(),
            values: it.values.clone(),
            declared: asked.is_declared(&it.key),
        })
        .collect()
}

/// Why verdicts are withheld because of the work.
pub(crate) fn reasons(asked: &Asked<'_>, series: &[Series], outcomes: &[Outcome]) -> Vec<Withheld> {
    // Metrics of one part of the runs share a reason.
    let mut concerned: BTreeMap<(usize, usize, Vec<&str>), Vec<usize>> = BTreeMap::new();
    for (index, outcome) in outcomes.iter().enumerate() {
        let arms = (outcome.from, outcome.to);
        let found = asked.undeclared(arms, &series[outcome.series].name);
        if !found.is_empty() {
            let keys = found.iter().map(|it| it.key.as_str()).collect();
            concerned.entry((arms.0, arms.1, keys)).or_default().push(index);
        }
    }
    let mut reasons: Vec<Withheld> = concerned
        .into_iter()
        .map(|((from, to, keys), outcomes)| {
            let found = asked.differences.iter().filter(|it| keys.contains(&it.key.as_str()));
            undeclared(asked, (from, to), &found.collect::<Vec<_>>(), outcomes)
        })
        .collect();
    reasons.extend(unchanged(asked, outcomes));
    reasons
}

fn undeclared(
    asked: &Asked<'_>,
    arms: (usize, usize),
    found: &[&WorkDifference],
    outcomes: Vec<usize>,
) -> Withheld {
    let [from, to] = [arms.0, arms.1].map(|arm| &asked.arms[arm].name);
    let mut factors: Vec<String> = Vec::new();
    for it in found {
        let factor = format!("--factor {}", crate::run::quoted(short(&it.key)));
        if !factors.contains(&factor) {
            factors.push(factor);
        }
    }
    let factors = factors.join(" ");
    if found.iter().any(|it| it.is_between(arms)) {
        return Withheld {
            id: WarningId::WorkDiffers,
            message: format!("`{from}` and `{to}` did different work: {}", named(found, arms)),
            // Not at the end: the full stop of a sentence is copied with it.
            hint: format!(
                "declare with {factors} what is compared, or compare runs of the same work"
            ),
            outcomes,
        };
    }
    Withheld {
        id: WarningId::WorkMixed,
        message: format!(
            "the runs of `{from}` or `{to}` did not all do the same work: {}",
            named(found, arms)
        ),
        hint: format!(
            "declare with {factors} that they differ, or compare runs of one kind of work"
        ),
        outcomes,
    }
}

/// `rw read against randread, bs 4k against 64k`.
fn named(found: &[&WorkDifference], arms: (usize, usize)) -> String {
    let names: Vec<String> = found
        .iter()
        .take(KEYS_MAX)
        .map(|it| format!("{} {} against {}", it.key, it.shown(arms.0), it.shown(arms.1)))
        .collect();
    match found.len().saturating_sub(KEYS_MAX) {
        0 => names.join(", "),
        more => format!("{} and {more} more (--json lists all)", names.join(", ")),
    }
}

/// Declared keys that are the same in both arms: what made the difference was something else.
fn unchanged(asked: &Asked<'_>, outcomes: &[Outcome]) -> Vec<Withheld> {
    asked
        .factors
        .iter()
        // Factors of the attachment are compared with the inspections.
        .filter(|factor| factor::find(factor).is_none())
        .filter(|factor| !asked.differences.iter().any(|it| is_meant(factor, &it.key)))
        .filter_map(|factor| {
            let mut runs = asked.arms.iter().flat_map(|arm| &arm.runs);
            let value = runs.find_map(|run| run.work.iter().find(|(key, _)| is_meant(factor, key)));
            let (key, value) = value?;
            Some(Withheld {
                id: WarningId::FactorUnchanged,
                message: format!("the declared factor did not differ ({key} {value} in every arm)"),
                hint: "compare runs that differ in it".to_owned(),
                outcomes: (0..outcomes.len()).collect(),
            })
        })
        .collect()
}

/// Notes on the work where it withholds nothing.
pub(crate) fn notes(asked: &Asked<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let (known, unknown): (Vec<&ArmRuns>, Vec<&ArmRuns>) =
        asked.arms.iter().partition(|arm| arm.runs.iter().any(|run| !run.work.is_empty()));
    if !known.is_empty() && !unknown.is_empty() {
        let names: Vec<&str> = unknown.iter().map(|arm| arm.name.as_str()).collect();
        notes.push(format!(
            "The results of `{}` do not state what was done: whether the arms did the same work is \
             unknown.",
            names.join("`, `")
        ));
        return notes;
    }
    let declared = listed(asked, |it| asked.is_declared(&it.key));
    notes.extend(declared.map(|all| format!("The arms are meant to differ: {all}.")));
    let unstated = listed(asked, |it| is_one_sided(asked, it));
    notes.extend(unstated.map(|all| format!("Not every arm states: {all}.")));
    notes
}

/// The differences of one kind, each with its value in every arm; `None` if there are none.
fn listed(asked: &Asked<'_>, is_of_kind: impl Fn(&WorkDifference) -> bool) -> Option<String> {
    let mut all = Vec::new();
    for it in asked.differences.iter().filter(|it| is_of_kind(it)) {
        let arms: Vec<String> = (0..asked.arms.len())
            .map(|arm| format!("{} in `{}`", it.shown(arm), asked.arms[arm].name))
            .collect();
        all.push(format!("{} {}", it.key, arms.join(", ")));
    }
    let more = all.len().saturating_sub(KEYS_MAX);
    let shown = all[..all.len() - more].join("; ");
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    (!all.is_empty()).then(|| format!("{shown}{more}"))
}

/// True if a difference is undeclared and only that one arm states a key and another does not.
fn is_one_sided(asked: &Asked<'_>, it: &WorkDifference) -> bool {
    let is_known = (1..asked.arms.len()).any(|to| it.is_between((0, to)));
    let is_mixed = (0..asked.arms.len()).any(|arm| it.is_within(arm));
    !is_known && !is_mixed && !asked.is_declared(&it.key)
}
