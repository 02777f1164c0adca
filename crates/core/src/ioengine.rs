//! Which way requests reach the kernel.

use crate::choice_as_text;
use crate::config::Choice;

/// A way of doing I/O, under fio's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoEngine {
    /// Many requests at once through a ring shared with the kernel.
    IoUring,
    /// `pread` and `pwrite`: one request at a time.
    Psync,
    /// Requests that reach nothing and are done at once: what the loop itself costs.
    Null,
}

impl Choice for IoEngine {
    const WHAT: &'static str = "way of doing I/O (`ioengine`)";
    const NAMES: &'static [(&'static str, Self)] =
        &[("io_uring", Self::IoUring), ("psync", Self::Psync), ("null", Self::Null)];
}
choice_as_text!(IoEngine);
