//! Explains a failure: the writes that were lost, those that matter, and what came before.

use std::collections::BTreeSet;

use drivelab_core::control::{Control, Event};
use drivelab_core::crash::Cut;
use drivelab_core::disk::Data;
use drivelab_core::{Lba, Refusal, Sectors, Time};
use drivelab_guest::crash::{CheckOutcome, Layout};
use drivelab_report::crash::{Explanation, Failure as Found, LostWrite, Moment};
use drivelab_serve::store::{Fate, Replay, Step, lose_only, of_outcome};
use drivelab_study::crash::{Minimal, minimise};

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
    let (_, fates) = replay.cut(at, &mut *of_outcome(outcome)).map_err(memory)?;
    let layout = test.layout(&replay, at)?;
    let minimal = smallest(test, worked, &replay, (found, &fates), control)?;
    let mut least = lose_only(&minimal.lost, of_outcome(outcome));
    let (_, least) = replay.cut(at, &mut least).map_err(memory)?;
    let lost = |fates: &[Fate]| {
        let lost = fates.iter().filter(|fate| fate.lost > Sectors::ZERO);
        lost.map(|fate| lost_write(fate, at, &layout)).collect()
    };
    Ok(Explanation {
        cut: found.cut,
        volatile: fates.len(),
        lost: lost(&fates),
        smallest: lost(&least),
        is_smallest: minimal.is_minimal,
        trials: minimal.trials,
        lines: worked.lines.iter().filter(|line| line.at < at).count(),
        before: before(worked, at),
    })
}

/// The fewest writes whose loss has the same finding; what is lost of them stays the same.
fn smallest(
    test: &Test,
    worked: &Worked,
    replay: &Replay<'_>,
    (found, fates): (&Found, &[Fate]),
    control: &Control<'_>,
) -> Result<Minimal, Refusal> {
    let Cut { at, outcome } = found.cut;
    let mut trials = 0;
    let mut is_known = true;
    let mut fails = |writes: &BTreeSet<u64>| -> Result<bool, Refusal> {
        trials += 1;
        let run = format!("{} lost writes", writes.len());
        control.report(Event::Begins { run: &run, done: trials });
        let choose = &mut lose_only(writes, of_outcome(outcome));
        Ok(match test.check(replay, worked, at, choose)? {
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
    let lost = fates.iter().filter(|fate| fate.lost > Sectors::ZERO);
    // One trial was spent on losing nothing.
    let minimal = minimise(lost.map(|fate| fate.sequence).collect(), TRIALS - 1, fails)?;
    let is_minimal = minimal.is_minimal && is_known;
    Ok(Minimal { trials: minimal.trials + 1, is_minimal, ..minimal })
}

fn lost_write(fate: &Fate, at: Time, layout: &Layout) -> LostWrite {
    LostWrite {
        lba: fate.lba,
        sectors: fate.sectors,
        lost: fate.lost,
        age: at.since(fate.submitted),
        acknowledged: fate.completed,
        holds: layout.holds(fate.lba, fate.sectors).to_owned(),
    }
}

/// The last requests, system calls and lines of the workload.
fn before(worked: &Worked, at: Time) -> Vec<Moment> {
    let lines = worked.lines.iter().filter(|line| line.at < at).rev().take(LINES);
    let lines = lines.map(|line| Moment { at: line.at, what: format!("printed: {}", line.text) });
    let steps = worked.recording.steps().iter().filter(|(time, _)| *time < at).rev();
    let steps = steps.filter_map(|(at, step)| Some(Moment { at: *at, what: words(step)? }));
    let calls = worked.calls.iter().filter(|call| call.at < at).rev().take(REQUESTS);
    let calls = calls.map(|call| Moment { at: call.at, what: call.text.clone() });
    let all = lines.chain(calls).chain(steps.take(REQUESTS));
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
