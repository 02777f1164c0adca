//! The rates of loads on drives with and without causes, in virtual time.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};

use drivelab_analysis::explanation::{Load, Rates};
use drivelab_core::control::Event;
use drivelab_core::numbers::float;
use drivelab_core::units::Bytes;
use drivelab_core::workload::Workload;
use drivelab_core::{Control, Refusal, Span, hexadecimal};
use drivelab_model::Specimens;
use drivelab_model::options::{DriveSpec, Options};
use drivelab_model::profile::{Missing, Profile};
use sha2::{Digest as _, Sha256};

use super::cache::Cache;
use super::library::Modelled;
use super::wanted::Wanted;
use crate::LoadPlan;
use crate::model::{self, ModelledDrive};
use crate::stage::parallel;

/// A run of a disk takes at most this, of flash that, with as much before it: rates settle within.
const DISK: Span = Span::from_secs(15);
const FLASH: Span = Span::from_secs(2);
/// Requests of a run on flash.
const FLASH_REQUESTS: u64 = 20_000;
/// Drives that each pair of changes is tried on: they show whether the two act on one another.
const FEW: usize = 6;
/// The seed of the second runs, apart from those of all drives.
const AGAIN: u64 = 1 << 32;

/// Drives on which loads are tried.
pub(super) struct Bench<'a> {
    spec: &'a DriveSpec,
    loads: Vec<Load>,
    drives: Vec<Profile>,
    median: Profile,
    seed: u64,
    threads: NonZeroUsize,
    control: &'a Control<'a>,
    cache: &'a Cache,
    is_flash: bool,
    /// Sets of rates that are made, and all of them, about: pairs are chosen on the way.
    course: (AtomicU64, u64),
}

impl<'a> Bench<'a> {
    /// Drives for the loads of a question, or of what may be measured next.
    pub(super) fn new(
        wanted: &Wanted<'a>,
        loads: Vec<Load>,
        control: &'a Control<'a>,
    ) -> Result<Self, Refusal> {
        let count = wanted.specimens.max(2);
        let all = Specimens::new(wanted.seed, count, std::iter::once(wanted.profile));
        let drives = (0..count).map(|number| all.of(0, wanted.profile, number)).collect();
        let is_flash = wanted.profile.is_solid_state();
        let bench = Self {
            spec: wanted.spec,
            loads: loads.into_iter().map(|load| limited(load, is_flash)).collect(),
            drives,
            median: wanted.profile.median(),
            seed: wanted.seed,
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            control,
            cache: wanted.cache,
            is_flash,
            course: (AtomicU64::new(0), u64::from(count) * (wanted.causes.len() as u64 + 2)),
        };
        model::build(&bench.median, &bench.spec.options, 0)?;
        Ok(bench)
    }

    /// The number of drives.
    pub(super) fn drives(&self) -> u32 {
        u32::try_from(self.drives.len()).expect("as many as were asked for")
    }

    /// The reason why the drive cannot have a change.
    pub(super) fn refuses(&self, change: &Modelled) -> Option<String> {
        let options = change.options(&self.spec.options);
        if options == self.spec.options && *change == drive_only(change) {
            return Some("the drive is so already".to_owned());
        }
        model::build(&self.median, &options, 0).err().map(|refusal| refusal.to_string())
    }

    /// The error of the model in the rate of each load.
    pub(super) fn model_sigma(&self) -> Vec<f64> {
        let [any, elevator] = self.median.lacks();
        let missing = self.loads.iter().map(|load| {
            let missing = self.median.missing_for(&load.workload, &self.spec.options);
            Missing::add(&missing, any.max(elevator))
        });
        missing.collect()
    }

    /// Adds the rates of all drives with sets of changes; `None` after an interruption.
    pub(super) fn add(
        &self,
        sets: &[Vec<usize>],
        changes: &[Modelled],
        rates: &mut Rates,
    ) -> Result<Option<()>, Refusal> {
        let made = self.rates(&combined(sets, changes), self.drives.len(), 0)?;
        Ok(made.map(|made| rates.add(sets, made)))
    }

    /// Adds the rates of the first few drives with sets of changes; `None` after an interruption.
    pub(super) fn try_out(
        &self,
        sets: &[Vec<usize>],
        changes: &[Modelled],
        rates: &mut Rates,
    ) -> Result<Option<()>, Refusal> {
        let made = self.rates(&combined(sets, changes), FEW.min(self.drives.len()), 0)?;
        Ok(made.map(|made| rates.add(sets, made)))
    }

    /// The rates of all drives without a change, with other addresses.
    pub(super) fn again(&self) -> Result<Option<Vec<Vec<f64>>>, Refusal> {
        let made = self.rates(&[Modelled::default()], self.drives.len(), AGAIN)?;
        Ok(made.and_then(|mut made| made.pop()))
    }

    /// For each change, each of the first `drives` and each load the rate.
    fn rates(
        &self,
        changes: &[Modelled],
        drives: usize,
        apart: u64,
    ) -> Result<Option<Vec<Vec<Vec<f64>>>>, Refusal> {
        debug_assert!(drives > 0 && drives <= self.drives.len(), "some of the drives");
        let all = changes.iter().flat_map(|change| (0..drives).map(move |n| (change, n)));
        let all: Vec<(&Modelled, usize)> = all.collect();
        let made = parallel::map(self.threads, &all, |(change, number)| {
            let made = self.on_each_drive(change, *number, apart);
            let done = self.course.0.fetch_add(1, Ordering::Relaxed) + 1;
            let what = "drives simulated";
            self.control.report(Event::Steps { what, done, of: self.course.1.max(done) });
            made
        });
        if self.control.stopped() {
            // A run that was cut short predicts nothing.
            return Ok(None);
        }
        let made: Vec<Vec<f64>> = made.into_iter().collect::<Result<_, Refusal>>()?;
        debug_assert_eq!(made.len(), all.len(), "each change on each drive");
        Ok(Some(made.chunks(drives).map(<[Vec<f64>]>::to_vec).collect()))
    }

    /// The rates of all loads with a change; nothing after an interruption.
    fn on_each_drive(
        &self,
        change: &Modelled,
        number: usize,
        apart: u64,
    ) -> Result<Vec<f64>, Refusal> {
        if self.control.stopped() {
            return Ok(Vec::new());
        }
        // The preparation of flash takes longer than a load.
        if self.is_flash {
            return self.on_one_drive(change, number, &self.loads, apart);
        }
        let each = self.loads.chunks(1);
        let each = each.map(|load| self.on_one_drive(change, number, load, apart));
        each.collect::<Result<Vec<_>, _>>().map(|rates| rates.concat())
    }

    /// The rates of loads on one drive, one after the other.
    fn on_one_drive(
        &self,
        change: &Modelled,
        number: usize,
        loads: &[Load],
        apart: u64,
    ) -> Result<Vec<f64>, Refusal> {
        let profile = &self.drives[number];
        let drive = profile.canonical();
        let all = format!("{drive}{}{change:?}{number} {} {apart}{loads:?}", self.spec, self.seed);
        // All that decides a rate is in the text, so a known one is never of another case.
        let key = hexadecimal(&Sha256::digest(all));
        if let Some(known) = self.cache.get(&key, loads.len()) {
            return Ok(known);
        }
        let options = change.options(&self.spec.options);
        let spec = DriveSpec { profile: self.spec.profile.clone(), options };
        // The same drive meets the same addresses with and without a change: the ratio is paired.
        let seed = self.seed.wrapping_add(number as u64).wrapping_add(apart);
        let mut drive = ModelledDrive::new(&spec, profile, seed)?;
        // The progress of a load is none of the whole.
        let control = Control::silent(self.control.flag());
        let mut rates = Vec::with_capacity(loads.len());
        for load in loads {
            rates.push(rate(change, load, seed, &mut drive, &control)?);
        }
        debug_assert_eq!(rates.len(), loads.len(), "a rate for each load");
        if !self.control.stopped() {
            self.cache.keep(key, rates.clone());
        }
        Ok(rates)
    }
}

/// The change that each set of changes makes together.
fn combined(sets: &[Vec<usize>], changes: &[Modelled]) -> Vec<Modelled> {
    let each = sets
        .iter()
        .map(|set| set.iter().fold(Modelled::default(), |all, index| all.with(&changes[*index])));
    each.collect()
}

/// A load that ends once its rate has settled.
fn limited(load: Load, is_flash: bool) -> Load {
    let longest = if is_flash { FLASH } else { DISK };
    let mut workload = load.workload;
    // A question has dozens of causes: each has to be simulated on every drive.
    workload.runtime = workload.runtime.min(longest);
    workload.ramp_time = workload.ramp_time.min(longest);
    if is_flash {
        let asked = workload.number_ios.unwrap_or(FLASH_REQUESTS);
        workload.number_ios = Some(asked.min(FLASH_REQUESTS));
    }
    Load { workload, ..load }
}

/// Checks that a drive can be given a load.
pub(super) fn admits((spec, profile): (&DriveSpec, &Profile), load: &Load) -> Result<(), Refusal> {
    let mut drive = ModelledDrive::new(spec, profile, 0)?;
    let workload = Workload { number_ios: Some(1), ramp_time: Span::ZERO, ..load.workload.clone() };
    let plan =
        LoadPlan { numjobs: load.numjobs, schedule: load.schedule, ..LoadPlan::one(workload, 0) };
    drive.run(&[&plan], &Control::unattended()).map(|_| ())
}

/// The rate of a load on a drive that has a change.
fn rate(
    change: &Modelled,
    load: &Load,
    seed: u64,
    drive: &mut ModelledDrive,
    control: &Control<'_>,
) -> Result<f64, Refusal> {
    let drives = if change.shares_channel { 2 } else { 1 };
    // Of one drive: two of them may have a little less than twice its profile's.
    let capacity = Bytes::new(drive.capacity().get() / drives);
    let workload = change.applied(&load.workload, capacity);
    let plan = LoadPlan {
        numjobs: load.numjobs,
        schedule: load.schedule,
        ..LoadPlan::one(workload, seed)
    };
    let beside = change.beside(&plan, capacity)?;
    let plans: Vec<&LoadPlan> = std::iter::once(&plan).chain(&beside).collect();
    let made = drive.run(&plans, control)?;
    let iops = made[0].total.record().iops;
    // Where none completed, half of a request is a bound.
    let least = 0.5 / workload_s(load).max(1.0);
    Ok(if control.stopped() { iops } else { iops.max(least) })
}

/// The time that a load is measured.
fn workload_s(load: &Load) -> f64 {
    float(load.workload.runtime.ns()) / 1e9
}

/// The rate of a load on one drive, with causes or without, as a run would measure it.
///
/// # Errors
/// The drive cannot be built, or the load not be applied to it.
pub fn measure(
    (spec, profile): (&DriveSpec, &Profile),
    changes: &[&Modelled],
    load: &Load,
    seed: u64,
    control: &Control<'_>,
) -> Result<f64, Refusal> {
    let change = changes.iter().fold(Modelled::default(), |all, one| all.with(one));
    let options = change.options(&spec.options);
    let spec = DriveSpec { profile: spec.profile.clone(), options };
    let mut drive = ModelledDrive::new(&spec, profile, seed)?;
    rate(&change, load, seed, &mut drive, control)
}

/// The change of the drive alone.
fn drive_only(change: &Modelled) -> Modelled {
    Modelled { drive: change.drive, ..Modelled::default() }
}

impl Modelled {
    /// Both changes.
    fn with(&self, other: &Self) -> Self {
        Self {
            drive: self.drive.overlaid_with(&other.drive),
            ignores_flushes: self.ignores_flushes || other.ignores_flushes,
            shares_channel: self.shares_channel || other.shares_channel,
            beside: other.beside.clone().or_else(|| self.beside.clone()),
        }
    }

    /// The options of a drive with this change.
    fn options(&self, options: &Options) -> Options {
        let mut changed = options.overlaid_with(&self.drive);
        if self.shares_channel {
            // An IDE channel has one command in progress for both of its drives.
            (changed.drives, changed.host_queue) = (Some(2), Some(1));
        }
        changed
    }

    /// The load under this change.
    fn applied(&self, workload: &Workload, capacity: Bytes) -> Workload {
        let mut workload = workload.clone();
        if self.ignores_flushes {
            (workload.sync, workload.fsync) = (false, 0);
        }
        if self.shares_channel {
            // The second drive follows the first.
            let rest = Bytes::new(capacity.get().saturating_sub(workload.offset.get()));
            workload.size = workload.size.or(Some(rest));
        }
        workload
    }

    /// The load at the same time, as long as this one.
    fn beside(&self, plan: &LoadPlan, capacity: Bytes) -> Result<Option<LoadPlan>, Refusal> {
        let seed = plan.seed.wrapping_add(1);
        let main = &plan.workload;
        if self.shares_channel {
            let offset = Bytes::new(capacity.get() + main.offset.get());
            let workload = Workload { offset, ..main.clone() };
            return Ok(Some(LoadPlan { seed, workload, ..plan.clone() }));
        }
        let Some(options) = &self.beside else { return Ok(None) };
        let beside = options.clone().check()?;
        let runtime = main.runtime + main.ramp_time;
        let beside = Workload { runtime, ramp_time: Span::ZERO, number_ios: None, ..beside };
        Ok(Some(LoadPlan::one(beside, seed)))
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::JobSchedule;
    use drivelab_core::workload::WorkloadOptions;

    use super::*;
    use crate::{Embedded, Source as _};

    fn rate_of(change: &Modelled, rw: &str) -> f64 {
        let spec = Embedded.spec("seagate-st31000333as,controller=ahci,tags=31").unwrap();
        let profile = Embedded.profile(&spec).unwrap();
        let mut options = WorkloadOptions::default();
        for (name, value) in [("rw", rw), ("iodepth", "32"), ("runtime", "5s")] {
            assert!(options.set(name, value).unwrap());
        }
        let workload = options.check().unwrap();
        let load = Load { workload, numjobs: 1, schedule: JobSchedule::default() };
        measure((&spec, &profile), &[change], &load, 1, &Control::unattended()).unwrap()
    }

    #[test]
    fn two_drives_that_share_a_channel_have_less_than_half_of_a_queue_each() {
        let shared = Modelled { shares_channel: true, ..Modelled::default() };
        // The load has no size: it ends where the second drive begins.
        let [alone, both] = [Modelled::default(), shared].map(|it| rate_of(&it, "randread"));
        assert!(both < 0.5 * alone, "{both} {alone}");
    }

    #[test]
    fn another_load_takes_its_share() {
        let (rw, iodepth) = ("randread".parse().ok(), Some(32));
        let beside = Some(WorkloadOptions { rw, iodepth, ..WorkloadOptions::default() });
        let busy = Modelled { beside, ..Modelled::default() };
        assert!(rate_of(&busy, "randread") < 0.7 * rate_of(&Modelled::default(), "randread"));
    }
}
