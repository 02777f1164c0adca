//! A section while it is read.

use super::FileJob;
use crate::polling::Polling;
use crate::units::{Bytes, SECTOR_BYTES, Span};
use crate::workload::WorkloadOptions;

/// What is wrong, and what to write instead.
pub(super) type Wrong = (String, Option<String>);

/// A section's options so far; a job's begins as a copy of the global one.
#[derive(Debug, Clone, Default)]
pub(super) struct Section {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) stonewall: bool,
    pub(super) filename: Option<String>,
    pub(super) directory: Option<String>,
    pub(super) workload: WorkloadOptions,
    pub(super) ioengine: Option<&'static str>,
    pub(super) polling: Polling,
    pub(super) direct: bool,
    pub(super) numjobs: Option<u32>,
    pub(super) seed: Option<u64>,
    pub(super) time_based: bool,
    pub(super) io_size: Option<Bytes>,
    pub(super) notes: Vec<String>,
}

impl Section {
    /// The one that others inherit from.
    pub(super) fn global() -> Self {
        Self::default()
    }

    /// A job section that inherits what was said so far.
    pub(super) fn begin(&self, name: &str, line: usize) -> Self {
        Self { name: name.to_owned(), line, ..self.clone() }
    }

    pub(super) fn note(&mut self, key: &str, why: &str) {
        self.notes.push(format!("`{key}`: {why}"));
    }

    /// Sets the block size; one of no whole sectors is rounded up, and that is told.
    pub(super) fn block(&mut self, asked: Bytes) {
        let whole = Bytes::new(asked.get().next_multiple_of(SECTOR_BYTES));
        if whole != asked {
            self.note("bs", &format!("{asked} bytes are rounded up to whole sectors, {whole}"));
        }
        self.workload.bs = Some(whole);
    }

    /// The finished job.
    pub(super) fn job(mut self, group: u32) -> Result<FileJob, Wrong> {
        if self.ioengine == Some("psync") && self.workload.iodepth.is_some_and(|depth| depth > 1) {
            self.workload.iodepth = None;
            self.note("iodepth", "a synchronous engine keeps one request outstanding, in fio too");
        }
        let target = self.target();
        let once = self.limit()?;
        Ok(FileJob {
            target,
            name: self.name,
            group,
            workload: self.workload,
            ioengine: self.ioengine,
            polling: self.polling,
            direct: self.direct,
            numjobs: self.numjobs.unwrap_or(1),
            seed: self.seed.unwrap_or(1),
            once,
            notes: self.notes,
        })
    }

    /// As fio names files: that of the job, `.0.0`, in the directory.
    fn target(&self) -> String {
        let name = self.filename.clone().unwrap_or_else(|| format!("{}.0.0", self.name));
        match &self.directory {
            Some(directory) if !name.starts_with('/') => format!("{directory}/{name}"),
            _ => name,
        }
    }

    /// When the job ends; gives whether that is when its region was transferred once.
    fn limit(&mut self) -> Result<bool, Wrong> {
        if self.time_based && self.workload.runtime.is_none() {
            let hint = Some("add `runtime=30s`".into());
            return Err(("`time_based` needs a `runtime`".into(), hint));
        }
        if self.time_based || self.workload.number_ios.is_some() {
            return Ok(false);
        }
        let Some(bytes) = self.io_size.or(self.workload.size) else {
            if self.workload.runtime.is_some() {
                return Ok(true);
            }
            let message = format!("nothing says when job `{}` ends", self.name);
            return Err((message, Some("add `runtime=30s`, or `size=1G`".into())));
        };
        // Of mixed sizes the mean decides how many requests the region takes.
        let checked = self.workload.clone().check().map_err(|error| (error.to_string(), None))?;
        let mean = checked.blocks.mean().get();
        self.workload.number_ios = Some((bytes.get() / mean).max(1));
        // Without a time only the number of requests ends it.
        self.workload.runtime.get_or_insert(Span::ZERO);
        Ok(false)
    }
}
