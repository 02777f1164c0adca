//! The call that a request is charged to: the one that was waiting when it was made.

use drivelab_guest::cost::{Call, CallKind};

use super::holds::Holds;
use super::meter::Metered;

/// The calls of requests, one for each, and how many of them had a choice.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Charged {
    /// The index of the call; none for what the kernel did on its own account.
    pub(super) calls: Vec<Option<usize>>,
    /// Requests that were made while several calls waited.
    pub(super) several: u64,
}

/// Charges each request, of which `holds` is the first part, to a call. `names` are those that the
/// calls' files have in the end.
pub(super) fn charge(
    requests: &[Metered],
    holds: &[Option<&Holds>],
    (calls, names): (&[Call], &[String]),
) -> Charged {
    assert_eq!(calls.len(), names.len(), "one for each call");
    debug_assert!(calls.is_sorted_by_key(|call| call.window.0), "in the order of their beginning");
    assert_eq!(requests.len(), holds.len(), "one for each request");
    let mut charged = Charged::default();
    let mut next = 0;
    let mut open: Vec<usize> = Vec::new();
    for (request, holds) in requests.iter().zip(holds) {
        while calls.get(next).is_some_and(|call| call.window.0 <= request.at) {
            open.push(next);
            next += 1;
        }
        open.retain(|index| calls[*index].window.1 >= request.at);
        charged.several += u64::from(open.len() > 1);
        charged.calls.push(best(&open, (calls, names), *holds));
    }
    charged
}

/// Returns the most likely of the calls that wait: one that syncs, on the same file, the earliest.
fn best(
    open: &[usize],
    (calls, names): (&[Call], &[String]),
    holds: Option<&Holds>,
) -> Option<usize> {
    open.iter().copied().min_by_key(|index| {
        let call = &calls[*index];
        let is_of_file = matches!(holds, Some(Holds::File(path)) if *path == names[*index]);
        let is_sync = call.kind == CallKind::Sync;
        let looks = call.kind == CallKind::Other;
        (!is_of_file, !is_sync, looks, *index)
    })
}

#[cfg(test)]
mod tests {
    use drivelab_core::{Lba, Op, Sectors, Time};

    use super::*;

    fn call(path: &str, kind: CallKind, from: u64, to: u64) -> Call {
        Call {
            process: "app".into(),
            window: (Time::from_ns(from), Time::from_ns(to)),
            name: "x".into(),
            kind,
            path: path.into(),
            from: None,
            bytes: 0,
            offset: None,
            stack: Vec::new(),
        }
    }

    fn request(at: u64) -> Metered {
        let (lba, sectors) = (Lba::ZERO, Sectors::ZERO);
        let at = Time::from_ns(at);
        Metered { at, op: Op::Flush, lba, sectors, fua: false, heads: Vec::new() }
    }

    #[test]
    fn a_request_belongs_to_the_call_that_waits() {
        let calls = [
            call("a", CallKind::Sync, 10, 20),
            call("b", CallKind::Write, 30, 60),
            call("c", CallKind::Sync, 40, 50),
        ];
        let requests = [5, 10, 20, 25, 35, 45, 55, 70].map(request);
        let names: Vec<String> = calls.iter().map(|call| call.path.clone()).collect();
        let found = charge(&requests, &[None; 8], (&calls, &names));
        let expected = [None, Some(0), Some(0), None, Some(1), Some(2), Some(1), None];
        assert_eq!((found.calls.as_slice(), found.several), (expected.as_slice(), 1));
        let data = Holds::File("b".into());
        let of_file = charge(&[request(45)], &[Some(&data)], (&calls, &names));
        assert_eq!(of_file.calls, [Some(1)], "the contents decide between two calls");
    }
}
