//! The known traps.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Step;

/// A trap and its state on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trap {
    /// Its id.
    pub id: TrapId,
    /// The published comparisons that it concerns, as `show article:N` numbers them.
    pub articles: Vec<u32>,
    /// Its state.
    pub state: State,
    /// The drives that it concerns.
    pub disks: Vec<String>,
    /// The setting that applies here, or the condition that a measurement must observe.
    pub message: String,
    /// The sources of the message.
    pub evidence: Vec<String>,
    /// Commands that settle the question on this machine.
    pub settle: Vec<Step>,
}

/// The state of a trap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// A setting of this machine is as it was in the comparison that was misled.
    Applies,
    /// Nothing is set wrongly; a benchmark run as in that comparison would be misled here too.
    Beware,
    /// No drive of this machine is concerned.
    Clear,
}

/// Declares the traps, each with the name that scripts know and the articles that it concerns.
macro_rules! traps {
    ($($(#[$doc:meta])+ $id:ident = $name:literal, [$($article:literal),*],)+) => {
        /// The traps, in the order in which they are shown.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum TrapId { $($(#[$doc])+ #[serde(rename = $name)] $id,)+ }

        impl TrapId {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$id,)+];

            /// The published comparisons that it concerns.
            pub fn articles(self) -> Vec<u32> {
                match self { $(Self::$id => vec![$($article),*],)+ }
            }
        }

        impl fmt::Display for TrapId {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $(Self::$id => $name,)+ })
            }
        }
    };
}

traps! {
    /// A SATA drive is driven as an IDE one.
    IdeMode = "ide-mode", [0, 1, 4],
    /// RAID firmware stands between the kernel and the drive.
    RaidMode = "raid-mode", [1, 3],
    /// The drive could take more commands than it gets.
    TagsUnused = "tags-unused", [2, 4],
    /// The link is slower than both its ends.
    LinkSpeed = "link-speed", [1],
    /// The elevator has too few requests to sort, or does not suit the drive.
    Elevator = "elevator", [0, 1],
    /// Several drives share a bus that is slower than all of them together.
    SharedBus = "shared-bus", [3],
    /// The state of the write cache decides the result, and what a power failure takes.
    WriteCache = "write-cache", [3, 4],
    /// Another program uses the drive.
    OtherLoad = "other-load", [4],
    /// The host's memory answers instead of the drive.
    PageCache = "page-cache", [0, 1, 2],
    /// A test reads only the beginning of a rotating disk.
    FirstGigabytes = "first-gigabytes", [2],
    /// A tool sends one request at a time, so that it cannot see a queue.
    OneAtATime = "one-at-a-time", [4],
    /// One run, or the best of several, shows no variation.
    SingleRun = "single-run", [0, 1, 2, 3, 4],
}
