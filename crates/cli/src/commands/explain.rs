//! `explain`: which cause explains the difference between two sets of results.

use std::path::{Path, PathBuf};

use clap::Args;
use drivelab_analysis::explanation::question::{of_article, of_runs, parse};
use drivelab_analysis::explanation::{Question, Strength};
use drivelab_analysis::run::Dated;
use drivelab_archive::Detail;
use drivelab_core::Refusal;
use drivelab_lab::explain::{Cache, Wanted, explain, library};
use drivelab_lab::results::Content;
use drivelab_lab::{input, interrupt, target};
use drivelab_report::explanation;
use drivelab_report::text::json_text;

use crate::commands::archive::keep::ArchiveArgs;
use crate::commands::arms::{arms, called_by_content};
use crate::commands::compare::found;
use crate::commands::completion::{self, Offer};
use crate::exit::{Exit, Outcome};
use crate::ui::Ui;

/// Rank the causes that could have produced the difference between two sets of results.
///
/// A and B are runs of drivelab, as `compare` takes them: files of `drivelab run --json`, or kept
/// runs. Instead of both, article:N names the published figures of an article, and FIGURES.toml is
/// a file of figures of any tool. Every cause of the library is simulated on drives that fit the
/// profile, alone and in pairs, in either arm, and the ratios that it predicts are held against
/// those that were measured.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab explain before.json after.json --drive seagate-st31000333as
  drivelab explain before/*.json -- after/*.json --drive generic-sata
  drivelab explain article:1
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
    let question = question(arguments)?;
    let drive = arguments.drive.as_deref().or(question.drive.as_deref()).ok_or_else(|| {
        Refusal::request("the results do not name a modelled drive")
            .hint("name the one that is most like yours: --drive NAME (see `drivelab drive list`)")
    })?;
    let spec = target::drive_spec(drive)?;
    let mut causes = library::embedded();
    if let Some(path) = &arguments.causes {
        let own = library::read(path)?;
        // A cause of the same name replaces that of the library.
        causes.retain(|cause| own.iter().all(|it| it.id != cause.id));
        causes.extend(own);
    }
    let wanted = Wanted {
        question: &question,
        spec: &spec,
        causes: &causes,
        specimens: arguments.specimens,
        seed: arguments.seed,
        cache: &Cache::default(),
        chooses_next: true,
    };
    let Some(answer) = explain(&wanted, &interrupt::silent())? else {
        return Ok(Exit::Interrupted);
    };
    if ui.json {
        ui.result(&json_text(&explanation::json(&answer)))?;
    } else {
        ui.result(&explanation::text(&answer, ui.look()))?;
    }
    let is_open = answer.explanation.strength == Strength::Undecided;
    Ok(if is_open { Exit::Inconclusive } else { Exit::Done })
}

/// The figures by what was typed.
fn question(arguments: &ExplainArgs) -> Result<Question, Refusal> {
    if let ([only], []) = (&arguments.arms[..], &arguments.others[..]) {
        return alone(only);
    }
    let typed = arms(&arguments.arms, &arguments.others)?;
    let arms = called_by_content(typed, &arguments.archive);
    let mut of_arms = Vec::new();
    let all = found(&arms, (&arguments.archive, Detail::Figures))?;
    for (arm, found) in arms.iter().zip(all) {
        let mut runs: Vec<Dated> = Vec::new();
        for (path, content) in found {
            runs.extend(runs_of(&path, content)?);
        }
        of_arms.push((arm.name.clone(), runs));
    }
    let of_arms: [_; 2] = of_arms.try_into().map_err(|arms: Vec<_>| {
        Refusal::request(format!("{} sets of results; an explanation is of two", arms.len()))
            .hint("put `--` between the files of the two: before/*.json -- after/*.json")
    })?;
    of_runs(of_arms)
}

/// An article, or a file of figures.
fn alone(what: &Path) -> Result<Question, Refusal> {
    let typed = what.to_string_lossy();
    if let Some(number) = typed.strip_prefix("article:") {
        let number = number.parse().map_err(|_| {
            Refusal::request(format!("`{typed}` does not name an article"))
                .hint("write article:1 or article:2")
        })?;
        return of_article(number);
    }
    if what.extension().is_some_and(|ending| ending == "toml") {
        return Ok(parse(&typed, &input::text(what, input::PROFILE)?)?);
    }
    Err(Refusal::request("one set of results; an explanation is of two")
        .hint("name both: drivelab explain before.json after.json")
        .hint("or a file of figures that ends in `.toml`"))
}

fn runs_of(path: &Path, content: Content) -> Result<Vec<Dated>, Refusal> {
    match content {
        Content::Runs(runs) => Ok(runs),
        Content::Jobs(_, records) => Ok(records.into_iter().map(Dated::from).collect()),
        Content::Study(..)
        | Content::Results(_)
        | Content::Collection(_)
        | Content::Measurement(..) => {
            let message = format!("`{}` does not say which load it measured", path.display());
            Err(Refusal::request(message)
                .hint("write its figures and their loads to a file: drivelab explain FIGURES.toml")
                .hint("an example: causes/figures/article-1.toml, see docs/concepts/causes.md"))
        }
    }
}
