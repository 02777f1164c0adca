//! Explains a failure: the writes that were lost, those that matter, and what came before.

use std::collections::BTreeSet;

use drivelab_core::control::{Control, Event};
use drivelab_core::crash::Cut;
use drivelab_core::disk::Data;
use drivelab_core::{Lba, Refusal, Sectors, Time};
use drivelab_guest::crash::{CheckOutcome, Layout};
use drivelab_report::crash::{Explanation, Failure as Found, LostWrite, Moment};
use drivelab_serve::store::Step;
use drivelab_study::crash::{Minimal, minimise};

use super::replays::{FateOnDisk, Loss, Replays};
use super::test::{Test, Worked, memory};

/// Guests that may be booted to find the smallest loss.
pub const TRIALS: usize = 100;
/// Lines, and requests or system calls, that are shown before a cut.
const LINES: usize = 3;
const REQUESTS: usize = 12;

/// Explains a failure; `control` receives the number of guests that were booted.
///
/// # Errors
/// A guest cannot be had, or the memory for its disk.
pub fn explain(
    test: &Test,
    worked: &Worked,
    found: &Found,
    control: &Control<'_>,
) -> Result<Explanation, Refusal> {
    let Cut { at, outcome } = found.cut;
    let mut replay = test.replay(worked);
    replay.advance(at).map_err(memory)?;
    let fates = replay.cut(at, Loss::Of(outcome)).map_err(memory)?.fates;
    // What a disk under a stack holds is known to the stack alone.
    let layout = test.can_share_guests().then(|| test.layout(&replay, at)).transpose()?;
    let minimal = smallest(test, worked, &replay, (found, &fates), control)?;
    let least = replay.cut(at, Loss::Only(&minimal.lost, outcome)).map_err(memory)?.fates;
    let lost = |fates: &[FateOnDisk]| {
        let lost = fates.iter().filter(|it| it.fate.lost > Sectors::ZERO);
        lost.map(|it| lost_write(it, at, &holds(test, layout.as_ref(), it))).collect()
    };
    Ok(Explanation {
        cut: found.cut,
        volatile: fates.len(),
        lost: lost(&fates),
        smallest: lost(&least),
        is_smallest: minimal.is_minimal,
        trials: minimal.trials,
        lines: worked.lines.iter().filter(|line| line.at < at).count(),
        before: before(test, worked, at),
    })
}

/// The fewest writes whose loss has the same finding; what is lost of them stays the same.
fn smallest(
    test: &Test,
    worked: &Worked,
    replay: &Replays<'_>,
    (found, fates): (&Found, &[FateOnDisk]),
    control: &Control<'_>,
) -> Result<Minimal, Refusal> {
    let Cut { at, outcome } = found.cut;
    let mut trials = 0;
    let mut is_known = true;
    let mut fails = |writes: &BTreeSet<u64>| -> Result<bool, Refusal> {
        trials += 1;
        let run = format!("{} lost writes", writes.len());
        control.report(Event::Begins { run: &run, done: trials });
        Ok(match test.check(replay, worked, at, Loss::Only(writes, outcome))? {
            CheckOutcome::Found(checked) => checked.finding == found.finding,
            CheckOutcome::TooSlow | CheckOutcome::Stopped => {
                // Counted as no failure: what was left out may be needed.
                is_known = false;
                false
            }
        })
    };
    let nothing = BTreeSet::new();
    if fails(&nothing)? {
        return Ok(Minimal { lost: nothing, trials: 1, is_minimal: true });
    }
    let lost = fates.iter().filter(|it| it.fate.lost > Sectors::ZERO);
    // One trial was spent on losing nothing.
    let minimal = minimise(lost.map(FateOnDisk::name).collect(), TRIALS - 1, fails)?;
    let is_minimal = minimal.is_minimal && is_known;
    Ok(Minimal { trials: minimal.trials + 1, is_minimal, ..minimal })
}

/// The contents of a write, or its disk where there are several.
fn holds(test: &Test, layout: Option<&Layout>, of: &FateOnDisk) -> String {
    let held = layout.map(|it| it.holds(of.fate.lba, of.fate.sectors).to_owned());
    held.or_else(|| test.disk_words(of.disk)).unwrap_or_default()
}

fn lost_write(FateOnDisk { fate, .. }: &FateOnDisk, at: Time, holds: &str) -> LostWrite {
    LostWrite {
        lba: fate.lba,
        sectors: fate.sectors,
        lost: fate.lost,
        age: at.since(fate.submitted),
        acknowledged: fate.completed,
        holds: holds.to_owned(),
    }
}

/// The last requests, system calls and lines of the workload.
fn before(test: &Test, worked: &Worked, at: Time) -> Vec<Moment> {
    let lines = worked.lines.iter().filter(|line| line.at < at).rev().take(LINES);
    let lines = lines.map(|line| Moment { at: line.at, what: format!("printed: {}", line.text) });
    let mut steps: Vec<Moment> = Vec::new();
    for (index, disk) in worked.disks.iter().enumerate() {
        let name = test.disk_words(index).map_or_else(String::new, |name| format!("{name}: "));
        let before = disk.recording.steps().iter().filter(|(time, _)| *time < at).rev();
        let before = before.filter_map(|(at, step)| Some((*at, words(step)?))).take(REQUESTS);
        steps.extend(before.map(|(at, what)| Moment { at, what: format!("{name}{what}") }));
    }
    // Of several disks each had its last requests.
    steps.sort_by_key(|moment| std::cmp::Reverse(moment.at));
    steps.truncate(REQUESTS);
    let calls = worked.calls.iter().filter(|call| call.at < at).rev().take(REQUESTS);
    let calls = calls.map(|call| Moment { at: call.at, what: call.text.clone() });
    let all = lines.chain(calls).chain(steps);
    let mut moments: Vec<Moment> = all.collect();
    // Each list was read backwards.
    moments.reverse();
    moments.sort_by_key(|moment| moment.at);
    moments
}

fn words(step: &Step) -> Option<String> {
    let range = |what: &str, lba: Lba, sectors: Sectors| {
        Some(format!("{what} of {} at sector {lba}", sectors.bytes()))
    };
    match step {
        Step::Write { lba, data: Data::Bytes(bytes) } => {
            range("write", *lba, Sectors::new((bytes.len() / 512) as u64))
        }
        Step::Write { lba, data: Data::Zeros(sectors) } => range("zeros", *lba, *sectors),
        Step::Trim { lba, sectors } => range("trim", *lba, *sectors),
        Step::Flush => Some("flush begun".into()),
        Step::Flushed => Some("flush done".into()),
        Step::Lied => Some("flush acknowledged without being carried out".into()),
        Step::Completed { .. }
        | Step::Forgotten(_)
        | Step::Destaged(_)
        | Step::Trimmed(_)
        | Step::TrimForgotten(_) => None,
    }
}
