//! Stage simulate: a modelled drive in virtual time.

use std::path::PathBuf;

use drivelab_core::Device as _;
use drivelab_core::outline::Risk;
use drivelab_core::record::{Attached, JobRecord, RunRecord};
use drivelab_core::units::Bytes;
use drivelab_core::workload::Workload;
use drivelab_engine::RunPlan;
use drivelab_model::Drive;
use drivelab_model::options::{DriveSpec, Options, ProfileRef};
use drivelab_model::profile::Profile;
use drivelab_study::file::NamedWorkload;
use drivelab_study::risk::{self, WriteCache};
use drivelab_study::{Arm, Entered, Stage, StoredRun, StudyFile, Task};

use super::options;
use crate::attached;
use crate::failure::Failure;
use crate::target;

/// The arms of a study as modelled drives.
#[derive(Debug)]
pub(crate) struct Simulator {
    arms: Vec<ModelledArm>,
    workloads: Vec<(Workload, Options)>,
    curve: Vec<Workload>,
    /// How much every arm has, where some have more.
    shared: Option<Bytes>,
}

/// The drive of one arm.
#[derive(Debug)]
struct ModelledArm {
    name: String,
    profile_ref: ProfileRef,
    profile: Profile,
    options: Options,
    capacity: Bytes,
}

impl ModelledArm {
    fn new(study: &StudyFile, arm: &Arm) -> Result<Self, Failure> {
        let Some(drive) = arm.drive.as_ref().or(study.drive.as_ref()) else {
            let message = if study.arms.iter().any(|arm| arm.drive.is_some()) {
                format!("arm `{}` names no drive to model", arm.name)
            } else {
                "this study names no drive to model".to_owned()
            };
            return Err(Failure::bad_words(message)
                .hint("add `[base]` with `drive = \"NAME\"` (see `drivelab drive list`)")
                .hint("or run it on a real file: --stage hardware --target FILE"));
        };
        let spec = target::drive_spec(drive)?;
        let base = options(&study.base);
        // What stands in the arm goes before what all arms share.
        let shared = match &arm.drive {
            Some(_) => base.overlaid_with(&spec.options),
            None => spec.options.overlaid_with(&base),
        };
        let options = shared.overlaid_with(&options(&arm.settings));
        let profile = target::profile(&spec)?;
        let built = target::build(&profile, &options, 0)
            .map_err(|failure| failure.hint(format!("this is arm `{}`", arm.name)))?;
        let capacity = built.capacity().bytes();
        Ok(Self { name: arm.name.clone(), profile_ref: spec.profile, profile, options, capacity })
    }

    fn drive(&self) -> Drive {
        target::build(&self.profile, &self.options, 0).expect("built once before")
    }

    /// What is modelled, in words that are equal exactly when the model is.
    fn target(&self) -> String {
        let name = &self.profile_ref;
        match name {
            ProfileRef::Embedded(_) => format!("drive:{name}"),
            // A file may be edited between two sessions, and is another drive then.
            ProfileRef::File(_) => {
                let profile = format!("{:?}", self.profile);
                format!("drive:{name} (crc32 {:08x})", crc32fast::hash(profile.as_bytes()))
            }
        }
    }
}

impl Simulator {
    /// Reads the profiles and checks that every arm can be built.
    pub(crate) fn new(study: &StudyFile) -> Result<Self, Failure> {
        let arms = study.arms.iter().map(|arm| ModelledArm::new(study, arm));
        let arms: Vec<ModelledArm> = arms.collect::<Result<_, _>>()?;
        let least = arms.iter().map(|arm| arm.capacity).min();
        let shared = least.filter(|least| arms.iter().any(|arm| arm.capacity > *least));
        // Every arm is asked for the same addresses.
        let limited = |workload: &Workload| {
            let rest =
                shared.map(|all| Bytes::new(all.get().saturating_sub(workload.offset.get())));
            Workload { size: workload.size.or(rest), ..workload.clone() }
        };
        let workload = |named: &NamedWorkload| (limited(&named.workload), options(&named.settings));
        let depths = study.curve.iter().flat_map(|curve| &curve.depths);
        Ok(Self {
            workloads: study.workloads.iter().map(workload).collect(),
            curve: depths.map(|(_, workload)| limited(workload)).collect(),
            arms,
            shared,
        })
    }

    /// The profile and the settings of each arm.
    pub(crate) fn drives(&self) -> Vec<(&Profile, Options)> {
        self.arms.iter().map(|arm| (&arm.profile, arm.options)).collect()
    }

    /// The workload of a task and the drive settings that it runs under.
    fn plan(&self, arm: usize, task: Task) -> (&Workload, Options) {
        let options = &self.arms[arm].options;
        match task {
            Task::Workload(place) => {
                let (workload, own) = &self.workloads[place];
                (workload, options.overlaid_with(own))
            }
            Task::Curve(place) => (&self.curve[place], *options),
        }
    }

    /// The workload of a task.
    pub(super) fn workload(&self, task: Task) -> &Workload {
        self.plan(0, task).0
    }

    /// The drive of an arm for a task, as a command line spells it.
    pub(super) fn spec(&self, arm: usize, task: Task) -> String {
        let (_, options) = self.plan(arm, task);
        DriveSpec { profile: self.arms[arm].profile_ref.clone(), options }.to_string()
    }

    /// What the model of an arm says of how it is attached.
    pub(super) fn attached(&self, arm: usize, task: Task) -> Attached {
        let (_, options) = self.plan(arm, task);
        let ModelledArm { profile_ref, profile, .. } = &self.arms[arm];
        let drive = target::build(profile, &options, 0).expect("built once before");
        attached::to_model(&profile_ref.to_string(), drive.about())
    }

    /// The drives that are modelled, each once.
    pub(super) fn models(&self) -> Vec<String> {
        let mut models = self.each(|arm| arm.profile.model.clone());
        models.sort_unstable();
        models.dedup();
        models
    }

    /// What `of` says of each arm, once where all arms say the same.
    fn each(&self, of: impl Fn(&ModelledArm) -> String) -> Vec<String> {
        let mut each: Vec<String> = self.arms.iter().map(of).collect();
        if each.iter().all(|one| *one == each[0]) {
            each.truncate(1);
        }
        each
    }
}

impl Stage for Simulator {
    type Error = Failure;

    fn target(&self) -> String {
        self.each(ModelledArm::target).join(", ")
    }

    fn enter(&mut self, _arm: usize) -> Result<Entered, Failure> {
        Ok(Entered::Ready)
    }

    fn leave(&mut self, _arm: usize) -> Result<(), Failure> {
        Ok(())
    }

    fn run(&mut self, arm: usize, task: Task, seed: u64) -> Result<RunRecord, Failure> {
        let (workload, options) = self.plan(arm, task);
        let ModelledArm { profile_ref, profile, .. } = &self.arms[arm];
        let spec = DriveSpec { profile: profile_ref.clone(), options };
        let plan = RunPlan { seed, ..RunPlan::new(PathBuf::new(), workload.clone()) };
        let record = target::simulate(&spec, profile, &plan, &|_| ())?;
        // A study keeps hundreds of runs, and a model gives the same again whenever it is asked.
        Ok(RunRecord { total: record.total.map(JobRecord::without_series), ..record })
    }

    fn settings(&self) -> Vec<Vec<(String, String)>> {
        self.arms.iter().map(|arm| target::settings(arm.drive().about())).collect()
    }

    fn risks(&self, _runs: &[StoredRun]) -> Vec<Risk> {
        let names: Vec<&str> = self.arms.iter().map(|arm| arm.name.as_str()).collect();
        let cache = |arm: &ModelledArm| {
            let drive = arm.drive();
            let attached = drive.about().attached.as_ref();
            let size = attached.and_then(|attached| attached.write_cache_bytes);
            WriteCache { size: size.map(Bytes::new) }
        };
        vec![risk::modelled(&names, &self.arms.iter().map(cache).collect::<Vec<_>>())]
    }

    fn notes(&self, _runs: &[StoredRun]) -> Vec<String> {
        let models = self.models();
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
        let mut missing = self.each(|arm| arm.profile.leaves_out.clone().unwrap_or_default());
        missing.retain(|what| !what.is_empty());
        missing.dedup();
        notes.extend(missing.iter().map(|what| format!("Not modelled: {what}.")));
        notes.extend(self.shared.map(|least| {
            format!(
                "The drives differ in size: every arm uses the first {least} bytes, the size of \
                 the smallest."
            )
        }));
        notes
    }
}
