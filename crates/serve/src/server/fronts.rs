//! The front ends whose requests come from the kernel: FUSE, and the ublk driver.

use drivelab_core::Time;

use super::jobs::Front;
use crate::fuse::Mounted;
use crate::task::KernelSide;
#[cfg(feature = "ublk")]
use crate::ublk::Disk;

/// The active front ends.
#[derive(Debug)]
pub(super) struct Fronts {
    pub(super) fuse: Option<Mounted>,
    #[cfg(feature = "ublk")]
    pub(super) block: Option<Disk>,
    /// Due times of the answers that have not been sent yet.
    pub(super) due: Vec<Time>,
}

impl Fronts {
    pub(super) fn new(fuse: Option<Mounted>) -> Self {
        Self {
            fuse,
            #[cfg(feature = "ublk")]
            block: None,
            due: Vec::new(),
        }
    }

    pub(super) fn get(&mut self, front: Front) -> Option<&mut dyn KernelSide> {
        match front {
            Front::Fuse => self.fuse.as_mut().map(|mounted| mounted as _),
            #[cfg(feature = "ublk")]
            Front::Ublk => self.block.as_mut().map(|disk| disk as _),
        }
    }
}
