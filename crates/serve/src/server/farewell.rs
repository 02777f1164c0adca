//! An end that was asked for while somebody still has the drive's file open.

use std::fmt;
use std::io;

use drivelab_core::Span;

use super::{Backend, Server};
use crate::fault::Incident;

/// Something that is worth a line while a server runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A fault was added, struck or was removed.
    Fault(Incident),
    /// The server was asked to end, and the drive's file is open.
    StillOpen {
        /// By whom.
        by: Vec<String>,
        /// What to type so that it is not.
        release: String,
        /// How long the server goes on.
        grace: Span,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(incident) => incident.fmt(f),
            Self::StillOpen { by, release, grace } => write!(
                f,
                "{} still has the drive open; to release it: {release}\nthe kernel now writes back \
                 dirty pages; the server ends when the drive is closed, or after {grace} \
                 (--grace); press Ctrl-C again to end it now",
                by.join(", ")
            ),
        }
    }
}

/// A file that was taken away from those who had it open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenAway {
    /// From whom.
    pub from: Vec<String>,
    /// What would have been to type before.
    pub release: String,
    /// The kernel had written back what it kept when the server was asked to end.
    pub written_back: bool,
}

impl<B: Backend> Server<B> {
    /// Goes on for a while as long as somebody has the drive's file open, and has the kernel write
    /// back what it keeps for them; says from whom it is then taken away.
    pub(super) fn say_farewell(
        &mut self,
        report: &mut dyn FnMut(Notice),
    ) -> io::Result<Option<TakenAway>> {
        let Some(mounted) = self.fuse.as_ref().filter(|mounted| mounted.is_open()) else {
            return Ok(None);
        };
        let holders = mounted.holders();
        let grace = self.settings.grace;
        let by = holders.names();
        report(Notice::StillOpen { by, release: holders.release(), grace });
        let mut write_back = holders.write_back();
        let until = self.clock.now() + grace;
        let mut events = Vec::with_capacity(64);
        let mut written_back = false;
        while self.clock.now() < until {
            self.turn(&mut events)?;
            self.report_incidents(report);
            written_back = written_back || write_back.is_done();
            if !self.fuse.as_ref().is_some_and(crate::fuse::Mounted::is_open) {
                return Ok(None);
            }
        }
        let holders = self.fuse.as_ref().map(crate::fuse::Mounted::holders).unwrap_or_default();
        let (from, release) = (holders.names(), holders.release());
        Ok(Some(TakenAway { from, release, written_back }))
    }
}
