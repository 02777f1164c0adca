//! The performance of a modelled drive at depths that were not measured.

use drivelab_core::numbers::float;
use drivelab_core::record::{JobRecord, Latency};
use drivelab_core::workload::{Batches, Pace, Rw, Workload, WorkloadOptions};
use drivelab_core::{Control, Refusal, Span};
use drivelab_model::Specimens;
use drivelab_model::options::{DriveSpec, Precondition};
use drivelab_model::profile::{Missing, Profile, Unknown};
use drivelab_report::drive::{Depth, Flush, Predicted};

use crate::model::{self, ModelledDrive};
use crate::record::LoadPlan;

/// A prediction that is asked for.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    /// The drive.
    pub spec: &'a DriveSpec,
    /// Its profile.
    pub profile: Profile,
    /// Specimens of the drive that are simulated; 1 is the median drive.
    pub specimens: u32,
    /// Seed of all random choices.
    pub seed: u64,
    /// The load.
    pub options: WorkloadOptions,
    /// The options of it that the user gave.
    pub given: Given,
}

/// The options that decide how a prediction runs, each true if the user gave it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Given {
    /// `runtime`.
    runtime: bool,
    /// `number_ios` or `ramp_time`.
    is_limited: bool,
    /// `iodepth`.
    iodepth: bool,
}

impl Given {
    /// Takes the answer of `is_given` for each option.
    pub fn new(is_given: impl Fn(&str) -> bool) -> Self {
        Self {
            runtime: is_given("runtime"),
            is_limited: is_given("number_ios") || is_given("ramp_time"),
            iodepth: is_given("iodepth"),
        }
    }
}

/// The depths that are predicted.
const DEPTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];
/// Random writes before the flushes that are predicted, and how long they are watched.
const WRITES: [u32; 2] = [8, 64];
const FLUSHING: Span = Span::from_secs(60);

/// The time of each run on a volume of a cloud, where no option says another: its limits hold from
/// the first moment on, and its rates hardly scatter.
const VOLUME: Span = Span::from_secs(5);
/// Its requests in that time, at most.
const VOLUME_REQUESTS: u64 = 50_000;
/// The same on a disk, which serves fewer in half a minute unless a cache answers them.
const DISK_REQUESTS: u64 = 10_000;
/// Flushes of each size on a disk, which carries out fewer in a minute unless it writes to a log.
const DISK_FLUSHES: u64 = 500;
/// Requests of each run on flash, where no option says for how long: its rates settle within a
/// thousand, and half a minute of it is a million.
const FLASH_REQUESTS: u64 = 10_000;
/// The same where writes are flushed: the time of a flush hardly scatters.
const FLASH_FLUSHED: u64 = 2_000;
/// Flushes of each size, on flash.
const FLASH_FLUSHES: u64 = 64;
/// So many at least, however long they are.
const FEWEST_REQUESTS: u64 = 64;
/// Writes that fill a buffer, as a multiple of its capacity: enough for a drive that programs up
/// to three quarters of what it takes over.
const FILLS: u64 = 4;
/// No buffer takes longer to fill.
const FILLING: Span = Span::from_secs(600);

/// IOPS and latency against depth, and flushes after writes; after an interruption only what was
/// finished.
///
/// # Errors
/// The drive cannot be built, or the load not be applied to it.
pub fn predict(wanted: Wanted<'_>, control: &Control<'_>) -> Result<Predicted, Refusal> {
    let (options, given) = (wanted.options.clone(), wanted.given);
    let drives = Drives::new(wanted, control);
    let question = Question::new(options, given, &drives.profile)?;
    let mut predicted = drives.nothing_yet(&question)?;
    if drives.is_flash {
        drives.predict_flash(&question, &mut predicted)?;
    } else {
        drives.predict_disk(&question, &mut predicted)?;
    }
    Ok(predicted)
}

/// A load at one depth or several, and the flushes that are predicted with it.
struct Question {
    /// The load at each depth.
    loads: Vec<(u32, WorkloadOptions)>,
    /// Writes begin once the buffer is full.
    lasting: bool,
    /// Writes between two flushes of the load; 0 for none.
    fsync: u32,
    writes: bool,
}

impl Question {
    fn new(mut options: WorkloadOptions, given: Given, profile: &Profile) -> Result<Self, Refusal> {
        let is_flash = profile.is_solid_state();
        let is_timed = given.runtime;
        if profile.is_volume() && !is_timed {
            options.runtime = Some(VOLUME);
        }
        let is_limited = is_timed || given.is_limited;
        let one_depth = given.iodepth;
        options.rw = options.rw.or("randread".parse().ok());
        let writes = options.rw.is_some_and(Rw::writes);
        if !is_flash && !is_limited {
            let volume = profile.is_volume();
            let most = if volume { VOLUME_REQUESTS } else { DISK_REQUESTS };
            options.number_ios = options.number_ios.or(Some(most));
        }
        let load = options.clone().check()?;
        let flushed = writes && (load.sync || load.fsync > 0);
        let lasting = is_flash && writes && !flushed && !is_limited;
        if is_flash && !is_timed {
            // What fills flash is the bytes: large requests need fewer.
            let units = if lasting { units(&load) } else { 1 };
            let requests = if flushed { FLASH_FLUSHED } else { FLASH_REQUESTS / units };
            options.number_ios = options.number_ios.or(Some(requests.max(FEWEST_REQUESTS)));
        }
        let depths = if one_depth { vec![load.pace.iodepth()] } else { DEPTHS.to_vec() };
        let loads = depths.into_iter().map(|iodepth| {
            (iodepth, WorkloadOptions { iodepth: Some(iodepth), ..options.clone() })
        });
        let fsync = if writes { load.fsync } else { 0 };
        Ok(Self { loads: loads.collect(), lasting, fsync, writes })
    }

    /// Writes before the flushes that are predicted in addition to the load.
    fn flushes(&self) -> &'static [u32] {
        // Of a load that flushes, its own flushes are the answer.
        if self.fsync > 0 { &[] } else { &WRITES }
    }
}

/// Units of 4 KiB in a request.
fn units(load: &Workload) -> u64 {
    (load.blocks.mean().get() / 4096).max(1)
}

/// The figures of one drive under one load.
struct Run {
    iops: f64,
    /// Of a request with its share of the flushes.
    mean_ns: f64,
    flush_ns: Option<f64>,
    lat_ns: Latency,
    /// Requests a second that this drive never exceeds.
    most: Option<f64>,
}

impl Run {
    fn of(total: &JobRecord, load: &Workload, most: Option<f64>) -> Self {
        // A drive that takes no time has a mean of 0, whose logarithm does not exist.
        let iops = most.map_or(total.iops, |most| total.iops.min(most));
        let mean = lasting_mean_ns(load, iops).unwrap_or(float(total.lat_ns.mean));
        let mean_ns = mean.max(1.0);
        let flush = total.flush.as_ref().map(|flush| {
            let mean = float(flush.lat_ns.mean).max(1.0);
            (mean, mean * float(flush.lat_ns.n) / float(total.lat_ns.n.max(1)))
        });
        Self {
            iops,
            mean_ns: mean_ns + flush.map_or(0.0, |(_, share)| share),
            flush_ns: flush.map(|(mean, _)| mean),
            lat_ns: total.lat_ns,
            most,
        }
    }
}

/// The mean latency of a load that keeps its number of requests in progress, by Little's law. Of a
/// run of a few requests the last ones, behind which no others wait, take less than that.
fn lasting_mean_ns(load: &Workload, iops: f64) -> Option<f64> {
    let Pace::Closed { iodepth, think_time: Span::ZERO } = load.pace else { return None };
    let keeps_its_depth = load.fsync == 0 && load.batches == Batches::default();
    (keeps_its_depth && iops > 0.0).then(|| f64::from(iodepth) * 1e9 / iops)
}

/// The numbers that decide the speed of lasting writes.
const WRITTEN: [&str; 2] = ["spare", "page_program_factor"];

/// The drives that fit a profile.
struct Drives<'a> {
    spec: DriveSpec,
    profile: Profile,
    is_flash: bool,
    specimens: Vec<Profile>,
    seed: u64,
    control: &'a Control<'a>,
}

impl<'a> Drives<'a> {
    fn new(wanted: Wanted<'a>, control: &'a Control<'a>) -> Self {
        let Wanted { spec, profile, specimens: count, seed, options, .. } = wanted;
        // One drive that is known is as good as many.
        let is_open = !profile.unknowns().is_empty() && count > 1;
        let all = Specimens::new(seed, count, std::iter::once(&profile));
        let specimens = if is_open {
            (0..count).map(|number| all.of(0, &profile, number)).collect()
        } else {
            vec![profile.median()]
        };
        let is_flash = profile.is_solid_state();
        let mut spec = spec.clone();
        // Reads do not see how large a drive is, and a small one is prepared sooner.
        let only_reads = !options.rw.is_some_and(Rw::writes);
        if only_reads && spec.options.scale.is_none() {
            let scales = specimens.iter().filter_map(Profile::scale_for_reads);
            spec.options.scale = scales.min_by_key(|scale| scale.parts());
        }
        Self { spec, profile, is_flash, specimens, seed, control }
    }

    fn nothing_yet(&self, question: &Question) -> Result<Predicted, Refusal> {
        let built = model::build(&self.profile, &self.spec.options, self.seed)?;
        let [any, _] = self.profile.lacks();
        let record = self.profile.record(built.about());
        let unknowns = self.profile.unknowns().iter().map(|unknown| unknown.name).collect();
        let (_, shallow) = &question.loads[0];
        let missing = self.profile.missing_for(&shallow.clone().check()?, &self.spec.options);
        let known = record.map_or(any, |specimen| specimen.model_sigma);
        let notes = match (self.is_flash, self.profile.is_shingled()) {
            (true, _) if question.writes => self.notes(question.lasting)?,
            (_, true) if question.writes => vec![self.of_media_cache()],
            _ => Vec::new(),
        };
        Ok(Predicted {
            specimens: u32::try_from(self.specimens.len()).expect("as many as were asked for"),
            unknowns,
            model_sigma: Missing::add(&missing, known),
            depths: Vec::new(),
            flushes: Vec::new(),
            notes,
            lacks: missing.iter().map(|it| it.what).collect(),
        })
    }

    /// The note about writes to shingled tracks: the state of the media cache.
    fn of_media_cache(&self) -> String {
        if self.spec.options.precondition == Some(Precondition::Steady) {
            return "writes are of a drive whose media cache is full before the first of them"
                .into();
        }
        "writes are of a drive whose media cache is empty before the first of them; with \
         `precondition=steady` it is full"
            .into()
    }

    /// The notes about writes to flash: the state of the flash, and the numbers not measured.
    fn notes(&self, lasting: bool) -> Result<Vec<String>, Refusal> {
        let built = model::build(&self.profile, &self.spec.options, self.seed)?;
        let flash = built.about().attached.as_ref().and_then(|attached| attached.flash);
        let mut notes = Vec::new();
        if let Some(flash) = flash {
            let state = flash.precondition;
            let when = if lasting {
                ", once its buffer is full"
            } else {
                ", with its buffer empty at first"
            };
            notes.push(format!(
                "writes are of a drive whose flash is `{state}` before the first of them{when}"
            ));
        }
        let never_fitted = |unknown: &Unknown| {
            WRITTEN.contains(&unknown.name) && !unknown.kind.contains("draws of a fit")
        };
        let unknowns = self.profile.unknowns();
        let open: Vec<&str> =
            unknowns.iter().filter(|it| never_fitted(it)).map(|it| it.name).collect();
        if !open.is_empty() {
            notes.push(format!(
                "cannot tell lasting writes of one drive from those of another of its class: {} \
                 never measured; `drivelab drive measure --allow-destructive` with `--state` \
                 measures them",
                if open.len() > 1 {
                    format!("{} were", open.join(", "))
                } else {
                    format!("{} was", open[0])
                }
            ));
        }
        Ok(notes)
    }

    /// Each drive's own requests, as each block of a study has its own: the drives depth by depth,
    /// each new for each depth.
    fn predict_disk(&self, question: &Question, into: &mut Predicted) -> Result<(), Refusal> {
        for (iodepth, load) in &question.loads {
            let Some(runs) = self.each_new(&self.specimens, load)? else { return Ok(()) };
            let Some(median) = self.each_new(&[self.profile.median()], load)? else {
                return Ok(());
            };
            Self::add(question, *iodepth, (&runs, &median[0]), into)?;
        }
        for writes in question.flushes() {
            let number_ios = Some(DISK_FLUSHES * u64::from(*writes));
            let load = WorkloadOptions { number_ios, runtime: Some(FLUSHING), ..flushing(*writes) };
            let Some(runs) = self.each_new(&self.specimens, &load)? else { return Ok(()) };
            into.flushes.extend(flush_of(&runs, *writes, false));
        }
        Ok(())
    }

    fn each_new(
        &self,
        drives: &[Profile],
        load: &WorkloadOptions,
    ) -> Result<Option<Vec<Run>>, Refusal> {
        let mut runs = Vec::with_capacity(drives.len());
        for (number, profile) in (0..).zip(drives) {
            let seed = self.seed.wrapping_add(number);
            let mut drive = ModelledDrive::new(&self.spec, profile, seed)?;
            let record = self.run(&mut drive, load, seed)?;
            let load = load.clone().check()?;
            let most = profile.most_per_s(drive.about(), &load, false);
            runs.push(Run::of(&record, &load, most));
            if self.control.stopped() {
                // A run that was cut short predicts nothing.
                return Ok(None);
            }
        }
        Ok(Some(runs))
    }

    /// Flash drive by drive: its preparation takes longer than a load, and a load leaves it as it
    /// was prepared.
    fn predict_flash(&self, question: &Question, into: &mut Predicted) -> Result<(), Refusal> {
        let mut of_drives = Vec::with_capacity(self.specimens.len());
        for (number, profile) in (0..).zip(&self.specimens) {
            let Some(runs) = self.all_loads(question, profile, number)? else { break };
            of_drives.push(runs);
        }
        let median = self.all_loads(question, &self.profile.median(), 0)?;
        let Some(median) = median.filter(|_| !of_drives.is_empty()) else { return Ok(()) };
        into.specimens = u32::try_from(of_drives.len()).expect("as many as were asked for");
        let mut of_drives: Vec<_> = of_drives.into_iter().map(Vec::into_iter).collect();
        let mut median = median.into_iter();
        for (iodepth, _) in &question.loads {
            let runs: Vec<Run> = of_drives.iter_mut().filter_map(Iterator::next).collect();
            let median = median.next().expect("the same loads for all drives");
            Self::add(question, *iodepth, (&runs, &median), into)?;
        }
        for writes in question.flushes() {
            let runs: Vec<Run> = of_drives.iter_mut().filter_map(Iterator::next).collect();
            into.flushes.extend(flush_of(&runs, *writes, false));
        }
        Ok(())
    }

    /// The runs of one drive: each depth, then the flushes.
    fn all_loads(
        &self,
        question: &Question,
        profile: &Profile,
        number: u64,
    ) -> Result<Option<Vec<Run>>, Refusal> {
        let seed = self.seed.wrapping_add(number);
        let mut drive = ModelledDrive::new(&self.spec, profile, seed)?;
        let (_, first) = &question.loads[0];
        if let Some(buffer) = profile.write_buffer().filter(|_| question.lasting) {
            let requests = FILLS * buffer.get() / 4096 / units(&first.clone().check()?);
            let number_ios = Some(requests.max(1));
            self.run(
                &mut drive,
                &WorkloadOptions { number_ios, runtime: Some(FILLING), ..first.clone() },
                seed,
            )?;
        }
        let mut runs = Vec::new();
        for (iodepth, load) in &question.loads {
            // Other addresses each time: the same ones again would leave whole blocks invalid.
            let seed = seed.wrapping_add(u64::from(*iodepth) << 32);
            let record = self.run(&mut drive, load, seed)?;
            let load = load.clone().check()?;
            let most = profile.most_per_s(drive.about(), &load, question.lasting);
            runs.push(Run::of(&record, &load, most));
        }
        for writes in question.flushes() {
            // What earlier loads left in the buffer belongs to no flush that is counted.
            let once = WorkloadOptions { number_ios: Some(1), ..flushing(1) };
            self.run(&mut drive, &once, seed)?;
            let number_ios = Some(FLASH_FLUSHES * u64::from(*writes));
            let load = WorkloadOptions { number_ios, runtime: Some(FLUSHING), ..flushing(*writes) };
            let seed = seed.wrapping_add(u64::from(*writes) << 40);
            let record = self.run(&mut drive, &load, seed)?;
            runs.push(Run::of(&record, &load.check()?, None));
        }
        Ok((!self.control.stopped()).then_some(runs))
    }

    fn run(
        &self,
        drive: &mut ModelledDrive,
        load: &WorkloadOptions,
        seed: u64,
    ) -> Result<JobRecord, Refusal> {
        let plan = LoadPlan::one(load.clone().check()?, seed);
        let mut made = drive.run(&[&plan], self.control)?;
        Ok(made.pop().expect("one for each plan").total.record())
    }

    fn add(
        question: &Question,
        iodepth: u32,
        (runs, median): (&[Run], &Run),
        into: &mut Predicted,
    ) -> Result<(), Refusal> {
        if runs.iter().any(|run| run.iops <= 0.0) {
            let message = format!("at depth {iodepth} no request completed in time");
            return Err(Refusal::request(message).hint("raise `--runtime`"));
        }
        // Where the drives have different limits, one more may have that of the fastest.
        let limits: Option<Vec<f64>> = runs.iter().chain([median]).map(|run| run.most).collect();
        into.depths.push(Depth {
            iodepth,
            iops: runs.iter().map(|run| run.iops).collect(),
            most: limits.and_then(|limits| limits.into_iter().reduce(f64::max)),
            mean_ns: runs.iter().map(|run| run.mean_ns).collect(),
            lat_ns: median.lat_ns,
        });
        // Of the load's own flushes those at the first depth: one writer that waits.
        if question.fsync > 0 && into.flushes.is_empty() {
            into.flushes.extend(flush_of(runs, question.fsync, true));
        }
        Ok(())
    }
}

/// Random writes of 4 KiB with a flush after each group.
fn flushing(writes: u32) -> WorkloadOptions {
    WorkloadOptions {
        rw: "randwrite".parse().ok(),
        iodepth: Some(1),
        fsync: Some(writes),
        ..WorkloadOptions::default()
    }
}

fn flush_of(runs: &[Run], writes: u32, of_load: bool) -> Option<Flush> {
    let mean_ns = runs.iter().map(|run| run.flush_ns).collect::<Option<Vec<_>>>()?;
    Some(Flush { writes, of_load, mean_ns })
}
