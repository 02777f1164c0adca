//! Measurements whose marks cast doubt on their figures.

use drivelab_core::Refusal;
use drivelab_core::record::{Doubt, Mark, MarkId};

/// How far figures may be off that something disturbed, as a standard deviation of the logarithm:
/// the marks are set where a few percent of the time or of the data were of others.
const DISTURBED: f64 = 0.05;

/// The further error of every figure.
pub(super) fn error(marks: &[Mark]) -> f64 {
    let is_disturbed = marks.iter().any(|mark| mark.id.doubt() == Some(Doubt::Inexact));
    if is_disturbed { DISTURBED } else { 0.0 }
}

/// What a fit says of the marks.
///
/// # Errors
/// The figures are not of the drive.
pub(super) fn notes(marks: &[Mark]) -> Result<Vec<String>, Refusal> {
    if let Some(mark) = marks.iter().find(|mark| mark.id.doubt() == Some(Doubt::Foreign)) {
        let what = format!("these measurements cannot be trusted: {}", mark.message);
        return Err(Refusal::request(what)
            .hint("measure the drive again, past the page cache and on a machine that is idle")
            .hint(format!("to fit them all the same, remove the `[[mark]]` `{}`", mark.id)));
    }
    let note = |mark: &Mark| match mark.id.doubt() {
        Some(_) => format!(
            "{}: every figure counts as {:.0} % more uncertain",
            mark.message,
            100.0 * DISTURBED
        ),
        None => mark.message.clone(),
    };
    let tells = |mark: &&Mark| mark.id != MarkId::FewRequests;
    Ok(marks.iter().filter(tells).map(note).collect())
}
