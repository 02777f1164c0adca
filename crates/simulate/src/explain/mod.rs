//! The cause of a difference: the causes of a library, simulated on one kind of drive.

mod cache;
pub mod library;
mod measurements;
mod possible;
mod rates;
mod wanted;

use std::collections::BTreeSet;

use drivelab_analysis::explanation::{
    self, Answer, Asked, Explanation, Load, Outlooks, Question, Rates, Suspect, next,
    possible_pairs, promising_pairs, undecided,
};
use drivelab_core::{Control, Refusal};
use drivelab_model::options::{DriveSpec, Options};

pub use cache::Cache;
use library::{Cause, Change, Modelled};
pub use possible::causes_of;
use rates::Bench;
pub use rates::measure;
pub use wanted::Wanted;

/// The drive that several modelled ones are variants of: with the options that all of them have.
/// `None` where they are of different profiles, or there are none.
pub fn common(specs: &[DriveSpec]) -> Option<DriveSpec> {
    let (first, others) = specs.split_first()?;
    let mut options = Options::default();
    for entry in first.options.entries() {
        if others.iter().all(|spec| spec.options.entries().contains(&entry)) {
            options.set(entry.0, &entry.1).ok()?;
        }
    }
    // Drives of different models differ in more than any cause changes.
    let is_same = others.iter().all(|spec| spec.profile == first.profile);
    is_same.then(|| DriveSpec { profile: first.profile.clone(), options })
}

/// Ranks the causes; `None` after an interruption.
///
/// # Errors
/// The drive cannot be built, or none of the loads be applied to it.
pub fn explain(wanted: &Wanted<'_>, control: &Control<'_>) -> Result<Option<Answer>, Refusal> {
    let (question, left_out) = possible(wanted)?;
    let wanted = Wanted { question: &question, ..*wanted };
    let loads = question.figures.iter().map(|asked| asked.load.clone()).collect();
    let bench = Bench::new(&wanted, loads, control)?;
    let accused = accuse(&wanted, &bench);
    let (suspects, changes) = (&accused.suspects, &accused.changes);
    let mut rates = Rates { model_sigma: bench.model_sigma(), ..Rates::default() };
    let alone = (0..suspects.len()).map(|index| vec![index]);
    let sets: Vec<Vec<usize>> = std::iter::once(Vec::new()).chain(alone).collect();
    let Some(()) = bench.add(&sets, changes, &mut rates)? else { return Ok(None) };
    let Some(again) = bench.again()? else { return Ok(None) };
    rates.set_again(again);
    let pairs = possible_pairs(suspects, &rates);
    let Some(()) = bench.try_out(&pairs, changes, &mut rates)? else { return Ok(None) };
    let pairs = promising_pairs(&question, suspects, &rates);
    let Some(()) = bench.add(&pairs, changes, &mut rates)? else { return Ok(None) };
    let explanation = explanation::explain(&question, suspects, &rates);
    let next = if wanted.chooses_next {
        let Some(outlooks) = outlooks(&wanted, &explanation, changes, control)? else {
            return Ok(None);
        };
        next(&explanation, &outlooks)
    } else {
        None
    };
    Ok(Some(Answer {
        explanation,
        next,
        targets: question.targets.clone(),
        drive: wanted.spec.to_string(),
        specimens: bench.drives(),
        left_out,
        impossible: accused.impossible,
        not_predicted: accused.not_predicted,
    }))
}

/// The question without the figures whose load cannot be applied to the drive, and what is left
/// out.
fn possible(wanted: &Wanted<'_>) -> Result<(Question, Vec<(String, String)>), Refusal> {
    let mut left_out = wanted.question.left_out.clone();
    let mut figures: Vec<Asked> = Vec::new();
    let mut last = None;
    for asked in &wanted.question.figures {
        match rates::admits((wanted.spec, &wanted.profile.median()), &asked.load) {
            Ok(()) => figures.push(asked.clone()),
            Err(refusal) => {
                left_out.push((asked.name.clone(), refusal.to_string()));
                last = Some(refusal);
            }
        }
    }
    match last {
        Some(refusal) if figures.is_empty() => Err(refusal),
        _ => Ok((Question { figures, ..wanted.question.clone() }, left_out)),
    }
}

/// The causes of a library by what can be said about them.
#[derive(Debug, Default)]
struct Accusation {
    suspects: Vec<Suspect>,
    /// The change that each suspect makes.
    changes: Vec<Modelled>,
    impossible: Vec<(String, String)>,
    not_predicted: Vec<(String, String)>,
}

fn accuse(wanted: &Wanted<'_>, bench: &Bench<'_>) -> Accusation {
    let mut all = Accusation::default();
    for cause in wanted.causes {
        let words = cause.words.clone();
        match &cause.change {
            Change::Missing(what) => all.not_predicted.push((words, what.clone())),
            Change::Modelled(change) => {
                if let Some(why) = bench.refuses(change) {
                    all.impossible.push((words, why));
                    continue;
                }
                let Cause { id, words, look, prior, shows, .. } = cause.clone();
                let suspect = Suspect { id, words, look, prior, excludes: Vec::new(), shows };
                all.suspects.push(suspect);
                all.changes.push((**change).clone());
            }
        }
    }
    for (suspect, change) in all.suspects.iter_mut().zip(&all.changes) {
        let others = all.changes.iter().enumerate();
        let excluded = others.filter(|(_, other)| change.excludes(other));
        suspect.excludes = excluded.map(|(index, _)| index).collect();
    }
    all
}

/// Drives that the next measurement is tried on: enough to see what separates causes.
const TRIED: u32 = 12;

/// The measurements to choose among, simulated with what is left of the causes.
fn outlooks(
    wanted: &Wanted<'_>,
    explanation: &Explanation,
    changes: &[Modelled],
    control: &Control<'_>,
) -> Result<Option<Outlooks>, Refusal> {
    let sets = undecided(explanation);
    let only: BTreeSet<usize> = sets.iter().flatten().copied().collect();
    debug_assert!(only.iter().all(|index| *index < changes.len()), "suspects are by number");
    let given = wanted.question.figures.iter().map(|asked| &asked.load.workload);
    let all = measurements::all(&given.collect::<Vec<_>>())?;
    // A small drive, or one without writes, has fewer of them.
    let median = wanted.profile.median();
    let possible =
        all.into_iter().filter(|(_, it)| rates::admits((wanted.spec, &median), it).is_ok());
    let (options, loads): (Vec<String>, Vec<Load>) = possible.unzip();
    let tried = Wanted { specimens: wanted.specimens.min(TRIED), ..*wanted };
    let bench = Bench::new(&tried, loads, control)?;
    let mut rates = Rates { model_sigma: bench.model_sigma(), ..Rates::default() };
    let made = bench.add(&sets, changes, &mut rates)?;
    Ok(made.map(|()| Outlooks { options, rates }))
}
