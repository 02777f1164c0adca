//! The data that is written: new random data, or data that can be checked.

use std::io;

use drivelab_core::request::{Request, RequestId};

use super::TargetSetup;
use super::pattern;
use crate::verify::Ledger;

/// The source of the data of a job's writes, and its account of them.
#[derive(Debug)]
pub(crate) struct Contents {
    /// Number of sectors without a label written so far: no two are equal, and none is read again.
    written: u64,
    /// For a verified run: every sector identifies itself, and the account records the required
    /// content.
    ledger: Option<Ledger>,
}

impl Contents {
    pub(crate) fn new(job: &TargetSetup) -> Self {
        let ledger = job.account.as_ref().map(|it| Ledger::new(it.clone(), job.iodepth));
        Self { written: 0, ledger }
    }

    /// Returns true if `request` may be submitted before another has completed.
    #[inline]
    pub(crate) fn ready(&self, request: &Request) -> bool {
        self.ledger.as_ref().is_none_or(|ledger| ledger.ready(request))
    }

    #[inline]
    pub(crate) fn write(&mut self, request: &Request, data: &mut [u8]) {
        match &mut self.ledger {
            None => pattern::renew(data, &mut self.written),
            Some(ledger) => ledger.write(request, data),
        }
    }

    #[inline]
    pub(crate) fn flush(&mut self, request: &Request) {
        if let Some(ledger) = &mut self.ledger {
            ledger.flush(request);
        }
    }

    /// The request that was submitted as `id` was answered.
    #[inline]
    pub(crate) fn done(&mut self, id: RequestId, succeeded: bool) -> io::Result<()> {
        self.ledger.as_mut().map_or(Ok(()), |ledger| ledger.done(id, succeeded))
    }
}
