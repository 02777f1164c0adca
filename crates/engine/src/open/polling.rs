//! Whether completions can be looked for instead of waited for.

use std::fs;

use drivelab_core::workload::Workload;

/// Why a target's completions cannot be polled, and what to type next; `None` where they can.
///
/// `device` is the number of the device that the target is or lies on.
pub(super) fn refusal(
    workload: &Workload,
    direct: bool,
    device: (u32, u32),
) -> Option<(String, String)> {
    let only = |what: &str, instead: &str| Some((what.to_owned(), instead.to_owned()));
    if !direct {
        return only("the page cache raises no completions to look for", "leave `--direct=0` out");
    }
    if workload.fsync > 0 || workload.rw.trims() {
        return only("a polled ring takes reads and writes only", "leave `--hipri` out");
    }
    let (major, minor) = device;
    // A partition has the queue of its disk.
    let places = ["queue", "../queue"]
        .map(|queue| format!("/sys/dev/block/{major}:{minor}/{queue}/io_poll"));
    of_queue(places.iter().find_map(|place| fs::read_to_string(place).ok()).as_deref())
}

/// Linux, `Documentation/ABI/stable/sysfs-block`: `io_poll` is 1 where the queue can be polled.
fn of_queue(io_poll: Option<&str>) -> Option<(String, String)> {
    let (what, instead) = match io_poll.map(str::trim) {
        Some("1") => return None,
        Some(_) => (
            "the device's driver has set no queues aside for polling",
            "boot with `nvme.poll_queues=2` or `virtio_blk.poll_queues=1`, or leave `--hipri` out",
        ),
        None => ("no block device lies directly under it", "leave `--hipri` out"),
    };
    Some((what.to_owned(), instead.to_owned()))
}

#[cfg(test)]
mod tests {
    use drivelab_core::workload::{Rw, WorkloadOptions};

    use super::*;

    #[test]
    fn only_a_queue_that_says_so_is_polled() {
        assert_eq!(of_queue(Some("1\n")), None);
        assert!(of_queue(Some("0\n")).unwrap().1.contains("poll_queues"));
        assert!(of_queue(None).unwrap().0.contains("no block device"));
    }

    #[test]
    fn what_never_completes_by_polling_is_refused_before_the_queue_is_asked() {
        let check = |rw, fsync, direct, expected: &str| {
            let options = WorkloadOptions { rw: Some(rw), fsync, ..Default::default() };
            let what = refusal(&options.check().unwrap(), direct, (0, 0)).unwrap().0;
            assert!(what.contains(expected), "{what}");
        };
        check(Rw::RandRead, None, false, "page cache");
        check(Rw::RandWrite, Some(1), true, "reads and writes only");
        check(Rw::Trim, None, true, "reads and writes only");
        check(Rw::RandRead, None, true, "no block device");
    }
}
