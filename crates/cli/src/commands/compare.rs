//! `compare`: what may be concluded from results that exist already.

use drivelab_analysis::comparison::{
    ArmResults, Choice, CompareOptions, CompareResult, Input, OwnRuns,
};
use drivelab_analysis::run::Dated;
use drivelab_analysis::{pairs, run};
use drivelab_report::text::json_text;
use std::path::{Path, PathBuf};

use clap::Args;
use drivelab_archive::Detail;
use drivelab_core::units::Ratio;
use drivelab_core::{Invalid, Refusal};
use drivelab_report::comparison;
use drivelab_stats::{Better, Criteria, Pair, noise_floor};

use crate::commands::archive::keep::ArchiveArgs;
use crate::commands::arms::{ArmFiles, arms, called_by_content, several_files};
use crate::exit::{Exit, Outcome};
use crate::ui::Ui;
use drivelab_lab::results::{self, Content};
use drivelab_lab::stage::suite;

/// Compare existing results and print a verdict.
///
/// Each FILE is one arm, the first the baseline: stored runs (the output of `drivelab run --json`),
/// kept runs (the beginning of an id, label:NAME for a label or tag, or @WHEN[,key=value...] such
/// as @last-week,label=x, whose runs count in the order in which they were kept), the results
/// folder of a study, or what another tool wrote (see `drivelab import`). Several files of an arm,
/// or several runs in a file, are its runs: name those of the baseline, then `--`, then those of
/// the other arm. Runs are paired in order, unless their times or --unpaired say that the arms did
/// not alternate. With --pairs, a CSV file names arms and blocks; A B select arms from it, the
/// baseline first and the candidate last.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab compare before.json after.json
  drivelab compare ide.json ahci.json --factor controller
  drivelab compare label:before label:after          kept runs by their labels
  drivelab compare @last-week,label=nightly @today,label=nightly
  drivelab compare ide.csv ahci.csv                  two bonnie++ results
  drivelab compare fio-ide.json fio-ahci.json        two results of fio
  drivelab compare before/*.json -- after/*.json     several runs of each
  drivelab compare monday/ tuesday/                  the folders of two studies
  drivelab compare --pairs results.csv --baseline old
  drivelab compare --pairs results.csv old new --better less
  drivelab compare monday.json tuesday.json --aa     how much do equal runs differ on this host?")]
pub(crate) struct CompareArgs {
    /// Results, one file per arm; with --pairs, names of arms.
    #[arg(value_name = "A B")]
    arms: Vec<PathBuf>,
    /// All files of the second arm; those before `--` are then all of the first.
    #[arg(last = true, value_name = "B", conflicts_with = "pairs")]
    others: Vec<PathBuf>,
    /// The metric that decides [default: `iops` for runs and fio, `seeks` for bonnie++].
    #[arg(long, value_name = "METRIC")]
    primary: Option<String>,
    /// The smallest effect worth acting on (equivalence margin).
    #[arg(long, default_value = "3%")]
    margin: Ratio,
    /// Its name in earlier versions.
    #[arg(long, hide = true, value_parser = renamed_to_margin)]
    mei: Option<Ratio>,
    /// What the arms are meant to differ in: a setting of the drive (scheduler, controller,
    /// queue-depth, ...) or of the work (rw, bs, iodepth, threads, ...). Other differences of
    /// settings cause a warning, and other differences of the work withhold the verdict.
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
    /// The arms did not alternate: compare them without pairing their runs (Welch).
    #[arg(long)]
    unpaired: bool,
    /// Print all metrics in words, notes and how to read the result, too.
    #[arg(long)]
    explain: bool,
    /// Treat the arms as equal, and print the noise floor of this host.
    #[arg(long)]
    aa: bool,
    /// Seed of the random sign flips (used above 16 blocks).
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    archive: ArchiveArgs,
}

fn renamed_to_margin(_: &str) -> Result<Ratio, Invalid> {
    Err("`--mei` is now named `--margin`".into())
}

/// Compares and prints the verdict.
pub(crate) fn run(arguments: &CompareArgs, ui: Ui) -> Outcome {
    if arguments.margin == Ratio::ZERO || arguments.margin > Ratio::ONE {
        return Err(Refusal::request(format!("`--margin` is {}", arguments.margin))
            .hint("give the smallest change worth acting on: above 0 %, at most 100 %"));
    }
    let gathered = if let Some(path) = &arguments.pairs {
        Gathered { input: from_pairs(path, arguments)?, has_studies: false }
    } else {
        let typed = arms("compare", &arguments.arms, &arguments.others)?;
        let arms = called_by_content(typed, &arguments.archive);
        match from_labels(&arms, &arguments.archive)? {
            Some(gathered) => gathered,
            None => from_arms(&arms, found(&arms, (&arguments.archive, Detail::Figures))?)?,
        }
    };
    let unpaired = arguments.unpaired.then_some("`--unpaired` is given");
    let options = CompareOptions {
        primary: arguments.primary.clone(),
        margin: arguments.margin.to_f64(),
        seed: arguments.seed,
        factors: arguments.factor.clone(),
        unpaired: unpaired.or(gathered.unpaired()).map(str::to_owned),
    };
    let result = drivelab_analysis::comparison::analyse(&gathered.input, &options)
        .map_err(Refusal::request_error)?;
    if arguments.aa {
        refuse_unequal(&result)?;
        return show_noise_floor(&result, arguments.margin, arguments.seed, ui);
    }
    if ui.json {
        ui.result(&comparison::json(&result))?;
    } else if arguments.explain {
        ui.result(&comparison::text(&result, ui.look()))?;
    } else {
        ui.result(&comparison::short(&result, ui.look(), "add --explain"))?;
    }
    Ok(Exit::of(&result.primary().adjusted.comparison))
}

fn from_pairs(path: &Path, arguments: &CompareArgs) -> Result<Input, Refusal> {
    let rows = pairs::parse(&results::text(path)?).map_err(|error| results::wrong(path, &error))?;
    let choice = Choice {
        arms: arguments.arms.iter().map(|arm| arm.display().to_string()).collect(),
        baseline: arguments.baseline.clone(),
        better: arguments.better.as_deref().map(|word| match word {
            "less" => Better::Less,
            // The parser takes no third word.
            _ => Better::More,
        }),
        equal: arguments.aa,
    };
    drivelab_analysis::comparison::from_pairs(&rows, &choice).map_err(|error| refused(error, path))
}

/// The content of the compared arms.
pub(crate) struct Gathered {
    pub(crate) input: Input,
    /// True if some of the runs are from studies.
    has_studies: bool,
}

impl Gathered {
    /// The reason why the runs cannot be paired.
    pub(crate) fn unpaired(&self) -> Option<&'static str> {
        let why = "the studies ran at different times, so their runs cannot be paired";
        self.has_studies.then_some(why)
    }
}

/// The content of each file of each arm.
pub(crate) fn found(
    arms: &[ArmFiles],
    (archive, detail): (&ArchiveArgs, Detail),
) -> Result<Vec<Vec<(PathBuf, Content)>>, Refusal> {
    let mut of_arms = Vec::with_capacity(arms.len());
    for arm in arms {
        let mut of_arm = Vec::new();
        for path in &arm.files {
            let found = results::find(path, None, (&archive.location(), detail))?;
            of_arm.extend(found.into_iter().map(|content| ((*path).to_owned(), content)));
        }
        of_arms.push(of_arm);
    }
    Ok(of_arms)
}

/// Puts side by side the runs of labels, whose records are not kept in memory; `None` where
/// anything else is among them.
fn from_labels(arms: &[ArmFiles], archive: &ArchiveArgs) -> Result<Option<Gathered>, Refusal> {
    let mut own: Vec<OwnRuns> = Vec::new();
    for ArmFiles { name, files } in arms {
        let mut runs = OwnRuns::new(name);
        for path in files {
            if results::own_runs(&mut runs, path, &archive.location())?.is_none() {
                return Ok(None);
            }
        }
        own.push(runs);
    }
    gathered(arms, drivelab_analysis::comparison::from_own(&own), false).map(Some)
}

/// Puts side by side what was found of each arm.
pub(crate) fn from_arms(
    arms: &[ArmFiles],
    found: Vec<Vec<(PathBuf, Content)>>,
) -> Result<Gathered, Refusal> {
    let mut runs: Vec<(String, Vec<Dated>)> = Vec::new();
    let (mut foreign, mut has_studies) = (Vec::new(), false);
    for (ArmFiles { name, .. }, found) in arms.iter().zip(found) {
        let (mut records, mut others) = (Vec::new(), Vec::new());
        for (path, content) in found {
            has_studies |= matches!(content, Content::Study(..));
            match content {
                Content::Runs(mut of_file) => {
                    for run in &mut of_file {
                        suite::complete(&mut run.record);
                    }
                    records.extend(of_file);
                }
                other => others.push(results::imported(&path, other)?),
            }
        }
        if !others.is_empty() && !records.is_empty() {
            others.push(run::results(name, records.iter().map(|run| &run.record)));
        }
        runs.push((name.clone(), records));
        foreign.push(ArmResults { name: name.clone(), files: others });
    }
    let has_runs = foreign.iter().all(|arm| arm.files.is_empty());
    let input = match &mut foreign[..] {
        _ if has_runs => drivelab_analysis::comparison::from_runs(&runs),
        [arm] if arm.files.len() == 1 => {
            let input = drivelab_analysis::comparison::from_lines(&arm.files[0]);
            // The arms of one study are what the study says.
            input.map(|input| Input { work_is_declared: has_studies, ..input })
        }
        foreign => {
            // A mixture: runs of drivelab are results as any others.
            for (arm, (name, records)) in foreign.iter_mut().zip(&runs) {
                if arm.files.is_empty() {
                    let records = records.iter().map(|run| &run.record);
                    arm.files.push(run::results(name, records));
                }
            }
            drivelab_analysis::comparison::from_foreign(foreign)
        }
    };
    gathered(arms, input, has_studies)
}

fn gathered(
    arms: &[ArmFiles],
    input: Result<Input, Refusal>,
    has_studies: bool,
) -> Result<Gathered, Refusal> {
    let mut input = input.map_err(|error| refused(error, arms[0].files[0]))?;
    input.notes.extend(several_files(arms, &input));
    Ok(Gathered { input, has_studies })
}

fn refused(error: Refusal, path: &Path) -> Refusal {
    Refusal::request_error(error).hint(format!("read from `{}`", path.display()))
}

/// Runs whose verdict is withheld are not equal runs.
fn refuse_unequal(result: &CompareResult) -> Result<(), Refusal> {
    match result.withheld.iter().find(|it| it.outcomes.contains(&result.primary)) {
        None => Ok(()),
        Some(reason) => {
            Err(Refusal::request(format!("these are not equal runs: {}", reason.message))
                .hint("put runs of the same work into both arms"))
        }
    }
}

/// Prints the difference between equal runs: any smaller effect is noise of this host.
fn show_noise_floor(result: &CompareResult, margin: Ratio, seed: u64, ui: Ui) -> Outcome {
    let series = &result.series[result.primary().series];
    let both = series.values[0].iter().zip(&series.values[result.arms.len() - 1]);
    let equal: Vec<Pair> = both.map(|(a, b)| Pair::new(*a, *b)).collect();
    let criteria =
        Criteria::new(margin.to_f64(), series.better, seed).map_err(Refusal::request_error)?;
    let floor = noise_floor(&equal, &criteria).map_err(|error| {
        Refusal::request_error(error)
            .hint("put at least six runs, one after another, into each file")
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
