//! Reads a whole machine, or the devices asked for with all that is below them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::device::{self, Device, Kind, Machine, Mounts, parse_mdstat};
use crate::finding::{self, Context, Severity};
use crate::forced::{self, Forced};
use crate::log::KernelLog;
use crate::root::{LOG_BYTES_MAX, Problem, Root, TABLE_BYTES_MAX};
use crate::select::{self, InspectError, Wanted};

/// The schema that this version writes.
pub const SCHEMA: &str = "drivelab.inspect/1";

/// How to inspect.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The text of a kernel log; without it, `dmesg` below the root is read.
    pub log: Option<String>,
    /// Whether serial numbers are wanted.
    pub serials: bool,
}

/// What was found: the JSON of `drivelab inspect`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Inspection {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The machine around the disks.
    pub environment: Environment,
    /// The devices, those asked for first.
    pub devices: Vec<Device>,
    /// What could not be read or understood.
    pub problems: Vec<Problem>,
}

/// What matters of the machine for all its disks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// The kernel's release.
    pub kernel: Option<String>,
    /// How the processor chooses its clock: `performance`, `schedutil`.
    pub cpu_governor: Option<String>,
    /// Whether a kernel log was read; without one, findings that need it are missing.
    pub kernel_log: bool,
    /// Options of the kernel that change how disks are driven.
    pub forced: Vec<Forced>,
}

impl Inspection {
    /// The worst finding.
    pub fn worst(&self) -> Option<Severity> {
        let findings = self.devices.iter().flat_map(|device| &device.findings);
        findings.map(|finding| finding.severity).min()
    }

    /// Whether `--strict` fails: see [`finding::Finding::is_misconfiguration`].
    pub fn has_misconfiguration(&self) -> bool {
        let mut findings = self.devices.iter().flat_map(|device| &device.findings);
        findings.any(finding::Finding::is_misconfiguration)
    }
}

/// Inspects the devices asked for and what they are made of; all drives where none is asked for.
///
/// A run records what its file is on with [`Wanted::Holder`].
///
/// # Errors
/// A device that is asked for is not in the tree, or a file is on none.
pub fn inspect(
    root: &Root,
    wanted: &[Wanted],
    options: &Options,
) -> Result<Inspection, InspectError> {
    let machine = machine(root, options);
    let all = all_devices(root, &machine);
    let mut devices = if wanted.is_empty() {
        let mut devices = usual(&all);
        devices.extend(device::unseen(root, &all, &machine));
        devices
    } else {
        select::chosen(root, &all, &machine.mounts, wanted)?
    };
    for device in &mut devices {
        device.findings = finding::check(&Context { device, all: &all, machine: &machine });
    }
    let environment = environment(root, &machine);
    let problems = root.problems();
    Ok(Inspection { schema: SCHEMA.to_owned(), environment, devices, problems })
}

fn environment(root: &Root, machine: &Machine) -> Environment {
    let release = root.text("proc/sys/kernel/osrelease", TABLE_BYTES_MAX);
    let governor = root.node("sys/devices/system/cpu/cpu0/cpufreq");
    Environment {
        kernel: release.map(|text| text.trim().to_owned()),
        cpu_governor: governor.and_then(|node| node.text("scaling_governor")),
        kernel_log: machine.log.present,
        forced: machine.forced.clone(),
    }
}

fn machine(root: &Root, options: &Options) -> Machine {
    let text = options.log.clone().or_else(|| root.text("dmesg", LOG_BYTES_MAX));
    let arrays = root.text("proc/mdstat", TABLE_BYTES_MAX);
    Machine {
        log: text.map(|text| KernelLog::parse(&text)).unwrap_or_default(),
        mounts: Mounts::read(root),
        forced: forced::read(root),
        arrays: arrays.map(|text| parse_mdstat(&text)).unwrap_or_default(),
        serials: options.serials,
    }
}

fn all_devices(root: &Root, machine: &Machine) -> BTreeMap<String, Device> {
    let mut all = BTreeMap::new();
    // The class lists partitions too; disks are those that are none.
    if let Some(blocks) = root.node("sys/block").or_else(|| root.node("sys/class/block")) {
        for name in blocks.folders() {
            let Some(block) = blocks.child(&name) else {
                root.report(&format!("sys/block/{name}"), "leads nowhere");
                continue;
            };
            // The single paths below a native NVMe multipath disk.
            if block.flag("hidden") == Some(true) || block.text("partition").is_some() {
                continue;
            }
            all.insert(name, device::build(&block, machine));
        }
    } else {
        root.report("sys/block", "is missing: no tree of devices is here");
    }
    all
}

/// What a person means by "my disks": drives and what is made of them, without empty loop devices,
/// memory and optical drives.
fn usual(all: &BTreeMap<String, Device>) -> Vec<Device> {
    let memory = |device: &Device| matches!(device.kind, Kind::Ram | Kind::Removable);
    let empty = |device: &Device| device.capacity_bytes == Some(0) && !device.is_drive();
    all.values().filter(|device| !memory(device) && !empty(device)).cloned().collect()
}
