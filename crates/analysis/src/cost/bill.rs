//! The bill: requests, their bytes and who waited, by drive, file, process and system call.

use std::collections::BTreeMap;

use drivelab_core::Span;
use serde::{Deserialize, Serialize};

/// The schema of a bill as JSON.
pub const SCHEMA: &str = "drivelab.cost/1";
/// Stands for the process where the kernel wrote on its own account, after a timer or for `sync`.
pub const KERNEL: &str = "(kernel)";
/// A call that takes longer than this has waited for the disk.
pub const WAIT_MIN: Span = Span::from_us(10);

/// Requests to a drive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Requests {
    /// Reads, and their bytes.
    pub reads: u64,
    /// See `reads`.
    pub read_bytes: u64,
    /// Writes, and their bytes.
    pub writes: u64,
    /// See `writes`.
    pub write_bytes: u64,
    /// Discards, and their bytes.
    pub discards: u64,
    /// See `discards`.
    pub discard_bytes: u64,
    /// Flushes of the write cache.
    pub flushes: u64,
    /// Writes past the write cache, which are also among the writes.
    pub fua: u64,
}

impl Requests {
    /// Requests of all kinds.
    pub fn all(&self) -> u64 {
        self.reads + self.writes + self.discards + self.flushes
    }

    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.reads += other.reads;
        self.read_bytes += other.read_bytes;
        self.writes += other.writes;
        self.write_bytes += other.write_bytes;
        self.discards += other.discards;
        self.discard_bytes += other.discard_bytes;
        self.flushes += other.flushes;
        self.fua += other.fua;
    }

    /// Words for each number that is not as in others: `0 flushes instead of 3`.
    pub fn instead_of(&self, other: &Self) -> Vec<String> {
        let numbers = [
            (self.reads, other.reads, "reads"),
            (self.read_bytes, other.read_bytes, "bytes read"),
            (self.writes, other.writes, "writes"),
            (self.write_bytes, other.write_bytes, "bytes written"),
            (self.discards, other.discards, "discards"),
            (self.discard_bytes, other.discard_bytes, "bytes discarded"),
            (self.flushes, other.flushes, "flushes"),
            (self.fua, other.fua, "writes with FUA"),
        ];
        let different = numbers.into_iter().filter(|(own, other, _)| own != other);
        different.map(|(own, other, what)| format!("{own} {what} instead of {other}")).collect()
    }
}

/// The bytes that a program writes, layer by layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// Bytes that the program's calls wrote into files.
    pub program_bytes: u64,
    /// The change that the page cache made to them: more where it fills blocks, or where a program
    /// writes through mapped memory; less where it writes a block once that was written several
    /// times, or never because the file was removed.
    pub page_cache_bytes: i64,
    /// Contents of files that reached the drive.
    pub data_bytes: u64,
    /// Inodes, folders, maps.
    pub metadata_bytes: u64,
    /// The journal; with btrfs its log tree.
    pub journal_bytes: u64,
    /// Blocks that belong to no file any more and were written by no call on one.
    pub unattributed_bytes: u64,
    /// All that reached the drive.
    pub drive_bytes: u64,
}

impl Ledger {
    /// Returns whether each layer is the sum of what came in, to the byte.
    pub fn closes(&self) -> bool {
        let data = self.program_bytes.checked_add_signed(self.page_cache_bytes);
        let parts =
            [self.data_bytes, self.metadata_bytes, self.journal_bytes, self.unattributed_bytes];
        data == Some(self.data_bytes) && parts.iter().sum::<u64>() == self.drive_bytes
    }
}

/// The bytes that reached the flash of a solid-state drive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlashCost {
    /// Bytes that the drive kept back, overwrote in its buffer, or wrote to a cache of single-bit
    /// cells: `drive_bytes` less this is `host_bytes`.
    pub held_bytes: i64,
    /// Data of the host.
    pub host_bytes: u64,
    /// Data that collection moved.
    pub copied_bytes: u64,
    /// Space left empty to complete pages.
    pub padded_bytes: u64,
}

/// The command on one drive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriveCost {
    /// The class, or the drive as it was named.
    pub class: String,
    /// Its profile and options.
    pub drive: String,
    /// Virtual time that the command took.
    pub time_ns: u64,
    /// Virtual time to write what it had left in memory.
    pub left_ns: u64,
    /// Its requests.
    pub requests: Requests,
    /// Of a solid-state drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flash: Option<FlashCost>,
}

/// A system call of a process on a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCost {
    /// The process.
    pub process: String,
    /// The call.
    pub call: String,
    /// The path below the mount point.
    pub path: String,
    /// The functions that it came from, the innermost first; empty if they were not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
    /// The number of times that it was made.
    pub count: u64,
    /// Bytes that it read or wrote.
    pub bytes: u64,
    /// The number of its waits, and their time altogether.
    pub waits: u64,
    /// See `waits`.
    pub waited_ns: u64,
    /// Requests that were made while it waited.
    pub requests: Requests,
    /// True if the call syncs: it waits until data are on the disk.
    #[serde(default, skip_serializing_if = "is_false")]
    pub syncs: bool,
    /// True if the call changes names, sizes or folders.
    #[serde(default, skip_serializing_if = "is_false")]
    pub changes: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_false(value: &bool) -> bool {
    !value
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCost {
    /// The path below the mount point.
    pub path: String,
    /// Bytes that calls wrote into it.
    pub program_bytes: u64,
    /// Bytes of its contents that reached the drive.
    pub data_bytes: u64,
    /// Bytes of its contents that were read from the drive.
    pub read_bytes: u64,
    /// Requests that were made while a call on it waited.
    pub requests: Requests,
}

/// A process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessCost {
    /// Its name.
    pub process: String,
    /// Calls on files.
    pub calls: u64,
    /// The number of its waits, and their time altogether.
    pub waits: u64,
    /// See `waits`.
    pub waited_ns: u64,
    /// Requests that were made while it waited.
    pub requests: Requests,
}

/// A number that was another one in a second run, with another seed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Varying {
    /// The metric.
    pub metric: String,
    /// Its value in the second run; the bill has the first one.
    pub again: u64,
    /// The calls and files that differ most.
    pub because: Vec<String>,
}

/// The requests of a command to a disk, and the bytes behind them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bill {
    /// The schema of this document.
    pub schema: String,
    /// The command.
    pub command: String,
    /// The file system and its mount options.
    pub file_system: String,
    /// The release of the guest's kernel.
    pub kernel: String,
    /// The seed of the first run.
    pub seed: u64,
    /// Requests while the command ran and for what it left in memory.
    pub total: Requests,
    /// The part for what it left in memory.
    pub left: Requests,
    /// Calls that sync, and calls that change names, sizes or folders.
    pub syncs: u64,
    /// See `syncs`.
    pub changes: u64,
    /// From the program to the drive.
    pub ledger: Ledger,
    /// Each drive; the first one has the requests of `total`.
    pub drives: Vec<DriveCost>,
    /// The most expensive first.
    pub calls: Vec<CallCost>,
    /// The most expensive first.
    pub files: Vec<FileCost>,
    /// The most expensive first.
    pub processes: Vec<ProcessCost>,
    /// Numbers that the program or the machine does not decide alone.
    pub varies: Vec<Varying>,
    /// Sentences that a reader of this bill must know.
    pub notes: Vec<String>,
}

/// A number of a bill that a limit may be put on.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub of: fn(&Bill) -> u64,
    /// The part of a call in it.
    pub of_call: fn(&CallCost) -> u64,
}

/// All of them, in the order in which they are shown.
pub const METRICS: [Metric; 13] = [
    Metric { name: "reads", of: |b| b.total.reads, of_call: |c| c.requests.reads },
    Metric { name: "read_bytes", of: |b| b.total.read_bytes, of_call: |c| c.requests.read_bytes },
    Metric { name: "writes", of: |b| b.total.writes, of_call: |c| c.requests.writes },
    Metric {
        name: "write_bytes",
        of: |b| b.total.write_bytes,
        of_call: |c| c.requests.write_bytes,
    },
    Metric { name: "discards", of: |b| b.total.discards, of_call: |c| c.requests.discards },
    Metric {
        name: "discard_bytes",
        of: |b| b.total.discard_bytes,
        of_call: |c| c.requests.discard_bytes,
    },
    Metric { name: "flushes", of: |b| b.total.flushes, of_call: |c| c.requests.flushes },
    Metric { name: "fua", of: |b| b.total.fua, of_call: |c| c.requests.fua },
    Metric { name: "data_bytes", of: |b| b.ledger.data_bytes, of_call: |c| c.requests.write_bytes },
    Metric {
        name: "metadata_bytes",
        of: |b| b.ledger.metadata_bytes,
        of_call: |c| c.requests.write_bytes,
    },
    Metric {
        name: "journal_bytes",
        of: |b| b.ledger.journal_bytes,
        of_call: |c| c.requests.write_bytes,
    },
    Metric { name: "syncs", of: |b| b.syncs, of_call: |c| if c.syncs { c.count } else { 0 } },
    Metric { name: "changes", of: |b| b.changes, of_call: |c| if c.changes { c.count } else { 0 } },
];

impl Metric {
    /// The metric with a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        METRICS.iter().find(|metric| metric.name == name)
    }
}

impl Bill {
    /// Returns whether calls have their stacks.
    pub fn has_stacks(&self) -> bool {
        self.calls.iter().any(|call| !call.stack.is_empty())
    }

    /// Returns the highest value of a metric in the two runs, and the lowest.
    pub fn range(&self, metric: &Metric) -> [u64; 2] {
        let value = (metric.of)(self);
        let varying = self.varies.iter().find(|varying| varying.metric == metric.name);
        let again = varying.map_or(value, |varying| varying.again);
        [value.min(again), value.max(again)]
    }
}

/// Calls that are named for one number.
const BECAUSE_MAX: usize = 3;

/// Returns the numbers that differ between two runs of one command, and why.
pub fn varying(first: &Bill, second: &Bill) -> Vec<Varying> {
    let different = METRICS.iter().filter(|metric| (metric.of)(first) != (metric.of)(second));
    let found = different.map(|metric| Varying {
        metric: metric.name.into(),
        again: (metric.of)(second),
        because: because(metric, first, second),
    });
    found.collect()
}

fn because(metric: &Metric, first: &Bill, second: &Bill) -> Vec<String> {
    let mut all: BTreeMap<_, [u64; 2]> = BTreeMap::new();
    for (at, bill) in [first, second].into_iter().enumerate() {
        for call in &bill.calls {
            let key = (&call.process, &call.call, &call.path);
            all.entry(key).or_default()[at] += (metric.of_call)(call);
        }
    }
    let mut different: Vec<_> = all.into_iter().filter(|(_, [a, b])| a != b).collect();
    // The names decide where the numbers are equal, so that the order is always the same.
    different.sort_by_key(|(_, [a, b])| std::cmp::Reverse(a.abs_diff(*b)));
    let words = different
        .into_iter()
        .take(BECAUSE_MAX)
        .map(|((process, call, path), [a, b])| format!("{process}: {call} of {path}, {a} and {b}"));
    words.collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A bill of calls, each with a name, a path, its count, and its writes.
    pub(in crate::cost) fn bill(calls: &[(&str, &str, u64, u64)]) -> Bill {
        let calls = calls.iter().map(|(call, path, count, writes)| CallCost {
            process: "app".into(),
            call: (*call).into(),
            path: (*path).into(),
            stack: Vec::new(),
            count: *count,
            bytes: 0,
            waits: 0,
            waited_ns: 0,
            requests: Requests {
                writes: *writes,
                write_bytes: 4096 * writes,
                ..Requests::default()
            },
            syncs: call.contains("sync"),
            changes: *call == "rename",
        });
        let calls: Vec<CallCost> = calls.collect();
        let mut total = Requests::default();
        for call in &calls {
            total.add(&call.requests);
        }
        let count = |is: fn(&CallCost) -> bool| {
            calls.iter().filter(|call| is(call)).map(|call| call.count).sum()
        };
        Bill {
            schema: SCHEMA.into(),
            command: "app".into(),
            file_system: "ext4".into(),
            kernel: "6.12".into(),
            seed: 1,
            total,
            left: Requests::default(),
            syncs: count(|call| call.syncs),
            changes: count(|call| call.changes),
            ledger: Ledger {
                data_bytes: total.write_bytes,
                drive_bytes: total.write_bytes,
                ..Ledger::default()
            },
            drives: Vec::new(),
            calls,
            files: Vec::new(),
            processes: Vec::new(),
            varies: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_ledger_closes_to_the_byte() {
        let ledger = Ledger {
            program_bytes: 5000,
            page_cache_bytes: 3192,
            data_bytes: 8192,
            metadata_bytes: 4096,
            journal_bytes: 12_288,
            unattributed_bytes: 0,
            drive_bytes: 24_576,
        };
        assert!(ledger.closes());
        assert!(!Ledger { drive_bytes: 24_575, ..ledger }.closes());
        assert!(!Ledger { page_cache_bytes: -1, ..ledger }.closes());
        assert!(!Ledger { page_cache_bytes: -5001, ..ledger }.closes());
    }

    #[test]
    fn what_differs_between_two_runs_is_named_with_its_cause() {
        let first = bill(&[("fsync", "a", 3, 9), ("write", "b", 1, 0)]);
        let second = bill(&[("fsync", "a", 3, 9), ("fsync", "tmp7", 2, 4), ("write", "b", 1, 0)]);
        let found = varying(&first, &second);
        let named: Vec<_> = found.iter().map(|it| (it.metric.as_str(), it.again)).collect();
        let bytes = 13 * 4096;
        let expected =
            [("writes", 13), ("write_bytes", bytes), ("data_bytes", bytes), ("syncs", 5)];
        assert_eq!(named, expected);
        assert_eq!(found[0].because, ["app: fsync of tmp7, 0 and 4"]);
        assert!(varying(&first, &first).is_empty());
        let both = Bill { varies: found, ..first };
        assert_eq!(both.range(Metric::named("syncs").unwrap()), [3, 5]);
        assert_eq!(both.range(Metric::named("flushes").unwrap()), [0, 0]);
    }

    #[test]
    fn only_what_differs_is_named() {
        let one = Requests { writes: 9, flushes: 3, ..Requests::default() };
        let other = Requests { flushes: 2, fua: 1, ..one };
        assert_eq!(
            other.instead_of(&one),
            ["2 flushes instead of 3", "1 writes with FUA instead of 0"]
        );
        assert!(one.instead_of(&one).is_empty());
    }
}
