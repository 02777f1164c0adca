//! What is written: fresh random data, or data that can be checked.

use std::io;

use drivelab_core::request::{Request, RequestId};

use super::TargetSetup;
use super::pattern;
use crate::verify::Ledger;

/// Where the data of a job's writes come from, and who keeps account of them.
#[derive(Debug)]
pub(crate) enum Contents {
    /// No two sectors are alike; nobody looks at them again.
    Fresh {
        /// Sectors written so far.
        written: u64,
    },
    /// Every sector says what it is, and the account says what must be there.
    Verified(Ledger),
}

impl Contents {
    /// What `job` writes.
    pub(crate) fn new(job: &TargetSetup) -> Self {
        match &job.books {
            None => Self::Fresh { written: 0 },
            Some(books) => Self::Verified(Ledger::new(books.clone(), job.iodepth)),
        }
    }

    /// Whether `request` may be handed over before another has completed.
    #[inline]
    pub(crate) fn ready(&self, request: &Request) -> bool {
        match self {
            Self::Fresh { .. } => true,
            Self::Verified(ledger) => ledger.ready(request),
        }
    }

    /// Makes the data of a write that is about to be handed over.
    #[inline]
    pub(crate) fn write(&mut self, request: &Request, data: &mut [u8]) {
        match self {
            Self::Fresh { written } => pattern::renew(data, written),
            Self::Verified(ledger) => ledger.write(request, data),
        }
    }

    /// A flush is about to be handed over.
    #[inline]
    pub(crate) fn flush(&mut self, request: &Request) {
        if let Self::Verified(ledger) = self {
            ledger.flush(request);
        }
    }

    /// The request that was handed over as `id` was answered.
    ///
    /// # Errors
    /// The account cannot be kept.
    #[inline]
    pub(crate) fn done(&mut self, id: RequestId, succeeded: bool) -> io::Result<()> {
        match self {
            Self::Fresh { .. } => Ok(()),
            Self::Verified(ledger) => ledger.done(id, succeeded),
        }
    }
}
