//! The risks of a study's settings in a power failure, in sentences.

use std::collections::BTreeSet;

use drivelab_core::outline::Risk;
use drivelab_core::units::Bytes;

/// The state of the drive's write cache in one arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteCache {
    /// The amount that it acknowledges before the medium has it; `None` where it is off.
    pub size: Option<Bytes>,
}

/// The risk of the arms' write caches for data; `names` and `caches` are in one order.
pub fn modelled(names: &[&str], caches: &[WriteCache]) -> Risk {
    let with: Vec<&str> = names
        .iter()
        .zip(caches)
        .filter(|(_, cache)| cache.size.is_some())
        .map(|(name, _)| *name)
        .collect();
    let Some(size) = caches.iter().filter_map(|cache| cache.size).max() else {
        let sentence = "in no arm does the drive acknowledge a write before it is on the medium: a power cut \
             loses no acknowledged write.";
        return Risk { sentence: sentence.into(), differs: false };
    };
    let mib = size.get() >> 20;
    let loss = format!(
        "the drive's write cache acknowledges writes before they are on the medium: a power \
         failure can lose up to {mib} MiB of unflushed writes, in any order. Data that a program \
         flushed (fsync) is safe."
    );
    let differs = with.len() < names.len();
    let who = if differs {
        format!("This applies to {} only.", with.join(", "))
    } else {
        "This applies to every arm and does not depend on the choice.".into()
    };
    Risk { sentence: format!("{loss} {who}"), differs }
}

/// The risk of a real drive's write cache for data, by the states that inspections saw before the
/// runs.
pub fn seen(states: &BTreeSet<String>) -> Risk {
    let caching: Vec<&str> =
        states.iter().map(String::as_str).filter(|state| state.contains("write back")).collect();
    let differs = !caching.is_empty() && caching.len() < states.len();
    let when = if differs { " in some of the runs" } else { "" };
    let sentence = if states.is_empty() {
        "unknown: drivelab could not find out whether the drive acknowledges writes before \
                they are on the medium (write cache)."
            .into()
    } else if caching.is_empty() {
        "the drive reports its write cache as off: if that is true, a power cut loses no \
                acknowledged write."
            .into()
    } else {
        format!(
            "the drive's write cache is on{when}: a power failure can lose unflushed writes, in any \
         order. Data that a program flushed (fsync) is safe if the drive honours flushes."
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
        check(&[], "unknown: drivelab could not find out");
        check(&["write through"], "loses no acknowledged write");
        check(&["write back"], "cache is on: a power failure");
        check(&["write back", "write through"], "on in some of the runs");
    }
}
