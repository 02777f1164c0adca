//! `drive predict`: the performance of a modelled drive at depths that were not measured.

use std::path::PathBuf;

use clap::Args;
use drivelab_core::numbers::float;
use drivelab_core::record::JobRecord;
use drivelab_core::workload::{Rw, WorkloadOptions};
use drivelab_core::{Refusal, Span};
use drivelab_engine::RunPlan;
use drivelab_model::Specimens;
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::{Profile, Unknown};
use drivelab_report::drive::{Depth, Flush, Predicted};
use drivelab_report::text::json_text;

use crate::commands::completion::{self, Offer};
use crate::commands::run::workload::WorkloadArgs;
use crate::exit::{Exit, Outcome};
use crate::ui::Ui;
use drivelab_lab::{interrupt, target};

/// What `drive predict` is asked.
#[derive(Debug, Args)]
#[command(after_help = "\
The interval contains 95 of 100 drives that fit the profile. Each specimen that is simulated has
another value of everything that the profile leaves open (`drive show` lists it): its priors, or the
posterior that `drive fit` left of them. The model itself may be off by what `[lacks]` says.

Of a fitted solid-state drive random reads were measured, and the writes that its profile names;
what was not is that of its class. Without --runtime and --number-ios a run on flash has 20,000
requests of 4 KiB, and where it writes they begin once the drive's buffer is full.

Examples:
  drivelab drive predict seagate-st2000dm006
  drivelab drive predict own.toml,precondition=steady --rw randwrite --json")]
pub(crate) struct PredictArgs {
    /// A name from the list, or a profile file, with options: NAME,controller=ide,tags=31
    #[arg(value_parser = Offer(completion::drives), hide_possible_values = true)]
    drive: String,
    #[command(flatten)]
    workload: WorkloadArgs,
    /// Specimens of the drive that are simulated; 1 is the median drive.
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    specimens: u32,
    /// Seed of all random choices.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The depths that are predicted.
const DEPTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];
/// Random writes before the flushes that are predicted, and how long they are watched.
const WRITES: [u32; 2] = [8, 64];
const FLUSHING: Span = Span::from_secs(60);

/// Requests of each run on flash, where no option says for how long: its rates settle within a
/// thousand, and half a minute of it is a million.
const FLASH_REQUESTS: u64 = 20_000;
/// So many at least, however long they are.
const FEWEST_REQUESTS: u64 = 64;
/// Writes that fill a buffer, as a multiple of its capacity: enough for a drive that programs up
/// to three quarters of what it takes over.
const FILLS: u64 = 4;
/// No buffer takes longer to fill.
const FILLING: Span = Span::from_secs(600);

/// Units of 4 KiB in a request.
fn units(options: &WorkloadOptions) -> Result<u64, Refusal> {
    Ok((options.clone().check()?.blocks.mean().get() / 4096).max(1))
}

/// Prints IOPS and latency against depth.
pub(crate) fn predict(arguments: PredictArgs, ui: Ui) -> Outcome {
    let spec = target::drive_spec(&arguments.drive)?;
    let drives = Drives::new(&spec, arguments.specimens, arguments.seed)?;
    let is_typed = |name| arguments.workload.is_typed(name);
    let is_timed = is_typed("runtime");
    let is_limited = is_timed || is_typed("number_ios") || is_typed("ramp_time");
    let mut options = arguments.workload.0;
    let writes = options.rw.is_some_and(Rw::writes);
    let lasting = drives.is_flash && writes && !is_limited;
    if drives.is_flash && !is_timed {
        // What fills flash is the bytes: large requests need fewer.
        let requests = FLASH_REQUESTS / if lasting { units(&options)? } else { 1 };
        options.number_ios = options.number_ios.or(Some(requests.max(FEWEST_REQUESTS)));
    }
    let mut predicted = drives.nothing_yet()?;
    if drives.is_flash && writes {
        predicted.notes = drives.notes(lasting)?;
    }
    for iodepth in DEPTHS {
        let mut options = options.clone();
        options.iodepth = Some(iodepth);
        options.rw = options.rw.or("randread".parse().ok());
        if let Some(depth) = drives.depth(iodepth, &options, lasting)? {
            predicted.depths.push(depth);
        }
    }
    for writes in WRITES {
        predicted.flushes.extend(drives.flush(writes)?);
    }
    if interrupt::requested() {
        ui.warn("interrupted: only the finished depths are shown");
    }
    if predicted.depths.is_empty() {
        return Ok(Exit::Interrupted);
    }
    if ui.json {
        let document = predicted.json(&spec.to_string());
        ui.result(&json_text(&document))?;
    } else {
        ui.result(&predicted.text(ui.look()))?;
    }
    Ok(if interrupt::requested() { Exit::Interrupted } else { Exit::Done })
}

/// The numbers that decide the speed of lasting writes.
const WRITTEN: [&str; 2] = ["spare", "page_program_factor"];

/// The drives that fit a profile.
#[derive(Clone)]
struct Drives<'a> {
    spec: &'a DriveSpec,
    profile: Profile,
    is_flash: bool,
    specimens: Vec<Profile>,
    seed: u64,
}

impl<'a> Drives<'a> {
    fn new(spec: &'a DriveSpec, count: u32, seed: u64) -> Result<Self, Refusal> {
        let profile = target::profile(spec)?;
        // One drive that is known is as good as many.
        let is_open = !profile.unknowns().is_empty() && count > 1;
        let all = Specimens::new(seed, count, std::iter::once(&profile));
        let specimens = if is_open {
            (0..count).map(|number| all.of(0, &profile, number)).collect()
        } else {
            vec![profile.median()]
        };
        let is_flash = profile.is_solid_state();
        Ok(Self { spec, profile, is_flash, specimens, seed })
    }

    fn nothing_yet(&self) -> Result<Predicted, Refusal> {
        let built = target::build(&self.profile, &self.spec.options, self.seed)?;
        let [any, _] = self.profile.lacks();
        let record = self.profile.record(built.about());
        let unknowns = self.profile.unknowns().iter().map(|unknown| unknown.name).collect();
        Ok(Predicted {
            specimens: u32::try_from(self.specimens.len()).expect("as many as were asked for"),
            unknowns,
            model_sigma: record.map_or(any, |specimen| specimen.model_sigma),
            depths: Vec::new(),
            flushes: Vec::new(),
            notes: Vec::new(),
        })
    }

    /// The notes about writes to flash: the state of the flash, and the numbers not measured.
    fn notes(&self, lasting: bool) -> Result<Vec<String>, Refusal> {
        let built = target::build(&self.profile, &self.spec.options, self.seed)?;
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

    /// Each drive's own requests, as each block of a study has its own.
    fn runs<T>(
        &self,
        options: &WorkloadOptions,
        lasting: bool,
        figure: impl Fn(JobRecord) -> Option<T>,
    ) -> Result<Option<Vec<T>>, Refusal> {
        let mut figures = Vec::new();
        for (number, profile) in (0..).zip(&self.specimens) {
            let seed = self.seed.wrapping_add(number);
            let mut options = options.clone();
            if lasting {
                options.ramp_time = Some(self.filling(profile, &options, seed)?);
            }
            let total = self.run(profile, &options, seed)?;
            if interrupt::requested() {
                // A run that was cut short predicts nothing.
                return Ok(None);
            }
            figures.push(figure(total));
        }
        Ok(figures.into_iter().collect())
    }

    fn run(
        &self,
        profile: &Profile,
        options: &WorkloadOptions,
        seed: u64,
    ) -> Result<JobRecord, Refusal> {
        let workload = options.clone().check()?;
        // A modelled drive has no path.
        let plan = RunPlan { seed, ..RunPlan::new(PathBuf::new(), workload) };
        let record = target::simulate(self.spec, profile, &plan, &interrupt::silent())?;
        Ok(record.total.expect("a load has a total"))
    }

    /// The time in which this load fills the buffer of a drive, found by filling it.
    fn filling(
        &self,
        profile: &Profile,
        options: &WorkloadOptions,
        seed: u64,
    ) -> Result<Span, Refusal> {
        let Some(buffer) = profile.write_buffer() else { return Ok(Span::ZERO) };
        let requests = FILLS * buffer.get() / 4096 / units(options)?;
        let number_ios = Some(requests.max(1));
        let filling = WorkloadOptions { number_ios, runtime: Some(FILLING), ..options.clone() };
        Ok(Span::from_ns(self.run(profile, &filling, seed)?.elapsed_ns))
    }

    fn depth(
        &self,
        iodepth: u32,
        options: &WorkloadOptions,
        lasting: bool,
    ) -> Result<Option<Depth>, Refusal> {
        let made = self.runs(options, lasting, |total| Some((total.iops, total.lat_ns)))?;
        let Some(runs) = made else { return Ok(None) };
        let median = Drives { specimens: vec![self.profile.median()], ..self.clone() };
        let of_median = median.runs(options, lasting, |total| Some(total.lat_ns))?;
        let Some(lat_ns) = of_median.and_then(|mut found| found.pop()) else { return Ok(None) };
        if runs.iter().any(|(iops, _)| *iops <= 0.0) {
            let message = format!("at depth {iodepth} no request completed in time");
            return Err(Refusal::request(message).hint("raise `--runtime`"));
        }
        let iops = runs.iter().map(|(iops, _)| *iops).collect();
        // A drive that takes no time has a mean of 0, whose logarithm does not exist.
        let mean_ns = runs.iter().map(|(_, latency)| float(latency.mean).max(1.0)).collect();
        Ok(Some(Depth { iodepth, iops, mean_ns, lat_ns }))
    }

    fn flush(&self, writes: u32) -> Result<Option<Flush>, Refusal> {
        let options = WorkloadOptions {
            rw: "randwrite".parse().ok(),
            iodepth: Some(1),
            fsync: Some(writes),
            runtime: Some(FLUSHING),
            number_ios: self.is_flash.then_some(FLASH_REQUESTS),
            ..WorkloadOptions::default()
        };
        let mean = |total: JobRecord| Some(float(total.flush?.lat_ns.mean).max(1.0));
        Ok(self.runs(&options, false, mean)?.map(|mean_ns| Flush { writes, mean_ns }))
    }
}
