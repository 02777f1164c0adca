//! A metric over arms and blocks, and what the statistics say about two of its arms.

mod remarks;
mod together;
pub mod validity;
mod withheld;

pub use remarks::gather;
pub use together::Together;
pub use withheld::Withheld;
pub(crate) use withheld::withhold_all;

use drivelab_core::Refusal;
use drivelab_stats::{
    Adjusted, Arm, Better, Comparison, Criteria, CriteriaError, Family, Groups, Member, Pair,
    Provenance, Role, UNPAIRED_MIN, UnpairedMember, Verdict, Warning, WarningId, compare_family,
    compare_unpaired, effect,
};

use crate::attachment::Unchanged;
use crate::specimens::{Foreseen, Sampled};
use crate::{figures, metric};

/// One metric in every arm and block.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its full name, `workload.metric` in a study.
    pub name: String,
    /// The metric alone, `iops`.
    pub metric: String,
    /// The workload, by index; 0 where there is only one.
    pub workload: usize,
    /// The better direction.
    pub better: Better,
    /// Smallest effect worth acting on, as a fraction.
    pub margin: f64,
    /// Its unit; empty where the metric's name says it.
    pub unit: String,
    /// One value an arm and block, all above zero: `values[arm][block]`.
    pub values: Vec<Vec<f64>>,
}

impl Series {
    /// A value with its unit.
    pub fn show(&self, value: f64) -> String {
        match (self.unit.as_str(), self.values[0].len()) {
            ("", _) => metric::show(&self.metric, value),
            // One run: its number as the tool wrote it.
            (unit, 1) => format!("{} {unit}", figures::plain(value)),
            (unit, _) => format!("{} {unit}", figures::significant(value)),
        }
    }

    /// The geometric mean of an arm: the ratio of two arms is that of these.
    pub fn mean(&self, arm: usize) -> f64 {
        geometric_mean(&self.values[arm])
    }

    /// True if it is a time, which is faster or slower and not more or less.
    pub fn is_time(&self) -> bool {
        metric::is_time(&self.metric, &self.unit)
    }
}

/// The comparison of one arm of a series with another.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The series, by index.
    pub series: usize,
    /// The arm it is measured against.
    pub from: usize,
    /// The arm in question: a ratio above 1 means that this one is better.
    pub to: usize,
    /// The comparison, with its p value adjusted for the others.
    pub adjusted: Adjusted,
    /// The fewest runs of each arm with which its design allows a verdict.
    pub runs_min: u32,
    /// The prediction for one more drive, where each block simulated another one.
    pub foreseen: Option<Foreseen>,
}

impl Outcome {
    /// The geometric mean of an arm of `series`, the series of this outcome, over the blocks that
    /// count: the ratio of two arms is that of these.
    pub fn mean(&self, series: &Series, arm: usize) -> f64 {
        let copies = &self.adjusted.copies;
        let values = series.values[arm].iter().enumerate();
        let counted = values.filter(|(block, _)| !copies.contains(block));
        geometric_mean(&counted.map(|(_, value)| *value).collect::<Vec<f64>>())
    }

    /// Returns the verdict that may be concluded.
    pub fn verdict(&self) -> Verdict {
        self.adjusted.comparison.verdict
    }

    /// True if drives differ too much for one verdict, and nothing else is wrong with it.
    pub fn depends(&self) -> bool {
        let comparison = &self.adjusted.comparison;
        comparison.verdict == Verdict::Inconclusive
            && comparison.warnings.iter().any(|warning| warning.id == WarningId::Depends)
    }

    /// Why there is no verdict although there are figures.
    pub fn withheld(&self) -> Option<&Warning> {
        self.adjusted.comparison.warnings.iter().find(|warning| warning.id.withholds())
    }

    /// The verdict as people read it.
    pub fn word(&self) -> String {
        if self.depends() {
            WarningId::Depends.as_str().to_owned()
        } else if self.withheld().is_some() {
            "withheld".to_owned()
        } else {
            self.verdict().to_string()
        }
    }

    /// Takes the verdict back, because of what the warning says; the figures stay.
    pub fn withhold(&mut self, warning: Warning) {
        let comparison = &mut self.adjusted.comparison;
        comparison.verdict = Verdict::Inconclusive;
        // More runs of the same kind would not settle it.
        comparison.runs_needed = None;
        comparison.warnings.retain(|known| known.id != WarningId::Depends);
        comparison.warnings.push(warning);
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Question {
    pub(crate) series: usize,
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) role: Role,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules<'a> {
    pub seed: u64,
    pub provenance: Provenance,
    /// The arms in the order they ran, block by block; `None` where that is not known, or where
    /// it is no question of one before the other.
    pub first: Option<&'a [usize]>,
    /// The drives that the blocks simulated.
    pub sampled: &'a Sampled<'a>,
}

/// Answers all questions as one family, so that none is believed because many were asked.
pub(crate) fn judge(
    series: &[Series],
    questions: &[Question],
    rules: Rules,
) -> Result<Vec<Outcome>, Refusal> {
    let asked = questions
        .iter()
        .map(|question| member(&series[question.series], question, rules))
        .collect::<Result<Vec<Member>, CriteriaError>>()
        .map_err(Refusal::request)?;
    let Family { members, .. } = compare_family(&asked).map_err(|source| {
        let name = &series[questions[source.index].series].name;
        Refusal::request(format!("`{name}` cannot be compared")).because(source)
    })?;
    // `zip` would silently drop the results of a longer list.
    debug_assert_eq!(members.len(), questions.len(), "one result for each question");
    Ok(questions
        .iter()
        .zip(&asked)
        .zip(members)
        .map(|((question, asked), mut adjusted)| {
            let Question { series: index, from, to, .. } = *question;
            let arms = (series[index].workload, from, to);
            let is_sampled = rules.sampled.is_any();
            let effects = if is_sampled { effects(series, index, &[from, to]) } else { Vec::new() };
            let foreseen = rules.sampled.foresee(arms, (&asked.pairs, &effects), &asked.criteria);
            if let Some(foreseen) = &foreseen {
                foreseen.forecast.judge(&mut adjusted);
            }
            let runs_min = asked.criteria.blocks_min();
            Outcome { series: index, from, to, adjusted, runs_min, foreseen }
        })
        .collect())
}

/// The same where the values of the arms are no pairs: one more drive is then not foreseen, because
/// no two values are of the same drive.
pub(crate) fn judge_unpaired(
    series: &[Series],
    questions: &[Question],
    seed: u64,
) -> Result<Vec<Outcome>, Refusal> {
    let members: Result<Vec<UnpairedMember>, CriteriaError> = questions
        .iter()
        .map(|question| {
            let series = &series[question.series];
            let criteria = Criteria::new(series.margin, series.better, seed)?;
            let [a, b] = [question.from, question.to].map(|arm| series.values[arm].clone());
            let groups = Groups { a, b };
            Ok(UnpairedMember { role: question.role, groups, criteria })
        })
        .collect();
    let Family { members, .. } = compare_unpaired(&members.map_err(Refusal::request)?);
    debug_assert_eq!(members.len(), questions.len(), "one result for each question");
    Ok(questions
        .iter()
        .zip(members)
        .map(|(question, adjusted)| {
            let Question { series, from, to, .. } = *question;
            let Comparison { n, warnings, .. } = &adjusted.comparison;
            // Three runs of one arm are enough where the other has many.
            let is_enough = warnings.iter().all(|warning| warning.id != WarningId::FewBlocks);
            let n = u32::try_from(*n).unwrap_or(u32::MAX);
            let runs_min = if is_enough { n.min(UNPAIRED_MIN) } else { UNPAIRED_MIN };
            Outcome { series, from, to, adjusted, runs_min, foreseen: None }
        })
        .collect())
}

/// The effects that arms have on the work of a series: each arm against the first in its metric,
/// and those in question against the first of them in the tail of latencies too, where another
/// order of requests shows even if it gains nothing.
pub fn effects(series: &[Series], index: usize, arms: &[usize]) -> Vec<f64> {
    let own = &series[index];
    let against_first = own.values.iter().map(|values| effect(&own.values[0], values));
    let tails = series.iter().filter(|it| it.workload == own.workload && it.metric == TAIL);
    let of_arms = tails.chain([own]).flat_map(|it| {
        arms.iter().skip(1).map(|arm| effect(&it.values[arms[0]], &it.values[*arm]))
    });
    against_first.chain(of_arms).collect()
}

/// The metric in which the order of requests shows.
const TAIL: &str = "lat_p99_ns";

/// Withholds the verdicts on arms that did not differ in what they were declared to differ in.
///
/// Whatever made the difference, it was not what the comparison is about.
pub fn withhold(outcomes: &mut [Outcome], unchanged: &[Unchanged]) {
    for outcome in outcomes {
        let arms = [outcome.from, outcome.to];
        let Some(found) = unchanged.iter().find(|it| it.is_of(&arms)) else { continue };
        let advice = format!(
            "the declared factor did not differ ({} in both arms): the verdict is withheld",
            found.values
        );
        outcome.withhold(Warning::new(WarningId::FactorUnchanged, advice));
    }
}

fn member(series: &Series, question: &Question, rules: Rules) -> Result<Member, CriteriaError> {
    let values = series.values[question.from].iter().zip(&series.values[question.to]);
    let pairs = values.enumerate().map(|(block, (a, b))| {
        let pair = Pair::new(*a, *b);
        match rules.first.map(|first| first[block]) {
            Some(arm) if arm == question.from => pair.with_first(Arm::A),
            Some(arm) if arm == question.to => pair.with_first(Arm::B),
            _ => pair,
        }
    });
    let pairs = pairs.collect();
    let criteria = Criteria::new(series.margin, series.better, rules.seed)?;
    let criteria = criteria.with_provenance(rules.provenance);
    Ok(Member { role: question.role, pairs, criteria })
}

/// The geometric mean of values above zero; a lone value, or equal ones, unchanged to the bit.
#[expect(clippy::cast_precision_loss, reason = "numbers of runs are far below 2^52")]
pub fn geometric_mean(values: &[f64]) -> f64 {
    match values {
        [] => 0.0,
        // Equal values give that value exactly, which a sum of logarithms does not.
        [first, rest @ ..] if rest.iter().all(|v| v.total_cmp(first).is_eq()) => *first,
        _ => {
            let logs: f64 = values.iter().map(|value| libm::log(*value)).sum();
            libm::exp(logs / values.len() as f64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(better: Better, values: Vec<Vec<f64>>) -> Series {
        let metric = "iops".to_owned();
        let (name, unit) = ("w.iops".to_owned(), String::new());
        Series { name, metric, workload: 0, better, margin: 0.03, unit, values }
    }

    fn gate(from: usize, to: usize) -> Question {
        Question { series: 0, from, to, role: Role::Gate }
    }

    #[test]
    fn swapping_the_arms_mirrors_the_verdict() {
        let a: Vec<f64> = (0..10).map(|i| 100.0 + f64::from(i % 3)).collect();
        let b: Vec<f64> = (0..10).map(|i| 150.0 + f64::from(i % 4)).collect();
        let check = |better, from, to, expected| {
            let series = [series(better, vec![a.clone(), b.clone()])];
            let rules = Rules {
                seed: 1,
                provenance: Provenance::Unknown,
                first: None,
                sampled: &Sampled::default(),
            };
            let outcomes = judge(&series, &[gate(from, to)], rules).unwrap();
            assert_eq!(outcomes[0].verdict(), expected, "{better:?} {from} {to}");
        };
        check(Better::More, 0, 1, Verdict::Faster);
        check(Better::More, 1, 0, Verdict::Slower);
        check(Better::Less, 0, 1, Verdict::Slower);
        check(Better::Less, 1, 0, Verdict::Faster);
    }

    #[test]
    fn the_first_arm_reaches_the_order_test() {
        let a: Vec<f64> = (0..10).map(|i| 100.0 + f64::from(i % 3)).collect();
        // Whatever runs second loses a tenth: a carry-over that no verdict should survive.
        let first: Vec<usize> = (0..10).map(|block| block % 2).collect();
        let slowed = |block: usize, arm| if first[block] == arm { 1.0 } else { 0.9 };
        let of = |arm| a.iter().enumerate().map(|(i, v)| v * slowed(i, arm)).collect();
        let series = [series(Better::More, vec![of(0), of(1)])];
        let sampled = &Sampled::default();
        let provenance = Provenance::OwnRuns;
        let rules = Rules { seed: 1, provenance, first: Some(&first), sampled };
        let outcomes = judge(&series, &[gate(0, 1)], rules).unwrap();
        let comparison = &outcomes[0].adjusted.comparison;
        assert_eq!(comparison.verdict, Verdict::Inconclusive);
        assert!(comparison.order.as_ref().unwrap().p < 0.001);
    }

    #[test]
    fn means_of_equal_values_are_exact() {
        let check = |values: &[f64], expected: f64| {
            assert_eq!(geometric_mean(values).to_bits(), expected.to_bits());
        };
        check(&[0.1], 0.1);
        check(&[0.1, 0.1, 0.1], 0.1);
        check(&[], 0.0);
        assert!((geometric_mean(&[1.0, 4.0]) - 2.0).abs() < 1e-12);
    }
}
