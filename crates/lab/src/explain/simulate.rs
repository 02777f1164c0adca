//! The rates of loads on drives with and without causes, in virtual time.

use std::num::NonZeroUsize;

use drivelab_analysis::explanation::{Load, Rates};
use drivelab_core::workload::Workload;
use drivelab_core::{Control, Refusal, Span};
use drivelab_model::Specimens;
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::{Missing, Profile};
use drivelab_simulate::LoadPlan;
use drivelab_simulate::model::{self, ModelledDrive};
use drivelab_simulate::stage::parallel;

use super::Wanted;
use super::library::Modelled;
use crate::target;

/// A run of a disk takes at most this, of flash that, with as much before it: rates settle within.
const DISK: Span = Span::from_secs(15);
const FLASH: Span = Span::from_secs(2);
/// Requests of a run on flash.
const FLASH_REQUESTS: u64 = 20_000;
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
}

impl<'a> Bench<'a> {
    pub(super) fn new(
        wanted: &Wanted<'a>,
        loads: Vec<Load>,
        control: &'a Control<'a>,
    ) -> Result<Self, Refusal> {
        let profile = target::profile(wanted.spec)?;
        let count = wanted.specimens.max(2);
        let all = Specimens::new(wanted.seed, count, std::iter::once(&profile));
        let drives = (0..count).map(|number| all.of(0, &profile, number)).collect();
        let longest = if profile.is_solid_state() { FLASH } else { DISK };
        let limit = |load: Load| {
            let mut workload = load.workload;
            workload.runtime = workload.runtime.min(longest);
            workload.ramp_time = workload.ramp_time.min(longest);
            if profile.is_solid_state() {
                let asked = workload.number_ios.unwrap_or(FLASH_REQUESTS);
                workload.number_ios = Some(asked.min(FLASH_REQUESTS));
            }
            Load { workload, ..load }
        };
        let bench = Self {
            spec: wanted.spec,
            loads: loads.into_iter().map(limit).collect(),
            drives,
            median: profile.median(),
            seed: wanted.seed,
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            control,
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
        let options = self.spec.options.overlaid_with(&change.drive);
        if options == self.spec.options && *change == drive_only(change) {
            return Some("the drive is so already".to_owned());
        }
        model::build(&self.median, &options, 0).err().map(|refusal| refusal.to_string())
    }

    /// The error of the model in the rate of each load.
    pub(super) fn model_sigma(&self) -> Vec<f64> {
        let [any, elevator] = self.median.lacks();
        let sigma = |load: &Load| {
            let missing = self.median.missing_for(&load.workload, &self.spec.options);
            Missing::add(&missing, any.max(elevator))
        };
        self.loads.iter().map(sigma).collect()
    }

    /// Adds the rates of all drives with sets of changes; `None` after an interruption.
    pub(super) fn add(
        &self,
        sets: &[Vec<usize>],
        changes: &[Modelled],
        rates: &mut Rates,
    ) -> Result<Option<()>, Refusal> {
        let combined = sets.iter().map(|set| {
            set.iter().fold(Modelled::default(), |all, index| all.with(&changes[*index]))
        });
        let combined: Vec<Modelled> = combined.collect();
        let Some(made) = self.rates(&combined, 0)? else { return Ok(None) };
        rates.add(sets, made);
        Ok(Some(()))
    }

    /// The rates of all drives without a change, with other addresses.
    pub(super) fn again(&self) -> Result<Option<Vec<Vec<f64>>>, Refusal> {
        let made = self.rates(&[Modelled::default()], AGAIN)?;
        Ok(made.and_then(|mut made| made.pop()))
    }

    /// For each change, drive and load the rate.
    fn rates(
        &self,
        changes: &[Modelled],
        apart: u64,
    ) -> Result<Option<Vec<Vec<Vec<f64>>>>, Refusal> {
        let all = changes.iter().flat_map(|change| (0..self.drives.len()).map(move |n| (change, n)));
        let all: Vec<(&Modelled, usize)> = all.collect();
        let made = parallel::map(self.threads, &all, |(change, number)| {
            self.loads.iter().map(|load| self.rate(change, *number, load, apart)).collect()
        });
        if self.control.stopped() {
            // A run that was cut short predicts nothing.
            return Ok(None);
        }
        let made: Vec<Vec<f64>> = made.into_iter().collect::<Result<_, Refusal>>()?;
        Ok(Some(made.chunks(self.drives.len()).map(<[Vec<f64>]>::to_vec).collect()))
    }

    fn rate(
        &self,
        change: &Modelled,
        number: usize,
        load: &Load,
        apart: u64,
    ) -> Result<f64, Refusal> {
        let options = self.spec.options.overlaid_with(&change.drive);
        let spec = DriveSpec { profile: self.spec.profile.clone(), options };
        let seed = self.seed.wrapping_add(number as u64).wrapping_add(apart);
        let mut drive = ModelledDrive::new(&spec, &self.drives[number], seed)?;
        let workload = change.applied(&load.workload);
        let plan = LoadPlan {
            numjobs: load.numjobs,
            schedule: load.schedule,
            ..LoadPlan::one(workload, seed)
        };
        let beside = change.beside(&plan.workload)?;
        let beside = beside.map(|workload| LoadPlan::one(workload, seed.wrapping_add(1)));
        let plans: Vec<&LoadPlan> = std::iter::once(&plan).chain(&beside).collect();
        let made = drive.run(&plans, self.control)?;
        let iops = made[0].total.record().iops;
        if iops > 0.0 || self.control.stopped() {
            return Ok(iops);
        }
        Err(Refusal::request(format!("no request of `{}` completed", load.workload.rw))
            .hint("give the figure a longer `runtime`"))
    }
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
            beside: other.beside.clone().or_else(|| self.beside.clone()),
        }
    }

    /// The load under this change.
    fn applied(&self, workload: &Workload) -> Workload {
        let workload = workload.clone();
        if self.ignores_flushes { Workload { sync: false, fsync: 0, ..workload } } else { workload }
    }

    /// The load at the same time, as long as this one.
    fn beside(&self, workload: &Workload) -> Result<Option<Workload>, Refusal> {
        let Some(options) = &self.beside else { return Ok(None) };
        let beside = options.clone().check()?;
        let runtime = workload.runtime + workload.ramp_time;
        Ok(Some(Workload { runtime, ramp_time: Span::ZERO, number_ios: None, ..beside }))
    }
}
