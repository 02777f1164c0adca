//! Finished runs on their way into the archive.

use drivelab_archive::Entry;
use drivelab_core::record::Origin;
use drivelab_core::{Refusal, RefusalKind};

use super::Location;
use crate::interrupt;

/// The archive that keeps a finished run, and what is said of the run there.
#[derive(Debug, Clone, Default)]
pub struct Keep {
    /// The archive.
    pub location: Location,
    /// True if the run is not kept.
    pub is_off: bool,
    /// Words to find the run by.
    pub tags: Vec<String>,
    /// The commit of the thing that is tested.
    pub commit: Option<String>,
}

/// A run that could not be kept.
#[derive(Debug)]
pub struct NotKept {
    /// The reason.
    pub why: Refusal,
    /// True if an option asked for the archive by name.
    pub is_asked_for: bool,
}

impl Keep {
    /// Opens the archive before what is to be kept is made, where it was asked for by name: hours
    /// of a load are not begun for an archive that cannot be used.
    pub fn check(&self, label: Option<&str>) -> Result<(), Refusal> {
        if !self.is_asked_for(label) {
            return Ok(());
        }
        let opened = self.location.open().and_then(|mut archive| Ok(archive.check_writable()?));
        opened.map_err(|failure| {
            let context = "the run would not be archived, and was not started";
            failure
                .context(context)
                .with_kind(RefusalKind::Machine)
                .hint("or run without keeping it: --no-archive")
        })
    }

    /// True if an option is for the archive alone, or names the run to find it by.
    fn is_asked_for(&self, label: Option<&str>) -> bool {
        let is_named = self.location.0.is_some() || label.is_some();
        !self.is_off && (is_named || !self.tags.is_empty() || self.commit.is_some())
    }

    /// Keeps what is finished: a run, or a whole and behind it its parts.
    ///
    /// # Errors
    /// It could not be kept. Its figures are printed in any case.
    pub fn keep(&self, entries: Vec<Entry>) -> Result<(), NotKept> {
        if self.is_off {
            return Ok(());
        }
        let label = entries.first().and_then(|entry| entry.label.clone());
        // Parts are found through their whole, which alone is tagged.
        let entries = entries.into_iter().map(|entry| match entry.position {
            Some(_) => entry,
            None => Entry { tags: self.tags.clone(), commit: self.commit.clone(), ..entry },
        });
        let entries: Vec<Entry> = entries.collect();
        // A run that took hours is not lost to a signal while it is kept.
        let _whole = interrupt::shield();
        let kept = self.location.open().and_then(|mut archive| {
            // A study that is shown again with --resume is there already.
            let origin = entries.first().map(|entry| entry.origin);
            match origin {
                Some(Origin::Study | Origin::Matrix) => archive.keep_new(&entries).map(drop),
                _ => archive.keep(&entries),
            }
            .map_err(Refusal::from)
        });
        kept.map_err(|why| NotKept { why, is_asked_for: self.is_asked_for(label.as_deref()) })
    }
}
