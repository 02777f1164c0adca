//! Guests of a crash test: booted on bytes that are given, with a drive that is new each time.

use std::path::Path;
use std::time::Duration;

use drivelab_core::disk::Disk;
use drivelab_core::units::{Bytes, Sectors, Span};
use drivelab_core::{AtPath as _, Refusal};
use drivelab_guest::boot::{Guest, Limit, Observer, RunResult};
use drivelab_guest::initramfs::Initramfs;
use drivelab_guest::kernel::Kernel;
use drivelab_guest::machine::Hardware;
use drivelab_model::Drive;
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::Profile;
use drivelab_serve::drive::ServedDrive;
use drivelab_serve::fault::Fault;
use drivelab_serve::store::Store;

use super::installed;
use super::root::find_busybox;
use super::seen::{Seen, TAGS_MAX};
use crate::interrupt;
use crate::target;

/// A kernel and a drive that guests are booted on.
#[derive(Debug)]
pub struct Rig {
    kernel: Kernel,
    spec: DriveSpec,
    profile: Profile,
    seen: Seen,
    seed: u64,
    memory: Bytes,
    capacity: Sectors,
}

impl Rig {
    /// Prepares guests on drives of this kind.
    pub fn new(spec: DriveSpec, seed: u64, memory: Bytes) -> Result<Self, Refusal> {
        let kernel = installed::find(&installed::cache(None)?, None)?;
        let profile = target::profile(&spec)?;
        let host = target::describe(&profile, &spec.options, seed)?;
        let attributes = target::attributes(&profile, &host);
        Ok(Self {
            capacity: Sectors::holding(Bytes::new(host.capacity_bytes)),
            seen: Seen::new(&host, &profile, attributes)?,
            kernel,
            spec,
            profile,
            seed,
            memory,
        })
    }

    /// The disk's name in a guest, and the commands that set its queue.
    pub fn disk(&self) -> (&'static str, Vec<String>) {
        let setting = self.seen.setting.as_ref();
        (self.seen.disk, setting.map_or_else(Vec::new, |it| it.commands(self.seen.disk)))
    }

    /// Returns the capacity of the drive.
    pub fn capacity(&self) -> Sectors {
        self.capacity
    }

    /// Returns the unit that the drive writes whole.
    pub fn physical_sector(&self) -> Sectors {
        self.seen.physical_sector
    }

    /// True if the guest sees a cache that loses what it holds when power fails.
    pub fn has_volatile_cache(&self) -> bool {
        match &self.seen.hardware {
            Hardware::Block(config) => config.write_cache,
            Hardware::Ide(config, _) | Hardware::Ahci(config) => config.write_cache,
        }
    }

    /// Kernel and drive in words.
    pub fn words(&self) -> String {
        format!("{}, Linux {}", self.spec, self.kernel.release)
    }

    /// A root whose shell runs `command`.
    pub fn root(command: &str) -> Result<Initramfs, Refusal> {
        let busybox: &Path = find_busybox()?;
        Initramfs::new(busybox, command).at_path("read", busybox)
    }

    /// Boots a guest on what `store` holds, with the times of its lines to a `tick`.
    pub fn boot(
        &self,
        store: Store,
        faults: &[Fault],
        root: &Initramfs,
        (limit, tick): (Span, Option<Span>),
    ) -> Result<(RunResult, ServedDrive), Refusal> {
        let mut disk = self.drive(store)?;
        for fault in faults {
            disk.add_fault(drivelab_core::Time::ZERO, fault.clone());
        }
        let (root, arguments) = (root.to_bytes(), ["quiet".into()]);
        let guest = Guest { tick, ..self.guest(&root, &arguments, limit) };
        let ran = guest.run(disk, &self.seen.hardware, None);
        ran.map_err(Refusal::from)
    }

    /// Boots a guest on any disk of this kind, with words for the kernel command line, and gives
    /// the disk back.
    pub fn boot_on<D: Disk + 'static>(
        &self,
        disk: D,
        root: &Initramfs,
        limit: Span,
        arguments: &[String],
    ) -> Result<(RunResult, D), Refusal> {
        let (root, quiet) = (root.to_bytes(), ["quiet".to_owned()]);
        let arguments = [&quiet, arguments].concat();
        let ran = self.guest(&root, &arguments, limit).run(disk, &self.seen.hardware, None);
        ran.map_err(Refusal::from)
    }

    /// Boots a guest whose disk `watch` may exchange for another of [`Self::drive`].
    pub fn boot_watched(
        &self,
        disk: ServedDrive,
        root: &Initramfs,
        limit: Span,
        watch: &mut dyn Observer<ServedDrive>,
    ) -> Result<RunResult, Refusal> {
        let (root, arguments) = (root.to_bytes(), ["quiet".into()]);
        let ran =
            self.guest(&root, &arguments, limit).run_watched(disk, &self.seen.hardware, watch);
        ran.map(|(ended, _)| ended).map_err(Refusal::from)
    }

    /// The device behind the bytes, as it is when it is switched on.
    pub fn device(&self) -> Result<Drive, Refusal> {
        target::build_bare(&self.profile, &self.spec.options, self.seed)
    }

    /// The release of the kernel.
    pub fn release(&self) -> &str {
        &self.kernel.release
    }

    /// The drive and its options.
    pub fn spec(&self) -> &DriveSpec {
        &self.spec
    }

    /// The drive as it is when it is switched on, with what `store` holds.
    pub fn drive(&self, store: Store) -> Result<ServedDrive, Refusal> {
        Ok(ServedDrive::new(self.device()?, store, self.seed))
    }

    fn guest<'a>(&'a self, root: &'a [u8], arguments: &'a [String], limit: Span) -> Guest<'a> {
        Guest {
            kernel: &self.kernel.path,
            initramfs: root,
            memory: self.memory,
            tags: self.seen.setting.as_ref().map_or(TAGS_MAX, |setting| setting.tags),
            arguments,
            tick: None,
            limit: Limit::processor(Duration::from_nanos(limit.ns())),
            stop: interrupt::flag(),
        }
    }
}
