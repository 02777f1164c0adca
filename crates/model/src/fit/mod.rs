//! Fits a profile, with a posterior of its unknowns, to measurements.
//!
//! Every unknown of a drive has a prior. Many drives near the expected answer are simulated under
//! the measured loads; a polynomial in the unknowns interpolates between them (an emulator, O'Hagan
//! 2006). Random walks draw the posterior from it, and its location determines the drives of the
//! next round. Same measurements and seed, same profile.
//!
//! The error of the model itself is estimated from the figures, so that a drive that no model
//! matches has a wider posterior.

mod disk;
mod doubt;
mod emulator;
mod heading;
mod linear;
mod medium;
mod outcome;
mod posterior;
mod round;
mod simulate;
mod ssd;
mod unknown;

use drivelab_core::Refusal;
use drivelab_core::measurements::Measurements;

pub use disk::WRITE_SETTLE;
pub use outcome::{Fit, FittedFigure, LeftOpen};
pub use posterior::OFF;
pub use round::Standing;

use medium::Medium;
use outcome::FitRequest;

/// Fits a profile with the name `model` to `measurements`; `command` goes into its heading, and
/// `watch` receives the progress.
///
/// # Errors
/// The measurements have nothing to fit or do not describe the drive, or no drive near them can be
/// built.
pub fn fit(
    model: &str,
    command: &str,
    measurements: &Measurements,
    seed: u64,
    watch: &dyn Fn(Standing),
) -> Result<Fit, Refusal> {
    let notes = doubt::notes(&measurements.marks)?;
    let request = FitRequest { model, command, measurements, seed, notes };
    match Medium::of(measurements)? {
        Medium::Disk { rpm } => disk::fit(request, rpm, watch),
        Medium::Flash => ssd::fit(request, watch),
    }
}
