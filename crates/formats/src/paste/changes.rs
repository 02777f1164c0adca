//! The parts of a text that were replaced or skipped.

use drivelab_core::counted;

/// Numbers of the parts that were replaced or skipped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// The encoding, if it is not UTF-8.
    pub(super) encoding: Option<&'static str>,
    /// Sequences of bytes that are no characters.
    pub(super) damaged: u64,
    /// Replacement characters, which an earlier conversion left.
    pub(super) lost: u64,
    pub(super) controls: u64,
    pub(super) escapes: u64,
    pub(super) overwritten: u64,
    pub(super) quoted: u64,
    pub(super) fences: u64,
    pub(super) comments: u64,
    pub(super) prompts: u64,
    pub(super) stamps: u64,
}

impl Changes {
    /// One sentence; `None` where nothing was changed.
    pub(super) fn note(&self) -> Option<String> {
        let skipped = [
            (self.controls, "control character", "control characters"),
            (self.escapes, "escape sequence", "escape sequences"),
            (self.overwritten, "overwritten part of a line", "overwritten parts of lines"),
            (self.quoted, "quotation mark of a mail", "quotation marks of a mail"),
            (self.fences, "fence of a code block", "fences of a code block"),
            (self.comments, "mark of a comment", "marks of a comment"),
            (self.prompts, "prompt", "prompts"),
            (self.stamps, "time before a line", "times before lines"),
        ];
        let skipped = skipped.into_iter().filter(|(count, ..)| *count > 0);
        let skipped = skipped
            .map(|(count, one, more)| format!("{count} {}", if count == 1 { one } else { more }));
        let skipped: Vec<String> = skipped.collect();
        let encoding = self.encoding.map(|name| format!("read as {name}"));
        let damaged = (self.damaged > 0).then(|| {
            let are = if self.damaged == 1 { "is" } else { "are" };
            let count = counted(self.damaged, "sequence");
            format!("replaced {count} of bytes that {are} not UTF-8 by `?`")
        });
        let lost = (self.lost > 0).then(|| {
            let count = counted(self.lost, "character");
            format!("replaced {count} that an earlier conversion had lost by `?`")
        });
        let skipped = (!skipped.is_empty()).then(|| format!("skipped {}", skipped.join(", ")));
        let parts: Vec<String> = [encoding, damaged, lost, skipped].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| format!("Of the text: {}.", parts.join("; ")))
    }
}
