//! The kind of a measured drive, solid-state or not, and its attachment.

use drivelab_core::measurements::{DriveInterface, DriveKind, FlashState, Measurements};
use drivelab_core::record::{Attached, AttachedDevice};
use drivelab_model::options::{Link, Precondition};
use drivelab_model::{About, Controller};

/// The facts known of a drive before it is measured.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Medium {
    /// Flash, on this interface and link.
    SolidState { interface: DriveInterface, link: Option<Link> },
    /// A disk, several drives, or nothing that says.
    Unknown,
}

impl Medium {
    /// The medium of a modelled drive.
    pub(super) fn of_model(about: &About) -> Self {
        // An array or a tier is more than one drive.
        let alone = about.arrangement.is_none() && about.tier.is_none();
        let attached = about.attached.as_ref().filter(|it| alone && it.flash.is_some());
        attached.map_or(Self::Unknown, |attached| Self::SolidState {
            interface: match attached.controller {
                Controller::Nvme => DriveInterface::Nvme,
                _ => DriveInterface::Sata,
            },
            link: attached.link,
        })
    }

    /// The medium of the one drive under a target.
    pub(super) fn of_attached(attached: &Attached) -> Self {
        let drives: Vec<&AttachedDevice> =
            attached.devices.iter().filter(|device| interface(device).is_some()).collect();
        let [drive] = drives[..] else { return Self::Unknown };
        // Two legs of an array are two devices: one alone is what the target is on.
        let is_array = attached.devices.iter().any(|device| device.made_of.len() > 1);
        let fact = |name: &str| drive.facts.get(name).map(ToString::to_string);
        let turns = fact("rotational").is_none_or(|turns| turns == "on");
        match interface(drive) {
            Some(interface) if !is_array && !turns => {
                let link = match interface {
                    DriveInterface::Sata => fact("link_gbps").and_then(|gbps| gbps.parse().ok()),
                    DriveInterface::Nvme => fact("pcie").and_then(|link| pcie(&link)),
                };
                Self::SolidState { interface, link }
            }
            _ => Self::Unknown,
        }
    }

    /// Says so in a measurement, where neither a speed nor `typed` says otherwise.
    pub(super) fn describe(&self, measurements: &mut Measurements, typed: Option<DriveKind>) {
        measurements.kind = typed.or(measurements.kind);
        let Self::SolidState { interface, link } = self else { return };
        if measurements.rpm.is_none() && typed != Some(DriveKind::Hdd) {
            measurements.kind = Some(DriveKind::Ssd);
            measurements.interface = Some(*interface);
            measurements.link = link.map(|link| link.to_string());
        }
    }
}

/// The state of a modelled solid-state drive before the measurement.
pub(super) fn state(about: &About) -> Option<FlashState> {
    let flash = about.attached.as_ref()?.flash?;
    Some(match flash.precondition {
        Precondition::Fresh => FlashState::Fresh,
        Precondition::Full => FlashState::Full,
        Precondition::Steady => FlashState::Steady,
    })
}

fn interface(device: &AttachedDevice) -> Option<DriveInterface> {
    match device.kind.as_str() {
        "ata" => Some(DriveInterface::Sata),
        "nvme" => Some(DriveInterface::Nvme),
        _ => None,
    }
}

/// `8.0 GT/s x4 of 16.0 GT/s x4` as a profile names it: `pcie3x4`.
fn pcie(summary: &str) -> Option<Link> {
    let (speed, rest) = summary.split_once(" GT/s x")?;
    let lanes = rest.split(' ').next()?;
    // Rates as sysfs prints them (`current_link_speed`).
    let generation = match speed {
        "2.5" => 1,
        "5.0" => 2,
        "8.0" => 3,
        "16.0" => 4,
        "32.0" => 5,
        _ => return None,
    };
    format!("pcie{generation}x{lanes}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(kind: &str, facts: &[(&str, &str)]) -> AttachedDevice {
        let mut device = AttachedDevice { kind: kind.into(), ..AttachedDevice::default() };
        for (name, value) in facts {
            device.set(name, Some(*value));
        }
        device.set("rotational", Some(facts.iter().any(|(name, _)| *name == "rpm")));
        device
    }

    fn of(devices: Vec<AttachedDevice>) -> Medium {
        Medium::of_attached(&Attached { devices, ..Attached::default() })
    }

    #[test]
    fn the_link_of_a_drive_is_that_which_was_negotiated() {
        let check = |kind, fact, value, interface, link: &str| {
            let link = Some(link.parse().unwrap());
            assert_eq!(
                of(vec![device(kind, &[(fact, value)])]),
                Medium::SolidState { interface, link }
            );
        };
        check("ata", "link_gbps", "3.0", DriveInterface::Sata, "3");
        let summary = "8.0 GT/s x2 of 16.0 GT/s x4";
        check("nvme", "pcie", summary, DriveInterface::Nvme, "pcie3x2");
        check("nvme", "pcie", "16.0 GT/s x4", DriveInterface::Nvme, "pcie4x4");
        // A link that no profile has is left to the class.
        let odd = of(vec![device("nvme", &[("pcie", "64.0 GT/s x4")])]);
        assert_eq!(odd, Medium::SolidState { interface: DriveInterface::Nvme, link: None });
    }

    #[test]
    fn disks_arrays_and_unknown_devices_are_not_taken_for_flash() {
        let flash = || device("ata", &[("link_gbps", "6.0")]);
        assert_eq!(of(vec![device("ata", &[("rpm", "7200")])]), Medium::Unknown);
        assert_eq!(of(vec![flash(), flash()]), Medium::Unknown);
        let mut array = device("md", &[]);
        array.made_of = vec!["sda".into(), "sdb".into()];
        assert_eq!(of(vec![array, flash()]), Medium::Unknown);
        assert_eq!(of(vec![device("virtio", &[])]), Medium::Unknown);
        assert_eq!(of(Vec::new()), Medium::Unknown);
    }
}
