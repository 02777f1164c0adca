//! The region of the target that a job uses, and the end of the job.

use super::number::Part;
use drivelab_core::units::{Bytes, Span};
use drivelab_core::workload::{Workload, WorkloadError, WorkloadOptions};

/// The extent in the file; sizes in percent are resolved when the target's size is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extent {
    pub(super) offset: Option<Part>,
    /// Bytes by which the region of a copy of the job begins later.
    pub(super) shift: u64,
    pub(super) size: Option<Part>,
    /// The size of each of `files` files.
    pub(super) filesize: Option<Bytes>,
    pub(super) files: u32,
    pub(super) io_size: Option<Part>,
    /// Number of passes through the region.
    pub(super) loops: u64,
    /// Without a size, its file takes the free space of the file system.
    pub(super) fills: bool,
    /// Only time ends the job.
    pub(super) time_based: bool,
}

/// The reason why a job is incomplete.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExtentError {
    /// A percentage of an unknown size.
    #[error("`{option}` is a percentage of the target, which does not exist")]
    NoWhole {
        /// The option.
        option: &'static str,
    },
    /// The size is not given, and the target does not exist.
    #[error("the size of the target is unknown: it does not exist")]
    NoSize,
    /// The options contradict each other.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
}

impl ExtentError {
    /// The text to write instead, if known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoWhole { .. } | Self::NoSize => Some("add `size=1g`, or create it first".into()),
            Self::Workload(_) => None,
        }
    }
}

impl Extent {
    /// Sets region and end in `options`, for a target of `length`: `None` if it has yet to be
    /// created.
    pub(super) fn apply(
        &self,
        mut options: WorkloadOptions,
        length: Option<Bytes>,
    ) -> Result<WorkloadOptions, ExtentError> {
        // Checks the requests; their number is computed below.
        let unlimited = WorkloadOptions { runtime: None, number_ios: None, ..options.clone() };
        let checked = unlimited.check()?;
        let block = checked.blocks.smallest().get();
        let offset = whole("offset", self.offset, length)?;
        options.offset = offset.map(|bytes| {
            let bytes = bytes.get().saturating_add(self.shift);
            // As in fio, a percentage is rounded up to the next block, that of a copy too.
            let is_percent = matches!(self.offset, Some(Part::Percent(_)));
            Bytes::new(if is_percent { bytes.next_multiple_of(block) } else { bytes })
        });
        let size =
            whole("size", self.size, length)?.map(|bytes| in_blocks(self.size, bytes, block));
        // As in fio, 0 is the whole rest.
        let size = size.filter(|size| *size > Bytes::ZERO);
        let files = self.filesize.filter(|one| *one > Bytes::ZERO).map(|one| {
            // It fits: otherwise the section was refused.
            Bytes::new(one.get().saturating_mul(u64::from(self.files.max(1))))
        });
        let offset = options.offset.unwrap_or_default().get();
        options.size = match (size, files) {
            (Some(size), Some(files)) => Some(size.min(files)),
            // Without a size the job continues to the end of its file.
            (None, Some(files)) => {
                let end = length.map_or(files, |length| length.min(files));
                Some(Bytes::new(end.get().saturating_sub(offset)))
            }
            (size, None) => size,
        };
        let rest = length.map(|length| length.get().saturating_sub(offset));
        if let (Some(size), Some(rest)) = (&mut options.size, rest.filter(|rest| *rest > 0))
            && self.shift > 0
        {
            *size = Bytes::new(size.get().min(rest));
        }
        let region = options.size.map(Bytes::get).or(rest);
        let pass = region.map(|region| Pass::of(&checked, self.files.max(1), region, rest));
        if let (Some(size), Some(pass)) = (&mut options.size, pass) {
            *size = Bytes::new(pass.bytes);
        }
        if options.strided.is_some() && length.is_some() {
            // As in fio, zones follow one another to the end of the file: the size limits
            // only what is moved.
            options.size = rest.map(Bytes::new);
        }
        if self.time_based {
            options.number_ios = None;
            return Ok(options);
        }
        let (region, pass) = region.zip(pass).ok_or(ExtentError::NoSize)?;
        let io_size = whole("io_size", self.io_size, Some(Bytes::new(region)))?;
        let io_size = io_size.map(Bytes::get).filter(|bytes| *bytes > 0);
        // A block that is trimmed and written takes two requests.
        let each = if checked.rw.trims_and_writes() { 2 } else { 1 };
        // An odd limit is met exactly: the last block is then trimmed only.
        let asked_ios = options.number_ios;
        let limit = asked_ios.map(|asked| asked.div_ceil(each));
        let blocks = pass.requests(io_size, self.loops.max(1), limit);
        let ios = blocks.saturating_mul(each);
        let most = asked_ios.unwrap_or(u64::MAX).saturating_mul(self.loops.max(1));
        options.number_ios = Some(ios.min(most));
        // Without a time only the number of requests ends it.
        options.runtime.get_or_insert(Span::ZERO);
        Ok(options)
    }

    /// The extent of a copy of the job that begins `by` bytes later. It ends with the target.
    pub(super) fn behind(&self, by: u64) -> Self {
        if by == 0 {
            return self.clone();
        }
        Self { offset: self.offset.or(Some(Part::Bytes(Bytes::ZERO))), shift: by, ..self.clone() }
    }
}

/// The bytes of `part` of a target of `length`.
fn whole(
    option: &'static str,
    part: Option<Part>,
    length: Option<Bytes>,
) -> Result<Option<Bytes>, ExtentError> {
    let Some(part) = part else { return Ok(None) };
    part.of(length).map(Some).ok_or(ExtentError::NoWhole { option })
}

/// A percentage as whole blocks; a size in bytes is taken as it is.
fn in_blocks(part: Option<Part>, bytes: Bytes, block: u64) -> Bytes {
    match part {
        Some(Part::Percent(_)) => Bytes::new(bytes.get() / block * block),
        _ => bytes,
    }
}

/// Once through the region.
#[derive(Debug, Clone, Copy)]
struct Pass {
    /// Size of the region, extended to the end of the last block.
    bytes: u64,
    /// Requests of one pass.
    requests: u64,
    /// Size of a block, with mixed sizes the mean.
    block: u64,
    /// A pass ends where the region does, even if fewer than `io_size` bytes are left.
    ends: bool,
}

impl Pass {
    /// As fio counts: the last block begins within the `region`, and ends within the file, which
    /// has `rest` bytes behind the region's beginning; a file yet to be created ends with it.
    fn of(workload: &Workload, files: u32, region: u64, rest: Option<u64>) -> Self {
        debug_assert!(files > 0);
        let block = workload.blocks.mean().get();
        debug_assert!(block > 0, "a block has at least one sector");
        let is_alike = workload.blocks.smallest() == workload.blocks.largest();
        let files = u64::from(files);
        if files > 1 && is_alike {
            // Blocks are counted for each file; parts of blocks remain at its end.
            let each = region / files / block;
            let requests = each * files;
            return Self { bytes: requests * block, requests, block, ends: true };
        }
        let whole = Self { bytes: region, requests: region.div_ceil(block), block, ends: false };
        if !is_alike || region < block || workload.backwards {
            return whole;
        }
        if workload.rw.is_random() {
            let requests = region / block;
            return if workload.each_once { Self { requests, ends: true, ..whole } } else { whole };
        }
        let room = rest.unwrap_or(region).max(region);
        let stride = workload.stride.map_or(block, Bytes::get);
        let requests = region.div_ceil(stride).min((room - block) / stride + 1);
        debug_assert!(requests > 0, "the region holds at least one block");
        let end = (requests - 1) * stride + block;
        if end < room && requests * stride >= room {
            // A gap reaches the end of the file: fio begins again until it has moved `size` bytes.
            return whole;
        }
        Self { bytes: region.max(end), requests, block, ends: true }
    }

    /// Requests of a job that moves `io_size` bytes, or passes through its region `loops` times,
    /// and makes at most `number_ios` requests in each loop.
    fn requests(self, io_size: Option<u64>, loops: u64, number_ios: Option<u64>) -> u64 {
        let Self { requests: pass, block, .. } = self;
        let asked = io_size.map_or(pass, |bytes| {
            let requests = bytes.div_ceil(block);
            let is_partial = !bytes.is_multiple_of(block);
            // Less than a block does not begin another pass.
            let begins_pass = pass > 0 && requests > pass && (requests - 1).is_multiple_of(pass);
            if self.ends && is_partial && begins_pass { requests - 1 } else { requests }
        });
        // `number_ios` limits each loop, and `io_size` all of them together.
        let most = number_ios.unwrap_or(u64::MAX);
        let looped = asked.min(pass).min(most).saturating_mul(loops);
        looped.max(if loops == 1 || number_ios.is_none() { asked.min(most) } else { 0 }).max(1)
    }
}
