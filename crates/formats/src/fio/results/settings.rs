//! The options of a job that decide what its figures measure.

use super::output::{Job, Output};

/// Engines that reach their storage past the page cache of this machine, with or without
/// `direct=1`: drivers in user space, commands to the device, and clients of a network.
const UNCACHED: [&str; 14] = [
    "spdk",
    "spdk_nvme",
    "spdk_bdev",
    "xnvme",
    "io_uring_cmd",
    "sg",
    "libblkio",
    "nbd",
    "rbd",
    "rados",
    "http",
    "libiscsi",
    "rdma",
    "dev-dax",
];

/// A job with the options of its call.
#[derive(Clone, Copy)]
pub(super) struct Settings<'a> {
    pub(super) job: &'a Job,
    pub(super) output: &'a Output,
}

impl<'a> Settings<'a> {
    fn get(self, name: &str) -> Option<&'a str> {
        self.job.options.get(name).or_else(|| self.output.global.get(name))
    }

    /// True if the option is given, and not as 0.
    fn has(self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !matches!(value.trim(), "0" | "none"))
    }

    /// True if the engine does no I/O.
    pub(super) fn is_null(self) -> bool {
        self.get("ioengine") == Some("null")
    }

    /// True if requests pass through the page cache, which is fio's default; false where the file
    /// does not say it.
    pub(super) fn is_buffered(self) -> bool {
        let engine = self.get("ioengine").unwrap_or_default();
        // `external:PATH/spdk_nvme` is an engine by its file.
        let engine = engine.rsplit(['/', ':']).next().unwrap_or_default();
        let is_direct = self.has("direct") || self.get("buffered") == Some("0");
        self.output.records_options_of(self.job) && !is_direct && !UNCACHED.contains(&engine)
    }

    /// True if a write waits for the disk within its own latency (`O_SYNC`, `O_DSYNC`).
    pub(super) fn opens_synced(self) -> bool {
        self.has("sync")
    }

    /// True if calls of `fsync` follow the writes, or the last of them.
    pub(super) fn calls_sync(self) -> bool {
        ["fsync", "fdatasync", "end_fsync"].into_iter().any(|name| self.has(name))
    }

    /// True if the job only writes, and its time includes the wait for the disk.
    pub(super) fn waits_for_disk(self) -> bool {
        !reads(self.job) && (self.opens_synced() || self.calls_sync())
    }

    /// The option that sets the rate of the job, as given.
    pub(super) fn rate(self) -> Option<String> {
        ["rate", "rate_iops"].into_iter().find_map(|name| {
            let value = self.get(name)?;
            let is_set = value.split(',').any(|it| !matches!(it.trim(), "" | "0"));
            is_set.then(|| format!("{name}={value}"))
        })
    }
}

/// True if a job made reads.
pub(super) fn reads(job: &Job) -> bool {
    // With `unified_rw_reporting` the mixture may hold them.
    job.read.requests.max(job.mixed.requests) > 0
}
