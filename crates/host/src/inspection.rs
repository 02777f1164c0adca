//! Inspects a whole machine, or the requested devices with their components.

use std::collections::BTreeMap;

use drivelab_core::outline::Severity;
use drivelab_core::record::Host;
use serde::{Deserialize, Serialize};

use crate::described;
use crate::device::{self, Device, Kind, Machine, Mounts, Volumes, parse_mdstat};
use crate::finding::{self, Context};
use crate::fingerprint::fingerprint;
use crate::forced::{self, Forced};
use crate::found::Finding;
use crate::log::KernelLog;
use crate::origin;
use crate::root::{Problem, Reader, Recording, Root, TABLE_BYTES_MAX};
use crate::select::{self, InspectError, Wanted};
use crate::tools::{Facts, Source};
use crate::usage::cpu_governor;

/// The schema that this version writes.
pub const SCHEMA: &str = "drivelab.inspect/1";

/// The options of an inspection.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one wish")]
pub struct Options {
    /// A kernel log; without it, `dmesg` below the root is read.
    pub log: Option<KernelLog>,
    /// True if the log may be that of another machine: it is then read alone, unless it names the
    /// controllers or the kernel of the tree.
    pub log_of_any_machine: bool,
    /// True if serial numbers are wanted; a virtio disk requires a request to its host.
    pub serials: bool,
    /// True if drives may receive a command for their temperature.
    pub temperature: bool,
    /// True if there is no tree but one that was made from the output of tools.
    pub described: bool,
    /// Facts about drives from the output of other tools.
    pub facts: Vec<Facts>,
    /// The files from which the tree and the facts were made, if they are not a tree.
    pub sources: Vec<Source>,
}

/// The result: the JSON of `drivelab inspect`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Inspection {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The machine, as the records of its runs describe it; the caller adds it where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// The machine around the disks.
    pub environment: Environment,
    /// The devices, the requested ones first.
    pub devices: Vec<Device>,
    /// Files that could not be read or understood.
    pub problems: Vec<Problem>,
}

/// Facts about the machine that concern all its disks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// The kernel's release.
    pub kernel: Option<String>,
    /// Sixteen digits derived from what the kernel drew at random when it booted: names of disks
    /// hold for one boot.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub boot: Option<String>,
    /// The frequency governor of the processor: `performance`, `schedutil`.
    pub cpu_governor: Option<String>,
    /// True if the tree lists block devices; otherwise only the log names drives.
    #[serde(default)]
    pub block_devices: bool,
    /// True if a kernel log was read; without one, findings that need it are missing.
    pub kernel_log: bool,
    /// Number of lines of that log.
    #[serde(default)]
    pub kernel_log_lines: u64,
    /// The reason why the log was read alone: it is that of another machine.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub foreign_log: Option<String>,
    /// Options of the kernel that change how disks are driven.
    pub forced: Vec<Forced>,
    /// The files with the output of other tools that were read.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub sources: Vec<Source>,
    /// Facts that these outputs lack, and the command that would show them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub missing: Vec<String>,
}

impl Inspection {
    /// Reads the JSON of `drivelab inspect`. Callers share this function, as reading takes the
    /// code of hundreds of types.
    pub fn from_json(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// The worst finding.
    pub fn worst(&self) -> Option<Severity> {
        let findings = self.devices.iter().flat_map(|device| &device.findings);
        findings.map(|finding| finding.severity).min()
    }

    /// Returns whether `--strict` fails: see [`Finding::is_misconfiguration`].
    pub fn has_misconfiguration(&self) -> bool {
        let mut findings = self.devices.iter().flat_map(|device| &device.findings);
        findings.any(Finding::is_misconfiguration)
    }
}

/// Inspects the requested devices and their components; all drives if none is requested.
///
/// A run records the device of its file with [`Wanted::Holder`].
pub fn inspect(
    root: &Root,
    wanted: &[Wanted],
    options: &Options,
) -> Result<Inspection, InspectError> {
    let machine = read_machine(root, options);
    report_log(root, &machine.log);
    let foreign = options.log.as_ref().filter(|_| options.log_of_any_machine);
    if let Some(reason) = foreign.and_then(|log| origin::foreign(root, log)) {
        return log_alone(&Machine::of_log(machine.log), reason, root.problems(), wanted);
    }
    let mut all = all_devices(root, &machine);
    let mut unseen = device::unseen(root, &all, &machine);
    if !options.facts.is_empty() || !options.sources.is_empty() {
        described::complete(root, &mut all, &mut unseen, &machine, &options.facts);
    }
    let mut devices = if wanted.is_empty() {
        let mut devices = usual(&all, machine.described);
        devices.extend(unseen);
        devices
    } else {
        select::chosen(root, &all, &machine.mounts, wanted)?
    };
    for device in &mut devices {
        device.findings = finding::check(&Context { device, all: &all, machine: &machine });
    }
    let mut environment = read_environment(root, &machine);
    if !options.sources.is_empty() {
        environment.missing = described::missing(&devices, environment.kernel_log);
        environment.sources.clone_from(&options.sources);
    }
    // Last: every check above may have read files.
    let problems = root.problems();
    Ok(Inspection { schema: SCHEMA.to_owned(), host: None, environment, devices, problems })
}

/// Reports the shortcomings of a log.
fn report_log(root: &Root, log: &KernelLog) {
    if log.cut {
        root.report(
            "kernel log",
            "was cut or damaged after it was compressed: the rest is missing",
        );
    }
    if log.present && !log.names_disks() {
        let lines = log.lines;
        let none = format!("has {lines} lines, of which none is about a disk or its controller");
        root.report("kernel log", &none);
    }
}

/// The inspection of a machine of which only the log is known.
fn log_alone(
    machine: &Machine,
    reason: String,
    mut problems: Vec<Problem>,
    wanted: &[Wanted],
) -> Result<Inspection, InspectError> {
    let root = Root::nothing();
    let all = BTreeMap::new();
    let mut devices = device::unseen(&root, &all, machine);
    if !wanted.is_empty() {
        devices = select::of_log(&devices, wanted, &reason)?;
    }
    for device in &mut devices {
        device.findings = finding::check(&Context { device, all: &all, machine });
    }
    // Files of this machine are of no interest.
    problems.retain(|problem| problem.path == "kernel log");
    problems.extend(root.problems());
    let environment = Environment {
        kernel: machine.log.release.clone(),
        kernel_log: true,
        kernel_log_lines: machine.log.lines,
        foreign_log: Some(reason),
        ..Environment::default()
    };
    Ok(Inspection { schema: SCHEMA.to_owned(), host: None, environment, devices, problems })
}

/// The same, by a reader that skips files that do not answer.
pub fn inspect_within(
    reader: &mut Reader,
    wanted: &[Wanted],
    options: &Options,
) -> Result<Inspection, InspectError> {
    let (wanted, options) = (wanted.to_vec(), options.clone());
    reader.read(move |root| inspect(&root, &wanted, &options))?
}

/// Applies [`inspect_within`] to all devices, and returns a copy of what was read.
pub fn record_within(reader: Reader, options: &Options) -> Result<Recording, InspectError> {
    let options = options.clone();
    reader.recording().read(move |root| {
        let found = inspect(&root, &[], &options)?;
        match found.environment.foreign_log {
            Some(reason) => Err(InspectError::ForeignLog { name: None, reason }),
            None => Ok(root.into_recording()),
        }
    })?
}

fn read_environment(root: &Root, machine: &Machine) -> Environment {
    let boot = root.text("proc/sys/kernel/random/boot_id", TABLE_BYTES_MAX);
    Environment {
        boot: boot.and_then(|text| fingerprint(&text)),
        kernel: release(root),
        cpu_governor: cpu_governor(root),
        block_devices: root.block_devices().is_some(),
        kernel_log: machine.log.present,
        kernel_log_lines: machine.log.lines,
        foreign_log: None,
        forced: machine.forced.clone(),
        ..Environment::default()
    }
}

fn release(root: &Root) -> Option<String> {
    let release = root.text("proc/sys/kernel/osrelease", TABLE_BYTES_MAX);
    release.map(|text| text.trim().to_owned())
}

fn read_machine(root: &Root, options: &Options) -> Machine {
    let log = options.log.clone().unwrap_or_else(|| own_log(root));
    let arrays = root.text("proc/mdstat", TABLE_BYTES_MAX);
    let kernel = release(root).and_then(|text| device::version(&text));
    Machine {
        log,
        mounts: Mounts::read(root),
        forced: forced::read(root),
        kernel,
        arrays: arrays.map(|text| parse_mdstat(&text)).unwrap_or_default(),
        volumes: Volumes::read(root, kernel),
        memory_nodes: memory_nodes(root),
        serials: options.serials,
        temperature: options.temperature,
        described: options.described,
    }
}

/// Number of the machine's memory nodes; 0 if unknown.
fn memory_nodes(root: &Root) -> usize {
    let Some(nodes) = root.node("sys/devices/system/node") else { return 0 };
    let numbers = nodes.folders().into_iter().filter_map(|name| {
        let number = name.strip_prefix("node")?;
        number.parse::<u32>().ok()
    });
    numbers.count()
}

/// The log in the tree.
fn own_log(root: &Root) -> KernelLog {
    let Some(file) = root.file("dmesg") else { return KernelLog::default() };
    match KernelLog::read(file) {
        Ok(log) => {
            root.record("dmesg", || log.to_text());
            log
        }
        Err(error) => {
            root.report("dmesg", &error.to_string());
            KernelLog::default()
        }
    }
}

fn all_devices(root: &Root, machine: &Machine) -> BTreeMap<String, Device> {
    let mut all = BTreeMap::new();
    // The class lists partitions too; disks are the entries that are not partitions.
    if let Some(blocks) = root.block_devices() {
        for name in blocks.folders() {
            let Some(block) = blocks.child(&name) else {
                root.report(&format!("sys/block/{name}"), "leads nowhere");
                continue;
            };
            // The single paths under a native NVMe multipath disk.
            // They belong to the multipath disk, which is listed too.
            if block.flag("hidden") == Some(true) || block.text("partition").is_some() {
                continue;
            }
            all.insert(name, device::build(&block, machine));
        }
    } else if !machine.described {
        root.report("sys/block", "is missing: this is not a /sys tree");
    }
    all
}

/// The disks that a user expects: drives and devices built on them, without empty loop devices,
/// memory and optical drives.
fn usual(all: &BTreeMap<String, Device>, described: bool) -> Vec<Device> {
    let shown = all.values().filter(|device| {
        // The output of other tools lists loop devices without a size, in use or not.
        let unknown = described && device.kind == Kind::Loop && device.capacity_bytes.is_none();
        let is_empty = unknown || device.capacity_bytes == Some(0) && !device.is_drive();
        // The boot areas of an eMMC are parts of it.
        let is_area = device.kind == Kind::Mmc && crate::log::disk_of(&device.name) != device.name;
        !is_empty && !is_area && !matches!(device.kind, Kind::Ram | Kind::Removable)
    });
    shown.cloned().collect()
}
