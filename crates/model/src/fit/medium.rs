//! Distinction of disks and solid-state drives.

use drivelab_core::Refusal;
use drivelab_core::measurements::{DriveKind, MeasuredLoad, Measurements};

/// The kind of storage medium.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Medium {
    Disk { rpm: f64 },
    Flash,
}

/// Upper limit of a read from flash at depth 1; only a disk of 15,000 rpm comes near it.
const SLOWEST_FLASH_MS: f64 = 1.5;

impl Medium {
    /// Returns the medium stated in `[drive]`, after a check against the time of a read.
    ///
    /// # Errors
    /// A missing or contradictory statement, also one that contradicts the figures.
    pub(super) fn of(measurements: &Measurements) -> Result<Self, Refusal> {
        match (measurements.kind, measurements.rpm) {
            (Some(DriveKind::Ssd), Some(rpm)) => Err(Refusal::request(format!(
                "`[drive]` has `kind = \"ssd\"` and `rpm = {rpm}`, but nothing in a solid-state \
                 drive turns"
            ))
            .hint("remove the line that is wrong")),
            (Some(DriveKind::Ssd), None) => checked_flash(measurements),
            (_, Some(rpm)) => Ok(Self::Disk { rpm }),
            (Some(DriveKind::Hdd), None) => Err(Refusal::request(
                "`rpm` is missing in `[drive]`: a disk is fitted only where its speed is known",
            )
            .hint(RPM)),
            (None, None) => Err(Refusal::request(
                "`[drive]` has neither `rpm` nor `kind = \"ssd\"`: disk or solid-state drive?",
            )
            .hint(format!("for a disk, {RPM}"))
            .hint("for a solid-state drive, add `--kind ssd`, or `kind = \"ssd\"` to the file")),
        }
    }
}

const RPM: &str = "add `rpm = 7200`, or what the data sheet of the drive says";

fn checked_flash(measurements: &Measurements) -> Result<Medium, Refusal> {
    let single_reads = measurements.loads.iter().filter(|load| !load.write && load.iodepth == 1);
    let rates = single_reads.filter_map(MeasuredLoad::iops);
    let quickest = rates.map(|rate| 1000.0 / rate).fold(f64::INFINITY, f64::min);
    if quickest.is_finite() && quickest > SLOWEST_FLASH_MS {
        return Err(Refusal::request(format!(
            "`kind = \"ssd\"`, but a random read takes {quickest:.2} ms: that is the time of a disk"
        ))
        .hint("for a disk, write `rpm = 7200` (or its speed) in place of `kind`")
        .hint("for a solid-state drive, measure it again while nothing else uses it"));
    }
    Ok(Medium::Flash)
}
