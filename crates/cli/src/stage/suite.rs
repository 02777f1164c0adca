//! Suites by name: which there are, what each declares, and how each is run.

use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use drivelab_core::config::{ConfigError, Section, nearest};
use drivelab_core::recipe::embedded::{self, RECIPES};
use drivelab_core::recipe::{Adjust, Done, Ground, Outcome, Part, Recipe, Test};
use drivelab_core::record::{MarkId, RunConfig, RunRecord, SuiteConfig};
use drivelab_core::units::Bytes;
use drivelab_engine::{Progress, RunPlan};
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::Profile;
use drivelab_study::file::{Needs, Suite};

use crate::failure::{AtPath as _, Failure};
use crate::input;
use crate::interrupt;
use crate::measure::{self, Made};
use crate::target::ModelledDrive;

/// What a suite may do to its target, and who looks on.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    /// A file's contents may be destroyed, whoever wrote them.
    pub(crate) overwrite: bool,
    /// Block devices whose contents may be destroyed.
    pub(crate) allow_destructive: &'a [PathBuf],
    /// Receives the name of the test and how far its run is.
    pub(crate) progress: &'a (dyn Fn(&str, &Progress) + Sync),
}

impl Terms<'_> {
    /// Those of a study.
    pub(crate) const fn of_study(overwrite: bool) -> Self {
        Terms { overwrite, allow_destructive: &[], progress: &|_, _| () }
    }
}

/// The suite called `name` with the options that it takes out of `section`.
pub(crate) fn declared(name: &str, section: &mut Section) -> Result<Suite, ConfigError> {
    let adjust = Adjust::read(section)?;
    find(name, &adjust).map_err(|failure| match failure.hints.first() {
        None => section.error(failure.error.to_string()),
        Some(hint) => section.error(format!("{}; {hint}", failure.error)),
    })
}

/// The suite called `name`, or the recipe in the file of that name.
pub(crate) fn find(name: &str, adjust: &Adjust) -> Result<Suite, Failure> {
    let is_file = || Path::new(name).extension().is_some_and(|end| end == "toml");
    let text = match embedded::text(name) {
        Some(text) => text.to_owned(),
        None if is_file() => input::text(Path::new(name), input::RECIPE)?,
        None => return Err(unknown(name)),
    };
    let recipe = Recipe::parse(name, &text, adjust)?;
    let metrics = recipe.metrics();
    Ok(Suite {
        name: name.to_owned(),
        options: adjust.options(),
        summary: recipe.title.clone(),
        headline: metrics.first().cloned().unwrap_or_default(),
        metrics,
        writes: recipe.writes(),
        time: Some(recipe.time()),
        needs: Needs::Blocks(Box::new(recipe)),
    })
}

fn unknown(name: &str) -> Failure {
    let names = RECIPES.iter().map(|(name, _)| *name);
    let hint = match nearest(name, names.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "there are {}; a recipe of your own is a file that ends in `.toml`",
            names.collect::<Vec<_>>().join(", ")
        ),
    };
    Failure::bad_words(format!("there is no suite `{name}`")).hint(hint)
}

/// Runs a suite on a modelled drive that nothing was asked of before.
pub(crate) fn on_model(
    suite: &Suite,
    spec: &DriveSpec,
    profile: &Profile,
    seed: u64,
) -> Result<RunRecord, Failure> {
    let recipe = recipe(suite)?;
    let mut drive = ModelledDrive::new(spec, profile, seed)?;
    let ground = Ground { capacity: drive.capacity(), seed };
    let (mut attached, mut specimen) = (None, None);
    let outcome = recipe.carry_out(ground, &mut |_, part| {
        let made = drive.run(&[&plan(Path::new(""), part)], &|_| ())?.pop();
        Ok::<_, Failure>(made.and_then(|made| {
            attached = Some(made.attached.clone());
            specimen.clone_from(&made.specimen);
            done(made)
        }))
    })?;
    let record = record(suite, &spec.to_string(), "virtual", seed, outcome);
    Ok(RunRecord { host: None, attached, specimen, ..record })
}

/// Runs a suite on a file, a device or a directory.
pub(crate) fn on_path(
    suite: &Suite,
    path: &Path,
    seed: u64,
    terms: Terms<'_>,
) -> Result<RunRecord, Failure> {
    let recipe = recipe(suite)?;
    if path.is_dir() {
        let (path, name) = (path.display(), &suite.name);
        let message =
            format!("`{path}` is a directory, and suite `{name}` reads and writes a file");
        return Err(Failure::bad_words(message).hint(format!("name a file in it: {path}/testfile")));
    }
    let size = recipe.end().unwrap_or(Bytes::gib(1));
    measure::lay_out_if_missing(path, size, seed)?;
    let length = File::open(path).and_then(|mut file| file.seek(SeekFrom::End(0)));
    let ground = Ground { capacity: Bytes::new(length.at_path("open", path)?), seed };
    let (mut attached, mut ioengine) = (None, String::new());
    let outcome = recipe.carry_out(ground, &mut |test: &Test, part| {
        let plan = RunPlan {
            allow_overwrite: terms.overwrite,
            allow_destructive: terms.allow_destructive.to_vec(),
            ..plan(path, part)
        };
        let progress = |step: &Progress| (terms.progress)(&test.name, step);
        let made = measure::on_this_machine(std::slice::from_ref(&plan), &progress)?.pop();
        Ok::<_, Failure>(made.and_then(|made| {
            attached = Some(made.attached.clone());
            ioengine.clone_from(&made.ioengine);
            done(made)
        }))
    })?;
    let record = record(suite, &path.display().to_string(), &ioengine, seed, outcome);
    Ok(RunRecord { attached, ..record })
}

fn recipe(suite: &Suite) -> Result<&Recipe, Failure> {
    match &suite.needs {
        Needs::Blocks(recipe) => Ok(recipe),
        Needs::Tree => {
            let name = &suite.name;
            let message = format!("suite `{name}` works on files, so it needs a directory");
            Err(Failure::bad_words(message).hint("name a directory"))
        }
    }
}

fn plan(path: &Path, part: &Part) -> RunPlan {
    RunPlan {
        numjobs: part.numjobs,
        conduct: part.schedule,
        seed: part.seed,
        ..RunPlan::new(path.to_owned(), part.workload.clone())
    }
}

/// What a load came to; nothing where it was cut short.
fn done(made: Made) -> Option<Done> {
    let Made { total, marks, .. } = made;
    (!interrupt::requested()).then_some(Done { tally: total, marks })
}

fn record(suite: &Suite, target: &str, ioengine: &str, seed: u64, outcome: Outcome) -> RunRecord {
    let options = suite.options.iter().cloned().collect();
    let config = RunConfig {
        drivelab: env!("CARGO_PKG_VERSION").into(),
        ioengine: ioengine.to_owned(),
        direct: true,
        numjobs: 1,
        seed,
        suite: Some(SuiteConfig { name: suite.name.clone(), options }),
        ..RunConfig::default()
    };
    let mut marks = outcome.marks;
    // Said by what is missing.
    marks.retain(|mark| mark.id != MarkId::Interrupted);
    RunRecord { marks, ..measure::benchmark(target, config, outcome.phases) }
}
