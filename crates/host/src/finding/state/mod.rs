//! States and counters that `/sys` reports: a dead controller, errors of PCI Express and SAS, power
//! saving of the link, shingled tracks, and disks that are no drive.

mod discard;
mod firmware;
mod health;
mod mounted;
mod patience;
mod place;

use drivelab_core::outline::Severity;

use super::context::{Context, Findings, attribute};
use crate::device::{Emulated, Kind};
use crate::found::FindingId;
use crate::log::{Class, Lines};

/// Number of repeated transfers from which on they are no chance.
const CORRECTED_MIN: u64 = 100;
/// The same in a log, which leaves lines out.
const CORRECTED_LINES_MIN: u64 = 10;
/// Number of invalid words on a SAS phy beyond those of plugging in.
const INVALID_WORDS_MIN: u64 = 1000;

/// Models with shingled tracks that their data sheets or their makers' lists name, by beginnings.
const SHINGLED: &[&str] = &[
    // Western Digital's list of 2020, and the 2.5-inch Blue.
    "WDC WD20EFAX",
    "WDC WD30EFAX",
    "WDC WD40EFAX",
    "WDC WD60EFAX",
    "WDC WD20EZAZ",
    "WDC WD40EZAZ",
    "WDC WD60EZAZ",
    "WDC WD10SPZX",
    "WDC WD20SPZX",
    // Seagate's list of 2020.
    "ST2000DM008",
    "ST3000DM007",
    "ST4000DM004",
    "ST6000DM003",
    "ST8000DM004",
    "ST5000DM000",
    "ST1000LM048",
    "ST2000LM015",
    "ST4000LM024",
    "ST5000LM000",
    "ST5000AS0011",
    "ST6000AS0002",
    "ST8000AS0002",
    "ST8000AS0022",
    // Toshiba's list of 2020.
    "TOSHIBA MQ04",
    "TOSHIBA DT02ABA",
    "TOSHIBA HDWD240",
    "TOSHIBA HDWD260",
];

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    lost(context, findings);
    pcie_errors(context, findings);
    phy_errors(context, findings);
    link_policy(context, findings);
    shingled(context, findings);
    emulated(context, findings);
    firmware::check(context, findings);
    patience::check(context, findings);
    mounted::check(context, findings);
    discard::check(context, findings);
    place::check(context, findings);
    paths(context, findings);
    health::check(context, findings);
}

/// Checks for a multipath disk of which a path does not work.
fn paths(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    let logged = findings.found.iter().any(|found| found.id == FindingId::MemberFailed);
    if device.kind != Kind::Multipath || logged {
        return;
    }
    let states = device.slaves.iter().filter_map(|name| {
        let state = context.all.get(name)?.scsi.as_ref()?.state.as_deref()?;
        (state != "running").then(|| format!("/sys/block/{name}/device/state: {state}"))
    });
    let states: Vec<String> = states.collect();
    if states.is_empty() {
        return;
    }
    let (failed, all) = (states.len(), device.slaves.len());
    findings
        .add(FindingId::MemberFailed, Severity::Warn)
        .says(format!("{failed} of {all} paths to the multipath disk do not work"))
        .seen(states)
        .fix(
            "`sudo multipath -ll` shows the paths; check the port, switch or session of the one that \
             failed, and measure only with all of them: throughput depends on their number",
        );
}

fn lost(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    let nvme =
        device.nvme.as_ref().and_then(|nvme| nvme.state.as_deref()).filter(|it| *it == "dead");
    let scsi = device.scsi.as_ref().and_then(|scsi| scsi.state.as_deref());
    let scsi = scsi.filter(|state| matches!(*state, "offline" | "transport-offline"));
    let Some(state) = nvme.or(scsi) else { return };
    if findings.found.iter().any(|found| found.id == FindingId::DeviceLost) {
        return;
    }
    let fix = if nvme.is_some() {
        "save the data elsewhere; switch the machine off and on; then read the drive's record \
         (`sudo nvme smart-log`), look for newer firmware, and try it without power saving \
         (`nvme_core.default_ps_max_latency_us=0`, undo: remove it)"
            .to_owned()
    } else {
        format!(
            "look in the log for the reason; then `echo running | sudo tee \
             /sys/block/{name}/device/state` tries it again (undo: write `offline`), and \
             `sudo smartctl -x /dev/{name}` shows its record",
            name = device.name
        )
    };
    findings
        .add(FindingId::DeviceLost, Severity::Error)
        .says("the kernel gave the device up, and every request to it fails")
        .seen(vec![attribute(context, "device/state", state)])
        .fix(fix);
}

fn pcie_errors(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    let errors = &device.pcie.errors;
    let faults = device.faults(&context.machine.log);
    let [repeated, lost] = [Class::Corrected, Class::Uncorrected].map(|class| faults.get(&class));
    let excerpt = context.machine.log.is_excerpt();
    let repeated = repeated.filter(|lines| excerpt || lines.count >= CORRECTED_LINES_MIN);
    let corrected = errors.corrected.filter(|count| *count >= CORRECTED_MIN);
    // Non-fatal ones include requests that a device does not support, which probing makes.
    let nonfatal = errors.nonfatal.filter(|count| *count > 0);
    let fatal = errors.fatal.filter(|count| *count > 0);
    if corrected.or(fatal).is_none() && repeated.or(lost).is_none() {
        return;
    }
    let address = device.controller.address.as_deref().unwrap_or("PCI function");
    let counts = [("correctable", corrected), ("nonfatal", nonfatal), ("fatal", fatal)];
    let mut evidence: Vec<String> = counts
        .iter()
        .filter_map(|(kind, count)| Some(format!("{address}/aer_dev_{kind}: {}", (*count)?)))
        .collect();
    evidence.extend([repeated, lost].into_iter().flatten().map(logged));
    let severity = if fatal.is_some() || lost.is_some() { Severity::Error } else { Severity::Warn };
    findings
        .add(FindingId::PcieErrors, severity)
        .says("transfers on the PCIe link failed or were repeated")
        .seen(evidence)
        .fix(
            "reseat the drive, check risers and adapters, and limit the PCIe generation of the slot \
             in the firmware setup to see whether the count still grows (undo: set it back); \
             `pcie_aspm=off` excludes power saving (undo: remove it)",
        );
}

fn logged(lines: &Lines) -> String {
    format!("log: {}", lines.evidence())
}

fn phy_errors(context: &Context<'_>, findings: &mut Findings) {
    let scsi = context.device.scsi.as_ref();
    let Some(words) = scsi.and_then(|scsi| scsi.phy_errors).filter(|it| *it >= INVALID_WORDS_MIN)
    else {
        return;
    };
    findings
        .add(FindingId::LinkErrors, Severity::Warn)
        .says("the SAS link to the drive counts transfer errors")
        .seen(vec![format!("sas_phy: {words} invalid words and losses of synchronisation")])
        .fix(
            "check cable, backplane and expander; a count that grows while the drive works is a \
             fault, one that stays is of plugging in: compare `grep . \
             /sys/class/sas_phy/*/invalid_dword_count` before and after an hour",
        );
}

fn link_policy(context: &Context<'_>, findings: &mut Findings) {
    let policy = context.device.power.link_policy.as_deref();
    let Some(policy) = policy.filter(|policy| *policy == "min_power") else { return };
    let host = context.device.scsi.as_ref().and_then(crate::bus::scsi::Scsi::host).unwrap_or(0);
    let path = format!("/sys/class/scsi_host/host{host}/link_power_management_policy");
    findings
        .add(FindingId::PowerSaving, Severity::Warn)
        .says("the SATA link sleeps as deeply as it can: some drives lose data or drop out then")
        .seen(vec![format!("{path}: {policy}")])
        .fix(format!(
            "`echo med_power_with_dipm | sudo tee {path}` (max_performance before Linux 4.15; undo: \
             write `min_power`), and find what set it (TLP, tuned, powertop)"
        ));
}

fn shingled(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    if device.kind == Kind::Nvme || !device.is_drive() {
        return;
    }
    let zoned = device.queue.zoned.as_deref().filter(|zoned| *zoned != "none");
    let model = device.model.as_deref().filter(|model| is_shingled(model));
    if zoned.is_none() && model.is_none() {
        return;
    }
    let managed = zoned == Some("host-managed");
    let (severity, message) = if managed {
        (Severity::Warn, "the disk has shingled tracks in zones, and refuses random writes")
    } else {
        (Severity::Info, "the disk has shingled tracks: long random writes become very slow")
    };
    findings
        .add(FindingId::ShingledRecording, severity)
        .says(message)
        .seen(vec![
            zoned.map(|zoned| attribute(context, "queue/zoned", zoned)).unwrap_or_default(),
            model.map(|model| format!("model: {model}")).unwrap_or_default(),
        ])
        .fix(
            "measure writes until the cache on the disk is full, and state the model with the \
             result; do not use it in an array with parity. A host-managed one needs a file system \
             for zones (btrfs, f2fs, zonefs)",
        );
}

fn is_shingled(model: &str) -> bool {
    // The kernel's name of a SATA disk has no maker, or has it.
    SHINGLED.iter().any(|start| {
        let bare = start.split_once(' ').map_or(*start, |(_, bare)| bare);
        model.starts_with(start) || model.starts_with(bare)
    })
}

fn emulated(context: &Context<'_>, findings: &mut Findings) {
    let (message, fix) = match context.device.emulated() {
        Some(Emulated::Cloud) => (
            "the disk is a volume on the network of a cloud: its rate has limits and credits, and \
             blocks of a new volume may be loaded at their first use",
            "look up the limits of the volume and of the machine; read or write the whole volume \
             once before measuring, and measure longer than the credits last",
        ),
        Some(Emulated::Instance) => (
            "the disk is a drive in the host of a cloud, which other guests may share and which is \
             erased with the machine",
            "keep no data on it that is not elsewhere; measure several machines, because hosts \
             differ",
        ),
        Some(Emulated::Network) => (
            "the disk is on another machine: the network and that machine's caches are measured \
             too",
            "measure on the machine that has the disk as well, and state the network with the \
             result",
        ),
        Some(Emulated::Memory) => (
            "the disk is memory of this machine, which a module for tests shows as a SCSI disk",
            "measure a disk; `sudo modprobe -r scsi_debug` removes it (undo: load it again)",
        ),
        Some(Emulated::Guest) | None => return,
    };
    let model = context.device.model.as_ref().map(|model| format!("model: {model}"));
    let transport = context.device.nvme.as_ref().and_then(|nvme| nvme.transport.as_ref());
    let transport = transport.map(|transport| format!("transport: {transport}"));
    findings
        .add(FindingId::RemoteDisk, Severity::Info)
        .says(message)
        .seen(model.into_iter().chain(transport).collect())
        .fix(fix);
}
