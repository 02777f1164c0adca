//! The activity of disks over time: depth in use, requests per second, latency.
//!
//! Computed from two samples of `/proc/diskstats` (Documentation/admin-guide/iostats.rst); the
//! caller owns the clock.

use std::collections::BTreeMap;

use drivelab_core::units::{SECTOR_BYTES, Span};
use serde::Serialize;

use crate::device::InFlight;
use crate::root::{Root, TABLE_BYTES_MAX};

/// The schema of one sample.
pub const SCHEMA: &str = "drivelab.inspect-watch/1";

/// Columns of the table after the name (`Documentation/admin-guide/iostats.rst`); merged requests
/// and those in flight are omitted.
const READS: usize = 0;
const SECTORS_READ: usize = 2;
const READ_MS: usize = 3;
const WRITES: usize = 4;
const SECTORS_WRITTEN: usize = 6;
const WRITE_MS: usize = 7;
const BUSY_MS: usize = 9;
/// Milliseconds times requests in flight.
const WEIGHTED_MS: usize = 10;

/// Counters of one disk since it was attached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counters {
    columns: [u64; WEIGHTED_MS + 1],
    in_flight: InFlight,
    iostats: Option<bool>,
}

/// The counters of all disks at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sample {
    disks: BTreeMap<String, Counters>,
}

/// The activity of one disk between two samples.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rate {
    /// Its name.
    pub name: String,
    /// Requests in flight at the second sample.
    pub in_flight: InFlight,
    /// Mean number of requests in flight.
    pub depth_used: f64,
    /// Number of commands that the disk accepts at once, if known.
    pub queue_depth: Option<u32>,
    /// Reads per second.
    pub reads_per_s: f64,
    /// Writes per second.
    pub writes_per_s: f64,
    /// Bytes read per second.
    pub read_bytes_per_s: f64,
    /// Bytes written per second.
    pub write_bytes_per_s: f64,
    /// Mean time of a read; null if there was none.
    pub read_lat_ns: Option<u64>,
    /// Mean time of a write; null if there was none.
    pub write_lat_ns: Option<u64>,
    /// Share of the time in which any request was in flight.
    pub busy: f64,
    /// True if the kernel counts its requests; if it does not, all figures are 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iostats: Option<bool>,
}

impl Sample {
    /// Reads the counters of the disks in `names`.
    pub fn read(root: &Root, names: &[String]) -> Self {
        let table = root.text("proc/diskstats", TABLE_BYTES_MAX).unwrap_or_default();
        let mut sample = Self::parse(&table);
        sample.disks.retain(|name, _| names.contains(name));
        for (name, counters) in &mut sample.disks {
            // The table has only the sum of both.
            let block = root.node(&format!("sys/block/{name}"));
            if let Some(block) = block {
                counters.in_flight = InFlight::read(&block);
                counters.iostats = block.child("queue").and_then(|queue| queue.flag("iostats"));
            }
        }
        sample
    }

    /// Reads the counters of all disks, without requests in flight.
    pub fn of_all(root: &Root) -> Self {
        Self::parse(&root.text("proc/diskstats", TABLE_BYTES_MAX).unwrap_or_default())
    }

    fn parse(table: &str) -> Self {
        let disks = table.lines().filter_map(|line| {
            // The name follows the major and the minor number.
            let mut words = line.split_whitespace().skip(2);
            let name = words.next()?.to_owned();
            let numbers: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
            // Newer kernels append columns for discards (4.18) and flushes (5.5).
            let columns = numbers.first_chunk().copied()?;
            Some((name, Counters { columns, ..Counters::default() }))
        });
        Self { disks: disks.collect() }
    }
}

/// The activity of each disk in the `elapsed` time between two samples. Disks that are in only one
/// sample are omitted.
pub fn rates(
    before: &Sample,
    after: &Sample,
    elapsed: Span,
    depths: &BTreeMap<String, u32>,
) -> Vec<Rate> {
    let both =
        after.disks.iter().filter_map(|(name, now)| Some((name, before.disks.get(name)?, now)));
    both.map(|(name, then, now)| rate(name, &now.since(then), elapsed, depths.get(name).copied()))
        .collect()
}

/// Counts of one disk between two samples, as the kernel's table has them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Counts {
    pub name: String,
    pub reads: u64,
    pub reads_merged: u64,
    pub read_ms: u64,
    pub writes: u64,
    pub writes_merged: u64,
    pub write_ms: u64,
    pub busy_ms: u64,
    /// Milliseconds times requests in flight.
    pub weighted_ms: u64,
}

/// The counts of each disk between two samples. Disks that are in only one sample are omitted.
pub fn counts(before: &Sample, after: &Sample) -> Vec<Counts> {
    let both = after.disks.iter().filter_map(|(name, now)| {
        let columns = now.since(before.disks.get(name)?).columns;
        Some(Counts {
            name: name.clone(),
            reads: columns[READS],
            reads_merged: columns[READS + 1],
            read_ms: columns[READ_MS],
            writes: columns[WRITES],
            writes_merged: columns[WRITES + 1],
            write_ms: columns[WRITE_MS],
            busy_ms: columns[BUSY_MS],
            weighted_ms: columns[WEIGHTED_MS],
        })
    });
    both.collect()
}

impl Counters {
    /// Differences. Milliseconds are 32 bits wide in the kernel's table and wrap after 49 days of
    /// work; the rest is 64 bits wide, and decreases only when a disk is replaced.
    fn since(self, then: &Self) -> Self {
        let mut columns = self.columns;
        for (column, (now, then)) in columns.iter_mut().zip(&then.columns).enumerate() {
            *now = match column {
                READ_MS | WRITE_MS | BUSY_MS | WEIGHTED_MS => {
                    // Correct across one wrap, which two samples seconds apart can have.
                    now.wrapping_sub(*then) & u64::from(u32::MAX)
                }
                _ => now.saturating_sub(*then),
            };
        }
        Self { columns, ..self }
    }
}

#[expect(clippy::cast_precision_loss, reason = "rates are shown with three digits")]
fn rate(name: &str, done: &Counters, elapsed: Span, queue_depth: Option<u32>) -> Rate {
    let seconds = elapsed.ns().max(1) as f64 / 1e9;
    let columns = &done.columns;
    let [reads_per_s, writes_per_s] =
        [columns[READS], columns[WRITES]].map(|count| count as f64 / seconds);
    let [read_bytes_per_s, write_bytes_per_s] = [columns[SECTORS_READ], columns[SECTORS_WRITTEN]]
        .map(|sectors| sectors.saturating_mul(SECTOR_BYTES) as f64 / seconds);
    let [read_lat_ns, write_lat_ns] = [(READ_MS, READS), (WRITE_MS, WRITES)]
        .map(|(ms, count)| (columns[ms] * 1_000_000).checked_div(columns[count]));
    Rate {
        name: name.to_owned(),
        in_flight: done.in_flight,
        depth_used: columns[WEIGHTED_MS] as f64 / 1e3 / seconds,
        queue_depth,
        reads_per_s,
        writes_per_s,
        read_bytes_per_s,
        write_bytes_per_s,
        read_lat_ns,
        write_lat_ns,
        // The kernel's milliseconds are rounded: a disk that is always busy may exceed the whole.
        busy: (columns[BUSY_MS] as f64 / 1e3 / seconds).min(1.0),
        iostats: done.iostats,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "   8       0 sda 100 0 800 500 10 0 80 100 0 400 4294967000 0 0 0 0";
    const AFTER: &str = "   8       0 sda 300 0 2400 2500 10 0 80 100 4 1400 3704 0 0 0 0";

    fn between(before: &str, after: &str) -> Vec<Rate> {
        let (before, after) = (Sample::parse(before), Sample::parse(after));
        rates(&before, &after, Span::from_secs(1), &BTreeMap::from([("sda".into(), 32)]))
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "whole numbers over one second are exact")]
    fn rates_are_differences_by_time() {
        let found = between(BEFORE, AFTER);
        let [sda] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((sda.reads_per_s, sda.writes_per_s), (200.0, 0.0));
        assert_eq!(sda.read_bytes_per_s, 1600.0 * 512.0);
        assert_eq!((sda.read_lat_ns, sda.write_lat_ns), (Some(10_000_000), None));
        // The counter wrapped at 2^32 in between: 4000 ms in one second are 4 at once.
        assert_eq!((sda.depth_used, sda.queue_depth), (4.0, Some(32)));
        assert_eq!(sda.busy, 1.0);
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "nothing over one second is exact")]
    fn disks_that_come_or_go_and_broken_lines_are_left_out() {
        assert!(between("", AFTER).is_empty());
        assert!(between(BEFORE, "8 0 sda 1 2 3").is_empty());
        assert!(between(BEFORE, "8 0 sda x y z 1 2 3 4 5 6 7 8 9").is_empty());
        // A disk that was replaced starts from zero.
        let back = between(AFTER, BEFORE);
        assert_eq!(back[0].reads_per_s, 0.0);
    }
}
