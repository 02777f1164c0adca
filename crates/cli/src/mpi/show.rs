//! Output of the results of all hosts.

use drivelab_analysis::outcome::validity;
use drivelab_core::record::HostsRecord;
use drivelab_report::hosts;
use drivelab_report::text::json_text;

use crate::exit::{Exit, Outcome};
use crate::ui::Ui;
use drivelab_lab::interrupt;

/// Prints the results of all hosts.
pub(super) fn show(record: &HostsRecord, ui: Ui) -> Outcome {
    if ui.json {
        ui.result(&json_text(&hosts::json(record)))?;
    } else {
        ui.result(&hosts::text(record, ui.look()))?;
    }
    if interrupt::requested() {
        ui.warn("interrupted: the figures cover the time before the interruption");
    }
    if !record.lost.is_empty() {
        return Ok(Exit::HostsLost);
    }
    Ok(match &record.total {
        Some(total) if validity::mostly_failed(total) => Exit::CannotHere,
        _ if interrupt::requested() => Exit::Interrupted,
        _ => Exit::Done,
    })
}
