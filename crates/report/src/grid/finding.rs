//! Stated findings, and whether the figures bear them out.

use drivelab_core::choice_as_text;
use drivelab_core::config::Choice;
use serde::Serialize;

use super::Grid;
use crate::cells::Row;

/// What is looked at in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Megabytes (10^6) a second.
    MbPerS,
    /// All drives together against the sum of each alone.
    Scaling,
    /// Megabytes a second for each dollar of the arm's price.
    MbPerSPerUsd,
}

impl Choice for Measure {
    const WHAT: &'static str = "measure of a finding (`what`)";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("mb_per_s", Self::MbPerS),
        ("scaling", Self::Scaling),
        ("mb_per_s_per_usd", Self::MbPerSPerUsd),
    ];
}

/// How many cells become one figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// The highest.
    Max,
    /// The lowest.
    Min,
    /// The geometric mean.
    Mean,
}

impl Choice for Take {
    const WHAT: &'static str = "way to take one figure (`take`)";
    const NAMES: &'static [(&'static str, Self)] =
        &[("max", Self::Max), ("min", Self::Min), ("mean", Self::Mean)];
}

/// Which drives a figure speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// The mean of the drives, each alone.
    Alone,
    /// The sum of all at once.
    Together,
    /// The mean of the drives, all at once.
    Each,
}

impl Choice for On {
    const WHAT: &'static str = "set of drives (`on`)";
    const NAMES: &'static [(&'static str, Self)] =
        &[("alone", Self::Alone), ("together", Self::Together), ("each", Self::Each)];
}
choice_as_text!(Measure, Take, On);

/// Which cells; an empty list is all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cells {
    /// Shares of reads.
    pub read: Vec<u32>,
    /// Shares of random addresses.
    pub random: Vec<u32>,
    /// Threads.
    pub threads: Vec<u32>,
    /// Block sizes, by place.
    pub sizes: Vec<usize>,
}

impl Cells {
    fn hold(&self, row: &Row) -> bool {
        fn any<T: PartialEq>(wanted: &[T], value: &T) -> bool {
            wanted.is_empty() || wanted.contains(value)
        }
        any(&self.read, &row.read)
            && any(&self.random, &row.random)
            && any(&self.threads, &row.threads)
            && any(&self.sizes, &row.size)
    }
}

/// A claim that somebody made, and what would have to be so.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What scripts call it.
    pub name: String,
    /// The claim.
    pub claim: String,
    /// How it is tested.
    pub test: Test,
}

/// How a claim is tested.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// A figure of each arm, or its ratio to that of each arm it is held against, lies within
    /// bounds.
    Figure(Figure),
    /// Which pairs of arms bear all of these findings out, by place.
    Consistent(Vec<usize>),
}

/// A figure and its bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What is looked at.
    pub what: Measure,
    /// Of which drives.
    pub on: On,
    /// How many cells become one figure.
    pub take: Take,
    /// Which cells.
    pub cells: Cells,
    /// The arms it may speak of, by place: one controller in each state that is not known.
    pub arms: Vec<usize>,
    /// The arms it is held against; none where the figure itself is bounded.
    pub against: Vec<usize>,
    /// Not less than this ...
    pub at_least: Option<f64>,
    /// ... and not more than that. Without either the figures are only told.
    pub at_most: Option<f64>,
}

/// What became of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Held {
    /// So in every reading.
    Holds,
    /// So in no reading.
    DoesNotHold,
    /// It depends on what is not known, or nothing was stated that figures could meet.
    CannotTell,
}

impl Held {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// One reading of a finding: one choice of everything that is not known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reading {
    /// The arm, by place.
    pub arm: usize,
    /// The arm it is held against.
    pub against: Option<usize>,
    /// Where sequential threads go on, by place.
    pub cursor: usize,
    /// The figure of the arm.
    pub figure: f64,
    /// That of the other.
    pub other: Option<f64>,
    /// What is bounded: the figure, or the ratio of both.
    pub value: f64,
    /// Whether it lies within the bounds, where there are any.
    pub holds: Option<bool>,
}

/// A finding and its readings.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The finding.
    pub finding: Finding,
    /// What became of it.
    pub held: Held,
    /// Every reading; for a question those pairs, at the first cursor, that bear all out.
    pub readings: Vec<Reading>,
}

/// Holds every finding against the figures.
pub(super) fn answers(grid: &Grid, findings: &[Finding]) -> Vec<Answer> {
    let mut answers: Vec<Answer> = Vec::new();
    for finding in findings {
        let (held, readings) = match &finding.test {
            Test::Figure(figure) => {
                let readings = readings(grid, figure);
                (held(&readings), readings)
            }
            Test::Consistent(others) => {
                let others: Vec<&Answer> = others.iter().map(|place| &answers[*place]).collect();
                let left = consistent(&others);
                (if left.len() == 1 { Held::Holds } else { Held::CannotTell }, left)
            }
        };
        answers.push(Answer { finding: finding.clone(), held, readings });
    }
    answers
}

fn held(readings: &[Reading]) -> Held {
    let held: Vec<bool> = readings.iter().filter_map(|reading| reading.holds).collect();
    match (held.is_empty(), held.iter().all(|it| *it), held.iter().any(|it| *it)) {
        (false, true, _) => Held::Holds,
        (false, _, false) => Held::DoesNotHold,
        _ => Held::CannotTell,
    }
}

fn readings(grid: &Grid, figure: &Figure) -> Vec<Reading> {
    let others: Vec<Option<usize>> = if figure.against.is_empty() {
        vec![None]
    } else {
        figure.against.iter().copied().map(Some).collect()
    };
    let mut readings = Vec::new();
    for &arm in &figure.arms {
        for &against in &others {
            for cursor in 0..grid.cursors.len() {
                let of = |arm| taken(grid, figure, arm, cursor);
                let Some(mine) = of(arm) else { continue };
                let other = against.and_then(of);
                let value = other.map_or(mine, |other| mine / other);
                if against.is_some() && !value.is_finite() {
                    continue;
                }
                let bounded = figure.at_least.is_some() || figure.at_most.is_some();
                let inside = figure.at_least.is_none_or(|least| value >= least)
                    && figure.at_most.is_none_or(|most| value <= most);
                let holds = bounded.then_some(inside);
                readings.push(Reading { arm, against, cursor, figure: mine, other, value, holds });
            }
        }
    }
    readings
}

/// The figure of an arm: one number out of its cells.
fn taken(grid: &Grid, figure: &Figure, arm: usize, cursor: usize) -> Option<f64> {
    let rows = grid.cells_of(arm, cursor);
    let rows = rows.into_iter().filter(|row| figure.cells.hold(row));
    let values: Option<Vec<f64>> = rows.map(|row| value(grid, figure, row)).collect();
    let values = values.filter(|values| !values.is_empty())?;
    let first = values[0];
    Some(match figure.take {
        Take::Max => values.into_iter().fold(first, f64::max),
        Take::Min => values.into_iter().fold(first, f64::min),
        Take::Mean => crate::outcome::geometric_mean(&values),
    })
}

fn value(grid: &Grid, figure: &Figure, row: &Row) -> Option<f64> {
    let drives = row.alone.len();
    let rate = match figure.on {
        On::Alone => row.alone.iter().sum::<f64>() / count(drives),
        On::Together => row.sum(),
        On::Each => row.sum() / count(drives),
    };
    match figure.what {
        Measure::MbPerS => Some(rate / 1e6),
        Measure::Scaling => row.scaling(),
        Measure::MbPerSPerUsd => Some(rate / 1e6 / grid.prices[row.arm]?),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a handful of drives")]
fn count(drives: usize) -> f64 {
    drives as f64
}

/// The pairs of arms that bear out every one of `others`, whatever the cursor.
fn consistent(others: &[&Answer]) -> Vec<Reading> {
    let Some((first, rest)) = others.split_first() else { return Vec::new() };
    let bears = |answer: &Answer, pair: &Reading| {
        let mut same = answer.readings.iter().filter(|reading| {
            (reading.arm, reading.against) == (pair.arm, pair.against)
                || (reading.arm, reading.against)
                    == (pair.against.unwrap_or(pair.arm), Some(pair.arm))
        });
        same.all(|reading| reading.holds == Some(true))
    };
    let pairs = first.readings.iter().filter(|reading| reading.cursor == 0);
    let left = pairs.filter(|pair| bears(first, pair) && rest.iter().all(|it| bears(it, pair)));
    left.cloned().collect()
}
