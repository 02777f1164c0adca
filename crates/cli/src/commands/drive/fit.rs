//! `drive fit`: a profile from measurements, with what they leave open.

use drivelab_report::text::json_text;
use std::path::{Path, PathBuf};

use clap::Args;
use drivelab_core::measurements::{DriveKind, Measurements};
use drivelab_core::record::RunRecord;
use drivelab_core::{Bytes, Refusal};
use drivelab_model::fit;
use drivelab_model::options::Link;
use drivelab_report::drive::{DRIVE_SCHEMA, Fitted, FittedDrive, LeftOpen};

use crate::exit::Outcome;
use crate::output;
use crate::ui::{Progress, Ui};
use drivelab_lab::input;

/// What `drive fit` is asked.
#[derive(Debug, Args)]
#[command(after_help = "\
MEASUREMENTS is what `drive measure` writes, or a file by hand (any subset of the figures; the
profile keeps the `source`). A disk:
  [drive]
  capacity_bytes = 2_000_398_934_016
  rpm = 7200
  source = \"fio, 4 KiB random reads over the whole drive\"
  [random_read_qd1]
  bs = \"4k\"
  mean_ms = 17.57
  p50_ms = 17.69
  p99_ms = 28.44
  [random_read_qd32]
  iops = 94
  [[random_read]]
  span_bytes = 32_000_000_000
  iodepth = 8
  iops = 130
  [sequential]
  read_mb_per_s = 143
  [[flush]]
  writes = 64
  mean_ms = 720

A solid-state drive needs random reads at depth 1 and two depths more. Writes are fitted where the
file says what was written to the drive before: sequential ones of a fresh or full drive, random
ones of a steady drive, and those that the buffer takes over. What is missing is that of the class.
  [drive]
  capacity_bytes = 500_107_862_016
  kind = \"ssd\"
  interface = \"sata\"
  link = \"3\"
  [random_read_qd1]
  iops = 7100
  [random_read_qd8]
  iops = 45_700
  [random_read_qd32]
  iops = 52_900
  [sequential]
  write_state = \"full\"
  write_mb_per_s = 330
  [[random_write]]
  state = \"steady\"
  iodepth = 32
  iops = 18_000
  [[cached_write]]
  writes = 64
  p50_ms = 0.031

Or run records, which do not describe the drive (--rpm for a disk, --kind ssd for the other):
  drivelab run /dev/sdx --rw randread --iodepth 1 --runtime 10m --json >random.json
  drivelab run /dev/sdx --rw randread --iodepth 32 --runtime 1m --json >deep.json
  drivelab run /dev/sdx --rw read --bs 1M --json >stream.json
  drivelab drive fit *.json --rpm 7200 --capacity 2000398934016 --out own.toml")]
pub(crate) struct FitArgs {
    /// Measurements of one drive: TOML files, or run records (.json).
    #[arg(required = true)]
    measurements: Vec<PathBuf>,
    /// The profile file to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Model name [default: the name of the file].
    #[arg(long)]
    model: Option<String>,
    /// Revolutions per minute of a disk (with run records).
    #[arg(long)]
    rpm: Option<f64>,
    /// Kind of drive: hdd or ssd, where MEASUREMENTS do not say it.
    #[arg(long)]
    kind: Option<DriveKind>,
    /// Link of a solid-state drive: 3, 6, pcie3x4 (with run records).
    #[arg(long, requires = "kind")]
    link: Option<Link>,
    /// Addressable bytes (with run records).
    #[arg(long)]
    capacity: Option<Bytes>,
    /// Seed of the search.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Fits a profile and writes it.
pub(crate) fn fit(arguments: &FitArgs, ui: Ui) -> Outcome {
    output::refuse_other(&arguments.out, &output::PROFILE)?;
    let measurements = read(arguments)?;
    let stem = || arguments.out.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let model = arguments.model.clone().unwrap_or_else(stem);
    let progress = Progress::between("drives");
    let watch = |at: fit::Standing| progress.at_of(at.simulated, [at.least, at.most]);
    let fit = fit::fit(&model, &command(arguments), &measurements, arguments.seed, &watch)?;
    drop(progress);
    output::write(&arguments.out, &fit.profile, &output::PROFILE)?;
    let figures = fit.figures.iter().map(|figure| {
        let fit::FittedFigure { name, measured, fitted } = figure.clone();
        Fitted { name, measured, fitted }
    });
    let figures: Vec<Fitted> = figures.collect();
    let left_open = fit.left_open.iter().map(|open| {
        let fit::LeftOpen { key: name, median, range95, unit } = *open;
        LeftOpen { name, median, range95, unit }
    });
    let left_open: Vec<LeftOpen> = left_open.collect();
    if ui.json {
        return ui.result(&json_text(&serde_json::json!({
            "schema": DRIVE_SCHEMA,
            "profile": arguments.out,
            "figures": figures,
            "rms_log_error": fit.rms_log_error,
            "gain_at_32": fit.gain,
            "left_open": left_open,
            "not_identified": fit.not_identified,
            "marks": measurements.marks,
            "notes": fit.notes,
        })));
    }
    let fitted = FittedDrive {
        figures: &figures,
        left_open: &left_open,
        not_identified: &fit.not_identified,
        notes: &fit.notes,
        path: &arguments.out.display().to_string(),
    };
    ui.result(&drivelab_report::drive::fitted(&fitted, ui.look()))
}

/// True if the file is named as a record of a run.
fn is_run(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "json")
}

pub(crate) fn measurements_in(path: &Path) -> Result<Measurements, Refusal> {
    let text = input::text(path, input::MEASUREMENTS)?;
    Ok(Measurements::read(&path.display().to_string(), &text)?)
}

fn read(arguments: &FitArgs) -> Result<Measurements, Refusal> {
    let files = &arguments.measurements;
    if files.iter().any(|path| is_run(path)) {
        if let Some(other) = files.iter().find(|path| !is_run(path)) {
            let what = "is not a run record (.json), but other files are";
            return Err(Refusal::request(format!("`{}` {what}", other.display()))
                .hint("give run records only, or files of measurements (.toml) only"));
        }
        return of_runs(arguments);
    }
    if arguments.rpm.is_some() || arguments.capacity.is_some() || arguments.link.is_some() {
        return Err(Refusal::request("--rpm, --capacity and --link apply to run records only")
            .hint("set them in the TOML file, under `[drive]`"));
    }
    let (first, others) = files.split_first().expect("one is required");
    let mut all = measurements_in(first)?;
    for path in others {
        all.join(measurements_in(path)?).map_err(|wrong| {
            let (first, path) = (first.display(), path.display());
            Refusal::request(format!("`{first}` and `{path}` cannot be fitted together: {wrong}"))
                .hint("leave one of them out")
        })?;
    }
    all.kind = kind(all.kind, arguments.kind)?;
    Ok(all)
}

/// The kind of drive: what is typed must not contradict what was measured.
fn kind(
    measured: Option<DriveKind>,
    typed: Option<DriveKind>,
) -> Result<Option<DriveKind>, Refusal> {
    match (measured, typed) {
        (Some(measured), Some(typed)) if measured != typed => Err(Refusal::request(format!(
            "--kind says `{typed}`, but the measurements are of kind `{measured}`"
        ))
        .hint("omit --kind, or correct `kind` in the file, under `[drive]`")),
        _ => Ok(typed.or(measured)),
    }
}

fn of_runs(arguments: &FitArgs) -> Result<Measurements, Refusal> {
    // First, so that a file which is no record is called that before options are asked for.
    let runs: Vec<_> =
        arguments.measurements.iter().map(|path| record(path)).collect::<Result<_, _>>()?;
    let is_flash = arguments.kind == Some(DriveKind::Ssd);
    let Some(capacity) = arguments.capacity.filter(|_| is_flash || arguments.rpm.is_some()) else {
        return Err(Refusal::request("a run record does not describe the drive")
            .hint("for a disk, add --rpm 7200 --capacity BYTES")
            .hint("for a solid-state drive, add --kind ssd --link 6 --capacity BYTES"));
    };
    let mut measurements = Measurements::of_drive(capacity.get(), arguments.rpm)?;
    measurements.kind = arguments.kind;
    measurements.link = arguments.link.map(|link| link.to_string());
    for (path, run) in arguments.measurements.iter().zip(&runs) {
        measurements.add_run(&name(path), run)?;
    }
    Ok(measurements)
}

fn record(path: &Path) -> Result<RunRecord, Refusal> {
    let text = input::text(path, input::RESULTS)?;
    serde_json::from_str(&text).map_err(|error| {
        Refusal::request(format!("`{}` is not a run record: {error}", path.display()))
            .hint("`drivelab run ... --json >FILE` writes one")
    })
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The command that makes the same profile again.
fn command(arguments: &FitArgs) -> String {
    let mut words = vec!["drivelab drive fit".to_owned()];
    words.extend(arguments.measurements.iter().map(|path| path.display().to_string()));
    if let Some(model) = &arguments.model {
        words.push(format!("--model '{model}'"));
    }
    words.extend(arguments.rpm.map(|rpm| format!("--rpm {rpm}")));
    words.extend(arguments.kind.map(|kind| format!("--kind {kind}")));
    words.extend(arguments.link.map(|link| format!("--link {link}")));
    words.extend(arguments.capacity.map(|bytes| format!("--capacity {}", bytes.get())));
    words.push(format!("--seed {} --out {}", arguments.seed, arguments.out.display()));
    words.join(" ")
}
