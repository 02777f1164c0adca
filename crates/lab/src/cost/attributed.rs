//! The parts of a bill: each request, and each byte, with its call, its file and its layer.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use drivelab_analysis::cost::{
    CallCost, FileCost, KERNEL, Ledger, ProcessCost, Requests, WAIT_MIN,
};
use drivelab_core::Op;
use drivelab_guest::cost::{Call, CallKind};

use super::charged::{Charged, charge};
use super::holds::{Holds, Map};
use super::meter::Metered;

/// A bill without its drives.
#[derive(Debug)]
pub(super) struct Attributed {
    pub(super) total: Requests,
    pub(super) ledger: Ledger,
    pub(super) calls: Vec<CallCost>,
    pub(super) files: Vec<FileCost>,
    pub(super) processes: Vec<ProcessCost>,
    /// Requests that were made while several calls waited.
    pub(super) several: u64,
}

/// The name of what the kernel does after a timer or for `sync` at the end.
const WRITEBACK: &str = "writeback";

/// Adds a request to a sum.
pub(super) fn count(sum: &mut Requests, request: &Metered) {
    let bytes = request.sectors.bytes().get();
    match request.op {
        Op::Read => (sum.reads, sum.read_bytes) = (sum.reads + 1, sum.read_bytes + bytes),
        Op::Write => {
            (sum.writes, sum.write_bytes) = (sum.writes + 1, sum.write_bytes + bytes);
            sum.fua += u64::from(request.fua);
        }
        Op::Trim => {
            (sum.discards, sum.discard_bytes) = (sum.discards + 1, sum.discard_bytes + bytes);
        }
        Op::Flush => sum.flushes += 1,
    }
}

/// Sums up requests.
pub(super) fn sum(requests: &[Metered]) -> Requests {
    let mut sum = Requests::default();
    for request in requests {
        count(&mut sum, request);
    }
    sum
}

/// Replaces the parts of a path that match one of the patterns by the pattern.
pub(super) fn normalised(path: &str, patterns: &[String]) -> String {
    let parts = path.split('/').map(|part| {
        let pattern = patterns.iter().find(|pattern| matches(part, pattern));
        pattern.map_or(part, String::as_str)
    });
    parts.collect::<Vec<_>>().join("/")
}

/// Returns whether a name matches a pattern, in which `*` stands for anything.
fn matches(name: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// The calls of one row: their process, name, path and stack.
type CallKey = (String, String, String, Vec<String>);

#[derive(Debug, Default)]
struct Sums {
    calls: BTreeMap<CallKey, CallCost>,
    files: BTreeMap<String, FileCost>,
    ledger: Ledger,
}

impl Sums {
    fn call(
        &mut self,
        process: &str,
        (name, path): (&str, &str),
        stack: &[String],
    ) -> &mut CallCost {
        let key = (process.to_owned(), name.to_owned(), path.to_owned(), stack.to_vec());
        self.calls.entry(key).or_insert_with(|| CallCost {
            process: process.into(),
            call: name.into(),
            path: path.into(),
            stack: stack.to_vec(),
            count: 0,
            bytes: 0,
            waits: 0,
            waited_ns: 0,
            requests: Requests::default(),
            syncs: false,
            changes: false,
        })
    }

    fn file(&mut self, path: &str) -> &mut FileCost {
        self.files.entry(path.to_owned()).or_insert_with(|| FileCost {
            path: path.into(),
            program_bytes: 0,
            data_bytes: 0,
            read_bytes: 0,
            requests: Requests::default(),
        })
    }

    /// Adds what a call says of itself; `file` is the name of its file in the end.
    fn made(&mut self, call: &Call, path: &str, file: &str, stack: &[String]) {
        let took = call.window.1.since(call.window.0);
        let cost = self.call(&call.process, (&call.name, path), stack);
        cost.count += 1;
        cost.bytes += call.bytes;
        cost.syncs = call.kind == CallKind::Sync;
        cost.changes = call.kind == CallKind::Change;
        if took > WAIT_MIN {
            (cost.waits, cost.waited_ns) = (cost.waits + 1, cost.waited_ns + took.ns());
        }
        if call.kind == CallKind::Write {
            self.file(file).program_bytes += call.bytes;
            self.ledger.program_bytes += call.bytes;
        }
    }

    /// Adds the parts of a request; `own` is the file of its call.
    fn holds(&mut self, op: Op, parts: &[(Holds, u64)], own: Option<&str>, patterns: &[String]) {
        for (holds, bytes) in parts {
            // A block of no file that a call on a file wrote: the file was removed since.
            let path = match (holds, own) {
                (Holds::File(path), _) => Some(normalised(path, patterns)),
                (Holds::Unknown, Some(own)) if own != "." => Some(own.to_owned()),
                _ => None,
            };
            // Reads move nothing to the drive: they are in no row of the ledger.
            if op == Op::Read {
                if let Some(path) = path {
                    self.file(&path).read_bytes += bytes;
                }
                continue;
            }
            self.ledger.drive_bytes += bytes;
            if let Some(path) = path {
                self.file(&path).data_bytes += bytes;
                self.ledger.data_bytes += bytes;
                continue;
            }
            *match holds {
                Holds::Metadata => &mut self.ledger.metadata_bytes,
                Holds::Journal => &mut self.ledger.journal_bytes,
                Holds::File(_) | Holds::Unknown => &mut self.ledger.unattributed_bytes,
            } += bytes;
        }
    }
}

/// Attributes the requests of a run to its calls, whose stacks have the names of functions.
pub(super) fn attribute(
    requests: &[Metered],
    (calls, stacks): (&[Call], &[Vec<String>]),
    map: &Map,
    patterns: &[String],
) -> Attributed {
    let parts: Vec<Vec<(Holds, u64)>> = requests
        .iter()
        .map(|request| {
            let parts = map.parts(request).into_iter();
            parts.map(|(holds, sectors)| (holds, sectors.bytes().get())).collect()
        })
        .collect();
    // The first part decides whose request it is: requests rarely mix owners.
    let first: Vec<Option<&Holds>> =
        parts.iter().map(|parts| parts.first().map(|it| &it.0)).collect();
    let names = final_names(calls);
    let Charged { calls: charged, several } = charge(requests, &first, (calls, &names));
    debug_assert_eq!(charged.len(), requests.len(), "each request is charged once");
    let mut sums = Sums::default();
    let paths: Vec<String> = calls.iter().map(|call| normalised(&call.path, patterns)).collect();
    let files: Vec<String> = names.iter().map(|name| normalised(name, patterns)).collect();
    assert_eq!(stacks.len(), calls.len(), "one for each call");
    for (index, call) in calls.iter().enumerate() {
        sums.made(call, &paths[index], &files[index], &stacks[index]);
    }
    for ((request, parts), charged) in requests.iter().zip(&parts).zip(charged) {
        // Without a call the kernel acted by itself, such as after a timer.
        let own = charged.map(|index| files[index].as_str());
        let requests = if let Some(index) = charged {
            let (process, name) = (&calls[index].process, &calls[index].name);
            count(&mut sums.file(&files[index]).requests, request);
            &mut sums.call(process, (name, &paths[index]), &stacks[index]).requests
        } else {
            let path = of_kernel(parts.first().map(|it| &it.0), patterns);
            let cost = sums.call(KERNEL, (WRITEBACK, &path), &[]);
            cost.count += 1;
            &mut cost.requests
        };
        count(requests, request);
        sums.holds(request.op, parts, own, patterns);
    }
    finished(sum(requests), sums, several)
}

/// Returns the name that the file of each call has in the end: of what is written to `f.tmp` and
/// renamed to `f` later, the contents are those of `f`.
fn final_names(calls: &[Call]) -> Vec<String> {
    let mut later: BTreeMap<&str, String> = BTreeMap::new();
    let mut names: Vec<String> = Vec::with_capacity(calls.len());
    for call in calls.iter().rev() {
        let name = later.get(call.path.as_str()).cloned().unwrap_or_else(|| call.path.clone());
        if let Some(from) = &call.from {
            // What had the new name before is gone under it.
            later.remove(call.path.as_str());
            later.insert(from, name.clone());
        }
        names.push(name);
    }
    names.reverse();
    debug_assert_eq!(names.len(), calls.len(), "a name for each call");
    names
}

/// Names what the kernel wrote.
fn of_kernel(holds: Option<&Holds>, patterns: &[String]) -> String {
    match holds {
        Some(Holds::File(path)) => normalised(path, patterns),
        Some(Holds::Metadata) => "(metadata)".into(),
        Some(Holds::Journal) | None => "(journal)".into(),
        Some(Holds::Unknown) => "(free)".into(),
    }
}

fn finished(total: Requests, sums: Sums, several: u64) -> Attributed {
    let Sums { calls, files, mut ledger } = sums;
    ledger.page_cache_bytes = signed_difference(ledger.data_bytes, ledger.program_bytes);
    debug_assert!(ledger.closes(), "every byte is in one row: {ledger:?}");
    debug_assert_eq!(ledger.drive_bytes, total.write_bytes, "and in no other");
    let mut processes: BTreeMap<String, ProcessCost> = BTreeMap::new();
    for call in calls.values() {
        let process = processes.entry(call.process.clone()).or_insert_with(|| ProcessCost {
            process: call.process.clone(),
            calls: 0,
            waits: 0,
            waited_ns: 0,
            requests: Requests::default(),
        });
        process.calls += call.count;
        process.waits += call.waits;
        process.waited_ns += call.waited_ns;
        process.requests.add(&call.requests);
    }
    let mut calls: Vec<CallCost> = calls.into_values().collect();
    // Sorting is stable, so that equal ones keep the order of their names.
    calls.sort_by_key(|call| (weight(&call.requests), Reverse(call.count)));
    let mut files: Vec<FileCost> = files.into_values().collect();
    files.sort_by_key(|file| (Reverse(file.data_bytes), weight(&file.requests)));
    let mut processes: Vec<ProcessCost> = processes.into_values().collect();
    processes.sort_by_key(|process| weight(&process.requests));
    Attributed { total, ledger, calls, files, processes, several }
}

/// Sorts the most expensive first.
fn weight(requests: &Requests) -> Reverse<(u64, u64)> {
    Reverse((requests.all(), requests.write_bytes))
}

/// One number less another one.
pub(super) fn signed_difference(one: u64, other: u64) -> i64 {
    let size = i64::try_from(one.abs_diff(other)).unwrap_or(i64::MAX);
    if one < other { -size } else { size }
}

#[cfg(test)]
mod tests {
    use drivelab_core::{Lba, Sectors, Time};
    use drivelab_guest::cost::Extent;
    use drivelab_guest::mounted::FileSystem;

    use super::super::holds::tests::empty;
    use super::*;

    fn call(name: &str, kind: CallKind, path: &str, (from, to): (u64, u64), bytes: u64) -> Call {
        Call {
            process: "app".into(),
            window: (Time::from_ns(from), Time::from_ns(to)),
            name: name.into(),
            kind,
            path: path.into(),
            from: None,
            bytes,
            offset: None,
            stack: Vec::new(),
        }
    }

    fn request(at: u64, op: Op, lba: u64, sectors: u64) -> Metered {
        let (lba, sectors) = (Lba::new(lba), Sectors::new(sectors));
        Metered { at: Time::from_ns(at), op, lba, sectors, fua: false, heads: Vec::new() }
    }

    #[test]
    fn every_byte_and_every_request_is_in_one_row() {
        let extent =
            Extent { path: "/mnt/db".into(), lba: Lba::new(800), sectors: Sectors::new(16) };
        let map = Map::new(FileSystem::Ext4, &empty, &[extent]);
        let calls = [
            call("write", CallKind::Write, "db", (1, 2), 100),
            call("write", CallKind::Write, "tmp7x", (3, 4), 5000),
            call("fsync", CallKind::Sync, "db", (10_000, 90_000), 0),
            call("fsync", CallKind::Sync, "tmp7x", (100_000, 190_000), 0),
            call("rename", CallKind::Change, "tmp7x", (200_000, 200_001), 0),
        ];
        let requests = [
            request(20_000, Op::Write, 800, 8),
            request(30_000, Op::Flush, 0, 0),
            request(110_000, Op::Write, 4000, 16),
            request(500_000, Op::Write, 808, 8),
            request(600_000, Op::Write, 9000, 8),
        ];
        let stacks = vec![Vec::new(); calls.len()];
        let found = attribute(&requests, (&calls, &stacks), &map, &["tmp*".into()]);
        let expected = Ledger {
            program_bytes: 5100,
            page_cache_bytes: 8192 + 8192 - 5100,
            data_bytes: 16_384,
            metadata_bytes: 0,
            journal_bytes: 0,
            unattributed_bytes: 4096,
            drive_bytes: 20_480,
        };
        assert_eq!(found.ledger, expected);
        let files: Vec<_> =
            found.files.iter().map(|file| (file.path.as_str(), file.data_bytes)).collect();
        assert_eq!(files, [("db", 8192), ("tmp*", 8192)]);
        let dearest = &found.calls[0];
        assert_eq!((dearest.call.as_str(), dearest.path.as_str()), ("fsync", "db"));
        assert_eq!((dearest.requests.writes, dearest.requests.flushes), (1, 1));
        assert_eq!((dearest.waits, dearest.waited_ns), (1, 80_000));
        let kernel = found.processes.iter().find(|it| it.process == KERNEL).unwrap();
        assert_eq!(kernel.requests.writes, 2);
        assert_eq!(found.total.writes, 4);
        let changes: u64 = found.calls.iter().filter(|it| it.changes).map(|it| it.count).sum();
        assert_eq!(changes, 1);
    }

    #[test]
    fn a_file_that_is_renamed_is_known_by_its_last_name() {
        let write = |path| call("write", CallKind::Write, path, (1, 2), 1);
        let rename = |from: &str, to| Call {
            from: Some(from.into()),
            ..call("rename", CallKind::Change, to, (1, 2), 0)
        };
        let calls = [
            write("f"),
            write("f.tmp"),
            rename("f.tmp", "f"),
            write("f.tmp"),
            write("f"),
            rename("f", "g"),
            write("f"),
        ];
        let names = final_names(&calls);
        assert_eq!(names, ["f", "g", "g", "f.tmp", "g", "g", "f"]);
    }

    #[test]
    fn a_pattern_stands_for_what_changes() {
        fn check(path: &str, pattern: &str, expected: &str) {
            assert_eq!(normalised(path, &[pattern.to_owned()]), expected, "{pattern}");
        }
        check("d/tmp.x7", "tmp.*", "d/tmp.*");
        check("d/tmp.x7/db", "tmp.*", "d/tmp.*/db");
        check("a-1-b", "a-*-b", "a-*-b");
        check("a-b", "a-*-b", "a-b");
        check("abc", "*", "*");
        check("abc", "ab", "abc");
        check("abc", "abc", "abc");
    }
}
