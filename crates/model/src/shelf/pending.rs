//! A request with outstanding parts.

use drivelab_core::{Completion, IoError, RequestId, ServedBy, Time};

/// A request with outstanding parts.
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

    /// Completes one part.
    ///
    /// The request counts as served by its least durable part: a volatile cache, else the medium.
    pub(crate) fn add(&mut self, result: Result<(), IoError>, served_by: ServedBy) {
        debug_assert!(self.left > 0, "a part completes twice");
        self.left -= 1;
        self.result = self.result.and(result);
        if self.served_by.is_none_or(|known| volatility(served_by) > volatility(known)) {
            self.served_by = Some(served_by);
        }
    }

    /// Fails the request because of a step that is not one of its parts.
    pub(crate) fn fail(&mut self, error: IoError) {
        self.result = self.result.and(Err(error));
    }

    pub(crate) fn completion(&self, at: Time) -> Completion {
        debug_assert_eq!(self.left, 0, "a part is outstanding");
        let served_by = self.served_by.unwrap_or(ServedBy::Unknown);
        Completion { id: self.id, at, result: self.result, served_by }
    }
}

/// The rank of a component by the risk of its data.
fn volatility(served_by: ServedBy) -> u8 {
    match served_by {
        ServedBy::DriveWriteCache => 3,
        ServedBy::Medium => 2,
        ServedBy::DriveReadCache => 1,
        ServedBy::Unknown => 0,
    }
}
