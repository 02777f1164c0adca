//! Cells that are one line of a figure.

/// Cells that differ only in their block size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// Share of random addresses, in percent.
    pub random: u32,
    /// Threads on each drive.
    pub threads: u32,
    /// Share of reads, in percent.
    pub read: u32,
}

impl Group {
    /// True if the position of sequential threads matters: there are several, each with its
    /// own position or all with one.
    pub(super) fn has_cursors(self) -> bool {
        self.random == 0 && self.threads > 1
    }

    /// Its name for scripts: `sequential-read-20`, `random-mixed50-1`.
    pub fn name(&self) -> String {
        let order = match self.random {
            0 => "sequential".to_owned(),
            100 => "random".to_owned(),
            share => format!("random{share}"),
        };
        let kind = match self.read {
            100 => "read".to_owned(),
            0 => "write".to_owned(),
            share => format!("mixed{share}"),
        };
        format!("{order}-{kind}-{}", self.threads)
    }

    /// Its description for people.
    pub fn words(&self) -> String {
        let kind = match self.read {
            100 => "reads".to_owned(),
            0 => "writes".to_owned(),
            share => format!("{share} % reads"),
        };
        format!("{} {kind}, {} a drive", order(self.random), plural(self.threads))
    }
}

/// A number of threads in words.
pub fn plural(threads: u32) -> String {
    if threads == 1 { "1 thread".into() } else { format!("{threads} threads") }
}

/// A share of random addresses in words.
pub fn order(random: u32) -> String {
    match random {
        0 => "sequential".into(),
        100 => "random".into(),
        share => format!("{share} % random"),
    }
}
