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

/// How much was promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Pages promised, that is written and synced.
    pub promised: u64,
    /// How long it took.
    pub took: Span,
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
/// each what may be there from now on, and after each what must be. With what was done comes why it
/// ended before its time, if it did.
///
/// # Errors
/// The notes cannot be kept.
pub fn write(
    place: &mut dyn Place,
    notes: &mut dyn Notes,
    writing: Writing,
) -> std::io::Result<(Written, Option<PlaceError>)> {
    let mut rng = Rng::new(writing.run);
    let began = place.now();
    let (mut promised, mut ended) = (0, None);
    for sequence in 1.. {
        if place.now() >= began + writing.until.since(Time::ZERO) {
            break;
        }
        let page = rng.below(writing.pages);
        let bytes = page::fill(Stamp { run: writing.run, page, sequence });
        notes.note(Note { page, sequence, promised: false, at: place.now() })?;
        if let Err(error) = place.write(page, &bytes).and_then(|()| place.sync()) {
            ended = Some(error);
            break;
        }
        notes.note(Note { page, sequence, promised: true, at: place.now() })?;
        promised += 1;
    }
    let took = place.now().since(began);
    notes.close()?;
    Ok((Written { promised, took }, ended))
}

impl Written {
    /// Whether it was synced more often than a platter of `rpm` revolutions a minute comes round:
    /// one page each at a random angle comes by after half a revolution on average, if the arm
    /// never has to move.
    pub fn is_beyond(&self, rpm: u64) -> bool {
        // promised / took > rpm * 2 / 60, in whole numbers.
        u128::from(self.promised) * 60_000_000_000
            > u128::from(rpm) * 2 * u128::from(self.took.ns())
    }
}
