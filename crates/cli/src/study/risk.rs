//! What a study's settings risk when power fails, in sentences.

use drivelab_core::units::Bytes;

/// The state of the drive's write cache in one arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WriteCache {
    /// How much it acknowledges before the medium has it; `None` where it is off.
    pub(super) size: Option<Bytes>,
}

/// What the write caches of the arms mean for data, `names` and `caches` alike in order.
pub(super) fn sentences(names: &[&str], caches: &[WriteCache]) -> Vec<String> {
    let with: Vec<&str> = names
        .iter()
        .zip(caches)
        .filter(|(_, cache)| cache.size.is_some())
        .map(|(name, _)| *name)
        .collect();
    let Some(size) = caches.iter().filter_map(|cache| cache.size).max() else {
        return vec![
            "no arm's drive acknowledges a write before it is on the medium: a power cut loses \
             nothing that was acknowledged."
                .into(),
        ];
    };
    let mib = size.get() >> 20;
    let loss = format!(
        "the drive's write cache acknowledges writes before they are on the medium: up to {mib} \
         MiB that were not flushed can be lost, in any order, when power fails. What a program \
         flushed (fsync) is safe."
    );
    let who = if with.len() == names.len() {
        "This is so in every arm: choosing between them changes nothing about it.".into()
    } else {
        format!("This is so in {}, not in the others.", with.join(", "))
    };
    vec![format!("{loss} {who}")]
}
