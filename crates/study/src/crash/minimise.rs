//! The smallest loss that explains a failure.

use std::collections::BTreeSet;

/// A loss that cannot be made smaller, as far as that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Minimal {
    /// The lost writes.
    pub lost: BTreeSet<u64>,
    /// The number of trials.
    pub trials: usize,
    /// True if each of them is needed: without any one the failure is gone.
    pub is_minimal: bool,
}

/// Removes writes from `lost` as long as it `fails`, with at most `trials` trials.
///
/// Zeller and Hildebrandt 2002, "Simplifying and isolating failure-inducing input", the algorithm
/// `ddmin`: parts are tried alone, then left out, then halved.
pub fn minimise<E>(
    lost: BTreeSet<u64>,
    trials: usize,
    mut fails: impl FnMut(&BTreeSet<u64>) -> Result<bool, E>,
) -> Result<Minimal, E> {
    let mut left: Vec<u64> = lost.into_iter().collect();
    let (mut parts, mut used) = (2, 0);
    // A single lost write cannot be reduced further.
    while left.len() > 1 {
        let size = left.len().div_ceil(parts);
        let pieces: Vec<&[u64]> = left.chunks(size).collect();
        let mut candidates: Vec<(Vec<u64>, usize)> =
            pieces.iter().map(|piece| (piece.to_vec(), 2)).collect();
        // With two parts the rest of one is the other.
        if pieces.len() > 2 {
            for piece in &pieces {
                let rest = left.iter().copied().filter(|write| !piece.contains(write)).collect();
                // The rest of a part has one part less (`ddmin`).
                candidates.push((rest, parts.saturating_sub(1).max(2)));
            }
        }
        let mut smaller = None;
        for (candidate, next) in candidates {
            if used == trials {
                return Ok(Minimal::new(left, used, false));
            }
            used += 1;
            if fails(&candidate.iter().copied().collect())? {
                smaller = Some((candidate, next));
                break;
            }
        }
        match smaller {
            Some((candidate, next)) => (left, parts) = (candidate, next),
            None if size == 1 => return Ok(Minimal::new(left, used, true)),
            // No part of this size was superfluous: a smaller one may be.
            None => parts = (2 * parts).min(left.len()),
        }
    }
    Ok(Minimal::new(left, used, true))
}

impl Minimal {
    fn new(lost: Vec<u64>, trials: usize, is_minimal: bool) -> Self {
        Self { lost: lost.into_iter().collect(), trials, is_minimal }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(all: u64, needed: &[u64], trials: usize) -> Minimal {
        let fails = |lost: &BTreeSet<u64>| Ok::<_, ()>(needed.iter().all(|it| lost.contains(it)));
        minimise((1..=all).collect(), trials, fails).unwrap()
    }

    #[test]
    fn what_is_not_needed_is_removed() {
        for needed in [&[1][..], &[40], &[3, 4], &[1, 40], &[7, 19, 33]] {
            let found = check(40, needed, 1000);
            assert_eq!(found.lost, needed.iter().copied().collect(), "{found:?}");
            assert!(found.is_minimal && found.trials < 150, "{found:?}");
        }
        let all: Vec<u64> = (1..=9).collect();
        assert_eq!(check(9, &all, 1000).lost.len(), 9);
    }

    #[test]
    fn it_ends_after_so_many_trials() {
        let found = check(1000, &[7, 500, 993], 12);
        assert_eq!(found.trials, 12);
        assert!(!found.is_minimal && [7, 500, 993].iter().all(|it| found.lost.contains(it)));
    }

    #[test]
    fn a_trial_that_cannot_be_made_ends_it() {
        let found = minimise((1..5).collect(), 10, |_| Err::<bool, _>("no"));
        assert_eq!(found, Err("no"));
    }
}
