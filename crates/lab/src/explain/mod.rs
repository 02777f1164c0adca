//! Which cause explains a difference: the causes of a library, simulated on one kind of drive.

pub mod library;
mod measurements;
mod simulate;

use std::collections::BTreeSet;

use drivelab_analysis::explanation::{
    self, Answer, Explanation, Outlooks, Question, Rates, Suspect, next, promising_pairs, undecided,
};
use drivelab_core::{Control, Refusal};
use drivelab_model::options::DriveSpec;

use library::{Cause, Change, Modelled};
use simulate::Bench;
pub use simulate::{Cache, measure};

/// What is asked.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// The figures.
    pub question: &'a Question,
    /// The drive, as it should be.
    pub spec: &'a DriveSpec,
    /// The causes to choose among.
    pub causes: &'a [Cause],
    /// Drives that are simulated.
    pub specimens: u32,
    /// Seed of all random choices.
    pub seed: u64,
    /// What was simulated before.
    pub cache: &'a Cache,
    /// True if the next measurement is wanted, too.
    pub chooses_next: bool,
}

/// Ranks the causes; `None` after an interruption.
///
/// # Errors
/// The drive cannot be built, or a load not be applied to it.
pub fn explain(wanted: &Wanted<'_>, control: &Control<'_>) -> Result<Option<Answer>, Refusal> {
    let (mut suspects, mut changes) = (Vec::new(), Vec::new());
    let (mut impossible, mut not_modelled) = (Vec::new(), Vec::new());
    let loads = wanted.question.figures.iter().map(|asked| asked.load.clone()).collect();
    let bench = Bench::new(wanted, loads, control)?;
    for cause in wanted.causes {
        match &cause.change {
            Change::Missing(what) => not_modelled.push((cause.words.clone(), what.clone())),
            Change::Modelled(change) => match bench.refuses(change) {
                Some(why) => impossible.push((cause.words.clone(), why)),
                None => {
                    suspects.push(suspect(cause));
                    changes.push((**change).clone());
                }
            },
        }
    }
    let mut rates = Rates { model_sigma: bench.model_sigma(), ..Rates::default() };
    let alone = (0..suspects.len()).map(|index| vec![index]);
    let sets: Vec<Vec<usize>> = std::iter::once(Vec::new()).chain(alone).collect();
    let Some(()) = bench.add(&sets, &changes, &mut rates)? else { return Ok(None) };
    let Some(again) = bench.again()? else { return Ok(None) };
    rates.set_again(again);
    let excludes = |one: usize, other: usize| changes[one].excludes(&changes[other]);
    let pairs = promising_pairs(wanted.question, &suspects, &rates, excludes);
    let Some(()) = bench.add(&pairs, &changes, &mut rates)? else { return Ok(None) };
    let explanation = explanation::explain(wanted.question, &suspects, &rates);
    let next = if wanted.chooses_next {
        let Some(outlooks) = outlooks(wanted, &explanation, &changes, control)? else {
            return Ok(None);
        };
        next(&explanation, &outlooks)
    } else {
        None
    };
    Ok(Some(Answer {
        explanation,
        next,
        drive: wanted.spec.to_string(),
        specimens: bench.drives(),
        left_out: wanted.question.left_out.clone(),
        impossible,
        not_modelled,
    }))
}

fn suspect(cause: &Cause) -> Suspect {
    let Cause { id, words, look, prior, .. } = cause.clone();
    Suspect { id, words, look, prior }
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
    let (commands, loads) = measurements::all(&given.collect::<Vec<_>>())?;
    let specimens = wanted.specimens.min(TRIED);
    let tried = Wanted { specimens, ..*wanted };
    let bench = Bench::new(&tried, loads, control)?;
    let mut rates = Rates { model_sigma: bench.model_sigma(), ..Rates::default() };
    let made = bench.add(&sets, changes, &mut rates)?;
    Ok(made.map(|()| Outlooks { commands, rates }))
}
