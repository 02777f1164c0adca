//! Suites by name: which there are, what each declares, and how each is run.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::path::Path;

use drivelab_core::config::{ConfigError, Section, nearest};
use drivelab_core::control::{Control, Event};
use drivelab_core::recipe::embedded::{self, RECIPES};
use drivelab_core::recipe::{Adjust, LoadCounts, LoadTarget, Outcome, Part, Recipe, Test};
use drivelab_core::record::{MarkId, RunConfig, RunRecord, SUITE, SuiteConfig, Work};
use drivelab_core::units::Bytes;
use drivelab_core::{AtPath as _, Invalid, Refusal};
use drivelab_engine::{LaidOut, RunPlan};
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::Profile;
use drivelab_study::file::{Needs, Suite};
use drivelab_suites::{About, SUITES};

use super::shape;
use crate::input;
use crate::measure;
use crate::request::Permissions;
use crate::target::{self, ModelledDrive};
use drivelab_simulate::Made;

/// The suite called `name` with the options that it takes out of `section`.
pub fn declared(name: &str, section: &mut Section) -> Result<Suite, ConfigError> {
    if let Some(about) = SUITES.iter().find(|about| about.name == name) {
        return of_files(about, section);
    }
    let adjust = Adjust::read(section)?;
    find(name, &adjust).map_err(|failure| match failure.hints.first() {
        None => section.error(failure.to_string()),
        Some(hint) => section.error(format!("{failure}; {hint}")),
    })
}

/// The suite called `name`, or the recipe in the file of that name.
pub fn find(name: &str, adjust: &Adjust) -> Result<Suite, Refusal> {
    if let Some(suite) = shape::find(name) {
        return suite;
    }
    let text = match embedded::text(name) {
        Some(text) => text.to_owned(),
        None if Path::new(name).extension().is_some_and(|end| end == "toml") => {
            input::text(Path::new(name), input::RECIPE)?
        }
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

/// A suite of files with the options that it takes out of `section`.
fn of_files(about: &About, section: &mut Section) -> Result<Suite, ConfigError> {
    let mut options = Vec::new();
    for option in about.options {
        let value: Option<String> = section.take(option.key)?;
        options.extend(value.map(|value| (option.key.to_owned(), value)));
    }
    let suite = drivelab_suites::Suite::new(about.name, &options);
    suite.map(|suite| tree(&suite)).map_err(|wrong| section.error(wrong))
}

/// A suite of files as a workload.
fn tree(suite: &drivelab_suites::Suite) -> Suite {
    let (metrics, mut options) = (suite.metrics(), suite.options().collect::<Vec<_>>());
    options.sort();
    Suite {
        name: suite.name().to_owned(),
        options,
        summary: suite.summary().to_owned(),
        headline: metrics.first().cloned().unwrap_or_default(),
        metrics,
        needs: Needs::Tree,
        writes: true,
        time: None,
    }
}

/// True if this is the name of a suite of files, with or without options.
pub fn is_of_files(typed: &str) -> bool {
    let name = typed.split(',').next();
    SUITES.iter().any(|suite| name == Some(suite.name))
}

/// A suite of files as it is typed, `NAME,KEY=VALUE...`, with the size of a workload.
/// `has_repeats` is true if an option is given that only recipes have.
pub fn of_files_typed(
    typed: &str,
    size: Option<Bytes>,
    has_repeats: bool,
) -> Result<Suite, Refusal> {
    let text = match size {
        Some(size) => format!("{typed},size={size}"),
        None => typed.to_owned(),
    };
    let list = "`drivelab run --suite help` lists the suites of files and their options";
    let suite: Result<drivelab_suites::Suite, Invalid> = text.parse();
    let suite = suite.map_err(|wrong| Refusal::request(wrong).hint(list))?;
    if has_repeats {
        let name = suite.name();
        let message = format!("`--runtime`, `--loops` and `--pause` have no effect on `{name}`");
        return Err(Refusal::request(message).hint(list));
    }
    Ok(tree(&suite))
}

/// Every option with the value in force; of a recipe in a file also what its tests do, because
/// another file may have its name.
fn work(suite: &Suite) -> Work {
    let mut work = Work::default();
    work.set("suite", &suite.name);
    let Needs::Blocks(recipe) = &suite.needs else { return work };
    let each = |of: &dyn Fn(&Test) -> String| {
        let mut values: Vec<String> = recipe.tests.iter().map(of).collect();
        values.dedup();
        values.join(", ")
    };
    let size = |test: &Test| test.workload.size.map(|size| size.to_string()).unwrap_or_default();
    for (key, value) in [
        ("size", each(&size)),
        ("runtime", each(&|test| test.workload.runtime.to_string())),
        ("loops", each(&|test| test.loops.to_string())),
        ("pause", recipe.pause.to_string()),
    ] {
        work.set(&format!("{SUITE}{key}"), value);
    }
    if embedded::text(&suite.name).is_none() {
        for test in &recipe.tests {
            let load = Work::of_load(&test.workload).with("numjobs", test.numjobs);
            work.add(&format!("{}.", test.name), &load);
        }
    }
    work
}

/// The work of a run of a suite, where its record is of a version that did not write it.
pub fn complete(record: &mut RunRecord) {
    let Some(SuiteConfig { name, options }) = &record.config.suite else { return };
    if !record.config.work.is_empty() {
        return;
    }
    let given: Vec<(String, String)> = options.clone().into_iter().collect();
    if let Ok(suite) = drivelab_suites::Suite::new(name, &given) {
        record.config.work = suite.work();
    } else if options.is_empty() && embedded::text(name).is_some() {
        let known = find(name, &Adjust::default());
        record.config.work = known.map(|suite| work(&suite)).unwrap_or_default();
    }
}

/// The settings that the tool of a run's suite writes into its own results.
pub fn setup(record: &RunRecord) -> BTreeMap<String, String> {
    let Some(SuiteConfig { name, options }) = &record.config.suite else { return BTreeMap::new() };
    let given: Vec<_> = options.clone().into_iter().collect();
    let memory = record.host.as_ref().map(|host| Bytes::new(host.memory_bytes));
    let suite = drivelab_suites::Suite::new(name, &given);
    suite.map_or_else(|_| BTreeMap::new(), |suite| suite.setup(record.config.seed, memory))
}

fn unknown(name: &str) -> Refusal {
    let files = SUITES.iter().map(|about| about.name);
    let names = RECIPES.iter().map(|(name, _)| *name).chain(files);
    let hint = match nearest(name, names.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "there are {}; a recipe of your own is a file that ends in `.toml`",
            names.collect::<Vec<_>>().join(", ")
        ),
    };
    Refusal::request(format!("there is no suite `{name}`")).hint(hint)
}

/// Runs a suite on a modelled drive that nothing was asked of before.
pub fn on_model(
    suite: &Suite,
    spec: &DriveSpec,
    profile: &Profile,
    seed: u64,
    control: &Control<'_>,
) -> Result<RunRecord, Refusal> {
    if let Some(carried_out) = shape::on_model(suite, spec, profile, seed, control)? {
        let outcome =
            Outcome { phases: vec![carried_out.phase], marks: Vec::new(), is_whole: true };
        let record = record_of(suite, &spec.to_string(), "virtual", seed, outcome);
        let (attached, specimen) = (Some(carried_out.attached), carried_out.specimen);
        return Ok(RunRecord { host: None, attached, specimen, ..record });
    }
    let recipe = recipe_of(suite)?;
    let mut drive = ModelledDrive::new(spec, profile, seed)?;
    let target = LoadTarget { capacity: drive.capacity(), seed };
    let (mut attached, mut specimen) = (None, None);
    let outcome = recipe.carry_out(target, &mut |test: &Test, part| {
        let of_test = in_test(&test.name, control);
        let control = control.observed_by(&of_test);
        let plans = [&plan(Path::new(""), part)];
        let made = target::carry_out(&mut drive, &plans, &control)?.pop();
        Ok::<_, Refusal>(made.and_then(|made| {
            attached = Some(made.attached.clone());
            specimen.clone_from(&made.specimen);
            done(made, &control)
        }))
    })?;
    let record = record_of(suite, &spec.to_string(), "virtual", seed, outcome);
    Ok(RunRecord { host: None, attached, specimen, ..record })
}

/// Refuses what a run of a suite on a file would be refused for; lays out what is missing.
pub fn try_out(
    suite: &Suite,
    path: &Path,
    seed: u64,
    permissions: &Permissions,
) -> Result<(), Refusal> {
    // One of files looks at its folder itself, before it makes anything there.
    if matches!(suite.needs, Needs::Tree) || path.is_dir() {
        return Ok(());
    }
    let recipe = recipe_of(suite)?;
    let mut laid_out = measure::lay_out_if_missing(path, recipe.end().unwrap_or(SIZE), seed, true)?;
    let plans = recipe.workloads().map(|workload| RunPlan {
        allow_overwrite: permissions.overwrite,
        allow_destructive: permissions.allow_destructive.clone(),
        ..RunPlan::new(path.to_owned(), workload.clone())
    });
    measure::try_out(&plans.collect::<Vec<_>>())?;
    laid_out.iter_mut().for_each(LaidOut::keep);
    Ok(())
}

/// The size at which a missing file is laid out for a suite that states none.
const SIZE: Bytes = Bytes::gib(1);

/// Runs a suite on a file, a device or a directory.
pub fn on_path(
    suite: &Suite,
    path: &Path,
    seed: u64,
    permissions: &Permissions,
    control: &Control<'_>,
) -> Result<RunRecord, Refusal> {
    if matches!(suite.needs, Needs::Tree) {
        let suite = drivelab_suites::Suite::new(&suite.name, &suite.options)?;
        let record = measure::suite(&suite, path, seed, control)?;
        if suite.drops_everything() {
            let note = "the page cache of the whole machine was dropped; to keep it: `drop=never`";
            control.report(Event::Note(note));
        }
        return Ok(record);
    }
    let time = drivelab_study::in_words(suite.time.unwrap_or_default());
    control.report(Event::Note(&format!("{}: about {time}", suite.summary)));
    let recipe = recipe_of(suite)?;
    if path.is_dir() {
        let (path, name) = (path.display(), &suite.name);
        let message =
            format!("`{path}` is a directory, and suite `{name}` reads and writes a file");
        return Err(Refusal::request(message).hint(format!("name a file in it: {path}/testfile")));
    }
    let size = recipe.end().unwrap_or(SIZE);
    let mut laid_out = measure::lay_out_if_missing(path, size, seed, true)?;
    let length = File::open(path).and_then(|mut file| file.seek(SeekFrom::End(0)));
    let target = LoadTarget { capacity: Bytes::new(length.at_path("open", path)?), seed };
    let (mut attached, mut ioengine) = (None, String::new());
    let outcome = recipe.carry_out(target, &mut |test: &Test, part| {
        let plan = RunPlan {
            allow_overwrite: permissions.overwrite,
            allow_destructive: permissions.allow_destructive.clone(),
            ..plan(path, part)
        };
        let of_test = in_test(&test.name, control);
        let control = control.observed_by(&of_test);
        let made = measure::on_this_machine(std::slice::from_ref(&plan), &control)?.pop();
        // Only now: what is refused before its first run leaves no file.
        laid_out.iter_mut().for_each(LaidOut::keep);
        Ok::<_, Refusal>(made.and_then(|made| {
            attached = Some(made.attached.clone());
            ioengine.clone_from(&made.ioengine);
            done(made, &control)
        }))
    })?;
    let record = record_of(suite, &path.display().to_string(), &ioengine, seed, outcome);
    Ok(RunRecord { attached, ..record })
}

/// An observer that reports events of a load as those of the test that it belongs to.
fn in_test<'a>(name: &'a str, control: &'a Control<'_>) -> impl Fn(Event<'_>) + Sync + 'a {
    move |event| match event {
        Event::Load(progress) => control.report(Event::Test { name, progress }),
        other => control.report(other),
    }
}

fn recipe_of(suite: &Suite) -> Result<&Recipe, Refusal> {
    match &suite.needs {
        Needs::Blocks(recipe) => Ok(recipe),
        Needs::Model(_) | Needs::AtRisk(_) => {
            let message = format!("suite `{}` runs on a modelled drive only", suite.name);
            Err(Refusal::request(message).hint("name one: drive:NAME (`drivelab drive list`)"))
        }
        Needs::Tree => {
            let name = &suite.name;
            let message = format!("suite `{name}` works on files, so it needs a directory");
            Err(Refusal::request(message).hint("name a directory"))
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

/// The counts of a load; nothing where it was cut short.
fn done(made: Made, control: &Control<'_>) -> Option<LoadCounts> {
    let Made { total, marks, .. } = made;
    (!control.stopped()).then_some(LoadCounts { tally: total, marks })
}

fn record_of(
    suite: &Suite,
    target: &str,
    ioengine: &str,
    seed: u64,
    outcome: Outcome,
) -> RunRecord {
    let options = suite.options.iter().cloned().collect();
    let config = RunConfig {
        drivelab: env!("CARGO_PKG_VERSION").into(),
        ioengine: ioengine.to_owned(),
        direct: true,
        numjobs: 1,
        seed,
        suite: Some(SuiteConfig { name: suite.name.clone(), options }),
        work: work(suite),
        ..RunConfig::default()
    };
    let mut marks = outcome.marks;
    // Said by what is missing.
    marks.retain(|mark| mark.id != MarkId::Interrupted);
    RunRecord { marks, ..measure::benchmark(target, config, outcome.phases) }
}
