//! Whether completions can be looked for instead of waited for.

use drivelab_core::workload::Workload;

/// Why a target's completions cannot be polled, and what to type next; `None` where they can.
///
/// `is_polled` is what the queue of the disk says that the target is or lies on, if it has one.
pub(super) fn refusal(
    workload: &Workload,
    direct: bool,
    is_polled: Option<bool>,
) -> Option<(String, String)> {
    let only = |what: &str, instead: &str| Some((what.to_owned(), instead.to_owned()));
    if !direct {
        return only("the page cache has no completions to poll", "omit `--direct=0`");
    }
    if workload.fsync > 0 || workload.rw.trims() {
        return only("a polled ring supports reads and writes only", "omit `--hipri`");
    }
    match is_polled {
        Some(true) => None,
        Some(false) => only(
            "the device's driver has no poll queues",
            "boot with `nvme.poll_queues=2` or `virtio_blk.poll_queues=1`, or omit `--hipri`",
        ),
        None => only("it is not directly on a block device", "omit `--hipri`"),
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::workload::{Rw, WorkloadOptions};

    use super::*;

    #[test]
    fn only_a_queue_that_says_so_is_polled() {
        let reads = WorkloadOptions::default().check().unwrap();
        assert_eq!(refusal(&reads, true, Some(true)), None);
        assert!(refusal(&reads, true, Some(false)).unwrap().1.contains("poll_queues"));
        assert!(refusal(&reads, true, None).unwrap().0.contains("not directly on a block device"));
    }

    #[test]
    fn what_never_completes_by_polling_is_refused_before_the_queue_is_asked() {
        let check = |rw, fsync, direct, expected: &str| {
            let options = WorkloadOptions { rw: Some(rw), fsync, ..Default::default() };
            let what = refusal(&options.check().unwrap(), direct, None).unwrap().0;
            assert!(what.contains(expected), "{what}");
        };
        check(Rw::RandRead, None, false, "page cache");
        check(Rw::RandWrite, Some(1), true, "reads and writes only");
        check(Rw::Trim, None, true, "reads and writes only");
        check(Rw::RandRead, None, true, "not directly on a block device");
    }
}
