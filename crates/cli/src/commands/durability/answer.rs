//! The findings, and the exit code that follows from them.

use drivelab_core::Refusal;
use drivelab_report::durability::{self as words, Findings};
use drivelab_report::text::json_text;
use drivelab_serve::durability::{self, TargetError};

use crate::exit::{Exit, Outcome};
use crate::ui::Ui;
use drivelab_lab::interrupt;

/// Shows what was found, of which `text` is the words.
pub(super) fn show(findings: Findings, text: &str, ui: Ui) -> Outcome {
    let text = if ui.json { json_text(&findings.to_json()) } else { findings.conclude(text) };
    ui.result(&text)?;
    if findings.is_beyond_medium() {
        ui.warn(words::BEYOND_THE_MEDIUM);
    }
    Ok(match (findings.is_good(), findings.promised()) {
        (false, _) => Exit::No,
        (true, 0) => Exit::Inconclusive,
        (true, _) => Exit::Done,
    })
}

/// Does `work`, which may wait for a dead disk; `None` where the user gave up waiting.
pub(super) fn unless_stuck<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Option<T>, Refusal> {
    let done = durability::unless_stuck(interrupt::flag(), work);
    done.map_err(|error| Refusal::machine("cannot start a thread").because(error))
}

/// Why the pages could not be looked at.
pub(super) fn looking(error: TargetError) -> Refusal {
    match error {
        TargetError::Stopped => {
            let words = "interrupted before all pages were checked: no result";
            Refusal::interrupted(words)
        }
        error => Refusal::machine_error(error),
    }
}
