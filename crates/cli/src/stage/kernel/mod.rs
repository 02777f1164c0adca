//! Stage kernel: modelled drives under a real Linux kernel, in virtual time.

mod crash;
mod inside;
mod seen;
mod shell;

use std::path::PathBuf;

use drivelab_core::Refusal;
use drivelab_core::outline::Risk;
use drivelab_core::record::{JobRecord, RunRecord};
use drivelab_core::units::Span;
use drivelab_core::workload::Workload;
use drivelab_lab::kernel::{Cache, Kernel};
use drivelab_model::About;
use drivelab_study::{Evidence, Request, Stage, StoredRun, StudyFile, Work};
use tempfile::TempDir;

use super::Simulator;
use crate::failure::{AtPath as _, Failure};
use crate::output;
pub(crate) use crash::Rig;
pub(crate) use inside::{Inside, run};
pub(crate) use shell::shell;

/// Real time after which a run of a study is ended.
const LIMIT: Span = Span::from_secs(600);
const TRACE: &str = "trace";
const CONSOLE: &str = "console";

/// The folder of kernels.
pub(crate) fn cache(named: Option<PathBuf>) -> Result<Cache, Failure> {
    let folder =
        named.or_else(|| Some(output::user_folder("XDG_CACHE_HOME", ".cache")?.join("kernels")));
    folder.map(Cache::new).ok_or_else(|| {
        Failure::cannot_here(anyhow::anyhow!("this user has no home folder"))
            .hint("name the folder of kernels: --cache DIR")
    })
}

/// The kernel that guests run.
pub(crate) fn find(cache: &Cache) -> Result<Kernel, Refusal> {
    cache.find()?.ok_or_else(drivelab_lab::no_kernel)
}

/// The arms of a study as drives of a guest.
#[derive(Debug)]
pub(crate) struct KernelStage {
    drives: Simulator,
    study: StudyFile,
    kernel: Kernel,
    /// Where trace and console of the last run are, where they are compared.
    evidence: Option<TempDir>,
}

impl KernelStage {
    /// Refuses what a guest cannot do or cannot have.
    pub(crate) fn new(study: &mut StudyFile) -> Result<Self, Failure> {
        let drives = Simulator::new(study)?;
        refuse_suites(study)?;
        refuse_arms(&drives)?;
        let kernel = find(&cache(None)?)?;
        let temporary = std::env::temp_dir();
        let folder =
            || TempDir::with_prefix("drivelab-study-").at_path("make a folder in", &temporary);
        let evidence = study.checks_determinism.then(folder).transpose()?;
        Ok(Self { drives, study: study.clone(), kernel, evidence })
    }

    fn file(&self, name: &str) -> Option<PathBuf> {
        self.evidence.as_ref().map(|folder| folder.path().join(name))
    }

    /// What a run is given besides its workload.
    fn options(&self, request: Request) -> Vec<String> {
        let arm = &self.study.arms[request.arm];
        let engine = arm.ioengine.map(|engine| format!("--ioengine={engine}"));
        let direct = arm.direct.map(|direct| format!("--direct={}", u8::from(direct)));
        let seed = format!("--seed={}", request.seed);
        [Some(seed), engine, direct].into_iter().flatten().collect()
    }

    fn workload(&self, request: Request) -> &Workload {
        match self.drives.work(request.task) {
            Work::Load(workload) => workload,
            _ => unreachable!("suites and commands were refused"),
        }
    }
}

fn refuse_suites(study: &StudyFile) -> Result<(), Failure> {
    let is_suite = |work: &Work| matches!(work, Work::Suite(_));
    let Some(named) = study.workloads.iter().find(|named| is_suite(&named.work)) else {
        return Ok(());
    };
    let message = format!("workload `{}` is a suite, and stage kernel runs loads only", named.name);
    Err(Failure::bad_words(message).hint("run it at stage simulate, or leave it out: --only W,..."))
}

/// Refuses arms that a guest cannot have.
fn refuse_arms(drives: &Simulator) -> Result<(), Failure> {
    for (name, about) in &drives.abouts() {
        seen::setting(about).map_err(|failure| failure.hint(format!("this is arm `{name}`")))?;
    }
    Ok(())
}

impl Stage for KernelStage {
    type Error = Failure;

    fn target(&self) -> String {
        let Kernel { release, sha256, .. } = &self.kernel;
        format!("{} under Linux {release} ({sha256:.16})", self.drives.target())
    }

    fn run(&mut self, request: Request) -> Result<RunRecord, Failure> {
        self.drives.draw(&[request]);
        let record = run(&Inside {
            kernel: &self.kernel,
            spec: &self.drives.spec(request.arm, request.task),
            profile: self.drives.profile(request),
            seed: request.seed,
            workload: self.workload(request),
            options: self.options(request),
            limit: LIMIT,
            trace: self.file(TRACE),
            console: self.file(CONSOLE),
        })?;
        // The series of seconds would make up most of the journal.
        Ok(RunRecord { total: record.total.map(JobRecord::without_series), ..record })
    }

    fn evidence(&mut self) -> Vec<Evidence> {
        let read = |name| {
            let text = std::fs::read_to_string(self.file(name)?).ok()?;
            Some(Evidence { name, text })
        };
        [TRACE, CONSOLE].into_iter().filter_map(read).collect()
    }

    fn settings(&self) -> Vec<Vec<(String, String)>> {
        self.drives.settings()
    }

    fn risks(&self, runs: &[StoredRun]) -> Vec<Risk> {
        self.drives.risks(runs)
    }

    fn notes(&self, runs: &[StoredRun]) -> Vec<String> {
        let mut notes = self.drives.notes(runs);
        notes.push(format!(
            "The host side was Linux {}, with its driver for AHCI or IDE where the drive is a SATA \
             drive, and with that for virtio elsewhere. Processor time costs nothing there. In every run \
             the guest had the driver, queue depth, scheduler, nr_requests and write cache of its \
             arm.",
            self.kernel.release
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
