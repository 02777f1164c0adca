//! The record of a load, wherever it was applied.

use drivelab_core::record::{
    Attached, FlashWritten, Host, Mark, MarkId, RUN_SCHEMA, RunConfig, RunRecord, Specimen, Tally,
};
use drivelab_core::workload::Workload;
use drivelab_core::{JobSchedule, Polling};

/// A load on a target, as its record states it.
#[derive(Debug, Clone)]
pub struct LoadPlan {
    /// The target; empty where the caller names it.
    pub target: String,
    /// Polling for requests and completions.
    pub polling: Polling,
    /// Bypasses the page cache.
    pub direct: bool,
    /// Jobs that run together.
    pub numjobs: u32,
    /// The way in which they begin, share the target, and end.
    pub schedule: JobSchedule,
    /// Seed of all random choices.
    pub seed: u64,
    /// The workload of each job.
    pub workload: Workload,
}

impl LoadPlan {
    /// One job on a modelled drive, which has no page cache.
    pub fn one(workload: Workload, seed: u64) -> Self {
        Self {
            target: String::new(),
            polling: Polling::default(),
            direct: true,
            numjobs: 1,
            schedule: JobSchedule::default(),
            seed,
            workload,
        }
    }
}

/// The result of a plan, wherever it was carried out.
#[derive(Debug)]
pub struct Made {
    /// One entry a job.
    pub jobs: Vec<Tally>,
    /// Counts of all jobs together.
    pub total: Tally,
    /// The nature of the figures, and their limits.
    pub marks: Vec<Mark>,
    /// The engine that moved the data.
    pub ioengine: String,
    /// The attachment of the disk.
    pub attached: Attached,
    /// The drive that was simulated, if the profile leaves numbers open.
    pub specimen: Option<Specimen>,
    /// The machine, where it matters.
    pub host: Option<Host>,
    /// The amount written to modelled flash, by all that ran together.
    pub flash: Option<FlashWritten>,
}

/// Returns the record of an executed plan.
pub fn record(plan: &LoadPlan, made: Made) -> RunRecord {
    RunRecord {
        schema: RUN_SCHEMA.into(),
        target: plan.target.clone(),
        label: None,
        ended_unix_s: None,
        config: RunConfig {
            drivelab: env!("CARGO_PKG_VERSION").into(),
            ioengine: made.ioengine,
            polling: plan.polling.names(),
            direct: plan.direct,
            numjobs: plan.numjobs,
            conduct: plan.schedule,
            seed: plan.seed,
            workload: Some(plan.workload.clone()),
            ..RunConfig::default()
        },
        jobs: made.jobs.iter().map(|job| job.record().without_series()).collect(),
        total: Some(made.total.record()),
        phases: Vec::new(),
        marks: made.marks,
        host: made.host,
        attached: Some(made.attached),
        served: None,
        guest: None,
        specimen: made.specimen,
        flash: made.flash,
        verification: None,
        hosts: None,
    }
}

/// Runs that were made at the same time.
#[derive(Debug, Default)]
pub struct Together {
    /// One record a section.
    pub records: Vec<RunRecord>,
    /// The counts of each copy of a section, without distributions over time.
    pub tallies: Vec<Vec<Tally>>,
    /// All of them together.
    pub total: Tally,
}

impl Together {
    /// The results of plans: each number in `lengths` stands for that many consecutive plans, which
    /// are copies of one and share a record.
    pub fn new(plans: &[LoadPlan], made: Vec<Made>, lengths: &[usize]) -> Self {
        let mut total = Tally::default();
        for one in &made {
            total.merge(&one.total);
        }
        if let [only] = &made[..] {
            // Processor time is that of the process: a run has it only where it is alone.
            total.cpu = only.total.cpu;
        }
        let mut made = plans.iter().zip(made);
        let (records, tallies) = lengths
            .iter()
            .filter_map(|&length| one_record(made.by_ref().take(length).collect()))
            .unzip();
        Self { records, tallies, total }
    }
}

/// The record of all copies of a plan, and the counts of each.
fn one_record(copies: Vec<(&LoadPlan, Made)>) -> Option<(RunRecord, Vec<Tally>)> {
    let mut targets: Vec<String> = copies.iter().map(|(plan, _)| plan.target.clone()).collect();
    targets.dedup();
    let mut copies = copies.into_iter();
    let (plan, mut all) = copies.next()?;
    for (_, made) in copies {
        all.total.merge(&made.total);
        all.jobs.extend(made.jobs);
        for mark in made.marks {
            if all.marks.iter().all(|known| known.id != mark.id) {
                all.marks.push(mark);
            }
        }
    }
    // Each copy said how few its own requests were.
    all.marks.retain(|mark| mark.id != MarkId::FewRequests);
    all.marks.extend(drivelab_load::few_requests(&all.total));
    let mut tallies = std::mem::take(&mut all.jobs);
    let jobs = tallies.iter().map(|job| job.record().without_series()).collect();
    tallies.iter_mut().for_each(Tally::compact);
    let mut record = RunRecord { jobs, ..record(plan, all) };
    record.config.numjobs = u32::try_from(record.jobs.len()).expect("at most JOBS_MAX");
    record.target = targets.join(", ");
    Some((record, tallies))
}
