//! A CSV file of pairs as arms.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drivelab_core::Refusal;
use drivelab_core::record::{self, Figure};
use drivelab_stats::Better;

use super::{ArmRuns, Input, RunFigures, Source, checked};
use crate::comparison::direction;
use crate::pairs::PairRow;
use crate::suggest;

/// The user's choices for a file of pairs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Choice {
    /// The arms to compare, the baseline first; all of them where it is empty.
    pub arms: Vec<String>,
    /// The baseline, where no arms are named.
    pub baseline: Option<String>,
    /// The better direction, for metrics whose name does not say it.
    pub better: Option<Better>,
    /// The arms are known to be equal: neither baseline nor direction matters.
    pub equal: bool,
}

/// Takes arms and metrics from the rows, as far as the user or the rows say what is what.
pub fn from_pairs(rows: &[PairRow], choice: &Choice) -> Result<Input, Refusal> {
    let known: BTreeSet<&str> = rows.iter().map(|row| row.arm.as_str()).collect();
    let known: Vec<&str> = known.into_iter().collect();
    let chosen = names(&known, choice)?;
    let (directions, mut notes) = directions(rows, choice)?;
    let ignored: Vec<String> = known
        .iter()
        .filter(|name| !chosen.contains(name))
        .map(|name| format!("`{name}`"))
        .collect();
    if !ignored.is_empty() {
        notes.push(format!("Not compared because not requested: {}.", ignored.join(", ")));
    }
    if let Some(row) = first_repeat(rows) {
        notes.push(format!(
            "Some blocks have several values of one arm and metric (first in line {}): they are \
             averaged, because the block is the unit of analysis.",
            row.line
        ));
    }
    let arms = chosen
        .iter()
        .map(|name| ArmRuns { name: (*name).to_owned(), runs: runs(rows, name, &directions) });
    let source = Source::Pairs { leading: leading(rows) };
    checked(Input::new(source, arms.collect(), notes))
}

/// The arms in order, the baseline first. Which line came first says nothing: in a randomised
/// experiment that is chance.
fn names<'a>(known: &[&'a str], choice: &Choice) -> Result<Vec<&'a str>, Refusal> {
    if !choice.arms.is_empty() {
        return choice.arms.iter().map(|name| known_arm(known, name)).collect();
    }
    let baseline = choice.baseline.as_ref().map(|name| known_arm(known, name)).transpose()?;
    match (known, baseline) {
        ([_, _], Some(baseline)) => {
            let mut names = known.to_vec();
            // `false` sorts first, and that is the baseline.
            names.sort_by_key(|arm| *arm != baseline);
            Ok(names)
        }
        // Such names have an order that needs no choice.
        ([] | [_] | ["A", "B"] | ["a", "b"], _) => Ok(known.to_vec()),
        _ if choice.equal => Ok(known.to_vec()),
        ([one, other], None) => Err(Refusal::request(format!(
            "no baseline is named, and the order of the lines does not decide it: add --baseline \
             {one} or --baseline {other}"
        ))),
        _ => Err(Refusal::request(format!(
            "there are {} arms, and the order of the lines does not rank them: name them, the baseline \
         first and the candidate last, for example: {}",
            known.len(),
            known.join(" ")
        ))),
    }
}

/// The better direction of each metric: by its lines, else by its name, else by the user's word. Of
/// a single metric the user's word goes before its name.
fn directions<'a>(
    rows: &'a [PairRow],
    choice: &Choice,
) -> Result<(BTreeMap<&'a str, Better>, Vec<String>), Refusal> {
    let mut said: BTreeMap<&str, Option<Better>> = BTreeMap::new();
    for row in rows {
        let known = said.entry(&row.metric).or_default();
        match (*known, row.better) {
            (Some(first), Some(second)) if first != second => {
                return Err(Refusal::request(format!(
                    "line {} contradicts an earlier line on which direction of `{}` is better",
                    row.line, row.metric
                )));
            }
            (None, better) => *known = better,
            _ => {}
        }
    }
    let only = said.len() == 1;
    let (mut directions, mut notes) = (BTreeMap::new(), Vec::new());
    for (metric, by_line) in said {
        let by_name = direction::by_name(metric);
        let by_word = choice.better;
        let taken = match by_line {
            Some(better) => Some(better),
            // An option for all metrics says less about one of several than its name does.
            None if only => by_word.or(by_name),
            None => by_name.or(by_word),
        };
        let taken = taken.or(choice.equal.then_some(Better::More));
        let better = taken.ok_or_else(|| {
            Refusal::request(format!(
                "the name `{metric}` does not say whether more or less is better: add --better \
                 less or --better more, or a column `better` to the file"
            ))
        })?;
        if by_line.is_none() && by_word.is_some_and(|word| word != better) {
            notes.push(format!(
                "`--better` does not apply to `{metric}`, whose name says that {} is better; a \
                 column `better` overrides it for each metric.",
                better_word(better)
            ));
        }
        directions.insert(metric, better);
    }
    Ok((directions, notes))
}

fn better_word(better: Better) -> &'static str {
    match better {
        Better::More => "more",
        Better::Less => "less",
    }
}

/// The metric that comes first in every run of the file; `None` where it differs, as it does after
/// sorting or shuffling: then its position is no choice of the user.
fn leading(rows: &[PairRow]) -> Option<String> {
    let mut first: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for row in rows {
        first.entry((&row.block, &row.arm)).or_insert(&row.metric);
    }
    let mut metrics: Vec<&str> = first.into_values().collect();
    metrics.sort_unstable();
    metrics.dedup();
    match metrics[..] {
        [metric] => Some(metric.to_owned()),
        _ => None,
    }
}

/// Each row is a separate run: the analysis brings those of one block together.
fn runs(rows: &[PairRow], arm: &str, directions: &BTreeMap<&str, Better>) -> Vec<RunFigures> {
    let of_arm = rows.iter().filter(|row| row.arm == arm);
    let runs = of_arm.map(|row| {
        let better = match directions[row.metric.as_str()] {
            Better::More => record::Better::More,
            Better::Less => record::Better::Less,
        };
        let figure = Figure::new(&row.metric, row.value, better);
        RunFigures {
            block: row.block.clone(),
            figures: vec![figure].into(),
            ended_unix_s: None,
            simulated: None,
            work: Arc::default(),
            flaws: Vec::new(),
            content: None,
        }
    });
    runs.collect()
}

fn first_repeat(rows: &[PairRow]) -> Option<&PairRow> {
    let mut seen = BTreeSet::new();
    rows.iter().find(|row| !seen.insert((&row.block, &row.arm, &row.metric)))
}

fn known_arm<'a>(known: &[&'a str], name: &str) -> Result<&'a str, Refusal> {
    known.iter().copied().find(|it| *it == name).ok_or_else(|| {
        let hint = suggest::among(name, known);
        Refusal::request(format!("there is no arm `{name}`; {hint}"))
    })
}
