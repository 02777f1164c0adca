//! The transfer of a read's data over the bus.

use drivelab_core::{Span, Time};
use drivelab_model::mechanics::{Angle, Spindle};

use super::params::{Residual, later};
use super::pass::Split;

/// Consecutive sectors from the medium.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// Number of sectors of the request before it.
    before: u64,
    count: u64,
    /// The beginning of its first sector.
    begin: Time,
    sector: Angle,
}

/// Arrival times of a read's sectors in the buffer, in order.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// Sectors of the request that have arrived, or will arrive with the runs.
    total: u64,
    /// Number of sectors in the buffer at the beginning.
    buffered: u64,
    runs: Vec<Run>,
}

/// The cost of the bus in addition to the data.
#[derive(Debug, Clone, Copy)]
pub(super) struct Protocol {
    pub(super) sector: Span,
    /// The bus is kept while the next sector is awaited.
    pub(super) held: bool,
    pub(super) disconnect: Residual,
    /// Winning the bus again and preparing for data.
    pub(super) reconnect: Residual,
    /// Number of sectors that must be waiting before the bus is requested again.
    pub(super) mark: u64,
}

impl Arrivals {
    /// Begins a request with `buffered` sectors already there.
    pub(super) fn start(&mut self, buffered: u64) {
        self.runs.clear();
        self.buffered = buffered;
        self.total = buffered;
    }

    /// Adds sectors that begin to pass at `begin`.
    pub(super) fn push(&mut self, begin: Time, sector: Angle, parts: Split) {
        let Split { in_order, at_once } = parts;
        debug_assert!(
            self.runs.last().is_none_or(|run| run.begin <= begin),
            "runs pass the head in order"
        );
        self.runs.push(Run { before: self.total, count: in_order, begin, sector });
        self.total += in_order + at_once;
    }

    /// The arrival of the first `count` sectors; `None` if they were there from the beginning.
    pub(super) fn when(&self, count: u64, spindle: &Spindle) -> Option<Time> {
        if count <= self.buffered {
            return None;
        }
        let index = self.runs.partition_point(|run| run.before < count) - 1;
        // The sectors of a run that passed early count as arrived with its last one in order.
        let run = &self.runs[index];
        Some(
            run.begin
                + spindle.time_for(
                    u128::from((count - run.before).min(run.count)) * u128::from(run.sector),
                ),
        )
    }

    /// Number of sectors that have arrived by `now`.
    fn arrived_by(&self, now: Time, spindle: &Spindle) -> u64 {
        let mut there = self.buffered;
        for (index, run) in self.runs.iter().enumerate() {
            if now < run.begin {
                break;
            }
            let elapsed = now.since(run.begin);
            let whole = spindle.time_for(u128::from(run.count) * u128::from(run.sector));
            if elapsed < whole {
                return run.before + spindle.turned_in(elapsed) / run.sector;
            }
            there = self.runs.get(index + 1).map_or(self.total, |next| next.before);
        }
        there
    }

    /// The end of the transfer over the bus, which is ready for data at `ready`.
    pub(super) fn delivered(&self, ready: Time, protocol: Protocol, spindle: &Spindle) -> Time {
        let costless = protocol.disconnect == 0 && protocol.reconnect == 0 && protocol.mark <= 1;
        // Without overhead it makes no difference when the bus is given up.
        if protocol.held || costless {
            return self.delivered_without_pause(ready, protocol.sector, spindle);
        }
        let (mut now, mut moved) = (ready, 0);
        loop {
            // Transfer what has arrived, then disconnect until the mark is reached again.
            let there = self.arrived_by(now, spindle);
            if there > moved {
                now += protocol.sector * (there - moved);
                moved = there;
                if moved >= self.total {
                    return now;
                }
                continue;
            }
            let since = now;
            debug_assert!(moved < self.total, "all sectors have been transferred");
            let wanted = (moved + protocol.mark.max(1)).min(self.total);
            let trigger = self.when(wanted, spindle).unwrap_or(now);
            now = later(later(now, protocol.disconnect).max(trigger), protocol.reconnect);
            // A negative residual must not bring the bus back before its data.
            now = now.max(trigger).max(since + Span::from_ns(1));
        }
    }

    /// A bus that takes each sector as soon as it is there and the previous one is done finishes
    /// when the slowest beginning, followed by all later sectors, does: within a run sectors come
    /// evenly, so only its first and its last can be the slowest.
    fn delivered_without_pause(&self, ready: Time, sector: Span, spindle: &Spindle) -> Time {
        let mut done = ready + sector * self.total;
        for run in &self.runs {
            debug_assert!(run.before + run.count <= self.total, "runs are parts of the request");
            let first = run.begin + spindle.time_for(u128::from(run.sector));
            let last = run.begin + spindle.time_for(u128::from(run.count) * u128::from(run.sector));
            done = done.max(first + sector * (self.total - run.before));
            done = done.max(last + sector * (self.total - run.before - run.count + 1));
        }
        done
    }
}
