//! How much of the target a job uses, and when it is through.

use super::number::Part;
use drivelab_core::units::{Bytes, Span};
use drivelab_core::workload::{WorkloadError, WorkloadOptions};

/// What the file says of it; sizes in percent wait for the target's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extent {
    pub(super) offset: Option<Part>,
    pub(super) size: Option<Part>,
    /// The size of each of `files` files.
    pub(super) filesize: Option<Bytes>,
    pub(super) files: u32,
    pub(super) io_size: Option<Part>,
    /// How often the region is gone through.
    pub(super) loops: u64,
    /// Only time ends the job.
    pub(super) time_based: bool,
}

/// Why a job does not say enough.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExtentError {
    /// A percentage of what is not there.
    #[error("`{option}` is a percentage of the target, which does not exist")]
    NoWhole {
        /// The option.
        option: &'static str,
    },
    /// The size is neither given nor that of something that exists.
    #[error("the size of the target is unknown: it does not exist")]
    NoSize,
    /// The options contradict each other.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
}

impl ExtentError {
    /// What to type next, where we know.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoWhole { .. } | Self::NoSize => Some("add `size=1g`, or create it first".into()),
            Self::Workload(_) => None,
        }
    }
}

impl Extent {
    /// Puts region and end into `options`, for a target of `length`: `None` where it is yet to be
    /// made.
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
        // Checked for what requests it makes; how many there are comes out below.
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
            // It fits: the section was refused otherwise.
            Bytes::new(one.get().saturating_mul(u64::from(self.files.max(1))))
        });
        let offset = options.offset.unwrap_or_default().get();
        options.size = match (size, files) {
            (Some(size), Some(files)) => Some(size.min(files)),
            // Without a size the job goes on to where its file ends.
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
        // Of mixed sizes the mean decides how many requests the region takes.
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
