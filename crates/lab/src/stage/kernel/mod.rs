//! Stage kernel: modelled drives under a real Linux kernel, in virtual time.

mod crash;
mod disks;
mod has;
mod inside;
mod installed;
mod root;
mod seen;
mod shell;
mod withheld;
mod work;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use drivelab_core::outline::Risk;
use drivelab_core::plan::Scale;
use drivelab_core::record::{JobRecord, RunRecord};
use drivelab_core::units::Span;
use drivelab_core::workload::Workload;
use drivelab_core::{AtPath as _, Refusal};
use drivelab_files::{Marked, Marker};
use drivelab_guest::kernel::{Kernel, KernelName};
use drivelab_model::About;
use drivelab_study::command::Command;
use drivelab_study::{Evidence, PlannedRun, Stage, StoredRun, StudyFile, Task, Work};

use super::Simulator;
use super::files::Files;
use super::parallel;
use super::program::{self, Commands, Ground};
use crate::interrupt;
use crate::request::{self, GuestOptions, Load};
pub use crash::Rig;
pub use disks::{Channels, Disks, NamedDisk};
pub use has::{GuestSetting, Has, memory, mount_options};
pub use inside::Inside;
pub use installed::{cache, find, list, usual};
pub(crate) use root::{add_maker, add_program, program_here};
pub use shell::shell;
pub use work::{Carried, check, check_load};

/// Real time after which a run of a study is ended.
const LIMIT: Span = Span::from_secs(600);
/// The same at full scale.
const LIMIT_FULL: Span = Span::from_secs(6 * 3600);
const TRACE: &str = "trace";
const CONSOLE: &str = "console";

/// Runs that each core makes between two looks at the journal.
const RUNS_A_CORE: usize = 2;

static MARKER: Marker = Marker { name: ".drivelab-study", text: "" };

/// The arms of a study as drives of a guest.
#[derive(Debug)]
pub struct KernelStage {
    drives: Simulator,
    study: StudyFile,
    /// The kernels of all runs; the one without a name is the usual one.
    kernels: Vec<Kernel>,
    commands: Commands,
    /// The number of guests that run at once.
    guests: NonZeroUsize,
    /// The folder of trace and console of the last run, if they are compared.
    evidence: Option<Marked>,
}

impl KernelStage {
    /// Refuses what a guest cannot do or cannot have.
    pub fn new(study: &mut StudyFile) -> Result<Self, Refusal> {
        let drives = Simulator::new(study, &Files)?;
        refuse_several(study)?;
        refuse_arms(&drives)?;
        refuse_disks(&drives, study)?;
        refuse_work(study)?;
        let known = cache(None)?;
        let kernels = names(study)?;
        let kernels = kernels.iter().map(|name| find(&known, name.as_ref()));
        let kernels = kernels.collect::<Result<Vec<_>, Refusal>>()?;
        let temporary = std::env::temp_dir();
        let evidence = study.checks_determinism.then(|| {
            Marked::temporary("drivelab-study-", &MARKER).at_path("make a folder in", &temporary)
        });
        let evidence = evidence.transpose()?;
        let has_commands = study.workloads.iter().any(|named| named.work.command().is_some());
        // What a command printed is kept run by run, and evidence is that of the last run.
        let is_alone = has_commands || evidence.is_some();
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        // Two guests at full scale can have more memory and data than a machine.
        let is_alone = is_alone || study.scale == Some(Scale::Full);
        let guests = if is_alone { NonZeroUsize::MIN } else { cores };
        let (study, commands) = (study.clone(), Commands::default());
        Ok(Self { drives, study, kernels, commands, guests, evidence })
    }

    fn file(&self, name: &str) -> Option<PathBuf> {
        self.evidence.as_ref().map(|folder| folder.folder().path().join(name))
    }

    /// A load as its arm has it done.
    fn load(&self, request: PlannedRun, workload: &Workload) -> Load {
        let arm = &self.study.arms[request.arm];
        let load = Load::new(workload.clone());
        Load { ioengine: arm.ioengine, direct: arm.direct.unwrap_or(load.direct), ..load }
    }

    /// The run of `work` in the guest of a request.
    fn asked(&self, request: PlannedRun, work: request::Work) -> Result<crate::Request, Refusal> {
        let spec = self.drives.spec(request.arm, request.task);
        let asked = crate::Request::on_drive(spec, work, request.seed);
        let equipment = disks::declared::fill(
            has(&self.study, request.arm, request.task)?,
            &self.study,
            request,
        )?;
        let kernel = self.kernels.iter().find(|kernel| kernel.name == equipment.kernel).cloned();
        debug_assert!(kernel.is_some(), "all names were looked up");
        Ok(asked.with_profile(self.drives.profile(request).clone()).in_guest(GuestOptions {
            kernel,
            has: equipment,
            limit: if self.study.scale == Some(Scale::Full) { LIMIT_FULL } else { LIMIT },
            trace: self.file(TRACE),
            console: self.file(CONSOLE),
        }))
    }

    /// The timing of the guests' processors, as a part of a sentence.
    fn processors(&self) -> String {
        let mut words: Vec<String> = Vec::new();
        for word in equipment(&self.study).flatten().map(|has| has.processor.words()) {
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words.join(", or ")
    }

    /// The kernels in words, each with the name that arms know it by.
    fn releases(&self) -> String {
        let kernels = self.kernels.iter().map(|kernel| match &kernel.name {
            Some(name) => format!("{} (`{name}`)", kernel.release),
            None => kernel.release.clone(),
        });
        kernels.collect::<Vec<_>>().join(" or ")
    }

    /// Makes a run of a load or a suite, whose drive is drawn.
    fn make(&self, request: PlannedRun) -> Result<RunRecord, Refusal> {
        if let Task::Cell(index) = request.task {
            return self.cell(index, request);
        }
        let work = match self.drives.work(request.task) {
            Work::Load(workload) => request::Work::Load(Box::new(self.load(request, workload))),
            Work::Suite(suite) => request::Work::Suite(suite.clone()),
            Work::Command(_) => unreachable!("commands are run one by one"),
        };
        let record = crate::run(&self.asked(request, work)?, &interrupt::silent())?;
        // The series of seconds would make up most of the journal.
        Ok(RunRecord { total: record.total.map(JobRecord::without_series), ..record })
    }

    /// Makes a run of a cell, whose threads are jobs in the guest.
    fn cell(&self, index: usize, request: PlannedRun) -> Result<RunRecord, Refusal> {
        let (matrix, cells) = self.drives.matrix().expect("its cells are runs");
        let (numjobs, workload) = cells[index].jobs(matrix).map_err(Refusal::request_error)?;
        let load = Load { numjobs, ..self.load(request, &workload) };
        let run = self.asked(request, request::Work::Load(Box::new(load)))?;
        let record = crate::run(&run, &interrupt::silent())?;
        let total = record.total.map(JobRecord::without_series);
        let jobs = total.clone().map(JobRecord::figures_only).into_iter().collect();
        Ok(RunRecord { jobs, total, ..record })
    }

    /// Makes a run of a command: all its steps in one guest.
    fn command(&mut self, command: &Command, request: PlannedRun) -> Result<RunRecord, Refusal> {
        let equipment = disks::declared::fill(
            has(&self.study, request.arm, request.task)?,
            &self.study,
            request,
        )?;
        let is_mounted = equipment.mounted.is_some();
        let spec = self.drives.spec(request.arm, request.task);
        let disk = disks::machines::target(&spec, &equipment.disks)?;
        let programs = command.programs.clone();
        let none = request::Work::Commands { steps: Vec::new(), programs };
        let target = work::target(&none, &disk, is_mounted);
        let dir = if is_mounted { &target } else { "/dev" };
        let ground = |attached| Ground { target: &target, dir, attached };
        let steps = program::filled_steps(&self.study, command, request, &ground(None))?;
        let programs = command.programs.clone();
        let run = self.asked(request, request::Work::Commands { steps, programs })?;
        let inside = Inside::new(&run)?;
        let (carried, made): (Carried, _) = inside.make(&interrupt::silent())?;
        let record = self.commands.run_on(
            &self.study,
            command,
            request,
            ground(Some(carried.attached)),
            &mut |step, _| {
                let ran = carried.ran.iter().find(|(what, _)| *what == step.what);
                ran.map(|(_, ran)| ran.clone()).ok_or_else(|| {
                    Refusal::bug(format!("the guest did not carry out the {}", step.what))
                })
            },
        )?;
        inside.concluded(record, &made)
    }
}

/// The equipment of the guest of a run: that of all arms, then the arm's, then the workload's.
fn has(study: &StudyFile, arm: usize, task: Task) -> Result<Has, Refusal> {
    let of_workload = match task {
        Task::Workload(index) => Some(&study.workloads[index].settings),
        Task::Curve(_) | Task::Cell(_) => None,
    };
    Has::of([&study.base, &study.arms[arm].settings].into_iter().chain(of_workload))
}

/// The equipment of each arm in each of its runs.
fn equipment(study: &StudyFile) -> impl Iterator<Item = Result<Has, Refusal>> {
    let of_workloads = (0..study.workloads.len()).map(Task::Workload);
    let points = study.curve.as_ref().map(|_| Task::Curve(0));
    let cells = study.matrix.as_ref().map(|_| Task::Cell(0));
    let tasks: Vec<Task> = of_workloads.chain(points).chain(cells).collect();
    let arms = 0..study.arms.len();
    let all = arms.flat_map(move |arm| tasks.clone().into_iter().map(move |task| (arm, task)));
    all.map(|(arm, task)| has(study, arm, task))
}

/// The names of all kernels of a study, each once.
fn names(study: &StudyFile) -> Result<BTreeSet<Option<KernelName>>, Refusal> {
    equipment(study).map(|has| Ok(has?.kernel)).collect()
}

/// Refuses a matrix of several drives: a guest has one.
fn refuse_several(study: &StudyFile) -> Result<(), Refusal> {
    let Some(matrix) = study.matrix.as_ref().filter(|matrix| matrix.targets.len() > 1) else {
        return Ok(());
    };
    let drives = matrix.targets.len();
    let message = format!("this matrix has {drives} drives, but the guest of stage kernel has one");
    Err(Refusal::request(message)
        .hint("a matrix without `drives` in `[base]` runs there")
        .hint("or model the drives in virtual time: --stage simulate"))
}

/// Refuses workloads that an arm's guest has nothing to run on.
fn refuse_work(study: &StudyFile) -> Result<(), Refusal> {
    for (arm, about) in study.arms.iter().enumerate() {
        if study.matrix.is_some() {
            let is_mounted = has(study, arm, Task::Cell(0))?.mounted.is_some();
            let workload = study.work(Task::Cell(0));
            let workload = workload.load().expect("a cell is a load");
            work::check_load(workload, is_mounted)
                .map_err(|failure| failure.hint(format!("this is arm `{}`", about.name)))?;
        }
        for (index, named) in study.workloads.iter().enumerate() {
            let is_mounted = has(study, arm, Task::Workload(index))?.mounted.is_some();
            let checked = match &named.work {
                Work::Load(workload) => work::check_load(workload, is_mounted),
                Work::Suite(suite) => work::check_suite(suite, is_mounted),
                Work::Command(_) => Ok(()),
            };
            let (arm, name) = (&about.name, &named.name);
            checked.map_err(|failure| {
                failure.hint(format!("this is arm `{arm}`, workload `{name}`"))
            })?;
        }
    }
    Ok(())
}

/// Refuses disks that a guest cannot have together.
fn refuse_disks(drives: &Simulator, study: &StudyFile) -> Result<(), Refusal> {
    let tasks = (0..study.workloads.len()).map(Task::Workload);
    for (arm, task) in tasks.flat_map(|task| (0..study.arms.len()).map(move |arm| (arm, task))) {
        let request = PlannedRun { arm, task, seed: study.seed, specimen: None };
        let checked = disks::declared::fill(has(study, arm, task)?, study, request)
            .and_then(|has| disks::machines::check(&drives.spec(arm, task), &has.disks));
        checked
            .map_err(|failure| failure.hint(format!("this is arm `{}`", study.arms[arm].name)))?;
    }
    Ok(())
}

/// Refuses arms that a guest cannot have.
fn refuse_arms(drives: &Simulator) -> Result<(), Refusal> {
    for (name, about) in &drives.abouts() {
        seen::setting(about).map_err(|failure| failure.hint(format!("this is arm `{name}`")))?;
    }
    Ok(())
}

impl Stage for KernelStage {
    type Error = Refusal;

    fn target(&self) -> String {
        let kernels = self.kernels.iter();
        let kernels = kernels.map(|it| format!("Linux {} ({:.16})", it.release, it.sha256));
        let kernels: Vec<String> = kernels.collect();
        let disks = self.study.disks.iter().skip(1).map(|disk| {
            let own = disk.settings.iter().map(|it| format!(",{}={}", it.key, it.text));
            format!(" + {}{}", disk.drive, own.collect::<String>())
        });
        let disks: String = disks.collect();
        format!("{}{disks} under {}", self.drives.target(), kernels.join(" or "))
    }

    fn run(&mut self, request: PlannedRun) -> Result<RunRecord, Refusal> {
        self.drives.draw(&[request]);
        if let Work::Command(command) = self.drives.work(request.task).clone() {
            return self.command(&command, request);
        }
        self.make(request)
    }

    fn run_all(&mut self, requests: &[PlannedRun]) -> Result<Vec<RunRecord>, Refusal> {
        if self.guests == NonZeroUsize::MIN {
            return requests.iter().map(|request| self.run(*request)).collect();
        }
        // Before the threads begin, which only read the drives.
        self.drives.draw(requests);
        let made = parallel::map(self.guests, requests, |request| self.make(*request));
        made.into_iter().collect()
    }

    fn at_once(&self) -> usize {
        if self.guests == NonZeroUsize::MIN { 1 } else { RUNS_A_CORE * self.guests.get() }
    }

    fn printed(&mut self) -> Option<String> {
        self.commands.printed()
    }

    fn evidence(&mut self) -> Vec<Evidence> {
        let files = [TRACE, CONSOLE].into_iter();
        let read = files.filter_map(|name| {
            let text = std::fs::read_to_string(self.file(name)?).ok()?;
            Some(Evidence { name, text })
        });
        read.collect()
    }

    fn settings(&self) -> Vec<Vec<(String, String)>> {
        let mut settings = self.drives.settings();
        for (rows, arm) in settings.iter_mut().zip(&self.study.arms) {
            let has = Has::of([&self.study.base, &arm.settings].into_iter());
            rows.extend(has.map_or_else(|_| Vec::new(), |has| has.settings()));
            rows.extend(
                self.study
                    .disks
                    .iter()
                    .skip(1)
                    .map(|disk| (format!("disk {}", disk.name), disk.drive.clone())),
            );
        }
        settings
    }

    fn risks(&self, runs: &[StoredRun]) -> Vec<Risk> {
        self.drives.risks(runs)
    }

    fn notes(&self, runs: &[StoredRun]) -> Vec<String> {
        let mut notes = self.drives.notes(runs);
        notes.push(format!(
            "The host side was Linux {}, with its driver for AHCI or IDE where the drive is a SATA \
             drive, and with that for virtio elsewhere. There {}. In every run the guest had the \
             driver, queue depth, scheduler, nr_requests and write cache of its arm.",
            self.releases(),
            self.processors()
        ));
        let overtakes =
            |about: &About| matches!(seen::setting(about), Ok(Some(it)) if it.lets_overtake());
        let unordered: Vec<_> =
            self.drives.abouts().into_iter().filter(|it| overtakes(&it.1)).collect();
        if !unordered.is_empty() {
            let quoted: Vec<_> = unordered.iter().map(|(name, _)| format!("`{name}`")).collect();
            notes.push(format!(
                "In {} no scheduler orders what the disk cannot take: under this kernel later \
                 requests can overtake earlier ones, by seconds. Rates agree with stage simulate, \
                 latencies do not.",
                quoted.join(", ")
            ));
        }
        notes
    }
}
