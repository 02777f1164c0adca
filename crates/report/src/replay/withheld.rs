//! Conditions under which a replay gives no latency as that of the drive.

use drivelab_core::record::MarkId;
use drivelab_core::units::{Bytes, Span};
use serde::Serialize;

/// The facts of a replay that decide what it can state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Course {
    /// Requests that were replayed.
    pub requests: u64,
    /// Of them those that the drive refused.
    pub errors: u64,
    /// The end of the furthest request.
    pub furthest: Bytes,
    /// True if requests came at their recorded times.
    pub is_open: bool,
    /// Requests that waited for an answer at the same time, at most.
    pub unanswered_max: u64,
    /// The longest time from a request's arrival until the drive accepted it.
    pub late_max: Span,
    /// From the first recorded arrival to the last.
    pub recorded: Span,
    /// Virtual time that passed.
    pub elapsed: Span,
}

/// A reason to withhold the latencies and the score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Withheld {
    /// The mark, as that of a run.
    pub id: MarkId,
    /// A description of the problem.
    pub message: String,
    /// A remedy, as an imperative.
    pub hint: String,
}

/// More lateness than this is a full queue; as for a run with a rate.
const LATE: Span = Span::from_ms(1);

impl Course {
    /// The reasons to withhold the latencies.
    pub fn withheld(&self) -> Vec<Withheld> {
        [self.refused(), self.behind()].into_iter().flatten().collect()
    }

    /// The drive did other work than the recorded one.
    fn refused(&self) -> Option<Withheld> {
        let Self { requests, errors, furthest, .. } = self;
        (*errors > 0).then(|| Withheld {
            id: MarkId::Errors,
            message: format!(
                "{errors} of {requests} requests are past the end of the drive and were rejected: \
                 the others are not the recorded work"
            ),
            hint: format!("choose a drive of at least {} bytes", furthest.get()),
        })
    }

    /// Requests came faster than the drive served them: their latency is the length of the queue,
    /// which grows with the length of the trace.
    fn behind(&self) -> Option<Withheld> {
        let Self { requests, unanswered_max, .. } = *self;
        // As for a run with a rate: one in a hundred, and chance varies a count by its square root.
        let too_many = unanswered_max > (requests / 100).max(4 * requests.isqrt());
        let too_late = self.late_max > LATE.max(Span::from_ns(self.recorded.ns() / 100));
        (self.is_open && (too_many || too_late)).then(|| Withheld {
            id: MarkId::Late,
            message: format!(
                "the drive did not keep up with the trace: {unanswered_max} of {requests} requests \
                 waited at the same time, and requests recorded within {} took {}; their latency \
                 is that of the queue",
                self.recorded, self.elapsed
            ),
            hint: "replay on a faster drive, or one request at a time with `--loop closed`".into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hundred requests a second for 100 s.
    const COURSE: Course = Course {
        requests: 10_000,
        errors: 0,
        furthest: Bytes::new(1 << 40),
        is_open: true,
        unanswered_max: 20,
        late_max: Span::ZERO,
        recorded: Span::from_ms(100_000),
        elapsed: Span::from_ms(100_005),
    };

    fn check(course: Course, expected: &[MarkId]) {
        let found: Vec<MarkId> = course.withheld().iter().map(|reason| reason.id).collect();
        assert_eq!(found, expected, "{course:?}");
    }

    #[test]
    fn a_drive_that_keeps_up_and_refuses_nothing_has_a_latency() {
        check(COURSE, &[]);
        check(Course { unanswered_max: 400, late_max: Span::from_ms(1000), ..COURSE }, &[]);
        check(Course { requests: 3, unanswered_max: 3, recorded: Span::ZERO, ..COURSE }, &[]);
    }

    #[test]
    fn a_drive_that_falls_behind_has_none_in_an_open_loop() {
        check(Course { unanswered_max: 401, ..COURSE }, &[MarkId::Late]);
        check(Course { late_max: Span::from_ms(1001), ..COURSE }, &[MarkId::Late]);
        check(Course { unanswered_max: 401, is_open: false, ..COURSE }, &[]);
        // A burst of all requests at once.
        let burst = Course { requests: 200, recorded: Span::ZERO, ..COURSE };
        check(Course { unanswered_max: 200, ..burst }, &[MarkId::Late]);
    }

    #[test]
    fn one_refused_request_withholds_in_every_loop() {
        check(Course { errors: 1, is_open: false, ..COURSE }, &[MarkId::Errors]);
        let reason = &Course { errors: 1, ..COURSE }.withheld()[0];
        assert!(reason.message.starts_with("1 of 10000 requests"), "{reason:?}");
        assert!(reason.hint.contains("at least 1099511627776 bytes"), "{reason:?}");
    }
}
