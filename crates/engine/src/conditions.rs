//! Other activity during a measured run: stolen time, throttling, other I/O on the device.

use std::time::{Duration, Instant};

use drivelab_core::record::{Mark, MarkId};
use drivelab_core::usage::{Census, Counters, DeviceNumber};

use crate::marks::marks_of;

/// A run is marked if the hypervisor gave more than this share of processor time to others.
const STOLEN_PERCENT: u64 = 1;
/// A run is marked above this share of foreign data on the device; a file system's journal is
/// below.
const OTHERS_PERCENT: u64 = 5;
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
        if begins && self.begins[group].is_some() {
            return;
        }
        let last = &mut self.last[usize::from(begins)];
        let serves = |it: &Reading| it.device == device && it.at.elapsed() < TOGETHER;
        let reading = last.filter(serves).unwrap_or_else(|| Reading {
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
    ];
    marks_of(said).collect()
}

fn stolen(begin: Counters, end: Counters) -> Option<String> {
    let (begin, end) = (begin.ticks?, end.ticks?);
    let stolen = end.stolen.saturating_sub(begin.stolen);
    let all = end.all.saturating_sub(begin.all);
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
        Counters { ticks: Some(Ticks { stolen: 0, all: 0 }), throttled: 0, moved_bytes: Some(0) };
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
        check(Counters { ticks: Some(Ticks { stolen: 1, all: 100 }), ..STILL }, None, &[]);
        check(
            Counters { ticks: Some(Ticks { stolen: 5, all: 100 }), ..STILL },
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
    fn a_governor_that_follows_the_load_is_told() {
        assert_eq!(governed("performance"), None);
        assert_eq!(governed("powersave").map(|mark| mark.id), Some(MarkId::Governor));
    }
}
