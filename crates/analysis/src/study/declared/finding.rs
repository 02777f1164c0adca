//! Claims, and their answers in words.

use drivelab_core::question::Finding;
use serde::Serialize;

use crate::{figures, metric};

/// The answer to a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The whole interval lies within the bounds.
    Holds,
    /// The whole interval lies outside the bounds.
    DoesNotHold,
    /// The interval lies across a bound, and contains the published figure: it is possible, and the
    /// claim undecided.
    Consistent,
    /// Two runs of one arm differ as much as the published figures do.
    NoEvidence,
    /// The interval lies across a bound, or there is none.
    CannotTell,
}

impl Answer {
    /// The words that open its sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "Holds",
            Self::DoesNotHold => "Does not hold",
            Self::Consistent => "Consistent",
            Self::NoEvidence => "No evidence",
            Self::CannotTell => "Cannot tell",
        }
    }
}

/// A finding with its figure.
#[derive(Debug, Clone, PartialEq)]
pub struct FindingResult {
    /// The statement.
    pub finding: Finding,
    /// The answer.
    pub answer: Answer,
    /// The geometric mean of the arm, or the ratio of two; none where it was not measured.
    pub value: Option<f64>,
    /// Its interval; the intervals of all findings hold together.
    pub ci95: Option<[f64; 2]>,
    /// The figure of one more drive lies between these, where each block simulated another one.
    pub prediction95: Option<[f64; 2]>,
    /// The basis of the answer, or the reason why there is none, where the interval does not show
    /// it.
    pub why: Option<String>,
    /// The metric that gives the value its unit; none for a ratio.
    pub(super) unit: Option<String>,
}

/// The numbers of a finding as text with units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shown {
    value: String,
    ci95: Option<String>,
    prediction95: Option<String>,
    bounds: Option<String>,
}

pub(super) fn judged(finding: &Finding, [lo, hi]: [f64; 2]) -> Answer {
    debug_assert!(lo <= hi, "an interval from {lo} to {hi}");
    let least = finding.at_least.unwrap_or(f64::NEG_INFINITY);
    let most = finding.at_most.unwrap_or(f64::INFINITY);
    if least <= lo && hi <= most {
        Answer::Holds
    } else if hi < least || lo > most {
        Answer::DoesNotHold
    } else {
        Answer::CannotTell
    }
}

impl FindingResult {
    /// One whose figure was not measured.
    pub(super) fn open(finding: Finding, why: String) -> Self {
        Self {
            finding,
            answer: Answer::CannotTell,
            value: None,
            ci95: None,
            prediction95: None,
            why: Some(why),
            unit: None,
        }
    }

    /// Returns the measured and the stated value, in one sentence.
    pub fn sentence(&self) -> String {
        let Finding { name, figure, published, source, .. } = &self.finding;
        let measured = match self.value {
            None if figure.is_empty() => "not measured".to_owned(),
            None => format!("`{figure}` is unknown"),
            Some(value) => {
                let drive = self.prediction95.map(|limits| self.range(limits));
                let drive =
                    drive.map_or_else(String::new, |it| format!("; 95 % of such drives: {it}"));
                let interval = self.ci95.map_or_else(String::new, |limits| {
                    format!(" (95 % interval {}{drive})", self.range(limits))
                });
                format!("`{figure}` is {}{interval}", self.show(value))
            }
        };
        let claim = self.bounds().map(|bounds| format!("; stated: {bounds}")).unwrap_or_default();
        let stated = if published.is_empty() {
            claim
        } else {
            format!("{}; published: {published}", claim.replace("stated", "bounds"))
        };
        let why = self.why.as_ref().map_or_else(String::new, |why| format!("; {why}"));
        let source = if source.is_empty() { String::new() } else { format!(" [{source}]") };
        format!("{name}: {measured}{stated}{why}.{source}")
    }

    /// Returns the bounds of the claim: `at least x1.50`; none where it has no bound.
    pub fn bounds(&self) -> Option<String> {
        match (self.finding.at_least, self.finding.at_most) {
            (Some(least), Some(most)) => {
                Some(format!("{} to {}", self.show(least), self.show(most)))
            }
            (Some(least), None) => Some(format!("at least {}", self.show(least))),
            (None, Some(most)) => Some(format!("at most {}", self.show(most))),
            (None, None) => None,
        }
    }

    /// Value, interval, prediction and bounds as text with units; none where nothing was measured.
    pub fn shown(&self) -> Option<Shown> {
        Some(Shown {
            value: self.show(self.value?),
            ci95: self.ci95.map(|limits| self.range(limits)),
            prediction95: self.prediction95.map(|limits| self.range(limits)),
            bounds: self.bounds(),
        })
    }

    fn range(&self, limits: [f64; 2]) -> String {
        match &self.unit {
            Some(unit) => metric::show_range(unit, limits),
            None => figures::range(limits),
        }
    }

    fn show(&self, value: f64) -> String {
        match &self.unit {
            Some(unit) => metric::show(unit, value),
            None => figures::times(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_decides_only_as_a_whole() {
        let finding = |at_least, at_most| Finding {
            name: "it".into(),
            figure: "w.iops of a".into(),
            at_least,
            at_most,
            ..Finding::default()
        };
        let check = |at_least, at_most, expected| {
            let answer = judged(&finding(at_least, at_most), [0.9, 1.1]);
            assert_eq!(answer, expected, "{at_least:?} {at_most:?}");
        };
        check(Some(0.9), Some(1.1), Answer::Holds);
        check(Some(0.8), None, Answer::Holds);
        check(None, Some(1.0), Answer::CannotTell);
        check(Some(1.0), None, Answer::CannotTell);
        check(Some(1.2), None, Answer::DoesNotHold);
        check(None, Some(0.8), Answer::DoesNotHold);
    }
}
