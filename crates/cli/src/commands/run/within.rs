//! `run --in kernel`: the run is made in a guest.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use drivelab_core::Refusal;
use drivelab_core::units::{Bytes, Span};
use drivelab_guest::kernel::KernelName;
use drivelab_guest::mounted::FileSystem;
use drivelab_guest::processor::Processor;
use drivelab_guest::stack::Stack;
use drivelab_lab::request::GuestOptions;
use drivelab_lab::stage::kernel::{self, Disks, Has};

use crate::commands::completion;

/// Where a run is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Environment {
    /// A real Linux kernel in virtual time.
    Kernel,
}

/// Options about files and devices of this machine; verification would need the file afterwards.
const NOT_INSIDE: [&str; 8] = [
    "hipri",
    "sqthread_poll",
    "overwrite",
    "allow_destructive",
    "verify",
    "verify_only",
    "verify_state",
    "power_was_cut",
];

const GUEST: &str = "Linux in virtual time";

/// The environment of a run, and what is kept of it.
#[derive(Debug, Clone, Args)]
pub(crate) struct WithinArgs {
    /// Make the run in a real Linux kernel in virtual time, on a modelled drive: see `guest setup`
    #[arg(long = "in", help_heading = GUEST,
        value_name = "ENVIRONMENT", conflicts_with_all = NOT_INSIDE)]
    environment: Option<Environment>,
    /// With --in: make this file system on the drive, and run on it: ext4, ext3, xfs,
    /// btrfs or ntfs3.
    #[arg(long, help_heading = GUEST,
        value_name = "NAME", requires = "environment",
        value_parser = completion::choice::<FileSystem>(), hide_possible_values = true)]
    filesystem: Option<FileSystem>,
    /// With --filesystem: mount it with these options, separated by commas.
    #[arg(long, help_heading = GUEST,
        value_name = "OPTIONS", requires = "filesystem", default_value = "",
        hide_default_value = true, value_parser = kernel::mount_options)]
    mount_options: String,
    /// With --in: another disk of the guest, with this drive: part of the stack (repeatable).
    #[arg(long = "disk", help_heading = GUEST, value_name = "DRIVE", requires = "stack")]
    disks: Vec<String>,
    /// With --in: run on what Linux makes of all disks: raid0, raid5,chunk=64k, dm-cache, bcache,
    /// btrfs,data=raid1 and others.
    #[arg(long, help_heading = GUEST,
        value_name = "STACK", requires = "environment", value_parser = Stack::read)]
    stack: Option<Stack>,
    /// With --in: the memory of the guest.
    #[arg(long, help_heading = GUEST,
        value_name = "SIZE", requires = "environment", default_value = "512M",
        value_parser = kernel::memory)]
    memory: Bytes,
    /// With --in: what a system call and copying 1 KiB take: free, modelled, or as in 600ns,100ns.
    #[arg(long, help_heading = GUEST,
        value_name = "COST", requires = "environment", default_value = "free",
        value_parser = Processor::read)]
    processor: Processor,
    /// With --in: run this kernel, by the name that it was built or imported with.
    #[arg(long, help_heading = GUEST, value_name = "NAME", requires = "environment")]
    kernel: Option<KernelName>,
    /// With --in: end the guest after this much real time.
    #[arg(long, help_heading = GUEST,
        value_name = "TIME", requires = "environment", default_value = "10m")]
    wall_limit: Span,
    /// With --in: write every request with its virtual times to this file.
    #[arg(long, help_heading = GUEST,
        value_name = "FILE", requires = "environment")]
    trace: Option<PathBuf>,
    /// With --in: write what the guest prints to this file.
    #[arg(long, help_heading = GUEST,
        value_name = "FILE", requires = "environment")]
    console: Option<PathBuf>,
}

impl WithinArgs {
    /// The guest that the options describe; `None` for a run in this process.
    pub(super) fn guest(self) -> Result<Option<GuestOptions>, Refusal> {
        if self.environment.is_none() {
            return Ok(None);
        }
        let has = Has::new(self.filesystem, self.mount_options, self.memory, self.processor)?;
        let disks = Disks::stacked(self.stack, &self.disks)?;
        let has = Has { kernel: self.kernel, disks, ..has };
        has.is_mountable()?;
        let Self { wall_limit: limit, trace, console, .. } = self;
        Ok(Some(GuestOptions { kernel: None, has, limit, trace, console }))
    }
}
