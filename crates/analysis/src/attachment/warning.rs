//! Warnings about a difference: more than was meant, or none at all.

use drivelab_core::factor::{self, Factor};

use super::question::{Declared, Question};
use super::seen::Seen;
use crate::figures::capital;

/// Sentences that are printed; those beyond are only counted.
const WARNINGS_MAX: usize = 3;
/// Settings named in a sentence.
const NAMES_MAX: usize = 5;

/// Two arms that did not differ in what they were declared to differ in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unchanged {
    /// The arms, by index.
    pub arms: (usize, usize),
    /// The values that were the same in both.
    pub values: String,
}

impl Unchanged {
    /// Returns true if these are the two arms, in either order.
    pub(crate) fn is_of(&self, arms: &[usize]) -> bool {
        let (one, other) = self.arms;
        arms == [one, other] || arms == [other, one]
    }
}

pub(super) fn warnings(question: &Question, seen: &Seen) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    for pair in &question.pairs {
        let found = Pair { question, seen, arms: *pair, declared: question.declared(*pair) };
        for warning in found.warnings() {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    for (index, arm) in question.arms.iter().enumerate() {
        let unsteady = seen.unsteady(index);
        if let Some((name, values)) = unsteady.first() {
            let more = match unsteady.len() {
                1 => String::new(),
                count => format!(", and {} more", count - 1),
            };
            warnings.push(format!(
                "The runs of `{}` were not all made alike: {name} varied ({values}{more}).",
                arm.name
            ));
        }
    }
    let more = warnings.len().saturating_sub(WARNINGS_MAX);
    warnings.truncate(WARNINGS_MAX);
    if more > 0 {
        warnings.push(format!("{more} more undeclared differences: see the table."));
    }
    warnings
}

/// Pairs of arms in which what they were declared to differ in was the same, and what it was.
pub(super) fn unchanged(question: &Question, seen: &Seen) -> Vec<Unchanged> {
    if question.factors.is_empty() {
        return Vec::new();
    }
    question
        .pairs
        .iter()
        .filter_map(|arms| {
            let found = Pair { question, seen, arms: *arms, declared: question.declared(*arms) };
            Some(Unchanged { arms: *arms, values: found.unchanged()? })
        })
        .collect()
}

/// Two arms that are compared.
struct Pair<'a> {
    question: &'a Question,
    seen: &'a Seen,
    arms: (usize, usize),
    declared: Declared,
}

impl Pair<'_> {
    fn warnings(&self) -> Vec<String> {
        let differing = self.seen.differing(self.arms);
        let known = self.seen.is_known(self.arms.0) && self.seen.is_known(self.arms.1);
        if self.declared.factors.is_empty() {
            return self.undeclared(&differing, known).into_iter().collect();
        }
        let factors = &self.declared.factors;
        let (meant, extra): (Vec<&String>, Vec<&String>) =
            differing.iter().partition(|name| factors.iter().any(|factor| factor.covers(name)));
        let own =
            |name: &&&String| factors.iter().any(|factor| factor.own.contains(&name.as_str()));
        let own: Vec<&String> = meant.iter().filter(own).copied().collect();
        let mut warnings = Vec::new();
        if !extra.is_empty() {
            // A setting that follows from another of them is no separate cause.
            let extra: Vec<String> = extra.into_iter().cloned().collect();
            let mut all: Vec<&str> = own.iter().map(|name| name.as_str()).collect();
            all.extend(causes(&extra));
            warnings.push(format!(
                "{} differ in {}; {} only {}: the effect cannot be attributed to it.",
                self.subject("The arms"),
                listed(&all),
                self.who(),
                listed(&factors.iter().map(|factor| factor.name).collect::<Vec<_>>()),
            ));
        }
        if own.is_empty() {
            warnings.extend(self.nothing(&meant, known));
        } else {
            warnings.extend(self.no_queue());
        }
        warnings
    }

    /// The declared factors that were seen in both and were the same: `scheduler none`.
    fn unchanged(&self) -> Option<String> {
        // Two drives of one model are two drives.
        if self.declared.is_about("drive") {
            return None;
        }
        let mut own = self.declared.factors.iter().flat_map(|factor| factor.own);
        let differing = self.seen.differing(self.arms);
        let values: Vec<String> = own.clone().filter_map(|name| self.both(name)).collect();
        let same = own.all(|name| !differing.iter().any(|other| other == name));
        (same && !values.is_empty()).then(|| values.join(", "))
    }

    fn nothing(&self, meant: &[&String], known: bool) -> Option<String> {
        let names: Vec<&str> = self.declared.factors.iter().map(|factor| factor.name).collect();
        let mut values: Vec<String> = Vec::new();
        for factor in &self.declared.factors {
            values.extend(factor.own.iter().filter_map(|name| self.both(name)));
            if factor.covers("queue_depth") {
                values.extend(self.both("queue_depth"));
            }
        }
        values.dedup();
        if values.is_empty() {
            // What was declared cannot be seen: something else must show that anything changed.
            let blind = known && meant.is_empty() && self.seen.differing(self.arms).is_empty();
            return blind.then(|| self.alike());
        }
        Some(format!(
            "{} {}, but {} ran with {}.",
            capital(self.who()),
            listed(&names),
            self.subject("both arms"),
            values.join(", "),
        ))
    }

    /// Controllers that differ, and a queue of one command in both.
    fn no_queue(&self) -> Option<String> {
        let declared = &self.declared;
        if !declared.is_about("controller")
            || declared.is_about("ncq")
            || declared.is_about("queue-depth")
        {
            return None;
        }
        let depth = self.both("queue_depth").filter(|text| text == "queue depth 1")?;
        Some(format!(
            "{} ran with {depth}: neither used command queuing, which this change is meant to \
             improve.",
            capital(&self.subject("both arms")),
        ))
    }

    fn undeclared(&self, differing: &[String], known: bool) -> Option<String> {
        let separate = causes(differing);
        if !self.declared.vague {
            // Arms that set nothing are meant to be alike.
            return (!separate.is_empty()).then(|| {
                format!(
                    "{} differ in {}, and the study declares no difference.",
                    self.subject("The arms"),
                    listed(&separate)
                )
            });
        }
        match separate.len() {
            0 => (known && !self.question.does_other_work).then(|| self.alike()),
            1 => None,
            _ => Some(format!(
                "{} differ in {}: the effect cannot be attributed to one of them. {}",
                self.subject("The arms"),
                listed(&separate),
                if self.question.is_study {
                    "Declare the intended one in the study: `factor = \"NAME\"`."
                } else {
                    "Declare the intended one: `--factor NAME`."
                }
            )),
        }
    }

    fn alike(&self) -> String {
        let names = ["controller", "queue_depth", "scheduler", "write_cache"];
        let values: Vec<String> = names.iter().filter_map(|name| self.both(name)).collect();
        let values =
            if values.is_empty() { "the same settings".to_owned() } else { values.join(", ") };
        format!(
            "An inspection sees no difference: {} ran with {values}.",
            self.subject("both arms")
        )
    }

    /// `queue depth 1`, where that is so in both.
    fn both(&self, name: &str) -> Option<String> {
        let (from, to) = self.arms;
        let value = self.seen.value(from, name)?;
        (self.seen.value(to, name)? == value).then(|| format!("{} {value}", name.replace('_', " ")))
    }

    /// The two by name where there are others.
    fn subject(&self, both: &str) -> String {
        let arms = &self.question.arms;
        match arms.len() {
            2 => both.to_owned(),
            _ => format!("`{}` and `{}`", arms[self.arms.0].name, arms[self.arms.1].name),
        }
    }

    fn who(&self) -> &'static str {
        if self.question.is_study { "the study declares" } else { "`--factor` says" }
    }
}

/// The settings that differ, without those that follow from others of them.
fn causes(differing: &[String]) -> Vec<&str> {
    let mut left: Vec<&str> = differing.iter().map(String::as_str).collect();
    let mut causes = Vec::new();
    for factor in factor::all() {
        let Some(cause) = left.iter().copied().find(|name| factor.own.contains(name)) else {
            continue;
        };
        causes.push(cause);
        left.retain(|name| !Factor::covers(factor, name));
    }
    causes.extend(left);
    causes
}

/// Findings of the inspections, arm by arm; arms with the same findings share a sentence.
pub(super) fn faults(question: &Question, seen: &Seen) -> Vec<String> {
    let mut told: Vec<(String, Vec<&str>)> = Vec::new();
    for (index, arm) in question.arms.iter().enumerate() {
        let Some(found) = seen.value(index, "findings").filter(|found| found != "none") else {
            continue;
        };
        match told.iter_mut().find(|(known, _)| *known == found) {
            Some((_, arms)) => arms.push(&arm.name),
            None => told.push((found, vec![&arm.name])),
        }
    }
    told.into_iter()
        .map(|(found, arms)| {
            if arms.len() == question.arms.len() {
                return format!("{found}, in every arm (details: `drivelab inspect`).");
            }
            format!("{found}, in `{}` (details: `drivelab inspect`).", arms.join("`, `"))
        })
        .collect()
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[&str]) -> String {
    let more = names.len().saturating_sub(NAMES_MAX);
    if more > 0 {
        return format!("{} and {more} more", names[..NAMES_MAX].join(", "));
    }
    match names.split_last() {
        None => "nothing".to_owned(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}
