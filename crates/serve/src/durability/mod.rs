//! Tests whether a drive keeps its promises: pages are written, synced and recorded, and checked
//! after a power cut.
//!
//! The idea is from diskchecker.pl (Brad Fitzpatrick, 2005). This version numbers every write, so
//! that it distinguishes a lost page from a torn one and from one that was written elsewhere.

mod ledger;
mod modelled;
mod page;
mod progress;
mod remote;
mod sink;
mod target;
mod verdict;

use std::io;

use drivelab_core::Control;
use drivelab_core::verification::PromiseRate;
use drivelab_core::{Rng, Time};

pub use ledger::{Ledger, LedgerFile, Note, Notes};
pub use modelled::{Cut, Trial, try_device};
pub use page::PAGE_BYTES;
pub use progress::{Progress, unless_stuck};
pub use remote::{Remote, keep_for_others};
pub use sink::{LedgerSink, check_ledger, listen, new_run};
pub use target::{ModelledTarget, PageTarget, RealFile, TargetError};
pub use verdict::verify;

use page::Stamp;

/// The writing phase.
#[derive(Debug, Clone, Copy)]
pub struct Writing<'a> {
    /// Distinguishes the pages of one run from those of another.
    pub run: u64,
    /// Number of pages.
    pub pages: u64,
    /// Time at which to stop, from the beginning of the phase.
    pub until: Time,
    /// Stops the phase earlier when set.
    pub control: &'a Control<'a>,
}

/// The reason why writing ended.
#[derive(Debug)]
pub enum Ended {
    /// The time was up.
    Time,
    /// The user stopped it.
    Stopped,
    /// The drive disappeared, or refused.
    Target(TargetError),
    /// The ledger cannot be written any more.
    Notes(io::Error),
}

/// Writes and syncs random pages until the time is up or the drive disappears. Before each page it
/// records what the page may contain from now on, and after it what it must contain.
pub fn write(
    target: &mut dyn PageTarget,
    notes: &mut dyn Notes,
    writing: Writing<'_>,
) -> (PromiseRate, Ended) {
    // Seeded with the run: its pages are in another order than those of the run before.
    let mut rng = Rng::new(writing.run);
    let began = target.now();
    let until = began + writing.until.since(Time::ZERO);
    let mut promised = 0;
    let mut ended = Ended::Time;
    for sequence in 1.. {
        if target.now() >= until || writing.pages == 0 {
            break;
        }
        if writing.control.stopped() {
            ended = Ended::Stopped;
            break;
        }
        let stamp = Stamp { run: writing.run, page: rng.below(writing.pages), sequence };
        if let Err(why) = promise(target, notes, stamp) {
            ended = why;
            break;
        }
        promised += 1;
    }
    let took = target.now().since(began);
    // The first failure counts: a drive that disappeared often takes the ledger with it.
    if let Err(error) = notes.close()
        && matches!(ended, Ended::Time | Ended::Stopped)
    {
        ended = Ended::Notes(error);
    }
    (PromiseRate { promised, took }, ended)
}

/// Writes and syncs one page, recorded before and after.
fn promise(target: &mut dyn PageTarget, notes: &mut dyn Notes, stamp: Stamp) -> Result<(), Ended> {
    let Stamp { page, sequence, .. } = stamp;
    assert!(sequence > 0, "number 0 stands for a page that was never written");
    // Before the write: from here on the page may contain it, whether or not the power fails.
    let begun = Note { page, sequence, promised: false, at: target.now() };
    notes.note(begun).map_err(Ended::Notes)?;
    target.write(page, &page::fill(stamp)).and_then(|()| target.sync()).map_err(Ended::Target)?;
    notes.note(Note { promised: true, at: target.now(), ..begun }).map_err(Ended::Notes)
}
