//! `sweep`: one load on many points of a space of settings, and which of them matters.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread;

use clap::{Args, Subcommand};
use drivelab_core::config::Choice as _;
use drivelab_core::record::Drawn;
use drivelab_engine::RunPlan;
use drivelab_model::options::{DriveSpec, Options};
use drivelab_model::profile::Profile;
use drivelab_report::publish::Format;
use drivelab_report::sweep::{Factor, Swept, picture};
use drivelab_report::text::{Look, json_text};
use drivelab_study::sweep::{Figures, Kept, Point, Points, Row, Rows, Shard, Sweep, carry_out};

use crate::failure::{Exit, Failure, Outcome};
use crate::input;
use crate::interrupt;
use crate::output;
use crate::stage::{DriveKeys, parallel};
use crate::target;
use crate::ui::{Console, Progress, Show, Ui};

/// Points that each thread makes between two looks at the disk.
const POINTS_A_THREAD: usize = 128;
/// How wide text in a file is.
const LOOK: Look = Look { width: 100, colour: false };

/// Make one run at many points of a space of settings, and say which of them matters.
///
/// Points follow from the file alone. Each is made once and kept beside it, so that an interrupted
/// sweep goes on, and any machine can make any share of it (--shard): the rows are the same bytes.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  drivelab sweep sweep.toml
  drivelab sweep sweep.toml --shard 2/7         the second of seven shares
  drivelab sweep report sweep.toml --out shares.svg
  parallel drivelab sweep sweep.toml --shard {}/7 ::: 1 2 3 4 5 6 7"
)]
pub(crate) struct SweepArgs {
    #[command(subcommand)]
    verb: Option<SweepVerb>,
    /// The sweep file.
    #[arg(required = true)]
    file: Option<PathBuf>,
    /// The share of the points to make: 2/7 is the second of seven.
    #[arg(long, default_value_t = Shard::WHOLE, value_name = "I/N")]
    shard: Shard,
    #[command(flatten)]
    rows: RowsArgs,
}

#[derive(Debug, Subcommand)]
enum SweepVerb {
    Report(SweepReportArgs),
}

/// Say which factor matters, from the points made so far.
#[derive(Debug, Args)]
struct SweepReportArgs {
    /// The sweep file.
    file: PathBuf,
    /// Write it to a file, by its ending: svg, csv, json or txt.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    rows: RowsArgs,
}

#[derive(Debug, Args)]
struct RowsArgs {
    /// The folder of the rows [default: beside the file, with the ending `.sweep`].
    #[arg(long, value_name = "DIR")]
    rows: Option<PathBuf>,
}

/// A sweep on its drive.
struct Modelled {
    sweep: Sweep,
    spec: DriveSpec,
    profile: Profile,
    /// In words that differ wherever the drive does.
    model: String,
}

/// Makes the points, or reports them.
pub(crate) fn run(arguments: SweepArgs, ui: Ui) -> Outcome {
    match (arguments.verb, arguments.file) {
        (Some(SweepVerb::Report(report)), _) => self::report(&report, ui),
        (None, Some(file)) => make(&file, arguments.shard, &arguments.rows, ui),
        (None, None) => unreachable!("the parser asks for a file"),
    }
}

fn make(file: &Path, shard: Shard, rows: &RowsArgs, ui: Ui) -> Outcome {
    let modelled = Modelled::read(file)?;
    let points = modelled.points()?;
    modelled.check(&points)?;
    let folder = rows.folder(file);
    let mut rows = Rows::open(&folder, &shard.file())?;
    let mut kept = modelled.kept(&folder, &points)?;
    let own = (0..points.len()).filter(|number| shard.holds(*number)).count();
    let progress = Progress::steps(own as u64, "points").shown(Show::default());
    let console = Console::with_progress(ui, progress);
    let threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let batch = threads.get() * POINTS_A_THREAD;
    carry_out(&points, shard, &mut rows, &mut kept, batch, &console, |batch| {
        parallel::map(threads, batch, |point| modelled.row(point)).into_iter().collect()
    })?;
    drop(console);
    if interrupt::requested() {
        ui.note("interrupted: the same command goes on");
        return Ok(Exit::Interrupted);
    }
    let swept = modelled.swept(&kept);
    if shard != Shard::WHOLE && swept.missing() > 0 {
        ui.note(&format!(
            "shard {shard} is made; {} points of other shards are missing",
            swept.missing()
        ));
    }
    show(&swept, ui)
}

fn show(swept: &Swept, ui: Ui) -> Outcome {
    if ui.json {
        return ui.result(&json_text(&swept.json()));
    }
    ui.result(swept.text(ui.look()).trim_end_matches('\n'))
}

fn report(arguments: &SweepReportArgs, ui: Ui) -> Outcome {
    let modelled = Modelled::read(&arguments.file)?;
    let points = modelled.points()?;
    let kept = modelled.kept(&arguments.rows.folder(&arguments.file), &points)?;
    if kept.rows.is_empty() {
        let file = arguments.file.display();
        return Err(Failure::bad_words(format!("no point of `{file}` has been made"))
            .hint(format!("make them: drivelab sweep {file}")));
    }
    if kept.foreign > 0 {
        ui.warn(&format!(
            "{} rows are damaged, or of another sweep, drive or version: they do not count",
            kept.foreign
        ));
    }
    let swept = modelled.swept(&kept);
    let Some(out) = &arguments.out else { return show(&swept, ui) };
    output::refuse_other(out, &output::REPORT)?;
    output::write(out, &rendered(&swept, out)?, &output::REPORT)?;
    ui.note(&format!("report: {}", out.display()));
    Ok(Exit::Done)
}

fn rendered(swept: &Swept, out: &Path) -> Result<String, Failure> {
    let ending = out.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    Ok(match Format::from_name(ending) {
        Ok(Format::Svg) => picture(swept).ok_or_else(|| {
            Failure::cannot_here(anyhow::anyhow!("there is nothing to draw yet"))
                .hint("make more points: `drivelab sweep report FILE` says what is missing")
        })?,
        Ok(Format::Csv) => swept.csv(),
        Ok(Format::Json) => json_text(&swept.json()),
        Ok(Format::Txt) => swept.text(LOOK),
        _ => {
            let message = format!("`{}` is no format of a sweep", out.display());
            return Err(
                Failure::bad_words(message).hint("end the name in .svg, .csv, .json or .txt")
            );
        }
    })
}

impl RowsArgs {
    fn folder(&self, file: &Path) -> PathBuf {
        self.rows.clone().unwrap_or_else(|| file.with_extension("sweep"))
    }
}

impl Modelled {
    fn read(file: &Path) -> Result<Self, Failure> {
        let text = input::text(file, input::SWEEP)?;
        let sweep = Sweep::parse(&file.display().to_string(), &text, &DriveKeys)?;
        let spec = target::drive_spec(&sweep.drive)?;
        let profile = target::profile(&spec)?;
        let model = format!("{:?} {profile:?}", spec.options.entries());
        Ok(Self { sweep, spec, profile, model })
    }

    fn points(&self) -> Result<Points<'_>, Failure> {
        let unknowns = self.profile.unknowns().len();
        if self.sweep.draws_specimens && unknowns > self.sweep.unknowns_max() {
            let message = format!("{} leaves {unknowns} numbers open", self.spec.profile);
            return Err(Failure::bad_words(format!("{message}, too many for Sobol' points"))
                .hint("write design = \"latin-hypercube\""));
        }
        Ok(Points::new(&self.sweep, unknowns))
    }

    /// Refuses points whose options exclude one another, before any is made.
    fn check(&self, points: &Points<'_>) -> Result<(), Failure> {
        for number in 0..points.len() {
            let point = points.point(number);
            self.sweep.load(&point).check().map_err(|error| {
                let failure = Failure::from(error);
                let context = format!("point {number} ({}) cannot be run", self.words(&point));
                Failure { error: failure.error.context(context), ..failure }
            })?;
        }
        Ok(())
    }

    fn words(&self, point: &Point) -> String {
        let pairs = self.sweep.parameters.iter().zip(&point.values);
        let words = pairs.map(|(parameter, value)| format!("{} = {value}", parameter.name));
        words.collect::<Vec<_>>().join(", ")
    }

    fn kept(&self, folder: &Path, points: &Points<'_>) -> Result<Kept, Failure> {
        let key = |number| {
            let is_there = number < points.len();
            is_there.then(|| self.sweep.key(&points.point(number), &self.model))
        };
        Ok(Kept::read(folder, key)?)
    }

    /// Makes a point.
    fn row(&self, point: &Point) -> Result<Row, Failure> {
        let mut options = Options::default();
        for (key, value) in self.sweep.settings(point) {
            options.set(key, &value).expect("its values were checked");
        }
        let options = self.spec.options.overlaid_with(&options);
        let spec = DriveSpec { options, ..self.spec.clone() };
        let (profile, drawn) = self.specimen(point);
        let workload = self.sweep.load(point).check()?;
        let plan = RunPlan { seed: point.seed, ..RunPlan::new(PathBuf::new(), workload) };
        let record = target::simulate(&spec, &profile, &plan, &|_| ()).map_err(|failure| {
            let context = format!("point {} ({})", point.number, self.words(point));
            Failure { error: failure.error.context(context), ..failure }
        })?;
        let names = self.sweep.parameters.iter().map(|parameter| parameter.name.clone());
        Ok(Row {
            point: point.number,
            key: self.sweep.key(point, &self.model),
            parameters: names.zip(point.values.clone()).collect(),
            unknowns: drawn.into_iter().map(|drawn| (drawn.name, drawn.value)).collect(),
            figures: Figures::of(&record.total.expect("a load has a total")),
        })
    }

    fn specimen(&self, point: &Point) -> (Profile, Vec<Drawn>) {
        if self.sweep.draws_specimens && !point.quantiles.is_empty() {
            return self.profile.specimen(&point.quantiles);
        }
        (self.profile.median(), Vec::new())
    }

    fn swept(&self, kept: &Kept) -> Swept {
        let rows: Vec<&Row> = kept.rows.values().collect();
        let parameters = self.sweep.parameters.iter().map(|parameter| {
            let words = rows.iter().map(|row| row.parameters[&parameter.name].clone());
            let words: Vec<String> = words.collect();
            let values = words.iter().map(|word| parameter.number(word)).collect();
            Factor { name: parameter.name.clone(), is_unknown: false, values, words }
        });
        let open = rows.first().map(|row| row.unknowns.keys().cloned().collect::<Vec<_>>());
        let unknowns = open.unwrap_or_default().into_iter().map(|name| {
            let value = |row: &&Row| row.unknowns.get(&name).copied().unwrap_or(f64::NAN);
            let values: Vec<f64> = rows.iter().map(value).collect();
            let words = values.iter().map(f64::to_string).collect();
            Factor { name, is_unknown: true, values, words }
        });
        Swept {
            title: self.sweep.title.clone(),
            drive: self.spec.to_string(),
            design: self.sweep.design.name(),
            figure: self.sweep.figure,
            points: self.sweep.points,
            factors: parameters.chain(unknowns).collect(),
            made: rows.iter().map(|row| (row.point, row.figures.get(self.sweep.figure))).collect(),
            rows_sha256: kept.sha256(),
        }
    }
}
