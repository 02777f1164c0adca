//! `drive measure`: two minutes of timed requests, for `drive fit`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use drivelab_analysis::signs;
use drivelab_core::measurements::{DriveKind, FlashState, Measurements};
use drivelab_core::record::{Mark, MarkId};
use drivelab_core::units::{Bytes, Span};
use drivelab_core::workload::{Rw, WorkloadOptions};
use drivelab_core::{Refusal, Target as _};
use drivelab_engine::RunPlan;
use drivelab_load::VirtualTarget;
use drivelab_probe::{Measured, ProbeError, Settings};
use drivelab_report::drive::{self, MeasuredDrive};
use drivelab_report::text::json_text;

use super::medium::{self, Medium};
use crate::commands::archive::keep::KeepArgs;
use crate::exit::{Exit, Outcome};
use crate::output;
use crate::ui::{Progress, Ui};
use drivelab_lab::archive::entries;
use drivelab_lab::measure::{self, LINUX};
use drivelab_lab::target::{self, Target};
use drivelab_lab::{attached, interrupt};

/// What `drive measure` is asked.
#[derive(Debug, Args)]
#[command(after_help = "\
It only reads, unless --allow-destructive repeats the name of TARGET: then it also writes all over
it, and flushes. Reading takes about two minutes on a disk and one on a solid-state drive, writing
one more. How fast a solid-state drive writes for long depends on what was written to it before,
which --state says; without it, only writes that its buffer takes over are measured. A drive is
steady once random writes of twice its capacity have gone over all of it.

Examples:
  drivelab drive measure /dev/sdx --out own-measured.toml
  drivelab drive fit own-measured.toml --out own.toml
  drivelab drive predict own.toml
  drivelab drive measure /dev/sdx --allow-destructive /dev/sdx --state steady --out steady.toml")]
pub(crate) struct MeasureArgs {
    /// A block device, a file on it, or drive:NAME[,key=value...].
    target: String,
    /// The file of measurements to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Write and flush, too: destroys the data on TARGET, whose name it repeats.
    #[arg(long, value_name = "TARGET")]
    allow_destructive: Option<String>,
    /// What was written to a solid-state drive before: fresh, full or steady.
    #[arg(long, requires = "allow_destructive")]
    state: Option<FlashState>,
    /// Revolutions per minute [default: measured].
    #[arg(long)]
    rpm: Option<f64>,
    /// Kind of drive: hdd or ssd [default: as the kernel says].
    #[arg(long, conflicts_with = "rpm")]
    kind: Option<DriveKind>,
    /// Seed of all addresses.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    keep: KeepArgs,
}

/// Measures a drive and writes what it found.
pub(crate) fn measure(arguments: &MeasureArgs, ui: Ui) -> Outcome {
    output::refuse_other(&arguments.out, &output::MEASUREMENTS)?;
    let MeasureArgs { target, out, allow_destructive, state, rpm, kind, seed, keep } = arguments;
    if let Some(other) = allow_destructive.as_ref().filter(|allowed| *allowed != target) {
        let message = format!("--allow-destructive names `{other}`, but TARGET is `{target}`");
        return Err(Refusal::request(message).hint("repeat the name of TARGET exactly"));
    }
    // Before the measurement, which takes minutes.
    keep.check(None)?;
    let settings = |medium: &Medium, of_model: Option<FlashState>| {
        // A speed that is given is that of a disk.
        let found = rpm.is_none() && *medium != Medium::Unknown;
        let solid_state = kind.map_or(found, |kind| kind == DriveKind::Ssd);
        let state = agreed(*state, of_model, solid_state)?;
        let writes = allow_destructive.is_some();
        Ok::<_, Refusal>(Settings { seed: *seed, writes, rpm: *rpm, solid_state, state })
    };
    let (mut measured, of_target, medium) = match target::parse(target)? {
        Target::Drive(spec) => {
            let profile = target::profile(&spec)?;
            let built = target::build(&profile, &spec.options, *seed)?;
            let medium = Medium::of_model(built.about());
            let settings = settings(&medium, medium::state(built.about()))?;
            let mut drive = VirtualTarget::new(built);
            let shown = progress(profile.capacity().bytes(), settings);
            let measured = drivelab_probe::measure(&mut drive, settings, &shown.control());
            let mut measured = measured.map_err(failure)?;
            let sector = u32::try_from(profile.physical_sector.bytes().get());
            measured.measurements.sector_bytes = sector.ok();
            let message = "a model in virtual time: no real device was involved".to_owned();
            (measured, vec![Mark { id: MarkId::Modelled, message }], medium)
        }
        Target::Path(path) => {
            let medium = Medium::of_attached(&attached::to_path(&path));
            let (measured, marks) = on_this_machine(path, settings(&medium, None)?, ui)?;
            (measured, marks, medium)
        }
    };
    medium.describe(&mut measured.measurements, *kind);
    let command = format!("drivelab drive measure {target}");
    measured.measurements.sources.push(command.clone());
    measured.measurements.marks = of_target.into_iter().chain(measured.marks.clone()).collect();
    let heading = drive::measured_heading(&command, &measured_words(&measured));
    let file = measured.measurements.text(&heading);
    output::write(out, &file, &output::MEASUREMENTS)?;
    let shown = MeasuredDrive {
        target,
        path: &out.display().to_string(),
        measurements: &measured.measurements,
        complete: !measured.stopped,
        took: measured.took,
        requests: measured.requests,
        failed: measured.failed,
        signs: &signs::of(&measured.measurements),
    };
    let printed = drive::measured_json(&shown);
    let kept = keep.keep(entries::measurement(target, &file, &printed), ui);
    if ui.json {
        ui.result(&json_text(&printed))?;
    } else {
        ui.result(&drive::measured(&shown, ui.look()))?;
    }
    warn(&measured.measurements, measured.stopped, ui);
    if measured.stopped {
        ui.warn("interrupted: the file contains the measurements so far");
        return Ok(Exit::Interrupted);
    }
    Ok(kept)
}

/// The state that sustained writes are of: as said, or as a model has it.
fn agreed(
    said: Option<FlashState>,
    of_model: Option<FlashState>,
    solid_state: bool,
) -> Result<Option<FlashState>, Refusal> {
    match (said, of_model) {
        (Some(_), _) if !solid_state => {
            Err(Refusal::request("--state is of solid-state drives, and TARGET is none")
                .hint("omit --state"))
        }
        (Some(said), Some(model)) if said != model => Err(Refusal::request(format!(
            "--state says `{said}`, but the modelled drive is `{model}`"
        ))
        .hint(format!("add `precondition={said}` to the name of the drive"))),
        (said, of_model) => Ok(said.or(of_model)),
    }
}

/// Says what a fit of the measurement will lack.
fn warn(found: &Measurements, stopped: bool, ui: Ui) {
    if found.rpm.is_none() && found.kind.is_none() && !stopped {
        ui.warn(
            "no rotation found: `drive fit` needs `rpm`, which `--rpm 7200` gives, or for a \
             solid-state drive `--kind ssd`",
        );
    }
    let writes = !found.bursts.is_empty() || !found.flushes.is_empty();
    let is_sustained = found.loads.iter().any(|load| load.state.is_some())
        || found.streams.iter().any(|stream| stream.state.is_some());
    if found.kind.is_some() && writes && !is_sustained && !stopped {
        ui.warn(
            "cannot tell how fast the drive writes for long: what was written to it before is not \
             known, and `--state steady` (or `full`, `fresh`) says it",
        );
    }
    if found.marks.iter().any(|mark| mark.id.doubt().is_some()) {
        ui.warn("something disturbed this measurement: repeat it on a machine that is idle");
    }
}

/// The lines of the heading of the file.
fn measured_words(measured: &Measured) -> Vec<String> {
    let Measured { took, requests, failed, .. } = measured;
    let seconds = took.ns() / 1_000_000_000;
    let mut words = vec![format!("{requests} requests in {seconds} s, {failed} of them failed")];
    if measured.stopped {
        words.push("interrupted before its end".into());
    }
    words
}

/// Measures a file or a block device of this machine, behind the guard.
fn on_this_machine(
    path: PathBuf,
    settings: Settings,
    ui: Ui,
) -> Result<(Measured, Vec<Mark>), Refusal> {
    let rw = if settings.writes { Rw::RandRw } else { Rw::RandRead };
    let options = WorkloadOptions {
        rw: Some(rw),
        bs: Some(Bytes::mib(1)),
        iodepth: Some(32),
        ..WorkloadOptions::default()
    };
    let workload = options.check()?;
    let allow = settings.writes.then(|| path.clone());
    let plan = RunPlan {
        seed: settings.seed,
        allow_overwrite: settings.writes,
        allow_destructive: allow.into_iter().collect(),
        ..RunPlan::new(path, workload)
    };
    if let Some(warning) = measure::unseen_warning(&plan.allow_destructive) {
        ui.warn(warning);
    }
    let control = interrupt::silent();
    let lent = drivelab_engine::lend(&plan, &*LINUX, &control, |target| {
        let shown = progress(target.capacity(), settings);
        let made = drivelab_probe::measure(target, settings, &shown.control());
        let bytes = made.as_ref().map_or(0, |made| made.bytes);
        (made, bytes)
    });
    let (made, marks) = lent.map_err(measure::failure)?;
    Ok((made.map_err(failure)?, marks))
}

fn failure(error: ProbeError) -> Refusal {
    match &error {
        ProbeError::Small { .. } => Refusal::request_error(error).hint("measure a larger target"),
        ProbeError::Drive(_) => Refusal::request_error(error)
            .hint("omit --rpm: the speed of rotation is measured where it is not given"),
        ProbeError::Failing { .. } | ProbeError::Silent { .. } => Refusal::machine_error(error)
            .hint("`drivelab inspect` and the kernel log say what is wrong with the drive"),
        ProbeError::Target(_) => Refusal::machine_error(error),
    }
}

/// The progress of a measurement of a target of this capacity.
fn progress(capacity: Bytes, settings: Settings) -> Progress {
    let steps = drivelab_probe::steps(capacity, settings);
    let all = steps.iter().map(|step| step.takes).fold(Span::ZERO, |sum, one| sum + one);
    Progress::time(Duration::from_nanos(all.ns()), "measuring")
}
