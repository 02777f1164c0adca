//! A section during reading.

mod flow;
mod latency;
mod several;
mod shared;
mod zones;

use super::extent::Extent;
use super::file_job::{FileJob, Verify};
use super::names;
use super::number::{Base, OFFSET_MAX, Part, Sided, differs};
use super::problem::At;
use drivelab_core::units::{Bytes, Ratio, Span};
use drivelab_core::workload::{BlockSizes, Rw, WorkloadOptions};
use drivelab_core::{JobSchedule, Polling, Refusal};
use flow::Flow;
use latency::Latency;
use zones::Zones;

/// The longest path that the kernel accepts (`PATH_MAX`).
const NAME_BYTES_MAX: usize = 4096;
/// Maximum number of notes of a job; there are fewer keys.
const NOTES_MAX: usize = 100;
/// The size of a block of a job that names none.
const BS_DEFAULT: u64 = 4096;

/// A section's options so far; a job's section begins as a copy of the global one.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own, as in fio")]
pub(super) struct Section {
    pub(super) at: At,
    pub(super) name: String,
    pub(super) stonewall: bool,
    pub(super) wait_for: Option<String>,
    /// The files, in their directories.
    pub(super) filenames: Vec<String>,
    /// The names in this section so far.
    pub(super) given: Vec<String>,
    pub(super) zones: Zones,
    pub(super) filename_format: Option<String>,
    pub(super) directory: Option<String>,
    pub(super) workload: WorkloadOptions,
    pub(super) extent: Extent,
    pub(super) bs: Option<Sided<Bytes>>,
    pub(super) split: Option<BlockSizes>,
    pub(super) range: Option<BlockSizes>,
    /// The gap that sequential I/O leaves after each block; true if it goes backwards.
    pub(super) skip: Option<(Bytes, bool)>,
    pub(super) rate: Option<Sided<Bytes>>,
    pub(super) rate_iops: Option<Sided<u64>>,
    pub(super) ioengine: Option<&'static str>,
    pub(super) polling: Polling,
    pub(super) direct: bool,
    /// Memory is locked, so that less is left for the page cache (`lockmem`).
    pub(super) locks_memory: bool,
    /// Missing files are not created (`allow_file_create=0`).
    pub(super) no_create: bool,
    /// Nothing is done but to create the files.
    pub(super) create_only: bool,
    /// A file follows when the previous one is complete (`file_service_type=sequential`).
    pub(super) in_sequence: bool,
    /// Nothing is written (`--readonly`).
    pub(super) readonly: bool,
    /// Written data is read back.
    pub(super) verify: bool,
    /// It is not, regardless of `verify` (`do_verify=0`).
    pub(super) no_verify: bool,
    /// Requests that overlap follow one another.
    pub(super) no_overlap: bool,
    pub(super) numjobs: Option<u32>,
    pub(super) conduct: JobSchedule,
    pub(super) flow: Flow,
    pub(super) latency: Latency,
    /// As `end_fsync`: fio flushes at the end of a job for either, and once for both.
    pub(super) fsync_on_close: bool,
    pub(super) seed: Option<u64>,
    pub(super) base: Base,
    pub(super) notes: Vec<String>,
    /// The options of this section itself, as written.
    pub(super) own: Vec<(String, String)>,
}

impl Section {
    /// The section that others inherit from.
    pub(super) fn global() -> Self {
        Self::default()
    }

    /// A job section that inherits the options so far.
    pub(super) fn begin(&self, name: &str, at: At) -> Self {
        Self { name: name.to_owned(), at, own: Vec::new(), ..self.clone() }
    }

    /// Resolves the names that the section gave, once its directory is known: they add to those of
    /// `[global]`, which keep the directory that was set there.
    pub(super) fn resolve_names(&mut self) {
        let folders = self.directories();
        for name in std::mem::take(&mut self.given) {
            self.filenames.push(names::within(&folders, 0, &name));
        }
    }

    fn directories(&self) -> Vec<String> {
        self.directory.as_deref().map_or(Vec::new(), names::split)
    }

    pub(super) fn note(&mut self, key: &str, why: &str) {
        let note = format!("`{key}`: {why}");
        if self.notes.len() < NOTES_MAX && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The finished job, which `number` jobs of the file precede.
    pub(super) fn job(mut self, group: u32, number: u32) -> Result<FileJob, Refusal> {
        let rw = self.kinds();
        self.workload.rw = Some(rw);
        self.permitted(rw)?;
        self.memory()?;
        self.workload.own_cursors = Some(rw == Rw::ReadWrite);
        self.workload.fsync_between = Some(true);
        self.conduct.end_fsync |= self.fsync_on_close;
        // fio's default, not drivelab's: every block once before any is repeated.
        self.workload.norandommap.get_or_insert(false);
        self.block(rw)?;
        self.order(rw)?;
        self.workload.strided = self.zones.strided()?;
        self.pace(rw)?;
        self.depth();
        self.engine();
        let (parts, deeper) = self.divided()?;
        self.overlap(rw)?;
        let verify = self.verified(rw)?;
        self.sharing(rw);
        self.counts(rw);
        self.shared(parts)?;
        if self.extent.time_based && self.workload.runtime.is_none() {
            self.note("time_based", "without `runtime` the job ends after its full size");
            self.extent.time_based = false;
        }
        // Impossible options are reported before anything runs.
        let unlimited = WorkloadOptions { runtime: None, ..self.workload.clone() };
        unlimited.check().map_err(Refusal::request)?;
        self.fits()?;
        Ok(FileJob {
            targets: self.targets()?,
            parts,
            deeper,
            directories: self.directories(),
            name: self.name,
            group,
            workload: self.workload,
            extent: self.extent,
            // The default engine of fio on Linux.
            ioengine: self.ioengine.unwrap_or("psync"),
            polling: self.polling,
            direct: self.direct,
            numjobs: self.numjobs.unwrap_or(1),
            conduct: self.conduct,
            seed: self.seed.unwrap_or(1),
            number,
            create_only: self.create_only,
            may_create: !self.no_create && !self.readonly,
            notes: self.notes,
            verify,
            options: self.own,
            inherited: 0..0,
        })
    }

    /// Refuses sums and products that no target can contain.
    fn fits(&self) -> Result<(), Refusal> {
        let filesize = self.extent.filesize.unwrap_or_default().get();
        let files = filesize.checked_mul(u64::from(self.extent.files.max(1)));
        if !is_offset(files) {
            return Err(beyond("`filesize` times `nrfiles`"));
        }
        let (offset, size) = (bytes(self.extent.offset), bytes(self.extent.size));
        let end = offset.checked_add(size.max(files.unwrap_or(0)));
        if !is_offset(end) {
            return Err(beyond("the sum of `offset` and `size`"));
        }
        let step = self.conduct.offset_increment.unwrap_or_default().get();
        let behind = step.checked_mul(u64::from(self.numjobs.unwrap_or(1).saturating_sub(1)));
        if !is_offset(behind.zip(end).and_then(|(behind, end)| behind.checked_add(end))) {
            return Err(beyond("`offset_increment` times `numjobs`"));
        }
        Ok(())
    }

    /// The kind of I/O: a mixture of reads alone only reads, and one of writes alone only writes.
    fn kinds(&mut self) -> Rw {
        let rw = self.workload.rw.unwrap_or(Rw::Read);
        match (rw, self.workload.rwmixread) {
            (Rw::ReadWrite, Some(100)) => Rw::Read,
            (Rw::RandRw, Some(100)) => Rw::RandRead,
            (Rw::ReadWrite, Some(0)) => Rw::Write,
            (Rw::RandRw, Some(0)) => Rw::RandWrite,
            _ => rw,
        }
    }

    /// Refuses a writing job where nothing may be written.
    fn permitted(&self, rw: Rw) -> Result<(), Refusal> {
        if !self.readonly || !rw.writes() {
            return Ok(());
        }
        let wrong = format!("the job `{}` writes (`rw={rw}`), which `readonly` forbids", self.name);
        Err(Refusal::request(wrong).hint("omit `--readonly`, or give the job `rw=read`"))
    }

    /// Refuses less memory for the page cache where a job uses it.
    fn memory(&mut self) -> Result<(), Refusal> {
        if self.locks_memory && !self.direct {
            let wrong = "`lockmem`: drivelab locks no memory, and the job uses the page cache";
            return Err(Refusal::request(wrong)
                .hint("limit it: `systemd-run -p MemoryMax=1G`, or add `direct=1`"));
        }
        if self.locks_memory {
            self.note("lockmem", "no memory is locked: with `direct=1` no page cache is used");
        }
        Ok(())
    }

    /// The block size of the kinds of request that occur. As in fio, a split or a range holds
    /// regardless of `bs`, and a split regardless of a range.
    fn block(&mut self, rw: Rw) -> Result<(), Refusal> {
        if let Some(split) = self.split.take() {
            if self.range.is_some() || self.bs.is_some() {
                self.note("bssplit", "as in fio, it overrides `bs` and `bsrange`");
            }
            self.workload.bssplit = Some(split);
            return Ok(());
        }
        if let Some(range) = self.range.take() {
            if self.bs.is_some() {
                self.note("bsrange", "as in fio, it overrides `bs`");
            }
            self.workload.bssplit = Some(range);
            return Ok(());
        }
        let Some(sides) = self.bs else { return Ok(()) };
        let [read, write, trim] =
            [sides.read, sides.write, sides.trim].map(|side| side.unwrap_or(Bytes::kib(4)));
        let size = match (rw.reads(), rw.sends()) {
            (true, true) if read != write => return Err(differs("bs")),
            (false, true) if rw.trims() && trim != write => return Err(differs("bs")),
            (true, _) => read,
            (false, true) => write,
            (false, false) => trim,
        };
        self.workload.bs = Some(self.whole_sectors(size));
        Ok(())
    }

    /// Notes where the number of requests, or the blocks that they use, differ from fio.
    fn counts(&mut self, rw: Rw) {
        // As in fio, 0 is no limit.
        self.workload.number_ios = self.workload.number_ios.filter(|asked| *asked > 0);
        if self.conduct.end_fsync && self.extent.loops > 1 && rw.writes() {
            self.note("end_fsync", "one flush after the last loop; in fio one after each");
        }
        let ramp = self.workload.ramp_time.is_some_and(|time| time > Span::ZERO);
        if ramp && !self.extent.time_based {
            let why = "the requests of the ramp are additional; in fio they count towards `size`";
            self.note("ramp_time", why);
        }
        if self.workload.ss.is_some() && self.numjobs.is_some_and(|jobs| jobs > 1) {
            let why = "each job ends at its own steady state; in fio, with `group_reporting`, \
                       all end at that of their sums";
            self.note("ss", why);
        }
        let uses_map = rw.is_random() && self.workload.norandommap == Some(false);
        if uses_map && self.workload.percentage_random.is_some_and(|percent| percent < 100) {
            self.note("percentage_random", "blocks may repeat; in fio each random one is new");
        }
        let split = self.workload.bssplit.as_ref();
        if split.is_none_or(|sizes| sizes.smallest() == sizes.largest()) {
            return;
        }
        if uses_map {
            let why = "blocks of several sizes may repeat; in fio they are used once, and those \
                       between used ones are smaller";
            self.note("bs", why);
        }
        if !self.extent.time_based && self.workload.number_ios.is_none() {
            let why = "the job makes as many requests as its size holds blocks of the mean size; \
                       in fio it ends at the size itself";
            self.note("bs", why);
        }
    }

    /// Gaps and direction of sequential blocks.
    fn order(&mut self, rw: Rw) -> Result<(), Refusal> {
        let Some((skip, backwards)) = self.skip else { return Ok(()) };
        let sizes = self.workload.bssplit.as_ref().map(BlockSizes::largest);
        let block = self.workload.bs.or(sizes).unwrap_or(Bytes::kib(4)).get();
        // From the end of a block, `skip` bytes are skipped, or gone back.
        let step =
            if backwards { skip.get().checked_sub(block) } else { skip.get().checked_add(block) };
        let Some(step) = step.filter(|step| *step >= block) else {
            let message = format!("`rw={rw}:-{skip}` would touch some bytes twice");
            let twice = block.saturating_mul(2);
            let hint = format!("skip two blocks, `{rw}:-{twice}`");
            return Err(Refusal::request(message).hint(hint));
        };
        self.workload.stride = Some(Bytes::new(step)).filter(|step| step.get() > block);
        self.workload.backwards = Some(backwards);
        Ok(())
    }

    /// The rate of requests. In fio there is one rate for reads and one for writes, each
    /// maintained regardless of the mixture.
    fn pace(&mut self, rw: Rw) -> Result<(), Refusal> {
        let (bytes, requests) = (self.rate, self.rate_iops);
        if bytes.is_none() && requests.is_none() {
            if self.workload.poisson.take() == Some(true) {
                self.note("rate_process", "without a rate it changes nothing, as in fio");
            }
            return Ok(());
        }
        let bytes = self.one_rate(rw, bytes.map(|sides| sides.map(Bytes::get)))?;
        self.workload.rate = bytes.map(Bytes::new);
        self.workload.rate_iops = self.one_rate(rw, requests)?;
        let Some(bytes) = bytes else { return Ok(()) };
        let checked = self.workload.clone();
        let runtime = None;
        let checked = WorkloadOptions { runtime, ..checked }.check();
        let mean = checked.map_err(Refusal::request)?.blocks.mean().get();
        // An open loop must maintain its rate to within a hundredth; one below a request per second
        // is exact.
        if bytes >= mean && bytes % mean > bytes / 100 {
            let per_s = bytes / mean;
            self.note("rate", &format!("rounded down to {per_s} requests per second"));
        }
        Ok(())
    }

    /// The rate of the kinds of request that occur, reads and writes together.
    fn one_rate(&mut self, rw: Rw, sides: Option<Sided<u64>>) -> Result<Option<u64>, Refusal> {
        let Some(sides) = sides else { return Ok(None) };
        // As in fio, 0 is no limit.
        let [read, write, trim] =
            [sides.read, sides.write, sides.trim].map(|side| side.filter(|rate| *rate > 0));
        if !(rw.reads() && rw.sends()) {
            let side = if rw.reads() { read } else { write };
            if rw.trims_and_writes() {
                // Each kind has its own rate, as in a mixture.
                return Ok(trim.zip(write).map(|(trim, write)| trim.saturating_add(write)));
            }
            return Ok(if rw.trims() { trim } else { side });
        }
        if read.is_none() && write.is_none() {
            return Ok(None);
        }
        let (Some(read), Some(write)) = (read, write) else {
            return Err(Refusal::request("only one of reads and writes has a rate")
                .hint("give reads and writes separate sections: they start together"));
        };
        let sum = read.saturating_add(write);
        debug_assert!(sum > 0, "rates of 0 were left out");
        let share = u128::from(read) * u128::from(Ratio::ONE.billionths()) / u128::from(sum.max(1));
        let share = Ratio::from_billionths(u64::try_from(share).unwrap_or(0));
        self.workload.read_share = Some(share);
        self.note("rate", &format!("reads and writes have separate rates: {share} are reads"));
        Ok(Some(sum))
    }

    /// The number of requests outstanding.
    fn depth(&mut self) {
        let depth = *self.workload.iodepth.get_or_insert(1);
        let one = if is_synchronous(self.ioengine) {
            "a synchronous engine keeps one request outstanding, as in fio"
        } else if self.workload.thinktime.is_some_and(|time| time > Span::ZERO) {
            "with `thinktime` a job has one request outstanding, as in fio"
        } else {
            return;
        };
        if depth > 1 {
            self.workload.iodepth = Some(1);
            self.note("iodepth", one);
        }
    }

    /// Linux AIO and system calls, where they differ from a ring.
    fn engine(&mut self) {
        if self.polling != Polling::default() && is_synchronous(self.ioengine) {
            self.polling = Polling::default();
            self.note("hipri", "only io_uring polls");
        }
        if self.ioengine != Some("libaio") {
            return;
        }
        if self.polling != Polling::default() {
            self.ioengine = Some("io_uring");
            return self.note("ioengine", "io_uring replaces libaio, which cannot poll");
        }
        if !self.direct && self.workload.iodepth.is_some_and(|depth| depth > 1) {
            let why = "without `direct=1` each request is waited for where it is submitted, as in \
                       fio: `iodepth` has no effect";
            self.note("ioengine", why);
        }
    }

    /// Overlapping requests, which drivelab does not hold back; most jobs make none.
    fn overlap(&self, rw: Rw) -> Result<(), Refusal> {
        let depth = self.workload.iodepth.unwrap_or(1);
        let is_each_once =
            self.workload.norandommap != Some(true) && self.workload.random_distribution.is_none();
        if !self.no_overlap || depth == 1 || !rw.sends() || !rw.is_random() || is_each_once {
            return Ok(());
        }
        let wrong = "with `norandommap`, requests may overlap, which `serialize_overlap` forbids";
        Err(Refusal::request(wrong).hint("omit `norandommap`, or `serialize_overlap`"))
    }

    /// The way in which data is verified.
    fn verified(&mut self, rw: Rw) -> Result<Verify, Refusal> {
        if !self.verify {
            return Ok(Verify::No);
        }
        // A label would be written with each block, and no ledger says what a trim left.
        if rw.trims() {
            let wrong = "`verify`: what is trimmed has no label to read back";
            return Err(Refusal::request(wrong).hint("`rw=write` or `rw=randwrite`"));
        }
        if self.no_verify {
            let why = "nothing is read back after the job; a later job that reads with `verify` \
                       checks it";
            self.note("do_verify", why);
        }
        Ok(match (rw.writes(), self.no_verify) {
            (true, false) => Verify::Written,
            (true, true) => Verify::Later,
            (false, false) => Verify::Earlier,
            (false, true) => Verify::No,
        })
    }

    /// Shares of the target among jobs and files.
    fn sharing(&mut self, rw: Rw) {
        if self.extent.files > 1 && self.filenames.is_empty() {
            let files = self.extent.files;
            if rw.is_random() {
                self.note("nrfiles", "one file as large as all of them together");
                if self.in_sequence {
                    let why = "random requests use all files at the same time";
                    self.note("file_service_type", why);
                }
            } else if self.in_sequence {
                self.note("nrfiles", &format!("one file in {files} parts, one after the other"));
            } else {
                self.workload.streams = Some(files);
                self.note("nrfiles", &format!("one file in {files} parts, which take turns"));
            }
        } else {
            self.extent.files = 1;
        }
        let several = self.numjobs.is_some_and(|jobs| jobs > 1) && !self.filenames.is_empty();
        if several && !rw.is_random() && self.conduct.offset_increment.is_none() {
            if self.is_too_small_to_divide() {
                self.conduct.offset_increment = Some(Bytes::ZERO);
                self.note("numjobs", "all jobs use the same blocks, as in fio");
                return;
            }
            let why = "each sequential job gets its own part of the region; `offset_increment=0` \
                       makes all use the same blocks, as in fio";
            self.note("numjobs", why);
        }
    }

    /// True if the part of a copy of the job would be smaller than a block.
    fn is_too_small_to_divide(&self) -> bool {
        let files = self.extent.filesize.unwrap_or_default().get();
        let size = bytes(self.extent.size);
        let region = if size == 0 || files > 0 && files < size { files } else { size };
        let block = match (self.workload.bs, &self.workload.bssplit) {
            (Some(bs), _) => bs.get(),
            (None, Some(sizes)) => sizes.largest().get(),
            (None, None) => BS_DEFAULT,
        };
        region > 0 && region / u64::from(self.numjobs.unwrap_or(1)) < block
    }

    /// As fio names files: the job's name, the number of the copy, and the number of the file; in
    /// the directory, or in several in turn.
    fn targets(&self) -> Result<Vec<String>, Refusal> {
        if !self.filenames.is_empty() {
            return Ok(self.filenames.clone());
        }
        let folders = self.directories();
        let format = self.filename_format.as_deref().unwrap_or("$jobname.$jobnum.$filenum");
        let mut targets: Vec<String> = Vec::new();
        for copy in 0..self.numjobs.unwrap_or(1) {
            let name = format.replace("$jobname", &self.name);
            let name = name.replace("$jobnum", &copy.to_string()).replace("$filenum", "0");
            let name = names::within(&folders, copy, &name);
            if name.len() > NAME_BYTES_MAX {
                let wrong = format!("a file name here is longer than {NAME_BYTES_MAX} bytes");
                return Err(Refusal::request(wrong));
            }
            targets.push(name);
        }
        debug_assert!(!targets.is_empty(), "a job has at least one copy");
        // A format without the number of the copy: all copies share one file.
        if targets.iter().all(|name| *name == targets[0]) {
            targets.truncate(1);
        }
        Ok(targets)
    }
}

/// True for an engine that performs a request with a system call; the default is one.
fn is_synchronous(ioengine: Option<&str>) -> bool {
    matches!(ioengine, None | Some("psync" | "pvsync" | "pvsync2"))
}

fn beyond(what: &str) -> Refusal {
    Refusal::request(format!("{what} exceeds any file or device"))
}

fn is_offset(bytes: Option<u64>) -> bool {
    bytes.is_some_and(|bytes| bytes <= OFFSET_MAX)
}

fn bytes(part: Option<Part>) -> u64 {
    match part {
        Some(Part::Bytes(bytes)) => bytes.get(),
        Some(Part::Percent(_)) | None => 0,
    }
}

impl<T: Copy> Sided<T> {
    fn map<U>(self, change: impl Fn(T) -> U) -> Sided<U> {
        let Self { read, write, trim } = self;
        Sided { read: read.map(&change), write: write.map(&change), trim: trim.map(&change) }
    }
}
