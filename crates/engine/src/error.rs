//! Why a run could not be made.

use drivelab_core::JOBS_MAX;
use drivelab_core::units::Bytes;
use drivelab_core::workload::WorkloadError;
use drivelab_load::LoadError;

use crate::ioengine::IoEngineError;
use crate::open::OpenError;
use crate::verify::StateError;

/// Why a run could not be made.
#[expect(missing_docs, reason = "the messages say what the variants and their fields are")]
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    IoEngine(#[from] IoEngineError),
    #[error(transparent)]
    Verify(#[from] StateError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("`numjobs` is {numjobs}, which is not from 1 to {JOBS_MAX}")]
    Numjobs { numjobs: u64 },
    #[error(
        "buffers for this workload need {}, more than half of the {} of memory",
        .needed.about(), .memory.about()
    )]
    Memory { needed: Bytes, memory: Bytes },
    #[error("cannot set up {what}")]
    Setup {
        what: String,
        #[source]
        source: std::io::Error,
    },
}

impl RunError {
    /// Returns the next command to type, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Open(error) => error.hint(),
            Self::IoEngine(error) => Some(error.hint()),
            Self::Memory { .. } => Some("lower `--bs`, `--iodepth` or `--numjobs`".into()),
            Self::Setup { .. } => {
                Some("lower `--iodepth` or `--numjobs`, or use `--ioengine=psync`".into())
            }
            Self::Load(LoadError::Workload(WorkloadError::RegionBeyondTarget { .. })) => {
                Some("lower `size`, or remove the file: it is then laid out at that size".into())
            }
            Self::Verify(StateError::Foreign { .. } | StateError::OtherVersion { .. }) => {
                Some("name another file with `--verify-state`".into())
            }
            Self::Load(LoadError::Workload(error)) => Some(error.hint()),
            Self::Numjobs { .. } => Some("give a valid number, for example `--numjobs=1`".into()),
            Self::Verify(_) | Self::Load(_) => None,
        }
    }
}
