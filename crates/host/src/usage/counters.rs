//! The machine's counters around a measured run: stolen time, throttling, bytes moved.

use std::path::Path;

use drivelab_core::usage::{Counters, DeviceNumber, Ticks};

use crate::root::{ATTRIBUTE_BYTES_MAX, Node, Root, TABLE_BYTES_MAX};

/// Reads the counters; those of `device` if there is one.
pub(super) fn read(root: &Root, device: Option<DeviceNumber>) -> Counters {
    let stat = device.and_then(|number| root.node(&format!("sys/dev/block/{number}")));
    Counters {
        ticks: root.text("proc/stat", TABLE_BYTES_MAX).and_then(|stat| ticks(&stat)),
        throttled: heat(root).saturating_add(quotas(root)),
        moved_bytes: stat.as_ref().and_then(|node| moved_bytes(&node.lines("stat")?)),
        is_counted: stat.as_ref().and_then(is_counted),
    }
}

/// The first line of `/proc/stat` (`man 5 proc_stat`): the fourth number is idle time, the fifth
/// idle time with I/O in flight, the eighth stolen time, and the two after it are already included
/// in the first two.
fn ticks(stat: &str) -> Option<Ticks> {
    // With the blank, as the lines of single processors begin with `cpu0` and so on.
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let numbers: Vec<u64> =
        line.split_ascii_whitespace().take(8).filter_map(|number| number.parse().ok()).collect();
    let idle = numbers.get(3)?.checked_add(*numbers.get(4)?)?;
    let all = numbers.iter().try_fold(0_u64, |sum, number| sum.checked_add(*number))?;
    Some(Ticks { stolen: *numbers.get(7)?, idle, all })
}

/// Returns the number of times that the control groups of this process, and their parents, used up
/// their quota.
fn quotas(root: &Root) -> u64 {
    let list = root.text("proc/self/cgroup", TABLE_BYTES_MAX).unwrap_or_default();
    let files = list.lines().flat_map(statistics);
    let texts = files.filter_map(|file| root.text(&file, ATTRIBUTE_BYTES_MAX));
    texts.map(|text| throttles(&text)).fold(0, u64::saturating_add)
}

/// The files of a line of `/proc/self/cgroup` (`man 7 cgroups`), if its hierarchy controls the
/// processors: in the folders where it is usually mounted.
fn statistics(line: &str) -> Vec<String> {
    let parts = line.split_once(':').and_then(|(_, rest)| rest.split_once(':'));
    let Some((controllers, group)) = parts else { return Vec::new() };
    let unified = controllers.is_empty();
    if !unified && !controllers.split(',').any(|controller| controller == "cpu") {
        return Vec::new();
    }
    // Where distributions mount the unified hierarchy, and version 1.
    let hierarchies = if unified { ["", "unified"] } else { ["cpu", "cpu,cpuacct"] };
    let files = hierarchies.iter().flat_map(|hierarchy| {
        let above = Path::new(group).ancestors().filter_map(Path::to_str);
        above.map(move |group| format!("sys/fs/cgroup/{hierarchy}{group}/cpu.stat"))
    });
    files.collect()
}

/// Linux, `Documentation/admin-guide/cgroup-v2.rst`, and `scheduler/sched-bwc.rst` for version 1.
fn throttles(stat: &str) -> u64 {
    let line = stat.lines().find_map(|line| line.strip_prefix("nr_throttled "));
    line.and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// Returns the number of times that a core was throttled by heat; x86 counts this.
fn heat(root: &Root) -> u64 {
    let Some(cpus) = root.node("sys/devices/system/cpu") else { return 0 };
    let nodes = cpus.folders().into_iter().filter_map(|name| cpus.child(&name));
    let nodes = nodes.filter_map(|cpu| cpu.child("thermal_throttle"));
    let counts = nodes.filter_map(|node| node.number("core_throttle_count"));
    counts.fold(0, u64::saturating_add)
}

/// `iostats` of the queue; a partition has that of its disk.
fn is_counted(device: &Node<'_>) -> Option<bool> {
    // A partition has no queue.
    let queue = device.child("queue").or_else(|| device.parent()?.child("queue"))?;
    queue.flag("iostats")
}

/// Linux, `Documentation/block/stat.rst`: sectors of 512 bytes read and written.
fn moved_bytes(stat: &str) -> Option<u64> {
    let numbers: Vec<u64> =
        stat.split_ascii_whitespace().map_while(|number| number.parse().ok()).collect();
    numbers.get(2)?.checked_add(*numbers.get(6)?)?.checked_mul(512)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_are_read() {
        let stat = "cpu  1 2 3 4 5 6 7 8 100 100\ncpu0 1\n";
        assert_eq!(ticks(stat), Some(Ticks { stolen: 8, idle: 9, all: 36 }));
        assert_eq!(ticks("cpu  1 2 3\n"), None);
        assert_eq!(throttles("usage_usec 1\nnr_throttled 7\n"), 7);
        assert_eq!(moved_bytes("   10 0 16 5 20 0 32 9 0 1 2\n"), Some(48 * 512));
        assert_eq!(moved_bytes("1 2"), None);
        let most = u64::MAX;
        assert_eq!(ticks(&format!("cpu  1 2 3 {most} 5 6 7 8\n")), None);
        assert_eq!(moved_bytes(&format!("1 0 {most} 5 2 0 32 9")), None);
    }

    #[test]
    fn control_groups_are_asked_up_to_the_root() {
        let check = |line, expected: &[&str]| {
            let files: Vec<String> =
                expected.iter().map(|file| format!("sys/fs/cgroup/{file}/cpu.stat")).collect();
            assert_eq!(statistics(line), files, "{line}");
        };
        check("0::/a/b", &["/a/b", "/a", "/", "unified/a/b", "unified/a", "unified/"]);
        check("4:cpu,cpuacct:/a", &["cpu/a", "cpu/", "cpu,cpuacct/a", "cpu,cpuacct/"]);
        check("3:cpuset:/a", &[]);
        check("nonsense", &[]);
    }
}
