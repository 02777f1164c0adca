//! Stage simulate: a modelled drive in virtual time.

use drivelab_core::record::RunRecord;
use drivelab_core::units::Bytes;
use drivelab_core::workload::Workload;
use drivelab_model::Drive;
use drivelab_model::profile::Profile;
use drivelab_model::spec::{DriveSpec, Options, ProfileRef};
use drivelab_study::risk::{self, WriteCache};
use drivelab_study::{Arm, Entered, Stage, StoredRun, StudyFile, Task};

use super::options;
use crate::failure::Failure;
use crate::target;

/// The arms of a study as modelled drives.
#[derive(Debug)]
pub(crate) struct Simulator {
    arms: Vec<ModelledArm>,
    workloads: Vec<(Workload, Options)>,
    curve: Vec<Workload>,
}

/// The drive of one arm.
#[derive(Debug)]
struct ModelledArm {
    name: String,
    profile_ref: ProfileRef,
    profile: Profile,
    options: Options,
}

impl ModelledArm {
    fn new(study: &StudyFile, arm: &Arm) -> Result<Self, Failure> {
        let Some(drive) = arm.drive.as_ref().or(study.drive.as_ref()) else {
            let message = match study.arms.iter().any(|arm| arm.drive.is_some()) {
                true => format!("arm `{}` names no drive to model", arm.name),
                false => "this study names no drive to model".to_owned(),
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
        let modelled = Self {
            name: arm.name.clone(),
            profile: target::profile(&spec)?,
            profile_ref: spec.profile,
            options: shared.overlaid_with(&options(&arm.settings)),
        };
        target::build(&modelled.profile, &modelled.options, 0)
            .map_err(|failure| failure.hint(format!("this is arm `{}`", arm.name)))?;
        Ok(modelled)
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
        let workloads = study.workloads.iter();
        let curve = study.curve.iter().flat_map(|curve| &curve.depths);
        Ok(Self {
            arms: arms.collect::<Result<_, _>>()?,
            workloads: workloads
                .map(|named| (named.workload.clone(), options(&named.settings)))
                .collect(),
            curve: curve.map(|(_, workload)| workload.clone()).collect(),
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
        let record = target::simulate(&spec, profile, workload, seed, &|_| ())?;
        // A study keeps hundreds of runs, and a model gives the same again whenever it is asked.
        Ok(RunRecord { total: record.total.without_series(), ..record })
    }

    fn settings(&self) -> Vec<Vec<(String, String)>> {
        self.arms.iter().map(|arm| target::settings(arm.drive().about())).collect()
    }

    fn risks(&self, _runs: &[StoredRun]) -> Vec<String> {
        let names: Vec<&str> = self.arms.iter().map(|arm| arm.name.as_str()).collect();
        let cache = |arm: &ModelledArm| {
            let drive = arm.drive();
            let attached = drive.about().attached.as_ref();
            let size = attached.and_then(|attached| attached.write_cache_bytes);
            WriteCache { size: size.map(Bytes::new) }
        };
        risk::sentences(&names, &self.arms.iter().map(cache).collect::<Vec<_>>())
    }

    fn notes(&self, _runs: &[StoredRun]) -> Vec<String> {
        let mut models = self.each(|arm| arm.profile.model.clone());
        models.sort_unstable();
        models.dedup();
        let mut profiles = self.each(|arm| arm.profile_ref.to_string());
        profiles.sort_unstable();
        profiles.dedup();
        let model = if models.len() == 1 { "model" } else { "models" };
        vec![format!(
            "Simulated in virtual time on the {model} of {}: no real drive was touched, and the \
             verdict is as good as the {model} (`drivelab drive show {}` names the source of each \
             number).",
            models.join(" and "),
            profiles.join("` and `drivelab drive show ")
        )]
    }
}
