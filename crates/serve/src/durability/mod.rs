//! Whether a drive keeps what it promised: pages are written, synced and noted, and looked at again
//! after the power was cut.
//!
//! The idea is diskchecker.pl's (Brad Fitzpatrick, 2005); ours numbers every write, so that a lost
//! page can be told from a torn one and from one that landed elsewhere.

mod ledger;
mod page;
mod place;
mod remote;
mod verdict;

use drivelab_core::{Rng, Span, Time};

pub use ledger::{Kept, Ledger, Note, Notes};
pub use page::{Found, PAGE_BYTES};
pub use place::{ModelledPlace, Place, PlaceError, RealFile};
pub use remote::{Remote, keep_for_others};
pub use verdict::{Verdict, verify};

use page::Stamp;

/// What a writer did before it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Pages promised, that is written and synced.
    pub promised: u64,
    /// How long it took.
    pub took: Span,
    /// The drive went away meanwhile.
    pub cut: bool,
}

/// What is written.
#[derive(Debug, Clone, Copy)]
pub struct Writing {
    /// Tells the pages of one run from those of another.
    pub run: u64,
    /// How many pages there are.
    pub pages: u64,
    /// When to stop.
    pub until: Time,
}

/// Writes and syncs random pages until the time is over or the drive goes away, and notes before
/// each what may be there from now on, and after each what must be.
///
/// # Errors
/// The notes cannot be kept.
pub fn write(
    place: &mut dyn Place,
    notes: &mut dyn Notes,
    writing: Writing,
) -> std::io::Result<Written> {
    let mut rng = Rng::new(writing.run);
    let began = place.now();
    let mut written = Written { promised: 0, took: Span::ZERO, cut: false };
    for sequence in 1.. {
        if place.now() >= began + writing.until.since(Time::ZERO) {
            break;
        }
        let page = rng.below(writing.pages);
        let bytes = page::fill(Stamp { run: writing.run, page, sequence });
        notes.note(Note { page, sequence, promised: false, at: place.now() })?;
        if place.write(page, &bytes).and_then(|()| place.sync()).is_err() {
            written.cut = true;
            break;
        }
        notes.note(Note { page, sequence, promised: true, at: place.now() })?;
        written.promised += 1;
    }
    written.took = place.now().since(began);
    notes.close()?;
    Ok(written)
}

/// The most syncs a second that a platter allows: one page each at a random angle comes round after
/// half a revolution on average, if the arm never has to move.
pub fn most_syncs_per_s(rpm: u64) -> u64 {
    rpm * 2 / 60
}
