//! Stage simulate: a modelled drive in virtual time, several runs at once.

mod arm;
mod cells;
pub mod parallel;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use drivelab_core::StageName;
use drivelab_core::matrix::{Cell, Matrix};
use drivelab_core::outline::Risk;
use drivelab_core::record::{Attached, JobRecord, RunRecord, Specimen, Tally};
use drivelab_core::rng::Rng;
use drivelab_core::units::Bytes;
use drivelab_core::workload::Workload;
use drivelab_core::{Device as _, Refusal};
use drivelab_model::options::{DriveSpec, Options};
use drivelab_model::profile::Profile;
use drivelab_model::{About, Specimens};
use drivelab_study::file::{NamedWorkload, Needs};
use drivelab_study::risk::{self, WriteCache};
use drivelab_study::{PlannedRun, Stage, StoredRun, StudyFile, Task, Work};

use crate::record::{self, LoadPlan, Made};
use crate::source::{Source, options};
use crate::{attached, model};
use arm::{ModelledArm, rest, shared_capacity};
use cells::{CellFigures, CellRun};

/// Runs that each thread makes between two looks at the journal: enough that none waits long for
/// the others, and few that a kill costs.
const RUNS_A_THREAD: usize = 32;

/// The part of a study's seed that draws its drives, apart from all that blocks and runs use.
const SPECIMENS_PART: u64 = u64::MAX;

/// The arms of a study as modelled drives.
#[derive(Debug)]
pub struct Simulator {
    source: &'static dyn Source,
    arms: Vec<ModelledArm>,
    workloads: Vec<(Work, Options)>,
    curve: Vec<Work>,
    matrix: Option<(Matrix, Vec<Cell>)>,
    /// Cells that were made, by all that their figures depend on.
    made: BTreeMap<String, CellFigures>,
    threads: NonZeroUsize,
    /// The capacity that every arm has, where some have more.
    shared: Option<Bytes>,
    /// The drives of the blocks, where each block has its own.
    specimens: Option<Specimens>,
    /// The drawn drives of the runs that are being made: by arm and number.
    drawn: BTreeMap<(usize, u32), Profile>,
    /// The median drive stands for all that fit a profile.
    is_of_median: bool,
}

/// The drives of a cell as parts of one file, one after the other.
#[derive(Debug)]
pub struct Parts {
    /// The size of each part.
    pub size: Bytes,
    /// The seed of the drives, and of the threads on each.
    pub seed: u64,
    /// Of the threads on each.
    pub seeds: Vec<u64>,
}

impl Simulator {
    /// Reads the profiles, checks that every arm can be built, and settles what the blocks of the
    /// study are.
    pub fn new(study: &mut StudyFile, source: &'static dyn Source) -> Result<Self, Refusal> {
        refuse_programs(study)?;
        let arms = study.arms.iter().map(|arm| ModelledArm::new(study, arm, source));
        let arms: Vec<ModelledArm> = arms.collect::<Result<_, _>>()?;
        let leaves_open = arms.iter().any(|arm| !arm.profile.unknowns().is_empty());
        study.settle_blocks(leaves_open)?;
        let profiles = arms.iter().map(|arm| &arm.profile);
        let specimens = study.draws_specimens.then(|| {
            let seed = Rng::for_part(study.seed, SPECIMENS_PART).bits();
            Specimens::new(seed, study.blocks, profiles)
        });
        let is_of_median = leaves_open && specimens.is_none();
        let shared = shared_capacity(&arms);
        // Every arm is asked for the same addresses.
        let limited = |workload: &Workload| {
            let rest = shared.map(|all| rest(all, workload.offset));
            Work::Load(Box::new(Workload { size: workload.size.or(rest), ..workload.clone() }))
        };
        let work = |named: &NamedWorkload| match &named.work {
            Work::Load(workload) => limited(workload),
            other => other.clone(),
        };
        let workload = |named: &NamedWorkload| (work(named), options(&named.settings));
        let depths = study.curve.iter().flat_map(|curve| &curve.depths);
        Ok(Self {
            source,
            workloads: study.workloads.iter().map(workload).collect(),
            curve: depths.map(|(_, workload)| limited(workload)).collect(),
            matrix: study.matrix.clone().map(|matrix| {
                let rest = shared.map(|all| rest(all, matrix.offset));
                let size = matrix.size.or(rest);
                (Matrix { size, ..matrix }, study.cells.clone())
            }),
            made: BTreeMap::new(),
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            arms,
            shared,
            specimens,
            drawn: BTreeMap::new(),
            is_of_median,
        })
    }

    /// Draws the drives that these runs are made on, and forgets all others.
    pub fn draw(&mut self, requests: &[PlannedRun]) {
        let Some(specimens) = &self.specimens else { return };
        let wanted: BTreeSet<(usize, u32)> =
            requests.iter().filter_map(|request| Some((request.arm, request.specimen?))).collect();
        self.drawn.retain(|key, _| wanted.contains(key));
        for (arm, number) in wanted {
            let profile = &self.arms[arm].profile;
            let drawn = self.drawn.entry((arm, number));
            drawn.or_insert_with(|| specimens.of(arm, profile, number));
        }
    }

    /// The drive of a run.
    pub fn profile(&self, request: PlannedRun) -> &Profile {
        let drawn = request.specimen.and_then(|number| self.drawn.get(&(request.arm, number)));
        drawn.unwrap_or(&self.arms[request.arm].profile)
    }

    /// The run of a cell; `None` for any other.
    fn cell(&self, request: PlannedRun) -> Result<Option<CellRun>, Refusal> {
        let (Task::Cell(index), Some((matrix, cells))) = (request.task, &self.matrix) else {
            return Ok(None);
        };
        let ModelledArm { profile_ref, profile, options, .. } = &self.arms[request.arm];
        let run = CellRun::new(matrix, cells[index], profile, options, request.seed)?;
        Ok(Some(run.of_drive(profile_ref, request.specimen)))
    }

    /// The cells, in the part of each drive that every arm has.
    pub fn matrix(&self) -> Option<&(Matrix, Vec<Cell>)> {
        self.matrix.as_ref()
    }

    /// The drives of a cell as parts of one file.
    pub fn parts(&self, request: PlannedRun) -> Result<Parts, Refusal> {
        let run = self.cell(request)?.expect("only cells have parts");
        let arm = &self.arms[request.arm];
        // The size is the same with any seed.
        let drives = model::build(&arm.profile, &run.with_drives(&arm.options), 0)?;
        let size = drives.capacity().bytes().get() / run.seeds().len() as u64;
        Ok(Parts { size: Bytes::new(size), seed: run.seed(), seeds: run.seeds().to_vec() })
    }

    /// Makes the cells whose figures are not known yet, each once.
    fn make_cells(&mut self, requests: &[PlannedRun]) -> Result<(), Refusal> {
        let mut missing = BTreeMap::new();
        for request in requests {
            if let Some(run) = self.cell(*request)?
                && !self.made.contains_key(&run.key())
            {
                missing.insert(run.key(), (run, self.profile(*request)));
            }
        }
        let mut missing: Vec<(String, (CellRun, &Profile))> = missing.into_iter().collect();
        // The longest first, so that no processor is left with one at the end: small sequential
        // blocks are the most requests.
        missing.sort_by_key(|(_, (run, _))| {
            (run.workload.rw.is_random(), run.workload.blocks.largest())
        });
        let made = parallel::map(self.threads, &missing, |(_, (run, profile))| {
            run.make(profile, &self.source.control())
        });
        let keys: Vec<String> = missing.into_iter().map(|(key, _)| key).collect();
        for (key, made) in keys.into_iter().zip(made) {
            self.made.insert(key, made?);
        }
        Ok(())
    }

    /// The record of a run; what it takes of cells is there.
    fn make(&self, request: PlannedRun) -> Result<RunRecord, Refusal> {
        let PlannedRun { arm, task, seed, .. } = request;
        let ModelledArm { profile_ref, options, .. } = &self.arms[arm];
        let profile = self.profile(request);
        if let Some(run) = self.cell(request)? {
            let CellFigures { jobs, total } = self.made[&run.key()].clone();
            let options = run.with_drives(options);
            // With any seed: only what the drive says about itself is used.
            let drive = model::build(profile, &options, 0)?;
            let attached = attached::to_model(&profile_ref.to_string(), drive.about());
            let spec = DriveSpec { profile: profile_ref.clone(), options };
            let numjobs = run.threads();
            let target = spec.to_string();
            let record = record::record(
                &LoadPlan { target, numjobs, ..LoadPlan::one(run.workload.clone(), seed) },
                Made {
                    jobs: Vec::new(),
                    total: Tally::default(),
                    marks: Vec::new(),
                    ioengine: "virtual".into(),
                    attached,
                    specimen: profile.record(drive.about()),
                    host: None,
                    flash: None,
                },
            );
            return Ok(RunRecord { jobs, total: Some(total), ..record });
        }
        let (work, options) = self.plan(arm, task);
        let spec = DriveSpec { profile: profile_ref.clone(), options };
        let record = match work {
            Work::Load(workload) => {
                let plan = LoadPlan::one((**workload).clone(), seed);
                model::simulate(&spec, profile, &plan, &self.source.control())?
            }
            Work::Suite(suite) => self.source.suite(suite, &spec, profile, seed)?,
            Work::Command(_) => unreachable!("commands were refused"),
        };
        // A study keeps hundreds of runs, and a model gives the same again whenever it is asked.
        Ok(RunRecord { total: record.total.map(JobRecord::without_series), ..record })
    }

    /// The number of runs that the cells of a matrix of several drives rest on.
    fn rests_on(&self, runs: &[StoredRun]) -> Option<String> {
        let (matrix, _) = self.matrix.as_ref().filter(|(matrix, _)| matrix.targets.len() > 1)?;
        let request = |run: &StoredRun| PlannedRun {
            arm: run.step.arm,
            task: run.task,
            seed: run.record.config.seed,
            specimen: run.record.specimen.as_ref().and_then(|specimen| specimen.number),
        };
        let cells = runs.iter().filter_map(|run| self.cell(request(run)).ok().flatten());
        let (mut rows, mut made) = (0, BTreeSet::new());
        for cell in cells {
            rows += usize::from(cell.is_of_all());
            made.insert(cell.key());
        }
        Some(format!(
            "{rows} cells rest on {} runs of {} in virtual time. The drives are alike but for their \
             seeds: what draws nothing is run once for all of them, and reads once for both states \
             of the write cache.",
            made.len(),
            matrix.runtime
        ))
    }

    /// The work of a task that is no cell, and the drive settings that it runs under.
    fn plan(&self, arm: usize, task: Task) -> (&Work, Options) {
        let options = &self.arms[arm].options;
        match task {
            Task::Workload(index) => {
                let (work, own) = &self.workloads[index];
                (work, options.overlaid_with(own))
            }
            Task::Curve(index) => (&self.curve[index], *options),
            Task::Cell(_) => unreachable!("cells are planned by themselves"),
        }
    }

    /// The settings of an arm's drive for a task.
    fn settings_for(&self, arm: usize, task: Task) -> Options {
        let (Task::Cell(index), Some((matrix, cells))) = (task, &self.matrix) else {
            return self.plan(arm, task).1;
        };
        let options = self.arms[arm].options;
        Options { drives: cells::drives(matrix, &cells[index]).or(options.drives), ..options }
    }

    /// The work of a task.
    pub fn work(&self, task: Task) -> &Work {
        self.plan(0, task).0
    }

    /// The drive of an arm for a task.
    pub fn spec(&self, arm: usize, task: Task) -> DriveSpec {
        let options = self.settings_for(arm, task);
        DriveSpec { profile: self.arms[arm].profile_ref.clone(), options }
    }

    /// The descriptions of all arms, in the order of the study.
    pub fn abouts(&self) -> Vec<(String, About)> {
        self.arms.iter().map(|arm| (arm.name.clone(), arm.about.clone())).collect()
    }

    /// The description of an arm's drive.
    pub fn about(&self, arm: usize) -> About {
        self.arms[arm].about.clone()
    }

    /// The attachment of an arm, by its model.
    pub fn attached(&self, arm: usize, task: Task) -> Attached {
        let options = self.settings_for(arm, task);
        let ModelledArm { profile_ref, profile, .. } = &self.arms[arm];
        let about = model::describe(profile, &options, 0).expect("described once before");
        attached::to_model(&profile_ref.to_string(), &about)
    }

    /// The median drive of an arm, for the record of a run of a task.
    pub fn median(&self, arm: usize, task: Task) -> Option<Specimen> {
        let options = self.settings_for(arm, task);
        let profile = &self.arms[arm].profile;
        let about = model::describe(profile, &options, 0).expect("described once before");
        profile.record(&about)
    }

    /// The drives that are modelled, each once.
    pub fn model_names(&self) -> Vec<String> {
        let mut models = self.each(|arm| arm.profile.model.clone());
        models.sort_unstable();
        models.dedup();
        models
    }

    /// The mechanisms that a workload needs and the model of an arm lacks, each once.
    fn lacks_for_loads(&self) -> Vec<String> {
        let mut found: Vec<(&str, BTreeSet<&str>)> = Vec::new();
        for arm in &self.arms {
            for (work, own) in &self.workloads {
                let Work::Load(workload) = work else { continue };
                let options = arm.options.overlaid_with(own);
                for missing in arm.profile.missing_for(workload, &options) {
                    match found.iter_mut().find(|(what, _)| *what == missing.what) {
                        Some((_, arms)) => drop(arms.insert(&arm.name)),
                        None => found.push((missing.what, BTreeSet::from([arm.name.as_str()]))),
                    }
                }
            }
        }
        let texts = found.into_iter().map(|(what, arms)| {
            let arms: Vec<String> = arms.into_iter().map(|name| format!("`{name}`")).collect();
            format!("Not modelled, and needed by the loads of {}: {what}.", arms.join(", "))
        });
        texts.collect()
    }

    /// Says which arms have drives that were drawn apart, where a profile is a user's.
    fn independent(&self) -> Option<String> {
        let specimens = self.specimens.as_ref()?;
        // Built-in drives with different names are known to be two.
        let open: Vec<(usize, &ModelledArm)> =
            self.arms.iter().enumerate().filter(|(_, arm)| arm.is_open()).collect();
        let mut apart = open.iter().flat_map(|one| open.iter().map(move |other| (one, other)));
        let (one, other) = apart.find(|((at, one), (to, other))| {
            at < to && (one.is_of_file() || other.is_of_file()) && !specimens.share(*at, *to)
        })?;
        Some(format!(
            "`{}` and `{}` are two drives that have nothing in common: each block draws both, \
             independently. A profile with `base` is the same drive as its base, but for what it \
             states.",
            one.1.name, other.1.name
        ))
    }

    /// The text of `of` for each arm, once if it is the same for all arms.
    fn each(&self, of: impl Fn(&ModelledArm) -> String) -> Vec<String> {
        let mut each: Vec<String> = self.arms.iter().map(of).collect();
        if each.iter().all(|one| *one == each[0]) {
            each.truncate(1);
        }
        each
    }
}

/// Refuses what needs a kernel in virtual time, and what needs a file system at any stage of
/// modelled drives: they have none.
fn refuse_programs(study: &StudyFile) -> Result<(), Refusal> {
    let is_simulated = study.stage == StageName::Simulate;
    for named in &study.workloads {
        let name = &named.name;
        match &named.work {
            Work::Command(_) if is_simulated => {
                let message = format!(
                    "workload `{name}` is a command, which cannot run on a modelled drive without a \
                     kernel"
                );
                return Err(Refusal::request(message)
                    .hint("under a real kernel in virtual time: --stage kernel")
                    .hint("on real files: --stage hardware --target FILE")
                    .hint("on modelled drives in real time: --stage emulate"));
            }
            Work::Suite(suite)
                if suite.needs == Needs::Tree && study.stage != StageName::Kernel =>
            {
                let message = format!(
                    "workload `{name}` is a suite of files, and a modelled drive has no file system"
                );
                let hint = "in a folder of a real disk: --stage hardware --target DIR";
                return Err(Refusal::request(message)
                    .hint("on a file system of a real kernel: --stage kernel")
                    .hint(hint));
            }
            _ => {}
        }
    }
    Ok(())
}

impl Stage for Simulator {
    type Error = Refusal;

    fn target(&self) -> String {
        let target = self.each(ModelledArm::target).join(", ");
        // Blocks on one drive and blocks on many are no parts of one study.
        if self.specimens.is_some() { format!("{target}, a specimen a block") } else { target }
    }

    fn run(&mut self, request: PlannedRun) -> Result<RunRecord, Refusal> {
        self.draw(&[request]);
        self.make_cells(&[request])?;
        self.make(request)
    }

    fn run_all(&mut self, requests: &[PlannedRun]) -> Result<Vec<RunRecord>, Refusal> {
        self.draw(requests);
        self.make_cells(requests)?;
        parallel::map(self.threads, requests, |request| self.make(*request)).into_iter().collect()
    }

    fn at_once(&self) -> usize {
        RUNS_A_THREAD * self.threads.get()
    }

    fn settings(&self) -> Vec<Vec<(String, String)>> {
        self.arms.iter().map(|arm| model::settings(&arm.about)).collect()
    }

    fn risks(&self, _runs: &[StoredRun]) -> Vec<Risk> {
        let names: Vec<&str> = self.arms.iter().map(|arm| arm.name.as_str()).collect();
        let caches = self.arms.iter().map(|arm| {
            let attached = arm.about.attached.as_ref();
            let size = attached.and_then(|attached| attached.write_cache_bytes);
            WriteCache { size: size.map(Bytes::new) }
        });
        vec![risk::modelled(&names, &caches.collect::<Vec<_>>())]
    }

    fn notes(&self, runs: &[StoredRun]) -> Vec<String> {
        let models = self.model_names();
        let mut profiles = self.each(|arm| arm.profile_ref.to_string());
        profiles.sort_unstable();
        profiles.dedup();
        let model = if models.len() == 1 { "model" } else { "models" };
        let name = if profiles.len() == 1 { "names" } else { "name" };
        let mut notes = vec![format!(
            "Simulated in virtual time on the {model} of {}: no real drive was involved, and the \
             verdict is only as good as the {model} (`drivelab drive show {}` {name} the source of \
             each number).",
            models.join(" and "),
            profiles.join("`, `drivelab drive show ")
        )];
        if self.is_of_median {
            notes.push(
                "Every block simulated the median drive of its profile: how far other drives of \
                 this kind differ is in no interval here."
                    .to_owned(),
            );
        }
        notes.extend(self.independent());
        let mut missing = self.each(|arm| arm.profile.leaves_out.clone().unwrap_or_default());
        missing.retain(|what| !what.is_empty());
        missing.dedup();
        notes.extend(missing.iter().map(|what| format!("Not modelled: {what}.")));
        notes.extend(self.lacks_for_loads());
        notes.extend(self.shared.map(|least| {
            format!(
                "The drives differ in size: each arm uses the first {} bytes, the size of \
                 the smallest.",
                least.get()
            )
        }));
        notes.extend(self.rests_on(runs));
        notes
    }
}

#[cfg(test)]
mod tests;
