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

use super::disks::machines::{Machine, Machines};
use super::disks::{Disks, NamedDisk};
use super::installed;
use super::root::find_busybox;
use crate::interrupt;
use crate::target;

/// A kernel, and drives that guests are booted on.
#[derive(Debug)]
pub struct Rig {
    kernel: Kernel,
    machines: Machines,
    /// The profile of each drive.
    profiles: Vec<Profile>,
    disks: Disks,
    memory: Bytes,
}

impl Rig {
    /// Prepares guests on a drive of this kind.
    pub fn new(spec: &DriveSpec, seed: u64, memory: Bytes) -> Result<Self, Refusal> {
        Self::with_disks(spec, Disks::default(), None, (seed, memory))
    }

    /// Prepares guests on `disks`, the first of which is `spec`. Work is done on `device`, if it is
    /// given.
    pub fn with_disks(
        spec: &DriveSpec,
        disks: Disks,
        device: Option<&str>,
        (seed, memory): (u64, Bytes),
    ) -> Result<Self, Refusal> {
        let kernel = installed::find(&installed::cache(None)?, None)?;
        let profile = target::profile(spec)?;
        // The drives are built again for each guest.
        let (mut machines, _) = Machines::new((spec, &profile), &disks, seed)?;
        // Commands of the test make it, under a name that follows from no disk.
        if let Some(device) = device {
            device.clone_into(&mut machines.target);
        }
        let others = machines.all[1..].iter().map(|it| target::profile(&it.spec));
        let profiles = std::iter::once(Ok(profile)).chain(others);
        let profiles = profiles.collect::<Result<_, Refusal>>()?;
        Ok(Self { kernel, machines, profiles, disks, memory })
    }

    /// The device that work is done on, and the commands that set the queues below it.
    pub fn disk(&self) -> (&str, Vec<String>) {
        (&self.machines.target, self.machines.settings(&self.disks))
    }

    /// The names of the disks in a guest.
    pub fn names(&self) -> Vec<&'static str> {
        self.machines.names()
    }

    /// The disks of a guest that has several.
    pub fn named(&self) -> &[NamedDisk] {
        &self.disks.named
    }

    /// Returns the capacity that each of the drives has at least.
    pub fn capacity(&self) -> Sectors {
        Sectors::holding(self.machines.capacity())
    }

    /// Returns the capacity of each drive, and the unit that it writes whole.
    pub fn geometry(&self) -> impl Iterator<Item = (Sectors, Sectors)> {
        let seen = self.machines.all.iter().map(|it| &it.seen);
        seen.map(|it| (Sectors::holding(it.capacity), it.physical_sector))
    }

    /// Returns the unit that the first drive writes whole.
    pub fn physical_sector(&self) -> Sectors {
        self.first().seen.physical_sector
    }

    fn first(&self) -> &Machine {
        self.machines.all.first().expect("a guest has a disk")
    }

    /// True if the guest sees a cache that loses what it holds when power fails.
    pub fn has_volatile_cache(&self) -> bool {
        match &self.first().seen.hardware {
            Hardware::Block(config) => config.write_cache,
            Hardware::Ide(config, _) | Hardware::Ahci(config) => config.write_cache,
        }
    }

    /// Kernel and drive in words.
    pub fn words(&self) -> String {
        format!("{}{}, Linux {}", self.spec(), self.disks, self.kernel.release)
    }

    /// A root whose shell runs `command`.
    pub fn root(command: &str) -> Result<Initramfs, Refusal> {
        let busybox: &Path = find_busybox()?;
        Initramfs::new(busybox, command).at_path("read", busybox)
    }

    /// Boots a guest on what each of `stores` holds, with the times of its lines to a `tick`.
    pub fn boot(
        &self,
        stores: Vec<Store>,
        faults: &[Fault],
        root: &Initramfs,
        (limit, tick): (Span, Option<Span>),
    ) -> Result<(RunResult, Vec<ServedDrive>), Refusal> {
        let mut disks = Vec::new();
        for (index, store) in stores.into_iter().enumerate() {
            let mut disk = self.drive_at(index, store)?;
            for fault in faults {
                disk.add_fault(drivelab_core::Time::ZERO, fault.clone());
            }
            disks.push(disk);
        }
        let (root, arguments) = (root.to_bytes(), ["quiet".into()]);
        let guest = Guest { tick, ..self.guest(&root, &arguments, limit) };
        let ran = guest.run_all(self.machines.adapters_of(disks), None);
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
        let ran = self.guest(&root, &arguments, limit).run(disk, &self.first().seen.hardware, None);
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
        let hardware = &self.first().seen.hardware;
        let ran = self.guest(&root, &arguments, limit).run_watched(disk, hardware, watch);
        ran.map(|(ended, _)| ended).map_err(Refusal::from)
    }

    /// The device behind the bytes, as it is when it is switched on.
    pub fn device(&self) -> Result<Drive, Refusal> {
        self.device_at(0)
    }

    /// The release of the kernel.
    pub fn release(&self) -> &str {
        &self.kernel.release
    }

    /// The drive and its options.
    pub fn spec(&self) -> &DriveSpec {
        &self.first().spec
    }

    /// The first drive as it is when it is switched on, with what `store` holds.
    pub fn drive(&self, store: Store) -> Result<ServedDrive, Refusal> {
        self.drive_at(0, store)
    }

    fn drive_at(&self, index: usize, store: Store) -> Result<ServedDrive, Refusal> {
        Ok(ServedDrive::new(self.device_at(index)?, store, self.machines.all[index].seed))
    }

    fn device_at(&self, index: usize) -> Result<Drive, Refusal> {
        let Machine { spec, seed, .. } = &self.machines.all[index];
        target::build_bare(&self.profiles[index], &spec.options, *seed)
    }

    fn guest<'a>(&'a self, root: &'a [u8], arguments: &'a [String], limit: Span) -> Guest<'a> {
        Guest {
            kernel: &self.kernel.path,
            initramfs: root,
            memory: self.memory,
            tags: self.machines.tags(),
            arguments,
            tick: None,
            limit: Limit::processor(Duration::from_nanos(limit.ns())),
            stop: interrupt::flag(),
        }
    }
}
