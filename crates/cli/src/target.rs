//! What TARGET and DRIVE mean: a path, or a modelled drive.

use std::path::{Path, PathBuf};

use drivelab_core::JobSchedule;
use drivelab_core::record::{RUN_SCHEMA, RunConfig, RunRecord};
use drivelab_core::units::{Bytes, Span};
use drivelab_core::workload::Workload;
use drivelab_engine::{Control, Progress, Simulation};
use drivelab_model::options::{DriveSpec, Options, ProfileRef, SpecError};
use drivelab_model::profile::{self, BaseText, Profile, ProfileError};
use drivelab_model::{About, Arrangement, Drive};

use crate::attached;
use crate::failure::Failure;
use crate::input;
use crate::interrupt;

/// What a load is aimed at.
#[derive(Debug)]
pub(crate) enum Target {
    /// A file or a block device.
    Path(PathBuf),
    /// A modelled drive in virtual time.
    Drive(DriveSpec),
}

/// Reads a TARGET.
pub(crate) fn parse(text: &str) -> Result<Target, Failure> {
    if text.starts_with("drive:") {
        return drive_spec(text).map(Target::Drive);
    }
    let path = PathBuf::from(text);
    if !path.exists() && profile::text(text).is_some() {
        let message = format!("there is no file `{text}`, but a drive of that name is modelled");
        return Err(Failure::bad_words(message).hint(format!("write `drive:{text}`")));
    }
    Ok(Target::Path(path))
}

/// Reads a DRIVE; the prefix `drive:` may stand.
pub(crate) fn drive_spec(text: &str) -> Result<DriveSpec, Failure> {
    text.parse().map_err(|error: SpecError| {
        Failure::bad_request(error).hint("`drivelab drive list` shows the drives and their options")
    })
}

/// The text of a drive's profile file.
pub(crate) fn profile_text(spec: &DriveSpec) -> Result<String, Failure> {
    match &spec.profile {
        ProfileRef::Embedded(name) => {
            Ok(profile::text(name).expect("the spec was checked against the names").to_owned())
        }
        ProfileRef::File(name) => input::text(Path::new(name), input::PROFILE),
    }
}

/// Finds and reads the profile of a drive, ours or a parameter file of `DiskSim`; its base may be
/// an embedded one, or a file beside it.
pub(crate) fn profile(spec: &DriveSpec) -> Result<Profile, Failure> {
    let text = profile_text(spec)?;
    let name = spec.profile.to_string();
    let folder = Path::new(&name).parent().map(Path::to_path_buf).unwrap_or_default();
    let resolve = |base: &str| {
        let file = folder.join(base);
        let text = input::text(&file, input::PROFILE).ok()?;
        Some(BaseText { file: file.display().to_string(), text })
    };
    if drivelab_disksim::is_parameter_file(&name) {
        return drivelab_disksim::profile(&name, &text, &resolve).map_err(Failure::bad_request);
    }
    Profile::parse(&name, &text, &resolve).map_err(|error| match error {
        ProfileError::Config(error) => error.into(),
        error => Failure::bad_request(error),
    })
}

/// Builds a drive and everything between it and the host.
pub(crate) fn build(profile: &Profile, options: &Options, seed: u64) -> Result<Drive, Failure> {
    drivelab_model::build(profile, options, seed).map_err(Failure::bad_request)
}

/// Runs a workload against a modelled drive in virtual time.
pub(crate) fn simulate(
    spec: &DriveSpec,
    profile: &Profile,
    workload: &Workload,
    seed: u64,
    progress: &(dyn Fn(&Progress) + Sync),
) -> Result<RunRecord, Failure> {
    let drive = build(profile, &spec.options, seed)?;
    let attached = attached::to_model(&spec.profile.to_string(), drive.about());
    let control = Control { stop: interrupt::flag(), progress };
    let Simulation { tally, marks, .. } =
        drivelab_engine::simulate(drive, workload, seed, &control).map_err(Failure::bad_request)?;
    let total = tally.record();
    Ok(RunRecord {
        schema: RUN_SCHEMA.into(),
        target: spec.to_string(),
        label: None,
        config: RunConfig {
            polling: Vec::new(),
            drivelab: env!("CARGO_PKG_VERSION").into(),
            ioengine: "virtual".into(),
            direct: true,
            numjobs: 1,
            conduct: JobSchedule::default(),
            seed,
            workload: workload.clone(),
        },
        jobs: vec![total.clone().without_series()],
        total,
        marks,
        host: None,
        attached: Some(attached),
        served: None,
        verification: None,
    })
}

/// Everything that is set about a drive, as names and values for people.
pub(crate) fn settings(about: &About) -> Vec<(String, String)> {
    let mut settings = vec![("drive".to_owned(), about.model.clone())];
    settings.extend(about.arrangement.iter().flat_map(arrangement));
    let Some(attached) = &about.attached else { return settings };
    let guard = match (attached.guard_ns.map(Span::from_ns), attached.guard_growth) {
        (None, _) => "none: commands are served as they come".into(),
        (Some(guard), None) => format!("shortest positioning first, guard band {guard}"),
        (Some(guard), Some(share)) => format!(
            "shortest positioning first, guard band {guard} and {:.0} % of what a seek takes beyond \
             the shortest",
            100.0 * share
        ),
    };
    let cache = attached
        .write_cache_bytes
        .map_or_else(|| "off".into(), |bytes| format!("on, {}", Bytes::new(bytes)));
    let rows = [
        ("controller", attached.controller.to_string()),
        ("commands on the wire", attached.tags.to_string()),
        ("command queuing", if attached.queued { "on" } else { "off" }.into()),
        ("order in the drive", if attached.queued { guard } else { "one at a time".into() }),
        ("wire", format!("{} MB/s", attached.wire_bytes_per_s / 1_000_000)),
        ("tag dispatch", attached.dispatch.to_string()),
        ("host elevator", attached.scheduler.to_string()),
        ("nr_requests", attached.nr_requests.to_string()),
        ("write cache", cache),
    ];
    settings.extend(rows.map(|(name, value)| (name.to_owned(), value)));
    settings
}

/// How several drives are put together, as names and values for people.
fn arrangement(it: &Arrangement) -> Vec<(String, String)> {
    let array = match (it.raid, it.chunk_bytes) {
        (None, _) => "one after another".into(),
        (Some(level), None) => format!("RAID {level}"),
        (Some(level), Some(chunk)) => format!("RAID {level}, chunks of {}", Bytes::new(chunk)),
    };
    let failed = it.failed.map(|place| format!("; drive {place} has failed")).unwrap_or_default();
    let bus = match (&it.bus, it.bus_bytes_per_s) {
        (Some(bus), Some([reads, writes])) => {
            let mb = |rate: u64| (rate + 500_000) / 1_000_000;
            let (reads, writes) = (mb(reads), mb(writes));
            let how = if it.bus_shared { "shared by both directions" } else { "each way" };
            format!("{bus}: {reads} MB/s from the drives, {writes} MB/s to them, {how}")
        }
        _ => "none that limits".into(),
    };
    let queue = it.host_queue.map_or_else(|| "no limit of its own".into(), |n| n.to_string());
    let rows = [
        ("drives", format!("{}, {array}{failed}", it.drives)),
        ("bus", bus),
        ("host queue", queue),
        ("requests cut at", Bytes::new(it.piece_bytes).to_string()),
    ];
    rows.map(|(name, value)| (name.to_owned(), value)).to_vec()
}
