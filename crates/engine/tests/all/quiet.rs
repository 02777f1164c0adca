//! A machine whose disks nobody uses, for tests.

use std::io;

use drivelab_core::units::Bytes;
use drivelab_core::usage::{
    BlockDevice, Census, Counters, DeviceNumber, Identity, Machine, Opener, Process, Usage,
};

/// A machine with these block devices, on which nobody uses anything.
#[derive(Debug)]
pub(crate) struct Quiet(pub(crate) Vec<BlockDevice>);

impl Census for Quiet {
    fn usage(&self) -> io::Result<Usage> {
        Ok(Usage { devices: self.0.clone(), ..Usage::default() })
    }

    fn under(&self, _: DeviceNumber) -> Usage {
        Usage { devices: self.0.clone(), ..Usage::default() }
    }

    fn openers(&self, _: &[DeviceNumber]) -> io::Result<Vec<Opener>> {
        Ok(Vec::new())
    }

    fn lock_holder(&self, _: Identity) -> Option<Process> {
        None
    }

    fn counters(&self, _: Option<DeviceNumber>) -> Counters {
        Counters::default()
    }

    fn machine(&self) -> Machine {
        Machine { memory: Bytes::gib(8), cpu_governor: None }
    }
}
