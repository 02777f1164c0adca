//! `compare`: what may be concluded from results that exist already.

use drivelab_report::text::json_text;
use std::path::{Path, PathBuf};

use clap::Args;
use drivelab_core::Refusal;
use drivelab_core::csv::ParseError;
use drivelab_core::foreign::Imported;
use drivelab_core::record::RunRecord;
use drivelab_core::units::Ratio;
use drivelab_formats::{fio, results};
use drivelab_report::comparison::{self, Choice, CompareOptions, CompareResult, Input};
use drivelab_report::pairs;
use drivelab_stats::{Better, Criteria, Pair, noise_floor};

use crate::failure::{Exit, Failure, Outcome};
use crate::input;
use crate::ui::Ui;

/// Compare existing results and print a verdict.
///
/// Each FILE is one arm: stored runs (the output of `drivelab run --json`; a file may contain
/// several), JSON of fio 3 (`--output-format=json`; likewise), or bonnie++ CSV (versions 1.03,
/// 1.96, 1.97 and 1.98). The first FILE is the baseline. Runs are paired in order: the first of one
/// arm with the first of the other. With --pairs, a CSV file names arms and blocks; A B select arms
/// from it, the baseline first and the candidate last.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab compare before.json after.json
  drivelab compare ide.json ahci.json --factor controller
  drivelab compare ide.csv ahci.csv                  two bonnie++ results
  drivelab compare fio-ide.json fio-ahci.json        two results of fio
  drivelab compare --pairs results.csv --baseline old
  drivelab compare --pairs results.csv old new --better less
  drivelab compare monday.json tuesday.json --aa     how much do equal runs differ on this host?")]
pub(crate) struct CompareArgs {
    /// Results, one file per arm; with --pairs, names of arms.
    #[arg(value_name = "A B")]
    arms: Vec<PathBuf>,
    /// The metric that decides [default: `iops` for runs and fio, `seeks` for bonnie++].
    #[arg(long, value_name = "METRIC")]
    primary: Option<String>,
    /// The smallest effect worth acting on (equivalence margin).
    #[arg(long, default_value = "3%")]
    margin: Ratio,
    /// Its name in earlier versions.
    #[arg(long, hide = true, value_parser = renamed_to_margin)]
    mei: Option<Ratio>,
    /// What the arms are meant to differ in (scheduler, controller, queue-depth, ...): other
    /// differences cause a warning. Without it, more than one difference does.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    factor: Vec<String>,
    /// A CSV file with columns `block,arm,value[,metric[,better]]`.
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    /// With --pairs: the arm to compare the other with (not needed for arms named A and B).
    #[arg(long, value_name = "ARM", requires = "pairs", conflicts_with = "arms")]
    baseline: Option<String>,
    /// With --pairs: whether less or more is better, for metrics whose name does not say so.
    #[arg(long, value_name = "less|more", requires = "pairs", value_parser = ["less", "more"])]
    better: Option<String>,
    /// Treat the arms as equal, and print the noise floor of this host.
    #[arg(long)]
    aa: bool,
    /// Seed of the random sign flips (used above 16 blocks).
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn renamed_to_margin(_: &str) -> Result<Ratio, String> {
    Err("`--mei` is now named `--margin`".to_owned())
}

/// Compares and prints the verdict.
pub(crate) fn run(arguments: &CompareArgs, ui: Ui) -> Outcome {
    if arguments.margin == Ratio::ZERO || arguments.margin > Ratio::ONE {
        return Err(Failure::bad_words(format!("`--margin` is {}", arguments.margin))
            .hint("give the smallest change worth acting on: above 0 %, at most 100 %"));
    }
    let input = match &arguments.pairs {
        Some(path) => from_pairs(path, arguments)?,
        None => from_files(&arguments.arms)?,
    };
    let options = CompareOptions {
        primary: arguments.primary.clone(),
        margin: arguments.margin.to_f64(),
        seed: arguments.seed,
        factors: factors(&arguments.factor)?,
    };
    let result = comparison::analyse(&input, &options).map_err(Failure::bad_request)?;
    if arguments.aa {
        return show_noise_floor(&result, arguments.margin, arguments.seed, ui);
    }
    if ui.json {
        ui.result(&comparison::json(&result))?;
    } else {
        ui.result(&comparison::text(&result, ui.look()))?;
    }
    Ok(Exit::of(&result.primary().adjusted.comparison))
}

/// The factors by their own names.
fn factors(given: &[String]) -> Result<Vec<String>, Failure> {
    let read = |name: &String| {
        let known = drivelab_core::factor::read(name).map_err(Failure::bad_words)?;
        Ok(known.to_owned())
    };
    given.iter().map(read).collect()
}

fn from_pairs(path: &Path, arguments: &CompareArgs) -> Result<Input, Failure> {
    let rows = pairs::parse(&read(path)?).map_err(|error| wrong(path, &error))?;
    let choice = Choice {
        arms: arguments.arms.iter().map(|arm| arm.display().to_string()).collect(),
        baseline: arguments.baseline.clone(),
        better: arguments.better.as_deref().map(|word| match word {
            "less" => Better::Less,
            _ => Better::More,
        }),
        equal: arguments.aa,
    };
    comparison::from_pairs(&rows, &choice).map_err(|error| refused(error, path))
}

/// What one file holds.
enum Content {
    Runs(Vec<RunRecord>),
    Foreign(Imported),
}

fn from_files(paths: &[PathBuf]) -> Result<Input, Failure> {
    let Some(first) = paths.first() else {
        return Err(Failure::bad_words("nothing to compare")
            .hint("give two results: drivelab compare before.json after.json"));
    };
    let (mut runs, mut foreign) = (Vec::new(), Vec::new());
    for path in paths {
        let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        match content(path)? {
            Content::Runs(records) => runs.push((name, records)),
            Content::Foreign(imported) => foreign.push((name, imported)),
        }
    }
    let input = match (&runs[..], &foreign[..]) {
        (_, []) => comparison::from_runs(&runs),
        ([], [(_, imported)]) => comparison::from_lines(imported),
        ([], _) => comparison::from_foreign(&foreign),
        _ => {
            return Err(Failure::bad_words(
                "the files mix runs of drivelab with results of another \
                                           tool",
            )
            .hint("compare results of one tool only"));
        }
    };
    input.map_err(|error| refused(error, first))
}

fn content(path: &Path) -> Result<Content, Failure> {
    let text = read(path)?;
    if text.trim_start().starts_with(['{', '[']) && !fio::results::is_fio(&text) {
        let runs = drivelab_report::run::parse(&text).map_err(|error| wrong(path, &error))?;
        return Ok(Content::Runs(runs));
    }
    results::parse(&text).map(Content::Foreign).map_err(|error| wrong(path, &error))
}

/// Reads a file as text; bytes that are none become a mark that the parsers refuse by line.
fn read(path: &Path) -> Result<String, Failure> {
    input::lossy(path, input::RESULTS)
}

fn wrong(path: &Path, error: &ParseError) -> Failure {
    let place = match (error.line, error.column) {
        (0, _) => String::new(),
        (line, 0) => format!(":{line}"),
        (line, column) => format!(":{line}:{column}"),
    };
    Failure::bad_words(format!("{}{place}: {}", path.display(), error.what))
        .hint(error.hint.clone())
}

fn refused(error: Refusal, path: &Path) -> Failure {
    Failure::bad_request(error).hint(format!("read from `{}`", path.display()))
}

/// What equal runs differ by is no effect: anything below is noise of this host.
fn show_noise_floor(result: &CompareResult, margin: Ratio, seed: u64, ui: Ui) -> Outcome {
    let series = &result.series[result.primary().series];
    let both = series.values[0].iter().zip(&series.values[result.arms.len() - 1]);
    let equal: Vec<Pair> = both.map(|(a, b)| Pair::new(*a, *b)).collect();
    let criteria =
        Criteria::new(margin.to_f64(), series.better, seed).map_err(Failure::bad_request)?;
    let floor = noise_floor(&equal, &criteria).map_err(|error| {
        Failure::bad_request(error).hint("put at least six runs, one after another, into each file")
    })?;
    let effective = drivelab_stats::effective_margin(margin.to_f64(), &floor);
    if ui.json {
        return ui.result(&json_text(&serde_json::json!({
            "schema": "drivelab.compare/1",
            "metric": series.name,
            "n": equal.len(),
            "floor": floor,
            "margin": effective,
        })));
    }
    ui.result(&format!(
        "19 of 20 pairs of equal runs of `{}` differ by at most {:.1} % on this host, means of {} \
         pairs by at most {:.1} %.\n{}Smallest effect detectable here with {} pairs: {:.1} %\n",
        series.name,
        100.0 * floor.single,
        floor.n,
        100.0 * floor.margin,
        if floor.biased { "The difference exceeds chance: find its cause first.\n" } else { "" },
        floor.n,
        100.0 * effective,
    ))
}
