//! The meaning of TARGET and DRIVE: a path, or a modelled drive.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use drivelab_core::record::{Attached, FlashWritten, Mark, MarkId, RunRecord, Specimen};
use drivelab_core::units::{Bytes, Span};
use drivelab_core::{Control, Ratio, Refusal, Target as _};
use drivelab_engine::RunPlan;
use drivelab_load::{LoadError, VirtualJobs, VirtualTarget};
use drivelab_model::options::{DriveSpec, Options, Precondition, ProfileRef, SpecError};
use drivelab_model::profile::{self, BaseText, Missing, Profile, ProfileError};
use drivelab_model::stack::HostSyncs;
use drivelab_model::{About, Arrangement, Attachment, Drive, ModelledTier};
use drivelab_serve::drive::Attributes;
use serde::{Deserialize, Serialize};

use crate::attached;
use crate::input;
use crate::measure::{self, Made, Together};

/// The prefix that makes a TARGET a modelled drive.
pub const PREFIX: &str = "drive:";

/// The target of a run. A drive that this process models has no meaning in another one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Target {
    /// A file or a block device.
    Path(PathBuf),
    /// A modelled drive in virtual time.
    #[serde(skip)]
    Drive(Box<DriveSpec>),
}

/// Reads a TARGET.
pub fn parse(text: &str) -> Result<Target, Refusal> {
    if text.starts_with(PREFIX) {
        return drive_spec(text).map(|spec| Target::Drive(Box::new(spec)));
    }
    let path = PathBuf::from(text);
    if !path.exists() && profile::text(text).is_some() {
        let message = format!("there is no file `{text}`; `{text}` is a modelled drive");
        return Err(Refusal::request(message).hint(format!("write `drive:{text}`")));
    }
    Ok(Target::Path(path))
}

/// Reads a DRIVE; the prefix `drive:` may stand.
pub fn drive_spec(text: &str) -> Result<DriveSpec, Refusal> {
    text.parse().map_err(|error: SpecError| match &error {
        SpecError::UnknownDrive { name, .. } if Path::new(name).is_dir() => {
            Refusal::request(format!("`{name}` is a folder, not a drive profile"))
                .hint(format!("name a profile in it, for example `{}/NAME.toml`", bare(name)))
                .hint(LIST)
        }
        SpecError::UnknownDrive { name, .. } if Path::new(name).exists() => {
            let message = format!(
                "the file `{name}` cannot be a drive profile: its name does not end in `.toml`, \
                 or `.parv` for DiskSim's parameters"
            );
            Refusal::request(message)
                .hint(format!("if it is a profile, rename it: `mv {name} {name}.toml`"))
                .hint(LIST)
        }
        _ => Refusal::request_error(error).hint(LIST),
    })
}

const LIST: &str = "`drivelab drive list` shows the drives and their options";

/// A folder without the slash at its end.
fn bare(folder: &str) -> &str {
    folder.trim_end_matches('/')
}

/// A load that a modelled drive cannot be given.
pub fn not_made(error: LoadError) -> Refusal {
    match &error {
        LoadError::Workload(wrong) => {
            let hint = wrong.hint();
            Refusal::request_error(error).hint(hint)
        }
        LoadError::Target(_) => Refusal::request_error(error),
    }
}

/// The text of a drive's profile file.
pub fn profile_text(spec: &DriveSpec) -> Result<String, Refusal> {
    match &spec.profile {
        ProfileRef::Embedded(name) => {
            Ok(profile::text(name).expect("the spec was checked against the names").to_owned())
        }
        ProfileRef::File(name) => input::text(Path::new(name), input::PROFILE),
    }
}

/// The profile of a drive: of the median one, or of the specimen that its options ask for.
pub fn profile(spec: &DriveSpec) -> Result<Profile, Refusal> {
    let profile = read_profile(spec)?;
    let Some(number) = spec.options.specimen else { return Ok(profile) };
    if profile.unknowns().is_empty() {
        let message = format!("{}: every number is known, so it has no specimens", spec.profile);
        return Err(Refusal::request(message).hint("omit `specimen`"));
    }
    Ok(profile.drawn(number, spec.options.seed.unwrap_or(SPECIMENS_SEED)))
}

/// Draws specimens where no seed is given: which drive is modelled must not depend on the seed of a
/// run, which decides its addresses.
const SPECIMENS_SEED: u64 = 1;

/// Finds and reads the profile of a drive, ours or a parameter file of `DiskSim`; its base may be
/// an embedded one, or a file in the same folder.
fn read_profile(spec: &DriveSpec) -> Result<Profile, Refusal> {
    let text = profile_text(spec)?;
    let name = spec.profile.to_string();
    let folder = Path::new(&name).parent().map(Path::to_path_buf).unwrap_or_default();
    let resolve = |base: &str| {
        let file = folder.join(base);
        let text = input::text(&file, input::PROFILE).ok()?;
        Some(BaseText { file: file.display().to_string(), text })
    };
    if drivelab_disksim::is_parameter_file(&name) {
        return drivelab_disksim::profile(&name, &text, &resolve).map_err(Refusal::request_error);
    }
    Profile::parse(&name, &text, &resolve).map_err(|error| match error {
        ProfileError::Config(error) => error.into(),
        error => match base_hint(&text).filter(|_| error.to_string().contains("is missing")) {
            Some(hint) => Refusal::request_error(error).hint(hint),
            None => Refusal::request_error(error),
        },
    })
}

/// A hint at profiles that can supply the values that a profile without a base does not state.
fn base_hint(text: &str) -> Option<String> {
    let has_base = text.lines().any(|line| line.trim_start().starts_with("base"));
    let is_flash = text.contains("\"ssd\"");
    let class = if is_flash { "generic-sata" } else { "generic-5400" };
    (!has_base)
        .then(|| format!("a line `base = \"{class}\"` takes what is not stated from that drive"))
}

/// Builds a drive and everything between it and the host.
pub fn build(profile: &Profile, options: &Options, seed: u64) -> Result<Drive, Refusal> {
    drivelab_model::build(profile, options, seed).map_err(Refusal::request_error)
}

/// Describes a drive behind the host of a real kernel.
pub fn describe(profile: &Profile, options: &Options, seed: u64) -> Result<About, Refusal> {
    drivelab_model::describe(profile, options, seed).map_err(Refusal::request_error)
}

/// Builds a drive for a host that is not modelled.
pub fn build_bare(profile: &Profile, options: &Options, seed: u64) -> Result<Drive, Refusal> {
    drivelab_model::build_bare(profile, options, seed).map_err(Refusal::request_error)
}

/// The attributes of a drive that a host reads.
pub fn attributes(profile: &Profile, about: &About) -> Attributes {
    Attributes {
        physical_sector: profile.physical_sector,
        rotational: profile.rotates(),
        volatile_cache: about.has_volatile_cache(),
    }
}

/// A modelled drive and the time that has passed for it.
#[derive(Debug)]
pub struct ModelledDrive {
    attached: Attached,
    /// The mark of every run on it, if only a part of the drive is modelled.
    scaled: Option<Mark>,
    specimen: Option<Specimen>,
    /// Its profile and options, of which each load needs other mechanisms.
    profile: Profile,
    options: Options,
    target: VirtualTarget<HostSyncs<Drive>>,
}

impl ModelledDrive {
    /// Assembles the drive.
    pub fn new(spec: &DriveSpec, profile: &Profile, seed: u64) -> Result<Self, Refusal> {
        let drive = build(profile, &spec.options, seed)?;
        let attached = attached::to_model(&spec.profile.to_string(), drive.about());
        let scaled = scaled(drive.about());
        let specimen = profile.record(drive.about());
        let about = drive.about().clone();
        let target = VirtualTarget::new(HostSyncs::new(drive, &about));
        let (profile, options) = (profile.clone(), spec.options);
        Ok(Self { attached, scaled, specimen, profile, options, target })
    }

    /// The capacity.
    pub fn capacity(&self) -> Bytes {
        self.target.capacity()
    }

    /// Carries plans out at the same time, started together; the next ones meet what they left.
    pub fn run(&mut self, plans: &[&RunPlan], control: &Control<'_>) -> Result<Vec<Made>, Refusal> {
        plans.iter().try_for_each(|plan| {
            drivelab_engine::fits(std::slice::from_ref(*plan), Bytes::ZERO)
                .map_err(measure::failure)
        })?;
        let sets = plans.iter().map(|plan| VirtualJobs {
            numjobs: plan.numjobs,
            schedule: plan.conduct,
            ..VirtualJobs::one(&plan.workload, plan.seed)
        });
        // The drive counts on over all plans: the difference belongs to these.
        let before = self.target.device().device().counters().flash_written;
        let done = drivelab_load::simulate(&mut self.target, &sets.collect::<Vec<_>>(), control);
        let done = done.map_err(not_made)?;
        // `zip` below would drop a plan without a simulation, and its figures with it.
        debug_assert_eq!(done.len(), plans.len(), "one simulation for each plan");
        let after = self.target.device().device().counters().flash_written;
        let flash = FlashWritten::new([0, 1, 2].map(|kind| after[kind] - before[kind]));
        let made = plans.iter().zip(done).map(|(plan, done)| {
            let total = done.total();
            let mut marks = done.marks(&plan.workload, &total);
            marks.extend(self.scaled.clone());
            let missing = self.profile.missing_for(&plan.workload, &self.options);
            say_missing(&missing, &mut marks);
            let specimen = self.specimen.clone();
            let specimen = specimen.map(|known| widened(known, &missing));
            Made {
                marks,
                jobs: done.jobs,
                total,
                ioengine: "virtual".into(),
                attached: self.attached.clone(),
                specimen,
                host: None,
                flash,
            }
        });
        Ok(made.collect())
    }
}

/// Adds the mechanisms that a load needs and the model lacks to the mark of a modelled run.
fn say_missing(missing: &[Missing], marks: &mut [Mark]) {
    let modelled = marks.iter_mut().find(|mark| mark.id == MarkId::Modelled);
    if let Some(mark) = modelled {
        for Missing { what, .. } in missing {
            mark.message += &format!("; not modelled: {what}");
        }
    }
}

/// The specimen with the error of what the model lacks for a load.
fn widened(specimen: Specimen, missing: &[Missing]) -> Specimen {
    Specimen { model_sigma: Missing::add(missing, specimen.model_sigma), ..specimen }
}

/// Carries a plan out on a modelled drive that nothing was asked of before.
pub fn simulate(
    spec: &DriveSpec,
    profile: &Profile,
    plan: &RunPlan,
    control: &Control<'_>,
) -> Result<RunRecord, Refusal> {
    let made = ModelledDrive::new(spec, profile, plan.seed)?.run(&[plan], control)?;
    let mut records = Together::new(std::slice::from_ref(plan), made, &[1]).records;
    let record = records.pop().expect("one record a plan");
    Ok(RunRecord { target: spec.to_string(), ..record })
}

/// The modelled drives of a job file: what one group leaves, the next one meets.
#[derive(Debug, Default)]
pub struct ModelledDrives(BTreeMap<PathBuf, ModelledDrive>);

impl ModelledDrives {
    /// The drive that `target` names, and how large it is; nothing where it names none.
    pub fn find(&mut self, target: &str, seed: u64) -> Result<Option<(PathBuf, Bytes)>, Refusal> {
        if !target.starts_with(PREFIX) {
            return Ok(None);
        }
        let spec = drive_spec(target)?;
        let name = PathBuf::from(spec.to_string());
        let drive = match self.0.entry(name.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => free.insert(ModelledDrive::new(&spec, &profile(&spec)?, seed)?),
        };
        Ok(Some((name, drive.target.capacity())))
    }

    /// Carries plans out at the same time, each on the drive that it names; nothing where they name
    /// files and devices.
    pub fn run(
        &mut self,
        plans: &[RunPlan],
        control: &Control<'_>,
    ) -> Result<Option<Vec<Made>>, Refusal> {
        let mut made: Vec<Option<Made>> = plans.iter().map(|_| None).collect();
        for (name, drive) in &mut self.0 {
            let own = plans.iter().enumerate().filter(|(_, plan)| plan.path == *name);
            let (indices, own): (Vec<usize>, Vec<&RunPlan>) = own.unzip();
            for (index, one) in indices.into_iter().zip(drive.run(&own, control)?) {
                made[index] = Some(one);
            }
        }
        if made.iter().any(Option::is_some) && made.iter().any(Option::is_none) {
            let message = "a modelled drive and a real file cannot run together: time differs";
            return Err(Refusal::request(message).hint("put `stonewall` between their sections"));
        }
        Ok(made.into_iter().collect())
    }
}

/// Says that a drive used alone is one of many, where its profile leaves numbers open.
pub fn one_drive(spec: &DriveSpec, specimen: Option<&Specimen>) -> Option<String> {
    let options = Options { specimen: None, ..spec.options };
    let all = DriveSpec { options, ..spec.clone() };
    drivelab_report::specimens::one_drive(specimen?, &all.to_string())
}

/// The mark of a run on a part of a drive.
fn scaled(about: &About) -> Option<Mark> {
    let flash = about.attached.as_ref()?.flash.filter(|flash| !flash.scale.is_whole())?;
    let gb = |bytes: u64| (bytes + 500_000_000) / 1_000_000_000;
    let (size, whole) = (gb(about.capacity_bytes), gb(flash.whole_bytes));
    let message = format!(
        "{} of the flash is modelled: {size} of {whole} GB, with spare space and the blocks of a \
         die in proportion; {} before the run",
        flash.scale,
        state(flash.precondition)
    );
    Some(Mark { id: MarkId::Scaled, message })
}

const fn state(of_flash: Precondition) -> &'static str {
    match of_flash {
        Precondition::Fresh => "never written to",
        Precondition::Full => "written once in sequence",
        Precondition::Steady => "in the steady state of random writes",
    }
}

/// The rows that only a solid-state drive has.
fn flash(attached: &Attachment) -> Vec<(String, String)> {
    let Some(flash) = attached.flash else { return Vec::new() };
    let whole = flash.whole_bytes / 1_000_000_000;
    let whole_bytes = flash.whole_bytes.max(1);
    let spare = (1000 * flash.spare_bytes + whole_bytes / 2) / whole_bytes;
    let trimmed = match flash.trimmed {
        Ratio::ZERO => String::new(),
        part => format!("; the last {part} trimmed"),
    };
    let protection =
        if flash.protected { "on: what is acknowledged survives a power cut" } else { "off" };
    let rows = [
        ("scale", format!("{} of {whole} GB", flash.scale)),
        ("spare flash", format!("{}.{} % of that", spare / 10, spare % 10)),
        ("state", format!("{} ({}){trimmed}", flash.precondition, state(flash.precondition))),
        ("power-loss protection", protection.to_owned()),
    ];
    let notice = attached.notice.map(|notice| ("completions", notice.to_string()));
    let queues = attached.queue_pairs.map(|pairs| ("queues", pairs.to_string()));
    let rows = rows.into_iter().chain(notice).chain(queues);
    rows.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Everything that is set about a drive, as names and values for people.
pub fn settings(about: &About) -> Vec<(String, String)> {
    let mut settings = vec![("drive".to_owned(), about.model.clone())];
    settings.extend(about.arrangement.iter().flat_map(arrangement));
    let Some(attached) = &about.attached else { return settings };
    let guard = match (attached.guard_ns.map(Span::from_ns), attached.guard_growth) {
        (None, _) if attached.flash.is_some() => "all at once, each on its die".into(),
        (None, _) => "first come, first served".into(),
        (Some(guard), None) => format!("shortest positioning first, guard band {guard}"),
        (Some(guard), Some(share)) => format!(
            "shortest positioning first, guard band {guard} and {:.0} % of the seek time beyond \
             the shortest seek",
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
    settings.extend(flash(attached));
    settings.extend(about.tier.iter().flat_map(|tier| before(tier)));
    settings
}

/// The fast drive of a tier, and how it is attached, as names and values for people.
fn before(tier: &ModelledTier) -> Vec<(String, String)> {
    let memory = tier.page_cache_bytes.map(|bytes| ("page cache", Bytes::new(bytes).to_string()));
    let state = if tier.warm { "warm: the beginning of the drive is on it" } else { "cold" };
    let rows = [("tier", tier.kind.to_string()), ("tier's state", state.to_owned())];
    let rows = rows.into_iter().chain(memory);
    let own = settings(&tier.drive);
    let own = own.into_iter().map(|(name, value)| (format!("tier's {name}"), value));
    rows.map(|(name, value)| (name.to_owned(), value)).chain(own).collect()
}

/// The arrangement of several drives, as names and values for people.
fn arrangement(it: &Arrangement) -> Vec<(String, String)> {
    let array = match (it.raid, it.chunk_bytes) {
        (None, _) => "one after another".into(),
        (Some(level), None) => format!("RAID {level}"),
        (Some(level), Some(chunk)) => format!("RAID {level}, chunks of {}", Bytes::new(chunk)),
    };
    let failed = it.failed.map(|index| format!("; drive {index} has failed")).unwrap_or_default();
    let bus = match (&it.bus, it.bus_bytes_per_s) {
        (Some(bus), Some([reads, writes])) => {
            let mb = |rate: u64| (rate + 500_000) / 1_000_000;
            let (reads, writes) = (mb(reads), mb(writes));
            let how = if it.bus_shared { "shared by both directions" } else { "each way" };
            format!("{bus}: {reads} MB/s from the drives, {writes} MB/s to them, {how}")
        }
        _ => "no limit".into(),
    };
    let queue = it.host_queue.map_or_else(|| "no limit of its own".into(), |n| n.to_string());
    let rows = [
        ("drives", format!("{}, {array}{failed}", it.drives)),
        ("bus", bus),
        ("host queue", queue),
        ("requests split at", Bytes::new(it.piece_bytes).to_string()),
    ];
    rows.map(|(name, value)| (name.to_owned(), value)).to_vec()
}
