//! The drive of one arm of a study, as a model.

use drivelab_core::units::Bytes;
use drivelab_core::{Refusal, StageName};
use drivelab_model::About;
use drivelab_model::options::{DriveSpec, Options, ProfileRef};
use drivelab_model::profile::Profile;
use drivelab_study::{Arm, StudyFile};

use crate::model;
use crate::source::{Source, options};

/// The drive of one arm.
#[derive(Debug)]
pub(super) struct ModelledArm {
    pub(super) name: String,
    pub(super) profile_ref: ProfileRef,
    pub(super) profile: Profile,
    pub(super) options: Options,
    /// The median drive; at stage kernel behind an elevator that is not modelled, perhaps.
    pub(super) about: About,
    /// Of one drive, where a matrix has several.
    pub(super) capacity: Bytes,
}

impl ModelledArm {
    pub(super) fn new(study: &StudyFile, arm: &Arm, source: &dyn Source) -> Result<Self, Refusal> {
        let Some(drive) = arm.drive.as_ref().or(study.drive.as_ref()) else {
            let message = if study.arms.iter().any(|arm| arm.drive.is_some()) {
                format!("arm `{}` names no drive to model", arm.name)
            } else {
                "this study names no drive to model".to_owned()
            };
            return Err(Refusal::request(message)
                .hint("add `[base]` with `drive = \"NAME\"` (see `drivelab drive list`)")
                .hint("or run it on a real file: --stage hardware --target FILE"));
        };
        let spec = source.spec(drive)?;
        let base = options(&study.base);
        // What stands in the arm goes before what all arms share.
        let shared = match &arm.drive {
            Some(_) => base.overlaid_with(&spec.options),
            None => spec.options.overlaid_with(&base),
        };
        let options = shared.overlaid_with(&options(&arm.settings));
        let spec = DriveSpec { options, ..spec };
        let profile = source.profile(&spec)?;
        let about = if study.stage == StageName::Kernel {
            model::describe(&profile, &options, 0)
        } else {
            model::build(&profile, &options, 0).map(|drive| drive.about().clone())
        };
        let about = about.map_err(|failure| failure.hint(format!("this is arm `{}`", arm.name)))?;
        let several = study.matrix.as_ref().filter(|matrix| matrix.targets.len() > 1);
        let drives = several.and(options.drives).unwrap_or(1);
        let capacity = Bytes::new(about.capacity_bytes / u64::from(drives));
        let (name, profile_ref) = (arm.name.clone(), spec.profile);
        Ok(Self { name, profile_ref, profile, options, about, capacity })
    }

    /// Returns true if the profile leaves some number open.
    pub(super) fn is_open(&self) -> bool {
        !self.profile.unknowns().is_empty()
    }

    /// Returns true if the profile is a file of the user.
    pub(super) fn is_of_file(&self) -> bool {
        matches!(self.profile_ref, ProfileRef::File(_))
    }

    /// A description of the model, in words that are equal exactly when the model is.
    pub(super) fn target(&self) -> String {
        let Options { specimen, seed, .. } = self.options;
        let seed = seed.filter(|_| specimen.is_some());
        let options = Options { specimen, seed, ..Options::default() };
        let drive = DriveSpec { profile: self.profile_ref.clone(), options };
        match self.profile_ref {
            ProfileRef::Embedded(_) => drive.to_string(),
            // A file may be edited between two sessions, and is another drive then.
            ProfileRef::File(_) => {
                let sum = crc32fast::hash(self.profile.canonical().as_bytes());
                format!("{drive} (crc32 {sum:08x})")
            }
        }
    }
}

/// The capacity that every drive has, where some have more.
pub(super) fn shared_capacity(arms: &[ModelledArm]) -> Option<Bytes> {
    let least = arms.iter().map(|arm| arm.capacity).min();
    least.filter(|least| arms.iter().any(|arm| arm.capacity > *least))
}

/// The part of `all` behind `offset`.
pub(super) fn rest(all: Bytes, offset: Bytes) -> Bytes {
    Bytes::new(all.get().saturating_sub(offset.get()))
}
