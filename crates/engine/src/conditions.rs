//! What else went on while a run was measured: stolen time, throttling, other I/O on the device.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use drivelab_core::record::{Mark, MarkId};

/// More than this share of the processors' time that the hypervisor gave to others is told.
const STOLEN_PERCENT: u64 = 1;
/// More than this share of foreign data on the device is told: a file system's journal stays below.
const OTHERS_PERCENT: u64 = 5;
/// Less than this is left alone: a few requests of the run's own lie on either side of the edges.
const OTHERS_BYTES: u64 = 16 << 20;

/// The machine's counters at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Stolen ticks, and all.
    ticks: Option<(u64, u64)>,
    /// How often processors were slowed down, by heat or by the limits of a control group.
    throttled: u64,
    /// Bytes that the device moved.
    moved: Option<u64>,
}

/// Reads the counters; those of `device` where there is one.
fn counters(device: Option<(u32, u32)>) -> Counters {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let stat = device.map(|(major, minor)| read(&format!("/sys/dev/block/{major}:{minor}/stat")));
    Counters {
        ticks: ticks(&read("/proc/stat")),
        throttled: heat() + groups().iter().map(|folder| limits(folder)).sum::<u64>(),
        moved: stat.and_then(|stat| moved(&stat)),
    }
}

/// Counters of groups of jobs that begin and end at about the same time.
#[derive(Debug)]
pub(crate) struct Noted {
    groups: Vec<(Option<Counters>, Option<Counters>)>,
    /// The last reading at a beginning and at an end, of which device, and when.
    last: [Option<Reading>; 2],
}

#[derive(Debug, Clone, Copy)]
struct Reading {
    device: Option<(u32, u32)>,
    at: Instant,
    counters: Counters,
}

/// One reading serves all that begin, or end, within this time: it takes some forty files, which a
/// thousand jobs that each read them would wait for.
const TOGETHER: Duration = Duration::from_millis(20);

impl Noted {
    pub(crate) fn new(groups: usize) -> Self {
        Self { groups: vec![(None, None); groups], last: [None; 2] }
    }

    /// Notes what is counted now: at the beginning of a job of `group`, or at its end.
    pub(crate) fn note(&mut self, group: usize, device: Option<(u32, u32)>, begins: bool) {
        let (begin, end) = &mut self.groups[group];
        if begins && begin.is_some() {
            return;
        }
        let last = &mut self.last[usize::from(begins)];
        let serves = |it: &Reading| it.device == device && it.at.elapsed() < TOGETHER;
        let reading = last.filter(serves).unwrap_or_else(|| Reading {
            device,
            counters: counters(device),
            at: Instant::now(),
        });
        *last = Some(reading);
        *(if begins { begin } else { end }) = Some(reading.counters);
    }

    /// What was counted at the beginning and at the end of each group that had both.
    pub(crate) fn around(self) -> Vec<Option<(Counters, Counters)>> {
        self.groups.into_iter().map(|(begin, end)| begin.zip(end)).collect()
    }
}

/// The first line of `/proc/stat` (`man 5 proc_stat`): the eighth number is stolen time, and the
/// two behind it are in the first two already.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let numbers: Vec<u64> =
        line.split_ascii_whitespace().take(8).filter_map(|number| number.parse().ok()).collect();
    Some((*numbers.get(7)?, numbers.iter().sum()))
}

/// The folders of the control groups that this process is in, the groups around them included.
fn groups() -> Vec<PathBuf> {
    let list = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_line = |line: &str| -> Vec<PathBuf> {
        let Some((hierarchies, path)) = group(line) else { return Vec::new() };
        let each = hierarchies.iter().flat_map(|hierarchy| {
            let above = path.ancestors().map(|group| group.strip_prefix("/").unwrap_or(group));
            above.map(move |group| Path::new("/sys/fs/cgroup").join(hierarchy).join(group))
        });
        each.collect()
    };
    list.lines().flat_map(of_line).collect()
}

/// A line of `/proc/self/cgroup` (`man 7 cgroups`), where its hierarchy shares out processors: the
/// folders that it is mounted at by custom, and the group.
fn group(line: &str) -> Option<(&'static [&'static str], &Path)> {
    let (_, rest) = line.split_once(':')?;
    let (controllers, path) = rest.split_once(':')?;
    let unified = controllers.is_empty();
    if !unified && !controllers.split(',').any(|controller| controller == "cpu") {
        return None;
    }
    let hierarchies: &[&str] = if unified { &["", "unified"] } else { &["cpu", "cpu,cpuacct"] };
    Some((hierarchies, Path::new(path)))
}

/// How often the group in this folder used its quota up.
fn limits(folder: &Path) -> u64 {
    fs::read_to_string(folder.join("cpu.stat")).map_or(0, |stat| throttles(&stat))
}

/// Linux, `Documentation/admin-guide/cgroup-v2.rst`, and `scheduler/sched-bwc.rst` for version 1.
fn throttles(stat: &str) -> u64 {
    let line = stat.lines().find_map(|line| line.strip_prefix("nr_throttled "));
    line.and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// How often a core of this machine was too hot; x86 counts it.
fn heat() -> u64 {
    let entries = fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    let counts = entries.filter_map(|entry| {
        let path = entry.path().join("thermal_throttle/core_throttle_count");
        fs::read_to_string(path).ok()?.trim().parse::<u64>().ok()
    });
    counts.sum()
}

/// Linux, `Documentation/block/stat.rst`: sectors of 512 bytes read and written.
fn moved(stat: &str) -> Option<u64> {
    let numbers: Vec<u64> =
        stat.split_ascii_whitespace().map_while(|number| number.parse().ok()).collect();
    Some((numbers.get(2)? + numbers.get(6)?) * 512)
}

/// What went on between two moments in which the run moved `ours` bytes past the page cache;
/// absent where the page cache was in between, and nobody can tell whose I/O is whose.
pub(crate) fn marks(begin: Counters, end: Counters, ours: Option<u64>) -> Vec<Mark> {
    let marks = [stolen(begin, end), throttled(begin, end), busy(begin, end, ours)];
    marks.into_iter().flatten().collect()
}

fn stolen(begin: Counters, end: Counters) -> Option<Mark> {
    let ((stolen_before, before), (stolen_after, after)) = (begin.ticks?, end.ticks?);
    let (stolen, all) = (stolen_after.saturating_sub(stolen_before), after.saturating_sub(before));
    if all == 0 || stolen * 100 <= all * STOLEN_PERCENT {
        return None;
    }
    let share = stolen * 100 / all;
    let message = format!("the hypervisor took {share} % of the processors' time for others");
    Some(Mark { id: MarkId::Steal, message })
}

fn throttled(begin: Counters, end: Counters) -> Option<Mark> {
    let times = end.throttled.saturating_sub(begin.throttled);
    let message = format!("processors were slowed down {times} times, by heat or by a quota");
    (times > 0).then_some(Mark { id: MarkId::Throttled, message })
}

fn busy(begin: Counters, end: Counters, ours: Option<u64>) -> Option<Mark> {
    let (ours, moved) = (ours?, end.moved?.saturating_sub(begin.moved?));
    let others = moved.saturating_sub(ours);
    if others <= OTHERS_BYTES || others / OTHERS_PERCENT <= moved / 100 {
        return None;
    }
    let (others, moved) = (others >> 20, moved >> 20);
    let message = format!(
        "the device moved {moved} MiB meanwhile, of which {others} MiB were not this run's"
    );
    Some(Mark { id: MarkId::Busy, message })
}

/// Whether writes to `device` are done when a cache in the drive has them, as the kernel sees it
/// (Linux, `Documentation/ABI/stable/sysfs-block`: `write_cache`).
pub(crate) fn write_back(device: Option<(u32, u32)>) -> bool {
    let Some((major, minor)) = device else { return false };
    // A partition has the queue of its disk.
    ["queue", "../queue"].iter().any(|queue| {
        let path = format!("/sys/dev/block/{major}:{minor}/{queue}/write_cache");
        fs::read_to_string(path).is_ok_and(|cache| cache.trim() == "write back")
    })
}

/// The processors' frequency follows their load, which a single request never makes.
pub(crate) fn governor() -> Option<Mark> {
    let path = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    governed(fs::read_to_string(path).ok()?.trim())
}

fn governed(governor: &str) -> Option<Mark> {
    let message = format!(
        "the processors' frequency follows their load (governor `{governor}`), and latency with it"
    );
    (governor != "performance").then_some(Mark { id: MarkId::Governor, message })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STILL: Counters = Counters { ticks: Some((0, 0)), throttled: 0, moved: Some(0) };
    const GIB: u64 = 1 << 30;

    fn check(end: Counters, ours: Option<u64>, expected: &[MarkId]) {
        let ids: Vec<MarkId> = marks(STILL, end, ours).iter().map(|mark| mark.id).collect();
        assert_eq!(ids, expected, "{end:?}");
    }

    #[test]
    fn what_disturbs_a_run_is_told() {
        check(Counters { moved: Some(GIB), ..STILL }, Some(GIB), &[]);
        check(Counters { moved: Some(GIB), ..STILL }, Some(GIB - GIB / 50), &[]);
        check(Counters { moved: Some(GIB), ..STILL }, Some(GIB - GIB / 10), &[MarkId::Busy]);
        check(Counters { moved: Some(GIB), ..STILL }, None, &[]);
        check(Counters { moved: Some(8 << 20), ..STILL }, Some(0), &[]);
        check(Counters { moved: None, ..STILL }, Some(GIB), &[]);
        check(Counters { ticks: Some((1, 100)), ..STILL }, None, &[]);
        check(Counters { ticks: Some((5, 100)), ..STILL }, None, &[MarkId::Steal]);
        check(Counters { throttled: 1, ..STILL }, None, &[MarkId::Throttled]);
    }

    #[test]
    fn one_reading_serves_groups_that_begin_together() {
        let mut noted = Noted::new(3);
        for group in 0..2 {
            noted.note(group, None, true);
            noted.note(group, None, false);
        }
        let around = noted.around();
        assert_eq!(around.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, false]);
    }

    #[test]
    fn what_the_kernel_counts_is_read() {
        assert_eq!(ticks("cpu  1 2 3 4 5 6 7 8 100 100\ncpu0 1\n"), Some((8, 36)));
        assert_eq!(ticks("cpu  1 2 3\n"), None);
        assert_eq!(throttles("usage_usec 1\nnr_throttled 7\n"), 7);
        assert_eq!(moved("   10 0 16 5 20 0 32 9 0 1 2\n"), Some(48 * 512));
        assert_eq!(moved("1 2"), None);
        assert_eq!(governed("performance"), None);
        let check = |line: &str, expected: Option<(&str, &str)>| {
            let found = group(line).map(|(at, path)| (at.join(" "), path.display().to_string()));
            assert_eq!(found, expected.map(|(at, path)| (at.into(), path.into())), "{line}");
        };
        check("0::/system.slice/cron.service", Some((" unified", "/system.slice/cron.service")));
        check("4:cpu,cpuacct:/a", Some(("cpu cpu,cpuacct", "/a")));
        check("3:cpuset:/a", None);
        check("nonsense", None);
        assert_eq!(governed("powersave").map(|mark| mark.id), Some(MarkId::Governor));
    }
}
