//! The settings that sysbench prints above the figures of a run.

use drivelab_core::record::{Work, size};

use crate::found::seconds;

/// Lines `KEY: VALUE` and `KEY VALUE`, and the names of their options.
const VALUES: [(&str, &str); 13] = [
    ("Number of threads:", "threads"),
    ("Target transaction rate:", "rate"),
    ("Extra file open flags:", "file_extra_flags"),
    ("Block size ", "bs"),
    ("Number of IO requests:", "requests"),
    ("Read/Write ratio for combined random IO test:", "file_rw_ratio"),
    ("Prime numbers limit:", "cpu_max_prime"),
    ("block size:", "memory_block_size"),
    ("total size:", "memory_total_size"),
    ("operation:", "memory_oper"),
    ("scope:", "memory_scope"),
    ("Memory block size:", "memory_block_size"),
    ("Doing ", "rw"),
];

/// Takes a line, if it is about the work.
pub(super) fn read(work: &mut Work, text: &str) {
    for (start, key) in VALUES {
        if let Some(value) = text.strip_prefix(start) {
            let value = value.trim().trim_end_matches(" test");
            work.set(key, size(value));
        }
    }
    if let Some((files, each)) = text.strip_suffix(" each").and_then(|it| it.split_once(" files, "))
    {
        work.set("files", files);
        work.set("file_size", size(each));
    } else if let Some(total) = text.strip_suffix(" total file size") {
        work.set("size", size(total));
    } else if let Some(count) = text
        .strip_prefix("Periodic FSYNC enabled, calling fsync() each ")
        .and_then(|rest| rest.strip_suffix(" requests."))
    {
        work.set("fsync", count);
    } else if let Some(mode) =
        text.strip_prefix("Using ").and_then(|it| it.strip_suffix(" I/O mode"))
    {
        work.set("ioengine", mode);
    } else if text.starts_with("Calling fsync() at the end of test") {
        work.set_switch("end_fsync", text.contains("Enabled"));
    } else if text.starts_with("Calling fsync() after each write operation") {
        work.set("fsync", 1);
    } else if let Some(time) = text.strip_prefix("Time limit:") {
        work.set("runtime", seconds(time));
    }
}
