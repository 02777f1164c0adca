//! How much of the target a job uses, and when it ends.

use super::number::Part;
use drivelab_core::units::{Bytes, Span};
use drivelab_core::workload::{WorkloadError, WorkloadOptions};

/// The extent in the file; sizes in percent are resolved when the target's size is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extent {
    pub(super) offset: Option<Part>,
    pub(super) size: Option<Part>,
    /// The size of each of `files` files.
    pub(super) filesize: Option<Bytes>,
    pub(super) files: u32,
    pub(super) io_size: Option<Part>,
    /// How often the region is passed through.
    pub(super) loops: u64,
    /// Only time ends the job.
    pub(super) time_based: bool,
}

/// Why a job is incomplete.
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
    /// What to type next, if known.
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
        let whole = |option, part: Option<Part>| match part.map(|part| (part, part.of(length))) {
            None => Ok(None),
            Some((_, Some(bytes))) => Ok(Some(bytes)),
            Some((_, None)) => Err(ExtentError::NoWhole { option }),
        };
        // Checks the requests; their number is computed below.
        let unlimited = WorkloadOptions { runtime: None, number_ios: None, ..options.clone() };
        let checked = unlimited.check()?;
        let block = checked.blocks.smallest().get();
        let in_blocks = |part: Option<Part>, bytes: Bytes| match part {
            Some(Part::Percent(_)) => Bytes::new(bytes.get() / block * block),
            _ => bytes,
        };
        options.offset = whole("offset", self.offset)?.map(|bytes| in_blocks(self.offset, bytes));
        let size = whole("size", self.size)?.map(|bytes| in_blocks(self.size, bytes));
        let files = self.filesize.map(|one| {
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
        if self.time_based {
            options.number_ios = None;
            return Ok(options);
        }
        let rest = length.map(|length| Bytes::new(length.get().saturating_sub(offset)));
        let region = options.size.or(rest).ok_or(ExtentError::NoSize)?;
        // With mixed sizes the mean determines how many requests the region takes.
        let mean = checked.blocks.mean().get();
        let requests = match whole("io_size", self.io_size)? {
            Some(bytes) => bytes.get() / mean,
            None => region.get() / checked.stride.map_or(mean, Bytes::get),
        };
        let requests = requests.max(1).saturating_mul(self.loops.max(1));
        options.number_ios = Some(options.number_ios.map_or(requests, |asked| asked.min(requests)));
        // Without a time only the number of requests ends it.
        options.runtime.get_or_insert(Span::ZERO);
        Ok(options)
    }
}
