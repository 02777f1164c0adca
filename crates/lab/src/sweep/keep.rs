//! Points of a sweep as runs in the archive.

use drivelab_archive::{Archive, Entry};
use drivelab_core::Refusal;
use drivelab_core::control::{Control, Event};
use drivelab_core::record::{JobRecord, Origin, RunRecord};
use drivelab_study::sweep::{Figures, Kept, Point, Row};

use super::{Modelled, processors};
use crate::archive::{entries, now_ms};
use crate::interrupt;
use crate::stage::parallel;

/// Runs that are made and kept together: their documents are in memory at the same time.
const BATCH: usize = 256;

/// Makes the `best` points again and keeps them as whole runs, or keeps all without distributions.
/// Returns the numbers of the runs that were added, and of those that were present.
///
/// The label of a run is `label` and the number of its point.
pub fn keep(
    modelled: &Modelled,
    kept: &Kept,
    best: Option<usize>,
    label: &str,
    (archive, control): (&mut Archive, &Control<'_>),
) -> Result<[u64; 2], Refusal> {
    let points = modelled.points()?;
    let rows = modelled.chosen(kept, best);
    let (mut added, mut present) = (0, 0);
    for batch in rows.chunks(BATCH) {
        if interrupt::requested() {
            break;
        }
        let entries = parallel::map(processors(), batch, |row| {
            let record = again(modelled, &points.point(row.point), row)?;
            Ok(entry(record, row.point, label, best.is_none()))
        });
        let entries: Vec<Entry> = entries.into_iter().collect::<Result<_, Refusal>>()?;
        // What was made while it was interrupted may be cut short.
        if interrupt::requested() {
            break;
        }
        // A batch is kept whole, or made again by the next command.
        let _whole = interrupt::shield();
        let merged = archive.keep_new(&entries)?;
        added += merged.added;
        present += merged.present;
        control.report(Event::Begins { run: "points", done: added + present });
    }
    debug_assert!(added + present <= rows.len() as u64, "a row is kept once");
    Ok([added, present])
}

/// The run of a row, which must be what the row says.
fn again(modelled: &Modelled, point: &Point, row: &Row) -> Result<RunRecord, Refusal> {
    let record = modelled.run(point)?;
    let is_same = record.total.as_ref().is_some_and(|total| Figures::of(total) == row.figures);
    if is_same || interrupt::requested() {
        return Ok(record);
    }
    let wrong = format!("point {} differs from its row when it is made again", row.point);
    Err(Refusal::bug(wrong).hint("please report this: the same seed gives the same figures"))
}

fn entry(record: RunRecord, point: u32, label: &str, is_bare: bool) -> Entry {
    let mut record = RunRecord { label: Some(format!("{label}-{point}")), ..record };
    if is_bare {
        record.jobs = record.jobs.into_iter().map(JobRecord::figures_only).collect();
        record.total = record.total.map(JobRecord::figures_only);
    }
    let entry = entries::of_record(&record, Origin::Run, now_ms());
    Entry { tags: vec![label.to_owned()], ..entry }
}
