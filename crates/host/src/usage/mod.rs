//! The users of the disks below a root, and the counters of the machine around them: the facts that
//! a run needs before it writes, and by which its figures are judged.

mod block;
mod counters;
mod machine;
mod users;

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use drivelab_core::record::Host;
use drivelab_core::usage::{
    Census, Counters, DeviceNumber, Identity, Machine, Opener, Process, Usage,
};

use crate::root::{Reader, Root};

pub(crate) use machine::cpu_governor;

/// Linux below a root path, read again at each call.
#[derive(Debug)]
pub struct Linux {
    base: PathBuf,
    /// For facts that do not decide whether data is destroyed: a file that did not answer once is
    /// not waited for again.
    reader: Mutex<Reader>,
}

impl Linux {
    /// The machine whose `/` is `base`.
    pub fn below(base: impl Into<PathBuf>) -> Self {
        let base = base.into();
        Self { reader: Mutex::new(Reader::new(&base)), base }
    }

    /// Returns the identity of the machine. Unreadable facts are `unknown`, which does not prevent
    /// a measurement.
    pub fn host(&self) -> Host {
        // Below a root without files every fact is unknown.
        self.read(machine::host).unwrap_or_else(|| machine::host(&Root::new("/nowhere")))
    }

    fn read<T: Send + 'static>(
        &self,
        facts: impl Fn(&Root) -> T + Send + Sync + 'static,
    ) -> Option<T> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.read(move |root| facts(&root)).ok()
    }

    /// Reads facts that must be complete: a file that does not answer, or of which part is omitted,
    /// may name the very user of a disk that is about to be written.
    fn read_whole<T: Send + 'static>(
        &self,
        facts: impl Fn(&Root) -> io::Result<T> + Send + Sync + 'static,
    ) -> io::Result<T> {
        let read = Reader::new(&self.base).read(move |root| {
            let found = facts(&root)?;
            let problems = root.problems().into_iter();
            // Every other problem is a fact about the tree, and leaves nothing out.
            match { problems }.find(|problem| problem.is_silence() || problem.is_cut()) {
                Some(gap) => Err(io::Error::other(format!("{} {}", gap.path, gap.message))),
                None => Ok(found),
            }
        });
        read.map_err(io::Error::other)?
    }
}

impl Census for Linux {
    fn usage(&self) -> io::Result<Usage> {
        self.read_whole(|root| {
            let devices = block::devices(root);
            let mounts = users::mounts(root, &devices)?;
            let swaps = users::swaps(root, &devices);
            Ok(Usage { btrfs: users::btrfs(root), devices, mounts, swaps })
        })
    }

    fn under(&self, number: DeviceNumber) -> Usage {
        let under = self.read(move |root| {
            let devices = block::device_at(root, number);
            if !devices.is_empty() {
                return Usage { devices, ..Usage::default() };
            }
            // Btrfs and overlayfs report a virtual device number: the mount shows the device
            // under them.
            let devices = block::devices(root);
            let mounts = users::own_mounts(root, &devices).unwrap_or_default();
            Usage { devices, mounts, ..Usage::default() }
        });
        under.unwrap_or_default()
    }

    fn openers(&self, devices: &[DeviceNumber]) -> io::Result<Vec<Opener>> {
        let devices = devices.to_vec();
        self.read_whole(move |root| Ok(users::openers(root, &devices)))
    }

    fn lock_holder(&self, file: Identity) -> Option<Process> {
        self.read(move |root| users::lock_holder(root, file)).flatten()
    }

    fn counters(&self, device: Option<DeviceNumber>) -> Counters {
        self.read(move |root| counters::read(root, device)).unwrap_or_default()
    }

    fn machine(&self) -> Machine {
        self.read(|root| Machine {
            memory: machine::memory(root, "MemTotal:").unwrap_or_default(),
            cpu_governor: cpu_governor(root),
        })
        .unwrap_or_default()
    }
}
