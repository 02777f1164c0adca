//! What a study's settings risk when power fails, in sentences.

use std::collections::BTreeSet;

use drivelab_core::units::Bytes;

/// The state of the drive's write cache in one arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteCache {
    /// How much it acknowledges before the medium has it; `None` where it is off.
    pub size: Option<Bytes>,
}

/// What the write caches of the arms mean for data, `names` and `caches` alike in order.
pub fn sentences(names: &[&str], caches: &[WriteCache]) -> Vec<String> {
    let with: Vec<&str> = names
        .iter()
        .zip(caches)
        .filter(|(_, cache)| cache.size.is_some())
        .map(|(name, _)| *name)
        .collect();
    let Some(size) = caches.iter().filter_map(|cache| cache.size).max() else {
        return vec![
            "in no arm does the drive acknowledge a write before it is on the medium: a power cut \
             loses no acknowledged write."
                .into(),
        ];
    };
    let mib = size.get() >> 20;
    let loss = format!(
        "the drive's write cache acknowledges writes before they are on the medium: a power \
         failure can lose up to {mib} MiB of unflushed writes, in any order. Data that a program \
         flushed (fsync) is safe."
    );
    let who = if with.len() == names.len() {
        "This applies to every arm and does not depend on the choice.".into()
    } else {
        format!("This applies to {} only.", with.join(", "))
    };
    vec![format!("{loss} {who}")]
}

/// What the write cache of a real drive means for data, by the states that inspections saw before
/// the runs.
pub fn seen(states: &BTreeSet<String>) -> String {
    if states.is_empty() {
        return "unknown: drivelab could not find out whether the drive acknowledges writes before \
                they are on the medium (write cache)."
            .into();
    }
    let caching: Vec<&str> =
        states.iter().map(String::as_str).filter(|state| state.contains("write back")).collect();
    if caching.is_empty() {
        return "the drive reports its write cache as off: if that is true, a power cut loses no \
                acknowledged write."
            .into();
    }
    let when = if caching.len() < states.len() { " in some of the runs" } else { "" };
    format!(
        "the drive's write cache is on{when}: a power failure can lose unflushed writes, in any \
         order. Data that a program flushed (fsync) is safe if the drive honours flushes."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_risk_is_that_of_the_cache_that_was_seen() {
        let check = |states: &[&str], expected: &str| {
            let sentence = seen(&states.iter().map(|state| (*state).to_owned()).collect());
            assert!(sentence.contains(expected), "{states:?}: {sentence}");
        };
        check(&[], "unknown: drivelab could not find out");
        check(&["write through"], "loses no acknowledged write");
        check(&["write back"], "cache is on: a power failure");
        check(&["write back", "write through"], "on in some of the runs");
    }
}
