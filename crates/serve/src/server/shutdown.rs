//! A shutdown that was requested while the drive's file is still open.

use std::fmt;
use std::io;

use super::{Backend, Server};
use crate::fuse::Mounted;

/// The unmounting of a file that processes had open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForcedUnmount {
    /// The processes.
    pub from: Vec<String>,
    /// The commands that would have released it.
    pub release: String,
    /// True if the kernel had written back its data when the server was asked to end.
    pub written_back: bool,
}

impl fmt::Display for ForcedUnmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.written_back {
            "the kernel had already written back its dirty pages"
        } else {
            "dirty pages of the kernel may be lost"
        };
        let (from, release) = (self.from.join(", "), &self.release);
        write!(
            f,
            "the drive went away while {from} had it open; {what}. Before Ctrl-C, run: {release} (or \
         allow more time with --grace)"
        )
    }
}

impl<B: Backend> Server<B> {
    /// Continues for a while as long as a process has the drive's file open, and makes the kernel
    /// write back its data; returns the unmounting that must then be forced.
    pub(super) fn wait_for_release(
        &mut self,
        report: &mut dyn FnMut(&str),
    ) -> io::Result<Option<ForcedUnmount>> {
        let Some(mounted) = self.fronts.fuse.as_ref().filter(|mounted| mounted.is_open()) else {
            return Ok(None);
        };
        let holders = mounted.holders();
        let grace = self.settings.grace;
        let (by, release) = (holders.names().join(", "), holders.release());
        report(&format!(
            "{by} still has the drive open; to release it: {release}\nthe kernel now writes back \
             dirty pages; the server ends when the drive is closed, at the latest in {grace} \
             (--grace); press Ctrl-C again to end it now"
        ));
        let mut write_back = holders.write_back();
        // The kernel's write-back arrives as requests, so the loop must run meanwhile.
        let until = self.clock.now() + grace;
        let mut events = Vec::with_capacity(64);
        let mut written_back = false;
        while self.clock.now() < until {
            self.poll_once(&mut events)?;
            self.report_incidents(report);
            written_back = written_back || write_back.is_done();
            if !self.fronts.fuse.as_ref().is_some_and(Mounted::is_open) {
                return Ok(None);
            }
        }
        // Asked again: others may have opened or closed it meanwhile.
        let holders = self.fronts.fuse.as_ref().map(Mounted::holders).unwrap_or_default();
        let (from, release) = (holders.names(), holders.release());
        Ok(Some(ForcedUnmount { from, release, written_back }))
    }
}
