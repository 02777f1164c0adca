//! From measurements to a profile with what they leave open.
//!
//! What is unknown of a drive has a prior. What drives of such numbers do is simulated, under the
//! very loads that were measured, for many drives drawn around where the answer must lie; a
//! polynomial in the unknowns stands for the simulation between them (an emulator, O'Hagan 2006).
//! The posterior is drawn from it by random walks, and what it shows decides where the next drives
//! are drawn. Same measurements and seed, same profile.
//!
//! How far the model is off a real drive is found from the figures themselves, so that a drive that
//! no model meets has a wider posterior.

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
use outcome::Asked;

/// Fits a profile called `model` to `measurements`; `command` is what its header says made it, and
/// `watch` learns how far it is.
///
/// # Errors
/// The measurements hold nothing to fit to or are not of the drive, or no drive can be built near
/// them.
pub fn fit(
    model: &str,
    command: &str,
    measurements: &Measurements,
    seed: u64,
    watch: &dyn Fn(Standing),
) -> Result<Fit, Refusal> {
    let notes = doubt::notes(&measurements.marks)?;
    let asked = Asked { model, command, measurements, seed, notes };
    match Medium::of(measurements)? {
        Medium::Disk { rpm } => disk::fit(asked, rpm, watch),
        Medium::Flash => ssd::fit(asked, watch),
    }
}
