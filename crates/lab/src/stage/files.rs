//! Drives and suites of this machine, for simulations.

use drivelab_core::record::RunRecord;
use drivelab_core::{Control, Refusal};
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::Profile;
use drivelab_simulate::Source;
use drivelab_study::file::{Needs, Suite};

use super::suite;
use crate::{interrupt, target};

/// Included drives, drives that files describe, and every suite.
#[derive(Debug)]
pub(crate) struct Files;

impl Source for Files {
    fn spec(&self, text: &str) -> Result<DriveSpec, Refusal> {
        target::drive_spec(text)
    }

    fn profile(&self, spec: &DriveSpec) -> Result<Profile, Refusal> {
        target::profile(spec)
    }

    fn suite(
        &self,
        suite: &Suite,
        spec: &DriveSpec,
        profile: &Profile,
        seed: u64,
    ) -> Result<RunRecord, Refusal> {
        debug_assert!(suite.needs != Needs::Tree, "a suite of files was refused");
        suite::on_model(suite, spec, profile, seed, &self.control())
    }

    fn control(&self) -> Control<'static> {
        interrupt::silent()
    }
}
