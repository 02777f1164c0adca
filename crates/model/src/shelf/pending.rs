//! A request of which parts are still to be done.

use drivelab_core::{Completion, IoError, RequestId, ServedBy, Time};

/// A request of which parts are still to be done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pending {
    id: RequestId,
    pub(crate) left: usize,
    result: Result<(), IoError>,
    served_by: Option<ServedBy>,
}

impl Pending {
    pub(crate) fn new(id: RequestId, left: usize) -> Self {
        Self { id, left, result: Ok(()), served_by: None }
    }

    /// One part is done.
    ///
    /// The whole is what its least safe part is: volatile where any part is, else off the medium
    /// where any part is.
    pub(crate) fn add(&mut self, result: Result<(), IoError>, served_by: ServedBy) {
        debug_assert!(self.left > 0, "a part too many is done");
        self.left -= 1;
        self.result = self.result.and(result);
        let rank = |by: ServedBy| match by {
            ServedBy::DriveWriteCache => 3,
            ServedBy::Medium => 2,
            ServedBy::DriveReadCache => 1,
            ServedBy::Unknown => 0,
        };
        if self.served_by.is_none_or(|known| rank(served_by) > rank(known)) {
            self.served_by = Some(served_by);
        }
    }

    /// A step before a part failed: so does the whole.
    pub(crate) fn fail(&mut self, error: IoError) {
        self.result = self.result.and(Err(error));
    }

    pub(crate) fn completion(&self, at: Time) -> Completion {
        debug_assert_eq!(self.left, 0, "a part is still to be done");
        let served_by = self.served_by.unwrap_or(ServedBy::Unknown);
        Completion { id: self.id, at, result: self.result, served_by }
    }
}
