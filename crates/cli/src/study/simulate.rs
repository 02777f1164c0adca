//! Stage simulate: a modelled drive in virtual time.

use drivelab_core::record::RunRecord;
use drivelab_core::units::Bytes;
use drivelab_core::workload::Workload;
use drivelab_model::options::{DriveSpec, Options, ProfileRef};
use drivelab_model::profile::Profile;

use super::risk::{self, WriteCache};
use super::{Bench, Entered, StoredRun, StudyFile, Task};
use crate::failure::Failure;
use crate::target;

/// The arms of a study as modelled drives.
#[derive(Debug)]
pub(crate) struct Simulator {
    spec: DriveSpec,
    profile: Profile,
    arms: Vec<(String, Options)>,
    workloads: Vec<(Workload, Options)>,
    curve: Vec<Workload>,
}

impl Simulator {
    /// Reads the study's profile and checks that every arm can be built.
    pub(crate) fn new(study: &StudyFile) -> Result<Self, Failure> {
        let Some(drive) = &study.drive else {
            let message = "this study names no drive to model";
            return Err(Failure::bad_words(message)
                .hint("add `[base]` with `drive = \"NAME\"` (see `drivelab drive list`)")
                .hint("or run it on a real file: --stage hardware --target FILE"));
        };
        let spec = target::drive_spec(drive)?;
        let base = spec.options.overlaid_with(&study.base);
        let of_arm = |arm: &super::file::Arm| (arm.name.clone(), base.overlaid_with(&arm.options));
        let of_workload =
            |named: &super::file::NamedWorkload| (named.workload.clone(), named.options);
        let simulator = Self {
            profile: target::profile(&spec)?,
            spec,
            arms: study.arms.iter().map(of_arm).collect(),
            workloads: study.workloads.iter().map(of_workload).collect(),
            curve: study
                .curve
                .iter()
                .flat_map(|curve| &curve.depths)
                .map(|(_, w)| w.clone())
                .collect(),
        };
        for (name, options) in &simulator.arms {
            target::build(&simulator.profile, options, 0)
                .map_err(|failure| failure.hint(format!("this is arm `{name}`")))?;
        }
        Ok(simulator)
    }

    /// The drive's profile.
    pub(super) fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The drive's settings in each arm.
    pub(super) fn options(&self) -> Vec<Options> {
        self.arms.iter().map(|(_, options)| *options).collect()
    }

    /// The workload of a task and the drive settings that it runs under.
    fn plan(&self, arm: usize, task: Task) -> (&Workload, Options) {
        let options = &self.arms[arm].1;
        match task {
            Task::Workload(place) => {
                let (workload, own) = &self.workloads[place];
                (workload, options.overlaid_with(own))
            }
            Task::Curve(place) => (&self.curve[place], *options),
        }
    }
}

impl Bench for Simulator {
    fn target(&self) -> String {
        let name = &self.spec.profile;
        match name {
            ProfileRef::Embedded(_) => format!("drive:{name}"),
            // A file may be edited between two sessions, and is another drive then.
            ProfileRef::File(_) => {
                let profile = format!("{:?}", self.profile);
                format!("drive:{name} (crc32 {:08x})", crc32fast::hash(profile.as_bytes()))
            }
        }
    }

    fn enter(&mut self, _arm: usize) -> Result<Entered, Failure> {
        Ok(Entered::Ready)
    }

    fn leave(&mut self, _arm: usize) -> Result<(), Failure> {
        Ok(())
    }

    fn run(&mut self, arm: usize, task: Task, seed: u64) -> Result<RunRecord, Failure> {
        let (workload, options) = self.plan(arm, task);
        let spec = DriveSpec { profile: self.spec.profile.clone(), options };
        let record = target::simulate(&spec, &self.profile, workload, seed, &|_| ())?;
        // A study keeps hundreds of runs, and a model gives the same again whenever it is asked.
        Ok(RunRecord { total: record.total.without_series(), ..record })
    }

    fn settings(&self) -> Vec<Vec<(String, String)>> {
        self.arms
            .iter()
            .map(|(_, options)| {
                let drive = target::build(&self.profile, options, 0).expect("built once before");
                target::settings(drive.about())
            })
            .collect()
    }

    fn risks(&self, _runs: &[StoredRun]) -> Vec<String> {
        let names: Vec<&str> = self.arms.iter().map(|(name, _)| name.as_str()).collect();
        let cache = |(_, options): &(String, Options)| {
            let drive = target::build(&self.profile, options, 0).expect("built once before");
            let attached = drive.about().attached.as_ref();
            let size = attached.and_then(|attached| attached.write_cache_bytes);
            WriteCache { size: size.map(Bytes::new) }
        };
        risk::sentences(&names, &self.arms.iter().map(cache).collect::<Vec<_>>())
    }

    fn notes(&self, _runs: &[StoredRun]) -> Vec<String> {
        vec![format!(
            "Simulated in virtual time on the model of {}: no real drive was touched, and the \
             verdict is as good as the model (`drivelab drive show {}` names the source of each \
             number).",
            self.profile.model, self.spec.profile
        )]
    }
}
