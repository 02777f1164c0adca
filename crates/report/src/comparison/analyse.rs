//! From named arms to conclusions.

use std::collections::BTreeMap;

use drivelab_core::Refusal;
use drivelab_stats::Role;

use super::result::{CompareResult, SeriesFacts};
use super::{ArmRuns, Input, Source};
use crate::attachment;
use crate::metric;
use crate::outcome::{Question, Rules, Series, Together, geometric_mean, judge, withhold};
use crate::specimens::{Sampled, Simulated};
use crate::suggest;
use drivelab_core::record::{Figure, Label, Remark};

/// What is decided before looking.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareOptions {
    /// The metric that decides. Where none is given: `iops` for stored runs and fio; `seeks` for
    /// bonnie++; of a file of pairs the metric that every run begins with; and the first usable one
    /// where that is missing, which in a file of pairs must then be the only one.
    pub primary: Option<String>,
    /// Smallest effect worth acting on, as a fraction.
    pub margin: f64,
    /// Seed of the random sign flips (above 16 blocks).
    pub seed: u64,
    /// What the arms are meant to differ in, where that is said.
    pub factors: Vec<String>,
}

/// Compares every arm with the first, metric by metric, as one family.
///
/// The primary metric is the gate, the rest is adjusted among itself; the overall verdict is that
/// of the primary metric for the last arm. Only blocks count that hold the primary metric of every
/// arm; another metric that misses one of them is left out and named.
pub fn analyse(input: &Input, options: &CompareOptions) -> Result<CompareResult, Refusal> {
    let columns = columns(input);
    let gate = primary(input, &columns, options)?;
    let blocks = columns[gate].complete.clone();
    let (mut series, mut facts, mut notes) = (Vec::new(), Vec::new(), input.notes.clone());
    let mut questions = Vec::new();
    for (place, column) in columns.iter().enumerate() {
        let Some(values) = column.values(&blocks) else {
            if let Some(note) = column.note(input) {
                notes.push(note);
            }
            continue;
        };
        let role = if place == gate { Role::Gate } else { Role::Other };
        let arms = 1..input.arms.len();
        questions.extend(arms.map(|to| Question { series: series.len(), from: 0, to, role }));
        series.push(column.series(values, options.margin));
        facts.push(column.facts());
    }
    notes.extend(incomplete(&columns[gate], &blocks));
    let sampled = sampled(input, &blocks);
    notes.extend(sampled.is_median().then(|| MEDIAN.to_owned()));
    let (seed, provenance) = (options.seed, input.provenance);
    let rules = Rules { seed, provenance, first: None, sampled: &sampled };
    let mut outcomes = judge(&series, &questions, rules)?;
    let decides = |outcome: &crate::outcome::Outcome| {
        series[outcome.series].name == columns[gate].metric && outcome.to + 1 == input.arms.len()
    };
    let primary = outcomes.iter().position(decides);
    let question =
        attachment::Question { factors: options.factors.clone(), ..input.attached.clone() };
    let attached = attachment::difference(&question);
    withhold(&mut outcomes, &attached.unchanged);
    Ok(CompareResult {
        attached,
        source: input.source.clone(),
        arms: input.arms.iter().map(|arm| arm.name.clone()).collect(),
        blocks,
        margin: options.margin,
        seed: options.seed,
        primary: primary.expect("the primary metric covers its own blocks"),
        series,
        facts,
        together: Together::of(&outcomes),
        outcomes,
        notes,
    })
}

/// What an interval is not about where all runs simulate one drive.
const MEDIAN: &str = "These runs simulate the median of the drives that the profile fits: the \
                      intervals are about its addresses, not about other drives of the kind. A \
                      study at stage simulate draws drives, one a block.";

/// The drives that the blocks simulated.
fn sampled<'a>(input: &'a Input, blocks: &[String]) -> Sampled<'a> {
    let mut sampled = Sampled::default();
    for (arm, ArmRuns { runs, .. }) in input.arms.iter().enumerate() {
        let drive = |block: &String| {
            let (target, specimen) =
                runs.iter().find(|run| run.block == *block)?.simulated.as_ref()?;
            Some(Simulated { target, specimen })
        };
        sampled.note(0, arm, blocks.iter().map(drive));
    }
    sampled
}

/// One metric over arms and blocks.
struct Column<'a> {
    metric: &'a str,
    first: &'a Figure,
    /// One remark a label: the first found.
    remarks: Vec<&'a Remark>,
    /// By arm and block; repeats stand together.
    cells: Vec<BTreeMap<&'a str, Vec<f64>>>,
    /// Blocks that every arm has, in the order of the baseline.
    complete: Vec<String>,
    /// A value that is not above zero.
    unusable: Option<f64>,
}

fn columns(input: &Input) -> Vec<Column<'_>> {
    let mut columns: Vec<Column> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (arm, ArmRuns { runs, .. }) in input.arms.iter().enumerate() {
        for run in runs {
            for figure in &run.figures {
                let place = *places.entry(&figure.name).or_insert_with(|| {
                    columns.push(Column::new(figure, input.arms.len()));
                    columns.len() - 1
                });
                columns[place].add(arm, &run.block, figure);
            }
        }
    }
    let order: Vec<&str> = input.arms[0].runs.iter().map(|run| run.block.as_str()).collect();
    for column in &mut columns {
        column.find_complete(&order);
    }
    columns
}

impl<'a> Column<'a> {
    fn new(first: &'a Figure, arms: usize) -> Self {
        Self {
            metric: &first.name,
            first,
            remarks: Vec::new(),
            cells: vec![BTreeMap::new(); arms],
            complete: Vec::new(),
            unusable: None,
        }
    }

    fn add(&mut self, arm: usize, block: &'a str, figure: &'a Figure) {
        if figure.value.is_finite() && figure.value > 0.0 {
            self.cells[arm].entry(block).or_default().push(figure.value);
        } else {
            self.unusable = Some(figure.value);
        }
        for remark in &figure.remarks {
            if self.remarks.iter().all(|known| known.label != remark.label) {
                self.remarks.push(remark);
            }
        }
    }

    fn find_complete(&mut self, order: &[&str]) {
        let mut seen = std::collections::BTreeSet::new();
        let has_all = |block: &str| self.cells.iter().all(|arm| arm.contains_key(block));
        let complete = order.iter().filter(|block| seen.insert(**block) && has_all(block));
        self.complete = complete.map(|block| (*block).to_owned()).collect();
    }

    /// One value an arm and block, or `None` where one is missing.
    fn values(&self, blocks: &[String]) -> Option<Vec<Vec<f64>>> {
        let of_arm = |cells: &BTreeMap<&str, Vec<f64>>| {
            let values = blocks.iter().map(|block| cells.get(block.as_str()));
            values.map(|values| values.map(|v| geometric_mean(v))).collect::<Option<Vec<f64>>>()
        };
        self.cells.iter().map(of_arm).collect()
    }

    fn series(&self, values: Vec<Vec<f64>>, margin: f64) -> Series {
        Series {
            name: self.metric.to_owned(),
            metric: self.metric.to_owned(),
            workload: 0,
            better: metric::better(self.first.better),
            margin: metric::margin(self.metric, margin),
            unit: self.first.unit.clone(),
            values,
        }
    }

    fn facts(&self) -> SeriesFacts {
        SeriesFacts {
            is_detail: self.first.is_detail,
            remarks: self.remarks.iter().map(|remark| (*remark).clone()).collect(),
        }
    }

    /// Why the metric is not compared; nothing where it is a detail, which nobody misses.
    fn note(&self, input: &Input) -> Option<String> {
        let why = match (self.unusable, self.cells.iter().position(BTreeMap::is_empty)) {
            (Some(value), _) => format!("a value of it is {value}"),
            (None, Some(arm)) => format!("`{}` does not have it", input.arms[arm].name),
            (None, None) => {
                let why = metric::why_missing(self.metric);
                let why = why.map_or_else(String::new, |why| format!(" ({why})"));
                format!("it is missing in a block of an arm{why}")
            }
        };
        let note = format!("`{}` is not compared: {why}.", self.metric);
        (!self.first.is_detail).then_some(note)
    }
}

fn primary(input: &Input, columns: &[Column], options: &CompareOptions) -> Result<usize, Refusal> {
    let usable = |column: &Column| !column.complete.is_empty();
    let place = |name: &str| columns.iter().position(|c| c.metric == name && usable(c));
    if let Some(name) = &options.primary {
        let known: Vec<&str> = columns.iter().filter(|c| usable(c)).map(|c| c.metric).collect();
        return place(name).ok_or_else(|| {
            let hint = suggest::among(name, &known);
            Refusal::request(format!("the arms have no metric `{name}` in common; {hint}"))
        });
    }
    let usual = match &input.source {
        Source::Runs => place("iops"),
        Source::Pairs { leading } => {
            let names: Vec<&str> = columns
                .iter()
                .filter(|column| usable(column))
                .map(|column| column.metric)
                .collect();
            let leading = leading.as_deref().and_then(place);
            if names.len() > 1 && leading.is_none() {
                return Err(no_primary(&names));
            }
            leading
        }
        Source::Foreign { .. } => {
            // Jobs of one call of fio: none of them decides unasked.
            let of_job = |metric: &str| metric.rsplit_once('.').is_some_and(|(_, of)| of == "iops");
            let of_jobs = columns.iter().filter(|c| usable(c) && of_job(c.metric));
            let of_jobs: Vec<&str> = of_jobs.map(|c| c.metric).collect();
            if !of_jobs.is_empty() {
                return Err(no_primary(&of_jobs));
            }
            place("seeks").or_else(|| place("iops"))
        }
    };
    let is_of_disk = |column: &Column| {
        let is_not = column.remarks.iter().any(|remark| remark.label == Label::NotDisk);
        !column.first.is_detail && !is_not
    };
    usual
        .or_else(|| columns.iter().position(|column| usable(column) && is_of_disk(column)))
        .or_else(|| columns.iter().position(usable))
        .ok_or_else(|| {
            Refusal::request(
                "no block has a usable value of one metric for every arm: give each block one value above \
         zero per arm",
            )
        })
}

fn no_primary(metrics: &[&str]) -> Refusal {
    Refusal::request(format!(
        "no primary metric is named, and the order of the lines does not decide it: add --primary \
         and one of {}",
        metrics.join(", ")
    ))
}

/// Blocks named in a note before the rest is only counted.
const NAMES_MAX: usize = 5;

fn incomplete(column: &Column, complete: &[String]) -> Option<String> {
    let known: std::collections::BTreeSet<&str> = complete.iter().map(String::as_str).collect();
    let mut missing: Vec<&str> = column
        .cells
        .iter()
        .flat_map(BTreeMap::keys)
        .copied()
        .filter(|b| !known.contains(b))
        .collect();
    missing.sort_unstable();
    missing.dedup();
    let named = missing[..missing.len().min(NAMES_MAX)].join(", ");
    let more = match missing.len().saturating_sub(NAMES_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!missing.is_empty()).then(|| {
        format!(
            "{} block(s) lack `{}` for some arm and were ignored: {named}{more}.",
            missing.len(),
            column.metric
        )
    })
}
