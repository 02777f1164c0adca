//! The ways in which requests reach the kernel.

use serde::{Deserialize, Serialize};

use crate::choice_as_text;
use crate::config::Choice;

/// A way of doing I/O, under fio's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoEngine {
    /// Many requests at once through a ring shared with the kernel.
    IoUring,
    /// Many requests at once through Linux AIO, which is asynchronous without the page cache only.
    Libaio,
    /// `pread` and `pwrite`: one request at a time.
    Psync,
    /// `preadv` and `pwritev`: one request at a time.
    Pvsync,
    /// `preadv2` and `pwritev2`: one request at a time.
    Pvsync2,
    /// Requests that do no I/O and complete at once: the cost of the loop itself.
    Null,
}

impl Choice for IoEngine {
    const WHAT: &'static str = "`ioengine`";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("io_uring", Self::IoUring),
        ("libaio", Self::Libaio),
        ("psync", Self::Psync),
        ("pvsync", Self::Pvsync),
        ("pvsync2", Self::Pvsync2),
        ("null", Self::Null),
    ];
}
choice_as_text!(IoEngine);

impl IoEngine {
    /// True if a system call performs a request: one is outstanding at a time.
    pub const fn is_synchronous(self) -> bool {
        matches!(self, Self::Psync | Self::Pvsync | Self::Pvsync2)
    }
}

/// Polling on the way to a target and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Polling {
    /// The engine polls for completions, without interrupts (`IORING_SETUP_IOPOLL`; fio's `hipri`).
    /// The device must have poll queues.
    pub completions: bool,
    /// A kernel thread polls for requests, so that submitting them takes no system call
    /// (`IORING_SETUP_SQPOLL`; fio's `sqthread_poll`). It uses a whole processor.
    pub submissions: bool,
}

impl Polling {
    /// The kinds of polling, under fio's names.
    pub fn names(self) -> Vec<String> {
        let asked = [(self.completions, "hipri"), (self.submissions, "sqthread_poll")];
        asked.iter().filter(|(asked, _)| *asked).map(|(_, name)| (*name).to_owned()).collect()
    }
}
