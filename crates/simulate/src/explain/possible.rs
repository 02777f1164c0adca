//! The causes that a kind of drive can have.

use drivelab_model::options::{DriveSpec, Options, Precondition};
use drivelab_model::profile::Profile;

use super::library::{Cause, Change, Modelled, embedded};
use crate::model;

/// The causes of the library that could make two results on such a drive differ, the most usual
/// first; those that no model predicts among them.
pub fn causes_of(spec: &DriveSpec, profile: &Profile) -> Vec<Cause> {
    let median = profile.median();
    let mut causes = embedded();
    causes.retain(|cause| match &cause.change {
        Change::Modelled(change) => {
            let options = spec.options.overlaid_with(&change.drive);
            // A setting that the drive has anyway is no change.
            let differs = options != spec.options || change.drive == Modelled::default().drive;
            differs && is_possible(&median, options)
        }
        Change::Missing(_) => true,
    });
    causes.sort_by(|a, b| b.prior.total_cmp(&a.prior));
    causes
}

/// True if a drive can have these options.
fn is_possible(profile: &Profile, mut options: Options) -> bool {
    // Flash is not prepared, which takes seconds: its state forbids no other option.
    if profile.is_solid_state() {
        options.precondition = Some(Precondition::Fresh);
    }
    model::build(profile, &options, 0).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Embedded, Source as _};

    fn has(drive: &str, id: &str) -> bool {
        let spec = Embedded.spec(drive).unwrap();
        let profile = Embedded.profile(&spec).unwrap();
        causes_of(&spec, &profile).iter().any(|cause| cause.id == id)
    }

    #[test]
    fn a_cause_is_possible_where_the_drive_can_have_it() {
        assert!(has("generic-advanced-format", "write-cache-off"));
        assert!(has("generic-advanced-format", "page-cache-warm"));
        assert!(!has("generic-advanced-format", "steady-flash"));
        assert!(has("generic-sata", "steady-flash"));
        assert!(has("generic-nvme", "link-pcie1x1") && !has("generic-nvme", "link-sata1"));
    }
}
