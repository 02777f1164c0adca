//! The queue that the kernel keeps in front of a device.

use serde::{Deserialize, Serialize};

use crate::root::Node;

/// Settings of a queue, as in `queue/`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// True if writes can be forced to the medium one by one.
    pub fua: Option<bool>,
    /// The active scheduler: `mq-deadline`.
    pub scheduler: Option<String>,
    /// The available schedulers.
    pub schedulers: Vec<String>,
    /// Maximum number of requests in the scheduler.
    pub nr_requests: Option<u32>,
    /// Hardware queues.
    pub hardware_queues: Option<u32>,
    /// Commands in each hardware queue.
    pub tags: Option<u32>,
    /// Read-ahead of the page cache.
    pub read_ahead_kb: Option<u64>,
    /// Largest request.
    pub max_sectors_kb: Option<u64>,
    /// 0: requests are merged; 1: only simple ones; 2: none.
    pub nomerges: Option<u32>,
    /// 1: completions go to the processor group of the submitter; 2: to the processor itself.
    pub rq_affinity: Option<u32>,
    /// Target latency of the writeback throttle; 0 is off.
    pub wbt_lat_usec: Option<u64>,
    /// True if the kernel treats it as a rotating disk.
    pub rotational: Option<bool>,
    /// Smallest unit that can be addressed.
    pub logical_sector_bytes: Option<u64>,
    /// Smallest unit that is written without a preceding read.
    pub physical_sector_bytes: Option<u64>,
    /// Smallest request that is efficient.
    pub minimum_io_bytes: Option<u64>,
    /// Optimal request size; 0 if the device does not report it.
    pub optimal_io_bytes: Option<u64>,
    /// Bytes by which the start of the disk misses a physical sector.
    pub alignment_offset_bytes: Option<i64>,
    /// True if the kernel counts its requests.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub iostats: Option<bool>,
    /// The zone model of the disk: `none`, `host-aware`, `host-managed`.
    pub zoned: Option<String>,
    /// Largest discard that the kernel sends; 0 if it sends none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub discard_max_bytes: Option<u64>,
}

/// Requests in flight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlight {
    /// Reads.
    pub reads: Option<u64>,
    /// Writes.
    pub writes: Option<u64>,
}

impl Queue {
    pub(crate) fn read(block: &Node<'_>) -> Self {
        let alignment_offset_bytes = block.number("alignment_offset");
        let Some(queue) = block.child("queue") else {
            return Self { alignment_offset_bytes, ..Self::default() };
        };
        let line = queue.text("scheduler").unwrap_or_default();
        let (scheduler, schedulers) = schedulers(&line);
        if scheduler.is_none() && !line.is_empty() {
            queue.misread("scheduler", "names, one in brackets", &line);
        }
        let (hardware_queues, tags) = hardware(block);
        Self {
            fua: queue.flag("fua"),
            scheduler,
            schedulers,
            nr_requests: queue.number("nr_requests"),
            hardware_queues,
            tags,
            read_ahead_kb: queue.number("read_ahead_kb"),
            max_sectors_kb: queue.number("max_sectors_kb"),
            nomerges: queue.number("nomerges"),
            rq_affinity: queue.number("rq_affinity"),
            wbt_lat_usec: queue.number("wbt_lat_usec"),
            rotational: queue.flag("rotational"),
            logical_sector_bytes: queue.number("logical_block_size"),
            physical_sector_bytes: queue.number("physical_block_size"),
            minimum_io_bytes: queue.number("minimum_io_size"),
            optimal_io_bytes: queue.number("optimal_io_size"),
            alignment_offset_bytes,
            iostats: queue.flag("iostats"),
            zoned: queue.text("zoned"),
            discard_max_bytes: queue.number("discard_max_bytes"),
        }
    }
}

impl InFlight {
    /// Reads `       1        4`: reads and writes that the device has not answered yet.
    pub(crate) fn read(block: &Node<'_>) -> Self {
        let Some(text) = block.text("inflight") else { return Self::default() };
        let found = Self::parse(&text);
        if found.is_none() {
            block.misread("inflight", "two numbers", &text);
        }
        found.unwrap_or_default()
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let reads = words.next()?.parse().ok()?;
        let writes = words.next()?.parse().ok()?;
        Some(Self { reads: Some(reads), writes: Some(writes) })
    }

    /// Both together.
    pub fn total(self) -> u64 {
        self.reads.unwrap_or(0).saturating_add(self.writes.unwrap_or(0))
    }
}

/// Splits `none [mq-deadline] kyber bfq`; a single name without brackets is the active one.
fn schedulers(line: &str) -> (Option<String>, Vec<String>) {
    let bare = line.split_whitespace().map(|word| word.trim_matches(['[', ']']).to_owned());
    let all: Vec<String> = bare.collect();
    let mut words = line.split_whitespace();
    let chosen = words.position(|word| word.starts_with('[') && word.ends_with(']'));
    let active = chosen.or((all.len() == 1).then_some(0)).map(|index| all[index].clone());
    (active.filter(|name| !name.is_empty()), all)
}

/// Hardware queues, and commands in the first, from `mq/`.
fn hardware(block: &Node<'_>) -> (Option<u32>, Option<u32>) {
    let Some(queues) = block.child("mq") else { return (None, None) };
    // One folder for each hardware queue (`block/blk-mq-sysfs.c`).
    let folders = queues.entries().into_iter().filter(|entry| entry.folder).count();
    let tags = queues.child("0").and_then(|first| first.number("nr_tags"));
    (u32::try_from(folders).ok(), tags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheduler_at_work_stands_in_brackets() {
        let check = |line, expected: Option<&str>| {
            assert_eq!(schedulers(line).0.as_deref(), expected, "{line}");
        };
        check("none [mq-deadline] kyber bfq", Some("mq-deadline"));
        check("[none]", Some("none"));
        check("none", Some("none"));
        check("", None);
        check("noop deadline cfq", None);
        check("[", None);
        check("[]", None);
    }

    #[test]
    fn requests_under_way_are_two_numbers() {
        let parsed = InFlight::parse("       1        4\n").unwrap();
        assert_eq!((parsed.reads, parsed.writes, parsed.total()), (Some(1), Some(4), 5));
        assert_eq!(InFlight::parse("1"), None);
        assert_eq!(InFlight::parse("a b"), None);
    }
}
