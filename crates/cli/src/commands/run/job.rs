//! `run --job`: a job file as fio reads it.

use std::time::Duration;

use drivelab_lab::archive::entries;
use drivelab_lab::request::jobs::{JobRequest, Jobs};
use drivelab_lab::{interrupt, measure};
use drivelab_report::publish::Subject;
use drivelab_report::text::json_text;

use super::finished::Output;
use super::verify;
use crate::exit::{Exit, Outcome};
use crate::output;
use crate::ui::{Progress, Ui};

/// Runs the file's groups one after the other, and prints what each job did.
pub(super) fn run(request: JobRequest, output: &Output, ui: Ui) -> Outcome {
    let mut jobs = Jobs::new(request)?;
    for (job, note) in jobs.notes() {
        ui.note(&format!("note: [{job}] {note}"));
    }
    jobs.lay_out()?;
    while !interrupt::requested()
        && let Some(group) = jobs.next_group()?
    {
        let progress = Progress::time(Duration::from_nanos(group.time.ns()), &group.name);
        jobs.carry_out(&group, &progress.control())?;
    }
    let (printed, records) = (jobs.document(), jobs.records());
    // What is printed is in the archive, also if the program is killed.
    let kept = match records {
        [only] if jobs.is_single() => output.keep.keep(vec![entries::run(only)], ui),
        // Files were created only, if the run was not interrupted before.
        [] => Exit::Done,
        records => output.keep.keep(entries::jobs(jobs.name(), &printed, records), ui),
    };
    // The figures are not lost with a file that cannot be written.
    let shown = ui.result(&if ui.json {
        json_text(&printed)
    } else {
        drivelab_report::run::jobs_text(records, ui.look())
    });
    let page = Subject::Runs(&records.iter().collect::<Vec<_>>());
    output::page(output.report.as_deref(), &page, ui)?;
    shown?;
    if interrupt::requested() {
        ui.warn("interrupted: the figures cover the time before the interruption");
        return Ok(Exit::Interrupted);
    }
    if records.iter().any(measure::mostly_failed) {
        return Ok(Exit::CannotHere);
    }
    let verified = records.iter().filter_map(|record| record.verification.as_ref());
    let is_broken = verified.map(verify::exit).any(|exit| exit == Exit::No);
    Ok(if is_broken { Exit::No } else { kept })
}
