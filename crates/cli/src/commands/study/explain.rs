//! `explain`: which cause explains the difference between two sets of results.

use std::path::{Path, PathBuf};

use clap::Args;
use drivelab_analysis::explanation::question::{of_article, of_sets, parse};
use drivelab_analysis::explanation::{Question, Set, Strength};
use drivelab_analysis::run::Dated;
use drivelab_archive::Detail;
use drivelab_core::Refusal;
use drivelab_core::measurements::Measurements;
use drivelab_lab::explained::Rates;
use drivelab_lab::results::Content;
use drivelab_lab::{input, interrupt, target};
use drivelab_model::options::DriveSpec;
use drivelab_report::explanation;
use drivelab_report::text::json_text;
use drivelab_simulate::explain::library::{Cause, embedded, parse as parse_causes};
use drivelab_simulate::explain::{Wanted, common, explain};

use crate::commands::archive::keep::ArchiveArgs;
use crate::commands::arms::{arms, called_by_content};
use crate::commands::compare::found;
use crate::commands::completion::{self, Offer};
use crate::commands::drive::fit::measurements_in;
use crate::exit::{Exit, Outcome};
use crate::ui::{Progress, Ui};

/// Rank the causes that could have produced the difference between two sets of results.
///
/// A and B are runs as `compare` takes them: files of `drivelab run --json` or of fio's JSON, or
/// kept runs; and the files of `drivelab drive measure`, whose loads are figures, and whose signs
/// (a cache that acknowledges early, a queue that is not used) speak for or against causes. Instead
/// of both, article:N names the published figures of an article, and FIGURES.toml is a file of
/// figures of any tool. Every cause of the library is simulated on drives that fit the profile,
/// alone and in pairs, in either arm, and the ratios that it predicts are held against those that
/// were measured.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab explain before.json after.json --drive seagate-st31000333as
  drivelab explain before/*.json -- after/*.json --drive generic-5400
  drivelab explain before.toml after.toml --drive generic-5400
  drivelab explain article:1 --all
  drivelab explain figures.toml --causes own.toml")]
pub(crate) struct ExplainArgs {
    /// Results, one file per arm; or article:N, or a file of figures.
    #[arg(value_name = "A B", required = true)]
    arms: Vec<PathBuf>,
    /// All files of the second arm; those before `--` are then all of the first.
    #[arg(last = true, value_name = "B")]
    others: Vec<PathBuf>,
    /// The drive, as it should be, with its options [default: the one that the results name].
    #[arg(long, value_parser = Offer(completion::drives), hide_possible_values = true)]
    drive: Option<String>,
    /// A file of causes, in addition to those of the library.
    #[arg(long, value_name = "FILE")]
    causes: Option<PathBuf>,
    /// Show every cause with its predictions, not only the most probable ones.
    #[arg(long)]
    all: bool,
    /// Drives that are simulated for each cause.
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(8..=1000))]
    specimens: u32,
    /// Seed of all random choices.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    archive: ArchiveArgs,
}

/// Explains, and prints the ranking.
pub(crate) fn run(arguments: &ExplainArgs, ui: Ui) -> Outcome {
    let asked = question(arguments)?;
    let spec = drive(arguments, &asked)?;
    let profile = target::profile(&spec)?;
    let library = causes(arguments)?;
    let rates = Rates::kept(&spec, &profile);
    let wanted = Wanted {
        question: &asked,
        spec: &spec,
        profile: &profile,
        causes: &library,
        specimens: arguments.specimens,
        seed: arguments.seed,
        cache: rates.cache(),
        chooses_next: true,
    };
    let progress = Progress::steps(1, "causes");
    let answer = explain(&wanted, &interrupt::control(&progress));
    // Also after an interruption: what was simulated is not simulated again.
    rates.keep();
    drop(progress);
    let Some(answer) = answer? else { return Ok(Exit::Interrupted) };
    if ui.json {
        ui.result(&json_text(&explanation::json(&answer)))?;
    } else {
        ui.result(&explanation::text(&answer, arguments.all, ui.look()))?;
    }
    let is_open = answer.explanation.strength == Strength::Undecided;
    Ok(if is_open { Exit::Inconclusive } else { Exit::Done })
}

/// The drive as it should be: the one that is named, or what the modelled drives of both sets have
/// in common.
fn drive(arguments: &ExplainArgs, question: &Question) -> Result<DriveSpec, Refusal> {
    if let Some(drive) = &arguments.drive {
        return target::drive_spec(drive);
    }
    let specs: Vec<DriveSpec> =
        question.drives.iter().map(|it| target::drive_spec(it)).collect::<Result<_, _>>()?;
    common(&specs).ok_or_else(|| {
        let message = match &question.drives[..] {
            [] => "the results do not name a modelled drive".to_owned(),
            drives => format!("the results are of different drives: {}", drives.join(" and ")),
        };
        Refusal::request(message)
            .hint(
                "name the one that is most like yours, of `drivelab drive list`: drivelab explain \
                 --drive NAME BEFORE -- AFTER",
            )
            .hint("or measure yours: drivelab drive measure TARGET --out my.toml")
    })
}

/// The causes of the library, and those of a file.
fn causes(arguments: &ExplainArgs) -> Result<Vec<Cause>, Refusal> {
    let mut causes = embedded();
    if let Some(path) = &arguments.causes {
        let text = input::text(path, input::CAUSES)?;
        let own = parse_causes(&path.display().to_string(), &text)?;
        // A cause of the same name replaces that of the library.
        causes.retain(|cause| own.iter().all(|it| it.id != cause.id));
        causes.extend(own);
    }
    Ok(causes)
}

/// The figures by what was typed.
fn question(arguments: &ExplainArgs) -> Result<Question, Refusal> {
    if let ([only], []) = (&arguments.arms[..], &arguments.others[..]) {
        return alone(only);
    }
    let typed = arms("explain", &arguments.arms, &arguments.others)?;
    let mut arms = called_by_content(typed, &arguments.archive);
    let mut sets: Vec<Set> = Vec::new();
    for arm in &mut arms {
        let (measured, files) = std::mem::take(&mut arm.files).into_iter().partition(is_toml);
        arm.files = files;
        let measurements = measured.into_iter().map(measurements_in).collect::<Result<_, _>>()?;
        sets.push(Set { name: arm.name.clone(), measurements, ..Set::default() });
    }
    let all = found(&arms, (&arguments.archive, Detail::Figures))?;
    for (set, found) in sets.iter_mut().zip(all) {
        for (path, content) in found {
            add(&path, content, set)?;
        }
    }
    let sets: [Set; 2] = sets.try_into().map_err(|sets: Vec<Set>| {
        Refusal::request(format!("{} sets of results; an explanation is of two", sets.len()))
            .hint("put `--` between the files of the two: before/*.json -- after/*.json")
    })?;
    of_sets(&sets)
}

/// An article, or a file of figures.
fn alone(what: &Path) -> Result<Question, Refusal> {
    let typed = what.to_string_lossy();
    if let Some(number) = typed.strip_prefix("article:") {
        let number = number.parse().map_err(|_| {
            Refusal::request(format!("`{typed}` does not name an article"))
                .hint("write article:0, article:1 or article:2")
        })?;
        return of_article(number);
    }
    if is_toml(&what) {
        return Ok(parse(&typed, &input::text(what, input::FIGURES)?)?);
    }
    Err(Refusal::request("one set of results; an explanation is of two")
        .hint("name both: drivelab explain before.json after.json")
        .hint("or a file of figures that ends in `.toml`"))
}

/// True for the name of a file that `drive measure` writes, or of figures.
fn is_toml(file: &&Path) -> bool {
    file.extension().is_some_and(|ending| ending == "toml")
}

/// Adds what a file or a kept run has.
fn add(path: &Path, content: Content, set: &mut Set) -> Result<(), Refusal> {
    match content {
        Content::Runs(runs) => set.runs.extend(runs),
        Content::Jobs(_, records) => set.runs.extend(records.into_iter().map(Dated::from)),
        Content::Results(imported) => set.imported.extend(imported.runs),
        Content::Measurement(file, _) => {
            set.measurements.push(Measurements::read(&path.display().to_string(), &file)?);
        }
        Content::Study(..) | Content::Collection(_) | Content::Bill(_) => {
            let message = format!("`{}` is not a set of runs", path.display());
            return Err(Refusal::request(message)
                .hint("name the runs of each arm: drivelab explain A... -- B...")
                .hint("or write figures and their loads to a file: docs/guides/explain.md"));
        }
    }
    Ok(())
}
