//! A job as described in its file.

use drivelab_core::units::Bytes;
use drivelab_core::workload::WorkloadOptions;
use drivelab_core::{JobSchedule, Polling};

use super::extent::{Extent, ExtentError};
use super::number::Part;

/// One job section, completed with fio's defaults and those of `[global]`.
#[derive(Debug, Clone, PartialEq)]
pub struct FileJob {
    /// The section's name.
    pub name: String,
    /// Jobs of one group run together; each `stonewall` begins another.
    pub group: u32,
    /// The file or device that all copies of the job share, or one for each copy.
    pub targets: Vec<String>,
    /// The directories in which they lie, which must exist.
    pub directories: Vec<String>,
    /// Its workload, except for region and duration.
    pub workload: WorkloadOptions,
    /// Its region, and when it ends.
    pub extent: Extent,
    /// The way of doing I/O, under drivelab's names.
    pub ioengine: &'static str,
    /// Polling: `hipri` and `sqthread_poll`.
    pub polling: Polling,
    /// Bypasses the page cache.
    pub direct: bool,
    /// Copies of the job that run together.
    pub numjobs: u32,
    /// Begin and end of the copies, and their shares of the target.
    pub conduct: JobSchedule,
    /// Seed of all random choices of the first job of the file; those of the others are derived
    /// from it with their number, as in fio.
    pub seed: u64,
    /// Jobs of the file, or of the command, before this one, copies included.
    pub number: u32,
    /// Its files are created, and nothing else is done.
    pub create_only: bool,
    /// A missing file may be created.
    pub may_create: bool,
    /// Accepted options without effect here, each with the reason.
    pub notes: Vec<String>,
    /// Files among which the work of each copy is divided; 1 where the copies share one file or
    /// have one each.
    pub parts: u32,
    /// The number of these files that have one outstanding request more than the others.
    pub deeper: u32,
    /// The way in which data is verified.
    pub verify: Verify,
    /// The options of the section itself, as written.
    pub options: Vec<(String, String)>,
    /// The options of `[global]` that hold for it, in the list of all.
    pub inherited: std::ops::Range<usize>,
}

/// The way in which a job verifies data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// It does not.
    No,
    /// Its writes are labelled, and read back after it.
    Written,
    /// Its writes are labelled, and not read back until a later job does.
    Later,
    /// It only reads, and what earlier jobs wrote to its targets is read back after it.
    Earlier,
}

/// The command line that is equivalent to jobs.
pub fn command_line(global: &[(String, String)], jobs: &[FileJob]) -> String {
    let mut words = vec!["fio".to_owned()];
    // Options of `[global]` behind the first section hold for later ones only.
    let mut next = 0;
    for job in jobs {
        let holds = &global[next.min(job.inherited.end)..job.inherited.end];
        if next > 0 && !holds.is_empty() {
            words.push("--name=global".to_owned());
        }
        words.extend(holds.iter().map(word));
        next = next.max(job.inherited.end);
        words.push(word(&("name".to_owned(), job.name.clone())));
        let own = job.options.iter().filter(|(key, _)| key != "name");
        words.extend(own.map(word));
    }
    words.join(" ")
}

/// An option as a word for the shell.
fn word((key, value): &(String, String)) -> String {
    if value.is_empty() {
        return format!("--{key}");
    }
    if value.chars().all(is_plain) {
        return format!("--{key}={value}");
    }
    format!("--{key}='{}'", value.replace('\'', "'\\''"))
}

/// True for a character that no shell acts on.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_=./:,%+@^".contains(c)
}

impl FileJob {
    /// The value of an option as written, of its section or of `global`; the last one holds.
    pub fn said<'a>(&'a self, global: &'a [(String, String)], key: &str) -> Option<&'a str> {
        let inherited = global.get(self.inherited.clone()).unwrap_or_default();
        let mut options = inherited.iter().chain(&self.options).rev();
        options.find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// The job as fio lists it before it runs it.
    pub fn banner(&self) -> String {
        let Self { name, group, ioengine, numjobs, .. } = self;
        let rw = self.workload.rw.map(|rw| rw.to_string()).unwrap_or_default();
        let block = self.workload.bs.unwrap_or(Bytes::kib(4)).get();
        let (least, most) = self
            .workload
            .bssplit
            .as_ref()
            .map_or((block, block), |sizes| (sizes.smallest().get(), sizes.largest().get()));
        let depth = self.workload.iodepth.unwrap_or(1);
        let more = if *numjobs > 1 { "...\n" } else { "" };
        format!(
            "{name}: (g={group}): rw={rw}, bs=(R) {least}B-{most}B, (W) {least}B-{most}B, (T) \
             {least}B-{most}B, ioengine={ioengine}, iodepth={depth}\n{more}"
        )
    }

    /// True if its file takes the free space of its file system (`fill_device`), or as much of it
    /// as its `size` says.
    pub fn fills(&self) -> bool {
        self.extent.fills && !matches!(self.extent.size, Some(Part::Percent(_)))
    }

    /// Sets the end of its file, of which it uses all behind its `offset`.
    pub fn fill_to(&mut self, end: Bytes) {
        debug_assert!(self.fills(), "the job has no part of a whole as its size");
        let offset = self.extent.offset.and_then(|offset| offset.of(Some(end)));
        let size = end.get().saturating_sub(offset.unwrap_or_default().get());
        // As in fio a `size` beyond the end of the space is that of the space.
        let most = match self.extent.size {
            Some(Part::Bytes(size)) => size.get(),
            _ => u64::MAX,
        };
        self.extent.size = Some(Part::Bytes(Bytes::new(size.min(most))));
    }

    /// The workload for a target of `length`, or for one that has yet to be created.
    ///
    /// # Errors
    /// The size of the target is not given, or the options contradict each other.
    pub fn workload(&self, length: Option<Bytes>) -> Result<WorkloadOptions, ExtentError> {
        self.extent.apply(self.workload.clone(), length)
    }

    /// The workload for copy `copy` of the job, whose region begins `offset_increment` behind that
    /// of the previous one, and ends at the latest at the end of the target.
    ///
    /// # Errors
    /// As [`FileJob::workload`].
    pub fn workload_of(
        &self,
        copy: u32,
        length: Option<Bytes>,
    ) -> Result<WorkloadOptions, ExtentError> {
        let step = self.conduct.offset_increment.unwrap_or_default().get();
        let behind = step.saturating_mul(u64::from(copy));
        self.extent.behind(behind).apply(self.workload.clone(), length)
    }
}
