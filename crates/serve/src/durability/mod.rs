//! Tests whether a drive keeps its promises: pages are written, synced and recorded, and checked
//! after a power cut.
//!
//! The idea is from diskchecker.pl (Brad Fitzpatrick, 2005). This version numbers every write, so
//! that a lost page can be distinguished from a torn one and from one that was written elsewhere.

mod keeper;
mod ledger;
mod modelled;
mod page;
mod place;
mod remote;
mod verdict;
mod watch;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use drivelab_core::verification::PromiseRate;
use drivelab_core::{Rng, Time};

pub use keeper::{Keeper, check_ledger, listen, new_run};
pub use ledger::{Ledger, LedgerFile, Note, Notes};
pub use modelled::{Cut, Trial, try_device};
pub use page::PAGE_BYTES;
pub use place::{ModelledPlace, Place, PlaceError, RealFile};
pub use remote::{Remote, keep_for_others};
pub use verdict::verify;
pub use watch::{Progress, unless_stuck};

use page::Stamp;

/// The writing phase.
#[derive(Debug, Clone, Copy)]
pub struct Writing<'a> {
    /// Distinguishes the pages of one run from those of another.
    pub run: u64,
    /// Number of pages.
    pub pages: u64,
    /// When to stop.
    pub until: Time,
    /// Stops it earlier.
    pub stop: &'a AtomicBool,
}

/// Why writing ended.
#[derive(Debug)]
pub enum Ended {
    /// The time was up.
    Time,
    /// The user stopped it.
    Stopped,
    /// The drive disappeared, or refused.
    Place(PlaceError),
    /// The ledger cannot be written any more.
    Notes(io::Error),
}

/// Writes and syncs random pages until the time is up or the drive disappears. Before each page it
/// records what the page may contain from now on, and after it what it must contain.
pub fn write(
    place: &mut dyn Place,
    notes: &mut dyn Notes,
    writing: Writing<'_>,
) -> (PromiseRate, Ended) {
    let mut rng = Rng::new(writing.run);
    let began = place.now();
    let until = began + writing.until.since(Time::ZERO);
    let mut promised = 0;
    let mut ended = Ended::Time;
    for sequence in 1.. {
        if place.now() >= until || writing.pages == 0 {
            break;
        }
        if writing.stop.load(Ordering::Relaxed) {
            ended = Ended::Stopped;
            break;
        }
        let stamp = Stamp { run: writing.run, page: rng.below(writing.pages), sequence };
        if let Err(why) = promise(place, notes, stamp) {
            ended = why;
            break;
        }
        promised += 1;
    }
    let took = place.now().since(began);
    if let Err(error) = notes.close()
        && matches!(ended, Ended::Time | Ended::Stopped)
    {
        ended = Ended::Notes(error);
    }
    (PromiseRate { promised, took }, ended)
}

/// Writes and syncs one page, recorded before and after.
fn promise(place: &mut dyn Place, notes: &mut dyn Notes, stamp: Stamp) -> Result<(), Ended> {
    let Stamp { page, sequence, .. } = stamp;
    let note = |promised, at| Note { page, sequence, promised, at };
    notes.note(note(false, place.now())).map_err(Ended::Notes)?;
    place.write(page, &page::fill(stamp)).and_then(|()| place.sync()).map_err(Ended::Place)?;
    notes.note(note(true, place.now())).map_err(Ended::Notes)
}
