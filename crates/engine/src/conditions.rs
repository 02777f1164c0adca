//! Other activity during a measured run: stolen time, throttling, other I/O on the device.

use std::time::{Duration, Instant};

use drivelab_core::record::{Mark, MarkId};
use drivelab_core::units::Span;
use drivelab_core::usage::{Census, Counters, DeviceNumber};

use drivelab_load::marks::marks_of;

/// A run is marked if the hypervisor gave more than this share of processor time to others.
const STOLEN_PERCENT: u64 = 1;
/// A run is marked above this share of foreign data on the device; a file system's journal is
/// below.
const OTHERS_PERCENT: u64 = 5;
/// More than this share of the processors' time used by other processes leaves none to wake up on.
const CROWDED_PERCENT: u128 = 80;
/// More than this share of its time in which a process could have run and had no processor is in
/// the figures: a disk's rate is known to one percent.
const WAITED_PERCENT: u128 = 1;
/// Less than this is ignored: a few of the run's own requests lie on either side of the edges.
const OTHERS_BYTES: u64 = 16 << 20;

/// The machine's counters when a group of jobs began to measure and when it ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountersAround {
    pub(crate) begin: Counters,
    pub(crate) end: Counters,
}

/// Counters of groups of jobs that begin and end at about the same time.
#[derive(Debug)]
pub(crate) struct CounterLog {
    begins: Vec<Option<Counters>>,
    ends: Vec<Option<Counters>>,
    last: [Option<Reading>; 2],
}

#[derive(Debug, Clone, Copy)]
struct Reading {
    device: Option<DeviceNumber>,
    at: Instant,
    counters: Counters,
}

/// One reading serves all groups that begin, or end, within this time: a reading takes some forty
/// files, and a thousand jobs that each read them would have to wait.
const TOGETHER: Duration = Duration::from_millis(20);

impl CounterLog {
    pub(crate) fn new(groups: usize) -> Self {
        Self { begins: vec![None; groups], ends: vec![None; groups], last: [None; 2] }
    }

    /// Reads the counters: at the beginning of a job of `group`, or at its end.
    pub(crate) fn note(
        &mut self,
        census: &dyn Census,
        group: usize,
        device: Option<DeviceNumber>,
        begins: bool,
    ) {
        debug_assert!(group < self.begins.len(), "a log has room for each group");
        // A group begins with the first of its jobs, and ends with the last.
        if begins && self.begins[group].is_some() {
            return;
        }
        let last = &mut self.last[usize::from(begins)];
        let recent = last.filter(|it| it.device == device && it.at.elapsed() < TOGETHER);
        let reading = recent.unwrap_or_else(|| Reading {
            device,
            counters: census.counters(device),
            at: Instant::now(),
        });
        *last = Some(reading);
        let noted = if begins { &mut self.begins } else { &mut self.ends };
        noted[group] = Some(reading.counters);
    }

    pub(crate) fn around(self) -> Vec<Option<CountersAround>> {
        let edges = self.begins.into_iter().zip(self.ends);
        edges.map(|(begin, end)| Some(CountersAround { begin: begin?, end: end? })).collect()
    }
}

/// The marks for activity during the run, if the run moved `ours` bytes without the page cache;
/// absent with the page cache, because I/O cannot then be attributed.
pub(crate) fn marks(counters: CountersAround, ours: Option<u64>) -> Vec<Mark> {
    let CountersAround { begin, end } = counters;
    let said = [
        (MarkId::Steal, stolen(begin, end)),
        (MarkId::Throttled, throttled(begin, end)),
        (MarkId::Busy, busy(begin, end, ours)),
        (MarkId::Uncounted, uncounted(begin, end)),
    ];
    marks_of(said).collect()
}

fn stolen(begin: Counters, end: Counters) -> Option<String> {
    let (begin, end) = (begin.ticks?, end.ticks?);
    let stolen = end.stolen.saturating_sub(begin.stolen);
    let all = end.all.saturating_sub(begin.all);
    // A run shorter than a clock tick has no share.
    let share = (stolen * 100).checked_div(all)?;
    (stolen * 100 > all * STOLEN_PERCENT)
        .then(|| format!("the hypervisor gave {share} % of the CPU time to other guests (steal)"))
}

fn throttled(begin: Counters, end: Counters) -> Option<String> {
    let times = end.throttled.saturating_sub(begin.throttled);
    (times > 0).then(|| format!("CPUs were throttled {times} times, by heat or by a quota"))
}

fn busy(begin: Counters, end: Counters, ours: Option<u64>) -> Option<String> {
    let (ours, moved) = (ours?, end.moved_bytes?.saturating_sub(begin.moved_bytes?));
    let others = moved.saturating_sub(ours);
    if others <= OTHERS_BYTES || others / OTHERS_PERCENT <= moved / 100 {
        return None;
    }
    let (others, moved) = (others >> 20, moved >> 20);
    Some(format!(
        "the device transferred {moved} MiB during the run, {others} MiB of it for other processes"
    ))
}

/// Without counters nothing shows that others used the device.
fn uncounted(begin: Counters, end: Counters) -> Option<String> {
    let is_off = [begin, end].iter().any(|counters| counters.is_counted == Some(false));
    is_off.then(|| {
        "the kernel does not count the I/O of this device (`queue/iostats` is 0): whether other \
         programs used it is unknown"
            .to_owned()
    })
}

/// The processor time of a measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnTime {
    /// The time used.
    pub(crate) used: Span,
    /// The time in which it could have run and had no processor.
    pub(crate) waited: Span,
    pub(crate) elapsed: Span,
}

/// Marks a run whose processors other processes held: answers were noticed late, and a drive that
/// this machine serves answered late. At one request at a time that is in every request, at depth
/// the queue hides it, so that a drive seems to gain more from its queue than it does.
pub(crate) fn contended(counters: CountersAround, own: OwnTime) -> Option<Mark> {
    let waited = u128::from(own.waited.ns()) * 100;
    let waited = waited.checked_div(u128::from(own.elapsed.ns())).unwrap_or(0);
    let used = others(counters, own.used).unwrap_or(0);
    let message = if waited > WAITED_PERCENT {
        format!(
            "the measurement waited {waited} % of its time for a CPU, and other processes used \
             {used} % of all CPU time"
        )
    } else if used > CROWDED_PERCENT {
        format!("other processes used {used} % of the CPU time")
    } else {
        return None;
    };
    let message = format!("{message}: latencies are those of a busy machine, not of the drive");
    Some(Mark { id: MarkId::Contended, message })
}

/// The share of the processors' time that was neither idle, stolen nor our own, in percent.
fn others(counters: CountersAround, own: Span) -> Option<u128> {
    let (begin, end) = (counters.begin.ticks?, counters.end.ticks?);
    let all = end.all.saturating_sub(begin.all);
    let free = end.idle.saturating_sub(begin.idle) + end.stolen.saturating_sub(begin.stolen);
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    // Ticks are rounded and our own time is not, so the difference may be below zero.
    let others = (all.saturating_sub(free) * tick_ns).saturating_sub(own.ns());
    (u128::from(others) * 100).checked_div(u128::from(all * tick_ns))
}

/// The processors' frequency follows their load, and single requests never cause enough load.
pub(crate) fn governed(governor: &str) -> Option<Mark> {
    let message =
        format!("the CPU frequency follows the load (governor `{governor}`), and latency with it");
    (governor != "performance").then_some(Mark { id: MarkId::Governor, message })
}

#[cfg(test)]
mod tests {
    use drivelab_core::usage::Ticks;

    use super::*;
    use crate::quiet::Quiet;

    const STILL: Counters =
        Counters { ticks: Some(NONE), throttled: 0, moved_bytes: Some(0), is_counted: Some(true) };
    const NONE: Ticks = Ticks { stolen: 0, idle: 0, all: 0 };
    const GIB: u64 = 1 << 30;

    fn check(end: Counters, ours: Option<u64>, expected: &[MarkId]) {
        let ids: Vec<MarkId> =
            marks(CountersAround { begin: STILL, end }, ours).iter().map(|mark| mark.id).collect();
        assert_eq!(ids, expected, "{end:?}");
    }

    #[test]
    fn what_disturbs_a_run_is_told() {
        check(Counters { moved_bytes: Some(GIB), ..STILL }, Some(GIB), &[]);
        check(Counters { moved_bytes: Some(GIB), ..STILL }, Some(GIB - GIB / 50), &[]);
        check(Counters { moved_bytes: Some(GIB), ..STILL }, Some(GIB - GIB / 10), &[MarkId::Busy]);
        check(Counters { moved_bytes: Some(GIB), ..STILL }, None, &[]);
        check(Counters { moved_bytes: Some(8 << 20), ..STILL }, Some(0), &[]);
        check(Counters { moved_bytes: None, ..STILL }, Some(GIB), &[]);
        check(Counters { is_counted: None, ..STILL }, Some(GIB), &[]);
        check(Counters { is_counted: Some(false), ..STILL }, Some(GIB), &[MarkId::Uncounted]);
        check(Counters { ticks: Some(Ticks { stolen: 1, all: 100, ..NONE }), ..STILL }, None, &[]);
        check(
            Counters { ticks: Some(Ticks { stolen: 5, all: 100, ..NONE }), ..STILL },
            None,
            &[MarkId::Steal],
        );
        check(Counters { throttled: 1, ..STILL }, None, &[MarkId::Throttled]);
    }

    #[test]
    fn one_reading_serves_groups_that_begin_together() {
        let mut noted = CounterLog::new(3);
        for group in 0..2 {
            noted.note(&Quiet(Vec::new()), group, None, true);
            noted.note(&Quiet(Vec::new()), group, None, false);
        }
        let around = noted.around();
        assert_eq!(around.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, false]);
    }

    #[test]
    fn a_machine_on_which_others_hold_the_processors_is_told() {
        // Ten seconds of two processors, of which the measurement used one second.
        let second = rustix::param::clock_ticks_per_second();
        let check = |idle_seconds, stolen_seconds, waited_ms, expected: Option<&str>| {
            let ticks = Ticks {
                stolen: stolen_seconds * second,
                idle: idle_seconds * second,
                all: 20 * second,
            };
            let around =
                CountersAround { begin: STILL, end: Counters { ticks: Some(ticks), ..STILL } };
            let own = OwnTime {
                used: Span::from_secs(1),
                waited: Span::from_ms(waited_ms),
                elapsed: Span::from_secs(10),
            };
            let mark = contended(around, own);
            let id = mark.as_ref().map(|mark| mark.id);
            assert_eq!(id, expected.map(|_| MarkId::Contended), "{mark:?}");
            let message = mark.map(|mark| mark.message).unwrap_or_default();
            assert!(message.contains(expected.unwrap_or_default()), "{message}");
        };
        check(19, 0, 50, None);
        check(9, 0, 199, None);
        check(0, 4, 0, None);
        check(2, 0, 0, Some("other processes used 85 % of the CPU time"));
        check(9, 0, 1100, Some("waited 11 % of its time for a CPU, and other processes used 50 %"));
    }

    #[test]
    fn a_governor_that_follows_the_load_is_told() {
        assert_eq!(governed("performance"), None);
        assert_eq!(governed("powersave").map(|mark| mark.id), Some(MarkId::Governor));
    }
}
