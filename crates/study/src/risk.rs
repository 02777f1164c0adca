//! What a study's settings risk when power fails, in sentences.

use std::collections::BTreeSet;

use drivelab_core::outline::Risk;
use drivelab_core::units::Bytes;

/// The state of the drive's write cache in one arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteCache {
    /// How much it acknowledges before the medium has it; `None` where it is off.
    pub size: Option<Bytes>,
}

/// What the write caches of the arms mean for data, `names` and `caches` alike in order.
pub fn modelled(names: &[&str], caches: &[WriteCache]) -> Risk {
    let with: Vec<&str> = names
        .iter()
        .zip(caches)
        .filter(|(_, cache)| cache.size.is_some())
        .map(|(name, _)| *name)
        .collect();
    let Some(size) = caches.iter().filter_map(|cache| cache.size).max() else {
        let sentence = "no arm's drive acknowledges a write before it is on the medium: a power \
                        cut loses nothing that was acknowledged.";
        return Risk { sentence: sentence.into(), differs: false };
    };
    let mib = size.get() >> 20;
    let loss = format!(
        "the drive's write cache acknowledges writes before they are on the medium: up to {mib} \
         MiB that were not flushed can be lost, in any order, when power fails. What a program \
         flushed (fsync) is safe."
    );
    let differs = with.len() < names.len();
    let who = if differs {
        format!("This is so in {}, not in the others.", with.join(", "))
    } else {
        "This is so in every arm: choosing between them changes nothing about it.".into()
    };
    Risk { sentence: format!("{loss} {who}"), differs }
}

/// What the write cache of a real drive means for data, by the states that inspections saw before
/// the runs.
pub fn seen(states: &BTreeSet<String>) -> Risk {
    let caching: Vec<&str> =
        states.iter().map(String::as_str).filter(|state| state.contains("write back")).collect();
    let differs = !caching.is_empty() && caching.len() < states.len();
    let when = if differs { " in some of the runs" } else { "" };
    let sentence = if states.is_empty() {
        "not known here: whether the drive acknowledges writes before they are on the medium (its \
         write cache) could not be seen."
            .into()
    } else if caching.is_empty() {
        "the drive says that it acknowledges no write before it is on the medium: a power cut \
         loses nothing that was acknowledged, if that is so."
            .into()
    } else {
        format!(
            "the drive's write cache is on{when}: what was not flushed can be lost, in any order, \
             when power fails. What a program flushed (fsync) is safe, if the drive keeps its \
             promise."
        )
    };
    Risk { sentence, differs }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_risk_is_that_of_the_cache_that_was_seen() {
        let check = |states: &[&str], expected: &str| {
            let risk = seen(&states.iter().map(|state| (*state).to_owned()).collect());
            assert!(risk.sentence.contains(expected), "{states:?}: {risk:?}");
            assert_eq!(risk.differs, states.len() > 1);
        };
        check(&[], "not known here");
        check(&["write through"], "loses nothing");
        check(&["write back"], "cache is on: what");
        check(&["write back", "write through"], "on in some of the runs");
    }
}
