//! From named arms to conclusions.

use drivelab_core::{Refusal, counted, factor};
use drivelab_stats::Role;

use super::column::{Cells, Column, Columns};
use super::result::CompareResult;
use super::{Input, Source, withheld};
use crate::attachment::{self, Difference};
use crate::outcome::{
    Outcome, Question, Rules, Together, Withheld, judge, judge_unpaired, withhold, withhold_all,
};
use crate::specimens::{Sampled, Simulated};
use crate::suggest;
use crate::validity::{self, OfArm, Reason};
use drivelab_core::record::Label;

/// The choices that are made before looking at the results.
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
    /// The factors that the arms are meant to differ in, where they are named: settings of their
    /// attachment, and keys of their work.
    pub factors: Vec<String>,
    /// Why the runs are no pairs, where the caller knows that.
    pub unpaired: Option<String>,
}

/// Compares every arm with the first, metric by metric, as one family.
///
/// The primary metric is the gate, the rest is adjusted among itself; the overall verdict is that
/// of the primary metric for the last arm. Only blocks count that hold the primary metric of every
/// arm; another metric that misses one of them is left out and named.
pub fn analyse(input: &Input, options: &CompareOptions) -> Result<CompareResult, Refusal> {
    let unpaired = options.unpaired.clone().or_else(|| input.not_alternated.clone());
    if let Some(why) = unpaired.as_deref().filter(|_| input.by_host) {
        return Err(of_several_machines(why));
    }
    let asked = withheld::Asked::new(input, &options.factors)?;
    let all = Columns::new(input);
    let columns = &all.metrics;
    let gate = primary(input, columns, options, unpaired.is_none())?;
    let blocks = columns[gate].complete.clone();
    let (mut series, mut facts, mut notes) = (Vec::new(), Vec::new(), input.notes.clone());
    match &unpaired {
        Some(why) => notes.push(format!("The runs are not paired: {why}.")),
        None => notes.extend(input.order_note.clone()),
    }
    let (mut questions, mut doubts) = (Vec::new(), Vec::new());
    for (index, column) in columns.iter().enumerate() {
        let values = match unpaired {
            Some(_) => Some(column.groups()),
            None => column.values(&blocks),
        };
        let Some(values) = values.filter(|_| column.is_usable(unpaired.is_none())) else {
            notes.extend(column.note(input));
            continue;
        };
        let role = if index == gate { Role::Gate } else { Role::Other };
        let arms = 1..input.arms.len();
        questions.extend(arms.map(|to| Question { series: series.len(), from: 0, to, role }));
        doubts.push(column.doubts(input, unpaired.is_none()));
        series.push(column.series(values, options.margin));
        facts.push(column.facts());
    }
    let mut outcomes = if unpaired.is_some() {
        judge_unpaired(&series, &questions, options.seed)?
    } else {
        notes.extend(incomplete(&columns[gate], &all));
        let sampled = simulated_drives(input, &all, &blocks);
        notes.extend(sampled.is_median().then(|| MEDIAN.to_owned()));
        let (seed, provenance) = (options.seed, input.provenance);
        let rules = Rules { seed, provenance, first: None, sampled: &sampled };
        judge(&series, &questions, rules)?
    };
    let primary = outcomes.iter().position(|outcome| {
        series[outcome.series].name == columns[gate].metric && outcome.to + 1 == input.arms.len()
    });
    let attached = compare_attachment(input, options, &asked);
    withhold(&mut outcomes, &attached.unchanged);
    let mut withheld = withheld::reasons(&asked, &series, &outcomes);
    withheld.extend(doubtful(input, &outcomes, &doubts));
    withheld.extend(withheld::same_runs(input, &outcomes));
    withhold_all(&mut outcomes, &withheld);
    notes.extend(withheld::notes(&asked));
    Ok(CompareResult {
        attached,
        source: input.source.clone(),
        arms: input.arms.iter().map(|arm| arm.name.clone()).collect(),
        blocks: all.names(&blocks).into_iter().map(str::to_owned).collect(),
        margin: options.margin,
        seed: options.seed,
        primary: primary.expect("the primary metric covers its own blocks"),
        series,
        facts,
        together: Together::of(&outcomes),
        outcomes,
        work: withheld::rows(&asked),
        withheld,
        unpaired,
        notes,
    })
}

/// Compares how the arms were attached with what they are meant to differ in.
fn compare_attachment(
    input: &Input,
    options: &CompareOptions,
    asked: &withheld::Asked<'_>,
) -> Difference {
    let known = options.factors.iter().filter(|name| factor::find(name).is_some());
    attachment::difference(&attachment::Question {
        factors: known.cloned().collect(),
        does_other_work: asked.differ(),
        ..input.attached.clone()
    })
}

/// Why runs may not decide; `doubts` are those of each series.
fn doubtful(input: &Input, outcomes: &[Outcome], doubts: &[Vec<Reason>]) -> Vec<Withheld> {
    let arms = input.arms.iter().map(|arm| {
        let runs = arm.runs.iter().map(|run| &run.flaws[..]).collect();
        OfArm { name: &arm.name, runs }
    });
    let of_runs = validity::reasons(&arms.collect::<Vec<_>>(), true);
    let of_runs = of_runs.into_iter().map(|it| it.concerning(outcomes, |_| true));
    of_runs
        .chain(doubts.iter().enumerate().flat_map(|(index, doubts)| {
            doubts
                .iter()
                .map(|it| it.clone().concerning(outcomes, |outcome| outcome.series == index))
                .collect::<Vec<_>>()
        }))
        .collect()
}

/// Runs of several machines are comparable in pairs only; `why` says that these are none.
fn of_several_machines(why: &str) -> Refusal {
    Refusal::request(format!(
        "the runs are of several machines, which may cause the difference: they are comparable \
         where each machine is compared with itself, in pairs, and {why}"
    ))
    .hint(
        "compare one machine at a time: @WHEN,host=ID[,label=NAME] (ids: drivelab history --json)",
    )
}

/// The limit of an interval where all runs simulate one drive.
const MEDIAN: &str = "These runs simulate the median of the drives that fit the profile: the \
                      intervals are about its addresses, not about other drives of the kind. A \
                      study at stage simulate draws drives, one a block.";

/// The drives that the blocks simulated.
fn simulated_drives<'a>(input: &'a Input, all: &Columns<'a>, blocks: &[usize]) -> Sampled<'a> {
    let mut sampled = Sampled::of(input.arms.iter().map(|arm| arm.name.clone()));
    for arm in 0..input.arms.len() {
        let first = all.first_runs(arm, input);
        sampled.note(
            0,
            arm,
            blocks.iter().map(|block| {
                let (target, specimen) = first[*block]?.simulated.as_deref()?;
                Some(Simulated { target, specimen })
            }),
        );
    }
    sampled
}

fn primary(
    input: &Input,
    columns: &[Column],
    options: &CompareOptions,
    is_paired: bool,
) -> Result<usize, Refusal> {
    let usable = columns.iter().filter(|column| column.is_usable(is_paired));
    if let Some(name) = &options.primary {
        let named = columns.iter().find(|column| column.metric == name);
        if let Some(refusal) = named.and_then(|column| not_comparable(column, input)) {
            return Err(refusal);
        }
        return usable_index(columns, name, is_paired).ok_or_else(|| {
            let known: Vec<&str> = usable.map(|column| column.metric).collect();
            let hint = suggest::among(name, &known);
            Refusal::request(format!("the arms have no metric `{name}` in common; {hint}"))
        });
    }
    let usual = match &input.source {
        Source::Runs => usable_index(columns, "iops", is_paired),
        Source::Pairs { leading } => {
            let names: Vec<&str> = usable.map(|column| column.metric).collect();
            let leading = leading.as_deref();
            let leading = leading.and_then(|name| usable_index(columns, name, is_paired));
            if names.len() > 1 && leading.is_none() {
                return Err(no_primary(&names));
            }
            leading
        }
        Source::Foreign { .. } => {
            // Jobs of one call of fio: none of them decides unasked.
            let names = usable.map(|column| column.metric);
            let of_jobs =
                names.filter(|name| name.rsplit_once('.').is_some_and(|it| it.1 == "iops"));
            let of_jobs: Vec<&str> = of_jobs.collect();
            if !of_jobs.is_empty() {
                return Err(no_primary(&of_jobs));
            }
            usable_index(columns, "seeks", is_paired)
                .or_else(|| usable_index(columns, "iops", is_paired))
                .filter(|index| !columns[*index].is_set())
        }
    };
    // A detail decides only where there is nothing else, and a given rate never unasked.
    usual.or_else(|| first_usable(columns, is_paired)).ok_or_else(|| {
        let refusal = columns.iter().find_map(|column| not_comparable(column, input));
        refusal.unwrap_or_else(|| nothing_in_common(input, columns))
    })
}

/// The refusal of a metric that is something else in one of the arms.
fn not_comparable(column: &Column, input: &Input) -> Option<Refusal> {
    let why = column.difference()?.why(input);
    Some(Refusal::request(format!("`{}` is not comparable: {why}", column.metric)))
}

/// The column of a metric, if it can be compared.
fn usable_index(columns: &[Column], metric: &str, is_paired: bool) -> Option<usize> {
    columns.iter().position(|it| it.metric == metric && it.is_usable(is_paired))
}

/// True if a metric may be about a disk, and is more than a detail of another.
fn is_of_disk(column: &Column) -> bool {
    let is_not = column.remarks.iter().any(|remark| remark.label == Label::NotDisk);
    !column.first.is_detail && !is_not
}

/// The first metric that may decide: of a disk if there is one, else no detail, else anything. A
/// given rate comes last, where it withholds the verdict.
fn first_usable(columns: &[Column], is_paired: bool) -> Option<usize> {
    let ranks: [fn(&Column) -> bool; 4] = [
        |it| is_of_disk(it) && !it.is_set(),
        |it| !it.first.is_detail && !it.is_set(),
        |it| !it.is_set(),
        |_| true,
    ];
    ranks
        .into_iter()
        .find_map(|is| columns.iter().position(|column| column.is_usable(is_paired) && is(column)))
}

/// Why no metric can be compared: the arms have none in common, or it is in no block of all.
fn nothing_in_common(input: &Input, columns: &[Column]) -> Refusal {
    if columns.iter().any(|column| column.cells.iter().all(|cells| !cells.is_empty())) {
        return Refusal::request(
            "no block has a usable value of one metric for every arm: give each block one value \
             above zero per arm",
        );
    }
    let arms: Vec<String> = input
        .arms
        .iter()
        .enumerate()
        .map(|(arm, runs)| {
            let own = columns.iter().filter(|it| !it.cells[arm].is_empty() && !it.first.is_detail);
            let names: Vec<String> = own.map(|column| format!("`{}`", column.metric)).collect();
            let more = match names.len().saturating_sub(NAMES_MAX) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("`{}` has {}{more}", runs.name, names[..names.len().min(NAMES_MAX)].join(", "))
        })
        .collect();
    Refusal::request(format!("the arms have no metric in common: {}", arms.join("; ")))
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

fn incomplete(column: &Column, all: &Columns) -> Option<String> {
    // They are in order, as `find_complete` takes them from sorted cells.
    let is_complete = |block: &usize| column.complete.binary_search(block).is_ok();
    let some = column.cells.iter().flat_map(Cells::blocks);
    let some: Vec<usize> = some.filter(|block| !is_complete(block)).collect();
    let mut missing = all.names(&some);
    missing.sort_unstable();
    missing.dedup();
    let named = missing[..missing.len().min(NAMES_MAX)].join(", ");
    let more = match missing.len().saturating_sub(NAMES_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!missing.is_empty()).then(|| {
        format!(
            "Ignored: {} without `{}` for some arm ({named}{more}).",
            counted(missing.len() as u64, "block"),
            column.metric
        )
    })
}
