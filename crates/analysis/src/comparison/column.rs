//! One metric over arms and blocks, and whether its figures are comparable.

use std::collections::BTreeMap;

use drivelab_core::counted;
use drivelab_core::record::{Better, Figure, Label, Remark};
use drivelab_stats::WarningId;

use super::result::SeriesFacts;
use super::{ArmRuns, Input, RunFigures, Source};
use crate::metric;
use crate::outcome::{Series, geometric_mean};
use crate::validity::Reason;

/// The reason why figures of one name are incomparable.
pub(super) enum Difference<'a> {
    /// An arm has them in another unit.
    Unit { arm: usize, unit: &'a str, first: &'a str },
    /// An arm has them with the other direction.
    Direction { arm: usize, better: Better },
    /// The tool of one arm alone gets them wrong.
    Defect { arm: usize, remark: &'a Remark },
}

impl Difference<'_> {
    pub(super) fn why(&self, input: &Input) -> String {
        let (Self::Unit { arm, .. } | Self::Direction { arm, .. } | Self::Defect { arm, .. }) =
            self;
        let name = &input.arms[*arm].name;
        match self {
            Self::Unit { unit, first, .. } => {
                format!("it is in `{unit}` in `{name}`, elsewhere in `{first}`")
            }
            Self::Direction { better, .. } => {
                let [this, other] = match better {
                    Better::Less => ["less", "more"],
                    Better::More | Better::Neither => ["more", "less"],
                };
                format!("{this} is better in `{name}`, elsewhere {other}")
            }
            Self::Defect { remark, .. } => {
                format!("in `{name}` alone the tool gets it wrong ({})", remark.why)
            }
        }
    }
}

/// All metrics of the arms, and the blocks that their values belong to.
pub(super) struct Columns<'a> {
    /// The name of each block, in the order of the runs.
    blocks: Vec<&'a str>,
    /// By arm: the index of each run's block.
    of_run: Vec<Vec<usize>>,
    pub metrics: Vec<Column<'a>>,
}

impl<'a> Columns<'a> {
    pub(super) fn new(input: &'a Input) -> Self {
        let mut blocks = Vec::new();
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        let mut index_of = |run: &'a RunFigures| {
            *known.entry(&run.block).or_insert_with(|| {
                blocks.push(run.block.as_str());
                blocks.len() - 1
            })
        };
        let of_run: Vec<Vec<usize>> =
            input.arms.iter().map(|arm| arm.runs.iter().map(&mut index_of).collect()).collect();
        Self { metrics: all_columns(input, &of_run), blocks, of_run }
    }

    /// The names of `blocks`.
    pub(super) fn names(&self, blocks: &[usize]) -> Vec<&'a str> {
        blocks.iter().map(|block| self.blocks[*block]).collect()
    }

    /// By block: the first run of an arm in it.
    pub(super) fn first_runs(&self, arm: usize, input: &'a Input) -> Vec<Option<&'a RunFigures>> {
        let mut first = vec![None; self.blocks.len()];
        for (block, run) in self.of_run[arm].iter().zip(&input.arms[arm].runs) {
            first[*block].get_or_insert(run);
        }
        first
    }
}

/// The values of a metric in one arm that a ratio can be made of, ordered by block.
#[derive(Default)]
pub(super) struct Cells {
    /// The block of each value; the values of repeated runs stand together.
    blocks: Vec<usize>,
    values: Vec<f64>,
}

impl Cells {
    fn sort(&mut self) {
        if self.blocks.is_sorted() {
            return;
        }
        let mut order: Vec<usize> = (0..self.blocks.len()).collect();
        // A stable sort: repeated runs of a block keep their order.
        order.sort_by_key(|at| self.blocks[*at]);
        self.values = order.iter().map(|at| self.values[*at]).collect();
        self.blocks = order.iter().map(|at| self.blocks[*at]).collect();
    }

    /// The blocks that have a value, in order.
    pub(super) fn blocks(&self) -> impl Iterator<Item = usize> {
        self.blocks.chunk_by(|a, b| a == b).map(|same| same[0])
    }

    /// The values of a block.
    fn of(&self, block: usize) -> &[f64] {
        let begin = self.blocks.partition_point(|of| *of < block);
        let same = self.blocks[begin..].iter().take_while(|of| **of == block).count();
        &self.values[begin..begin + same]
    }

    fn has(&self, block: usize) -> bool {
        self.blocks.binary_search(&block).is_ok()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// One metric over arms and blocks; blocks are indices.
pub(super) struct Column<'a> {
    pub metric: &'a str,
    pub first: &'a Figure,
    /// One remark a label: the first found.
    pub remarks: Vec<&'a Remark>,
    /// By arm.
    pub cells: Vec<Cells>,
    /// Blocks that every arm has, in the order of the baseline.
    pub complete: Vec<usize>,
    /// Every value of each arm, in the order of its runs.
    all: Vec<Vec<f64>>,
    /// By arm: values that are not above zero, each with its block.
    unusable: Vec<Vec<(usize, f64)>>,
    /// Another unit than the first, and the arm that has it.
    other_unit: Option<(usize, String)>,
    /// Another direction than the first, and the arm that has it.
    other_direction: Option<(usize, Better)>,
    /// By arm: what its tool gets wrong.
    defects: Vec<Option<&'a Remark>>,
    /// By arm: why its load set these values.
    settings: Vec<Option<&'a Remark>>,
}

fn all_columns<'a>(input: &'a Input, of_run: &[Vec<usize>]) -> Vec<Column<'a>> {
    let mut columns: Vec<Column> = Vec::new();
    let mut indices: BTreeMap<&str, usize> = BTreeMap::new();
    for (arm, ArmRuns { runs, .. }) in input.arms.iter().enumerate() {
        // Nearly all runs of an arm have the figures of the run before, but for their values.
        let (mut shape, mut of_shape): (Option<&[Figure]>, Vec<usize>) = (None, Vec::new());
        for (run, block) in runs.iter().zip(&of_run[arm]) {
            let figures = run.figures.shape();
            // By address: comparing the names would cost more than adding the values.
            if !shape.is_some_and(|shape| std::ptr::eq(shape, figures)) {
                of_shape.clear();
                for figure in figures {
                    let index = *indices.entry(&figure.name).or_insert_with(|| {
                        columns.push(Column::new(figure, input.arms.len()));
                        columns.len() - 1
                    });
                    columns[index].describe(arm, figure);
                    of_shape.push(index);
                }
                shape = Some(figures);
            }
            for (index, value) in of_shape.iter().zip(run.figures.values()) {
                columns[*index].add(arm, *block, *value);
            }
        }
    }
    for column in &mut columns {
        column.find_complete();
    }
    columns
}

impl<'a> Column<'a> {
    fn new(first: &'a Figure, arms: usize) -> Self {
        Self {
            metric: &first.name,
            first,
            remarks: Vec::new(),
            cells: (0..arms).map(|_| Cells::default()).collect(),
            complete: Vec::new(),
            all: vec![Vec::new(); arms],
            unusable: vec![Vec::new(); arms],
            other_unit: None,
            other_direction: None,
            defects: vec![None; arms],
            settings: vec![None; arms],
        }
    }

    fn add(&mut self, arm: usize, block: usize, value: f64) {
        if value.is_finite() && value > 0.0 {
            self.cells[arm].blocks.push(block);
            self.cells[arm].values.push(value);
            self.all[arm].push(value);
        } else {
            self.unusable[arm].push((block, value));
        }
    }

    /// Notes the unit, the direction and the remarks of values that follow.
    fn describe(&mut self, arm: usize, figure: &'a Figure) {
        if figure.unit() != self.first.unit() {
            self.other_unit = Some((arm, figure.unit().to_owned()));
        }
        if figure.better != self.first.better {
            self.other_direction = Some((arm, figure.better));
        }
        for remark in &figure.remarks {
            if remark.label == Label::ToolDefect {
                self.defects[arm] = Some(remark);
            }
            if remark.label == Label::SetRate {
                self.settings[arm] = Some(remark);
            }
            if self.remarks.iter().all(|known| known.label != remark.label) {
                self.remarks.push(remark);
            }
        }
    }

    fn find_complete(&mut self) {
        for cells in &mut self.cells {
            cells.sort();
        }
        let Some((first, others)) = self.cells.split_first() else { return };
        let blocks = first.blocks();
        self.complete = blocks.filter(|block| others.iter().all(|arm| arm.has(*block))).collect();
    }

    /// True if its figures are of one kind, and there are values to compare.
    pub(super) fn is_usable(&self, is_paired: bool) -> bool {
        let has_values = if is_paired {
            !self.complete.is_empty()
        } else {
            self.all.iter().all(|values| !values.is_empty())
        };
        has_values && self.difference().is_none()
    }

    /// Why figures of one name are not comparable.
    pub(super) fn difference(&self) -> Option<Difference<'_>> {
        if let Some((arm, unit)) = &self.other_unit {
            return Some(Difference::Unit { arm: *arm, unit, first: self.first.unit() });
        }
        if let Some((arm, better)) = self.other_direction {
            return Some(Difference::Direction { arm, better });
        }
        let defect = self.defects.iter().enumerate().find_map(|(arm, it)| Some((arm, (*it)?)));
        let is_of_all = self.defects.iter().all(Option::is_some);
        defect.filter(|_| !is_of_all).map(|(arm, remark)| Difference::Defect { arm, remark })
    }

    /// Why the values of some arm must not decide: of some no ratio can be made, so that the others
    /// are a selection.
    pub(super) fn doubts(&self, input: &Input, is_paired: bool) -> Vec<Reason> {
        (0..input.arms.len())
            .filter_map(|arm| {
                self.set_rate(arm, input)
                    .or_else(|| self.not_above_zero(arm, input, is_paired))
                    .or_else(|| self.missing(arm, input).filter(|_| !is_paired))
            })
            .collect()
    }

    fn is_in_another_arm(&self, block: usize, arm: usize) -> bool {
        let mut others = self.cells.iter().enumerate().filter(|(index, _)| *index != arm);
        others.any(|(_, cells)| cells.has(block))
    }

    /// True if the load of some arm set these values: they are no result.
    pub(super) fn is_set(&self) -> bool {
        self.settings.iter().any(Option::is_some)
    }

    fn set_rate(&self, arm: usize, input: &Input) -> Option<Reason> {
        let remark = self.settings[arm]?;
        let (metric, name) = (self.metric, &input.arms[arm].name);
        let message = format!("`{metric}` of `{name}` is a setting, not a result: {}", remark.why);
        let hint = "compare the latency (`--primary`), or repeat the runs without a rate";
        Some(Reason { id: WarningId::RateSet, arm, message, hint: hint.to_owned() })
    }

    /// Pairs leave out a block that no arm has a value of.
    fn not_above_zero(&self, arm: usize, input: &Input, is_paired: bool) -> Option<Reason> {
        // A block that no other arm has is in no ratio.
        let mut alone = self.unusable[arm]
            .iter()
            .filter(|(block, _)| !is_paired || self.is_in_another_arm(*block, arm));
        let (_, value) = alone.next()?;
        let count = 1 + alone.count();
        let all = self.all[arm].len() + self.unusable[arm].len();
        let (metric, name) = (self.metric, &input.arms[arm].name);
        let (are, them) = if count == 1 { ("is", "it") } else { ("are", "them") };
        let message = format!(
            "{count} of {} of `{metric}` in `{name}` {are} not above 0 ({value}): no ratio can be \
             made of {them}, and the others are a selection",
            counted(all, "value")
        );
        Some(self.reason(arm, message))
    }

    /// Runs of a tool all have the same metrics, unless one was not measured.
    fn missing(&self, arm: usize, input: &Input) -> Option<Reason> {
        let ArmRuns { name, runs } = &input.arms[arm];
        let lacks = runs.len() - self.cells[arm].blocks().count().min(runs.len());
        if lacks == 0 || matches!(input.source, Source::Pairs { .. }) {
            return None;
        }
        let message = format!(
            "{lacks} of {} of `{name}` have no `{}`, and the others are a selection",
            counted(runs.len(), "run"),
            self.metric
        );
        Some(self.reason(arm, message))
    }

    fn reason(&self, arm: usize, message: String) -> Reason {
        let hint = match metric::why_missing(self.metric) {
            Some(why) => format!("{why}, or leave the metric out"),
            None => "find out why (a stalled or failed run), and repeat the runs".to_owned(),
        };
        Reason { id: WarningId::ValuesUnusable, arm, message, hint }
    }

    /// The values of each arm, without regard to blocks.
    pub(super) fn groups(&self) -> Vec<Vec<f64>> {
        self.all.clone()
    }

    /// One value an arm and block, or `None` where one is missing.
    pub(super) fn values(&self, blocks: &[usize]) -> Option<Vec<Vec<f64>>> {
        self.cells
            .iter()
            .map(|cells| {
                let values = blocks.iter().map(|block| cells.of(*block));
                values
                    .map(|values| (!values.is_empty()).then(|| geometric_mean(values)))
                    .collect::<Option<Vec<f64>>>()
            })
            .collect()
    }

    pub(super) fn series(&self, values: Vec<Vec<f64>>, margin: f64) -> Series {
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

    pub(super) fn facts(&self) -> SeriesFacts {
        SeriesFacts {
            is_detail: self.first.is_detail,
            remarks: self.remarks.iter().map(|remark| (*remark).clone()).collect(),
        }
    }

    /// The reason why the metric is not compared; nothing for a detail, which readers do not miss.
    pub(super) fn note(&self, input: &Input) -> Option<String> {
        if let Some(difference) = self.difference() {
            return Some(format!("`{}` is not compared: {}.", self.metric, difference.why(input)));
        }
        let unusable = self.unusable.iter().flatten().map(|(_, value)| value).next_back();
        let why = match (unusable, self.cells.iter().position(Cells::is_empty)) {
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
