//! What became of the promises.

use drivelab_core::Span;
use serde::Serialize;

use super::ledger::{Ledger, Promise};
use super::page::{self, Found, PAGE_BYTES};
use super::place::{Place, PlaceError};

/// What became of the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Verdict {
    /// Pages with a promise.
    pub promised: u64,
    /// Those that hold what was promised, or what was being written over it.
    pub survived: u64,
    /// Those that hold something older.
    pub lost: u64,
    /// Those that hold a mixture, though nothing was being written to them.
    pub torn: u64,
    /// Pages, promised or not, that hold what belongs elsewhere.
    pub misdirected: u64,
    /// Pages that were being written when the power went: anything is right.
    pub unknown: u64,
    /// How long before the end the oldest promise that was broken was made, in nanoseconds.
    pub oldest_loss_ns: Option<u64>,
}

impl Verdict {
    /// Whether every promise was kept.
    pub fn is_kept(&self) -> bool {
        self.lost + self.torn + self.misdirected == 0
    }
}

/// Looks at every page again.
///
/// # Errors
/// The place cannot be read.
pub fn verify(place: &mut dyn Place, ledger: &Ledger) -> Result<Verdict, PlaceError> {
    let mut verdict = Verdict::default();
    let mut bytes = vec![0; PAGE_BYTES];
    for number in 0..ledger.pages {
        place.read(number, &mut bytes)?;
        let found = page::examine(&bytes, ledger.run, number);
        match ledger.promises.get(&number) {
            Some(promise) => verdict.count(found, promise, ledger),
            // Nothing was ever written here.
            None => verdict.misdirected += u64::from(found == Found::Misdirected),
        }
    }
    Ok(verdict)
}

impl Verdict {
    fn count(&mut self, found: Found, promise: &Promise, ledger: &Ledger) {
        let newest_kept = promise.kept.map_or(0, |(sequence, _)| sequence);
        let overwriting = promise.begun > newest_kept;
        self.promised += u64::from(promise.kept.is_some());
        let broken = match found {
            Found::Misdirected => Some(&mut self.misdirected),
            Found::Torn if !overwriting => Some(&mut self.torn),
            Found::Whole { sequence } if sequence >= newest_kept => None,
            Found::Whole { .. } => Some(&mut self.lost),
            Found::Blank if promise.kept.is_some() => Some(&mut self.lost),
            Found::Blank | Found::Torn => None,
        };
        match (broken, promise.kept) {
            (Some(count), kept) => {
                *count += 1;
                let age = kept.map_or(Span::ZERO, |(_, at)| ledger.age(at)).ns();
                self.oldest_loss_ns = self.oldest_loss_ns.max(Some(age));
            }
            (None, _) if overwriting => self.unknown += 1,
            (None, _) => self.survived += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::Time;

    use super::*;

    #[test]
    fn each_fate_of_a_page_is_told_apart() {
        let check = |found, kept: u64, begun, expected: [u64; 5]| {
            let ledger = Ledger::new(1, 1);
            let kept = (kept > 0).then_some((kept, Time::ZERO));
            let mut verdict = Verdict::default();
            verdict.count(found, &Promise { kept, begun }, &ledger);
            let Verdict { survived, lost, torn, misdirected, unknown, .. } = verdict;
            assert_eq!([survived, lost, torn, misdirected, unknown], expected, "{found:?}");
        };
        let whole = |sequence| Found::Whole { sequence };
        check(whole(5), 5, 5, [1, 0, 0, 0, 0]);
        check(whole(4), 5, 5, [0, 1, 0, 0, 0]);
        check(Found::Blank, 5, 5, [0, 1, 0, 0, 0]);
        check(Found::Torn, 5, 5, [0, 0, 1, 0, 0]);
        check(Found::Misdirected, 5, 5, [0, 0, 0, 1, 0]);
        check(Found::Torn, 5, 6, [0, 0, 0, 0, 1]);
        check(whole(6), 5, 6, [0, 0, 0, 0, 1]);
        // A write in flight does not excuse the loss of what was promised before it.
        check(whole(4), 5, 6, [0, 1, 0, 0, 0]);
        check(Found::Blank, 0, 3, [0, 0, 0, 0, 1]);
    }
}
