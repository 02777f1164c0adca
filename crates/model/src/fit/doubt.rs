//! Marks that cast doubt on measured figures.

use drivelab_core::Refusal;
use drivelab_core::record::{Doubt, Mark, MarkId};

/// Error of disturbed figures, as a standard deviation of the logarithm: the marks are set if a few
/// percent of the time or of the data belonged to other processes.
const DISTURBED: f64 = 0.05;

/// The additional error of every figure.
pub(super) fn error(marks: &[Mark]) -> f64 {
    // A disturbed figure is still usable, only less certain.
    let is_disturbed = marks.iter().any(|mark| mark.id.doubt() == Some(Doubt::Inexact));
    if is_disturbed { DISTURBED } else { 0.0 }
}

/// The notes of a fit about the marks.
///
/// # Errors
/// The figures do not describe the drive.
pub(super) fn notes(marks: &[Mark]) -> Result<Vec<String>, Refusal> {
    if let Some(mark) = marks.iter().find(|mark| mark.id.doubt() == Some(Doubt::Foreign)) {
        let what = format!("these measurements cannot be trusted: {}", mark.message);
        return Err(Refusal::request(what)
            .hint("measure the drive again, past the page cache and on a machine that is idle")
            .hint(format!("to fit them all the same, remove the `[[mark]]` `{}`", mark.id)));
    }
    // `FewRequests` already shows in the standard errors of the figures.
    Ok(marks.iter().filter(|mark| mark.id != MarkId::FewRequests).map(note).collect())
}

fn note(mark: &Mark) -> String {
    match mark.id.doubt() {
        Some(_) => format!(
            "{}: every figure counts as {:.0} % more uncertain",
            mark.message,
            100.0 * DISTURBED
        ),
        None => mark.message.clone(),
    }
}
