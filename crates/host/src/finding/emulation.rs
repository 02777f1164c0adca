//! Modes of a controller that hide abilities of the drive: IDE emulation, RAID, plain USB storage.

use drivelab_core::outline::Severity;

use super::context::{Context, Findings, attribute};
use crate::bus::Controller;
use crate::device::{Device, Kind, is_ide, is_native};
use crate::found::FindingId;
use crate::log::ControllerLog;

/// Intel SATA functions in IDE mode, and the parallel ones of the same driver, by device number
/// (`piix_pci_tbl`, `drivers/ata/ata_piix.c`).
const INTEL_SATA_AS_IDE: &[&str] = &[
    "24d1", "24df", "25a3", "25b0", "2651", "2652", "2653", "2680", "27c0", "27c4", "2820", "2825",
    "2828", "2920", "2921", "2926", "292d", "292e", "3a00", "3a06", "3a20", "3a26", "3b20", "3b21",
    "3b26", "3b28", "3b2d", "3b2e", "1c00", "1c01", "1c08", "1c09", "1d00", "1d08", "1e00", "1e01",
    "1e08", "1e09", "8c00", "8c01", "8c08", "8c09", "8d00", "8d08", "8d60", "8d68", "0f20", "0f21",
];

/// The evidence that the drive, or the controller, is SATA.
enum Sata {
    Yes(Vec<String>),
    No,
    Unknown,
}

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    ide(context, findings);
    raid(context, findings);
    usb(context, findings);
}

fn ide(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    let log = controller_log(context);
    let shares = device.ata.as_ref().is_some_and(|ata| ata.shares_port);
    if !(is_ide(&device.controller) || shares || port_is_ide(context)) || never_linked(context) {
        return;
    }
    let (severity, sata) = match sata(context, log) {
        Sata::Yes(evidence) => (Severity::Error, evidence),
        // The default of a machine without SATA is not a fault of its firmware setup.
        Sata::No => return,
        Sata::Unknown => (Severity::Warn, vec!["unknown whether the drive is SATA".into()]),
    };
    let message = if severity == Severity::Error {
        "a SATA drive is driven through IDE emulation: one command at a time, no NCQ"
    } else {
        "the controller is in IDE mode; a SATA drive loses NCQ there"
    };
    let mut message = message.to_owned();
    if shares {
        message.push_str("; two drives share one emulated port");
    }
    let mut evidence = controller_evidence(&device.controller);
    evidence.extend(sata);
    findings.add(FindingId::IdeEmulation, severity).says(message).seen(evidence).fix(
        "set the SATA mode to AHCI in the firmware setup. Before that, make sure that the \
              initramfs contains the ahci driver, and mount by UUID because names can change; \
              Windows on the same machine needs its AHCI driver enabled first, or it will not boot",
    );
}

/// Returns whether no drive was ever seen on the port, whose mode then is of no interest.
fn never_linked(context: &Context<'_>) -> bool {
    let port = context.device.ata.as_ref().and_then(|ata| context.machine.log.port(ata.port));
    context.device.log_only && port.is_some_and(crate::log::AtaPortLog::never_linked)
}

fn port_is_ide(context: &Context<'_>) -> bool {
    let port = context.device.ata.as_ref().and_then(|ata| context.machine.log.port(ata.port));
    port.is_some_and(crate::log::AtaPortLog::is_sata_as_ide)
        && !matches!(context.device.controller.mode.as_deref(), Some("ahci" | "scsi" | "sata"))
        && !is_native(&context.device.controller)
}

fn sata(context: &Context<'_>, log: Option<&ControllerLog>) -> Sata {
    let device = context.device;
    let mut evidence = Vec::new();
    if let Some(ata) = &device.ata {
        match (ata.sata, ata.ncq_supported) {
            (Some(false), _) => return Sata::No,
            (Some(true), Some(true)) => evidence.push("the drive is SATA and has NCQ".into()),
            (Some(true), _) => evidence.push("the drive is SATA".into()),
            (None, _) => {}
        }
        evidence.extend(port_evidence(context, ata.port, ata.device));
    }
    if let Some(id) = device.controller.vendor_device.as_deref()
        && let Some(number) = id.strip_prefix("8086:")
        && INTEL_SATA_AS_IDE.contains(&number)
    {
        evidence.push(format!("[{id}] is an Intel SATA controller in IDE mode"));
    }
    let is_listed = log.is_some_and(|log| {
        log.lines.first.iter().any(|line| line.contains("SATA") && line.contains("[0101]"))
    });
    if device.kind == Kind::Controller && is_listed {
        evidence.push("its name says SATA".into());
    }
    if evidence.is_empty() {
        let parallel = device.controller.vendor_device.as_deref().is_some_and(is_parallel);
        // Without a drive behind it, a function may be one for remote media (Intel AMT).
        let empty = device.kind == Kind::Controller;
        return if parallel || empty { Sata::No } else { Sata::Unknown };
    }
    Sata::Yes(evidence)
}

/// Common parallel functions: Intel PIIX and ICH, including QEMU's, and VIA's.
fn is_parallel(id: &str) -> bool {
    let known = [
        "8086:7010",
        "8086:7111",
        "8086:244b",
        "8086:24cb",
        "8086:24db",
        "8086:266f",
        "8086:27df",
        "8086:2850",
        "1106:0571",
    ];
    known.contains(&id)
}

fn port_evidence(context: &Context<'_>, number: u32, device: u32) -> Vec<String> {
    let Some(port) = context.machine.log.port(number) else { return Vec::new() };
    let mut evidence = Vec::new();
    if let Some(line) = port.line.as_ref().filter(|_| port.is_sata_as_ide()) {
        evidence.push(format!("log: ata{number}: {line}"));
    }
    if port.shares_port() {
        let downshift = port.link(device).and_then(|link| link.downshifts.first.first());
        let line = downshift.or_else(|| port.link(device).and_then(|link| link.line.as_ref()));
        evidence.push(format!(
            "log: `{}`: a link named with its drive is one of several on the port",
            line.map_or("", String::as_str)
        ));
    }
    let drive = port.devices.get(&device);
    evidence
        .extend(drive.and_then(|drive| drive.ncq_line.clone()).map(|line| format!("log: {line}")));
    evidence
}

fn controller_evidence(controller: &Controller) -> Vec<String> {
    let mut evidence = Vec::new();
    let address = controller.address.as_deref().unwrap_or("?");
    if let (Some(class), Some(prog_if)) = (&controller.pci_class, &controller.prog_if) {
        let meaning = controller.meaning.as_deref().unwrap_or("");
        evidence.push(format!("{address}: class {class}, interface {prog_if} ({meaning})"));
    }
    if let Some(driver) = &controller.driver {
        evidence.push(format!("{address}: driver {driver}"));
    }
    evidence
}

fn controller_log<'a>(context: &'a Context<'_>) -> Option<&'a ControllerLog> {
    let address = context.device.controller.address.as_ref()?;
    context.machine.log.controllers.get(address)
}

fn raid(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    let log = controller_log(context);
    let remapped = log.filter(|log| !log.remapped_nvme.is_empty());
    let raid = device.controller.mode.as_deref() == Some("raid");
    let passed = device.kind == Kind::Scsi && !device.hidden_behind_raid();
    if passed && remapped.is_none() {
        return;
    }
    if !raid && remapped.is_none() {
        return vmd(device, findings);
    }
    if device.controller.driver.as_deref() == Some("vmd") {
        // Its drives are listed by themselves.
        return;
    }
    let (severity, message) = raid_words(context, remapped.is_some());
    let mut evidence = controller_evidence(&device.controller);
    evidence.extend(remapped.map(|log| format!("log: {}", log.remapped_nvme.evidence())));
    findings.add(FindingId::RaidMode, severity).says(message).seen(evidence).fix(
        "if no array of the controller is in use, set it to AHCI, HBA or pass-through in the \
         firmware setup (back up first: a RAID controller may lose its arrays, and Windows on the \
         same machine needs its AHCI driver enabled first, or it will not boot); otherwise \
         measure the volume as such, and query its drives and caches with the controller's tool",
    );
}

/// A drive behind Intel's volume management device: visible, and in a RAID mode all the same.
fn vmd(device: &Device, findings: &mut Findings) {
    let address = device.controller.address.as_deref().unwrap_or_default();
    // PCI domains of VMD begin at 0x10000 (`drivers/pci/controller/vmd.c`).
    let domain = address.split(':').next().and_then(|it| u32::from_str_radix(it, 16).ok());
    if device.kind != Kind::Nvme || domain.is_none_or(|domain| domain < 0x1_0000) {
        return;
    }
    findings
        .add(FindingId::RaidMode, Severity::Info)
        .says("the drive is behind Intel VMD, and individually visible")
        .seen(vec![format!("{address}: a PCI domain of VMD")])
        .fix(
            "none needed; a firmware setup without VMD shows the drive directly, but an array of \
             Intel RST then disappears, and Windows on the same machine may not boot",
        );
}

/// Hidden drives are an error; that drives are visible in spite of RAID firmware is a note.
fn raid_words(context: &Context<'_>, remapped: bool) -> (Severity, &'static str) {
    let device = context.device;
    if remapped {
        let message = "a RAID mode in the firmware hides NVMe drives: the kernel cannot use them";
        return (Severity::Error, message);
    }
    if device.kind == Kind::Controller {
        let message = "a controller in RAID mode shows no disks: it hides its drives, or has none";
        // With its own driver it is a RAID controller; without, a firmware setting of Intel's. The
        // output of `lspci` lists no disks, and not always the driver.
        let intel = device.controller.vendor() == Some("8086");
        let setting = intel && device.controller.driver.is_none() && !context.machine.described;
        return (if setting { Severity::Warn } else { Severity::Info }, message);
    }
    if device.kind == Kind::Ata {
        let message = "the SATA controller is in RAID mode; its drives are individually visible";
        return (Severity::Info, message);
    }
    let message = "a RAID controller hides the drive's NCQ, caches, errors and real queue depth";
    (Severity::Info, message)
}

fn usb(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    let Some(usb) = device.usb.as_ref() else { return };
    if usb.driver.as_deref() != Some("usb-storage") {
        return;
    }
    let unit = context.machine.log.units.get(&usb.location);
    let ignored = unit.filter(|unit| !unit.uas_ignored.is_empty());
    let quirk = context.machine.forced.iter().find(|forced| {
        matches!(forced.module(), "usb-storage" | "usb_storage")
            && usb.vendor_product.as_ref().is_some_and(|id| forced.value.contains(id.as_str()))
    });
    let fast = usb.speed_mbps.is_some_and(|mbps| mbps >= 5000);
    // A log that is read alone says nothing about what the bridge supports.
    if device.log_only && ignored.is_none() && quirk.is_none() {
        return;
    }
    let mut evidence = vec![format!("{}: driver usb-storage", usb.location)];
    evidence.extend(ignored.map(|unit| format!("log: {}", unit.uas_ignored.evidence())));
    evidence.extend(quirk.map(|forced| format!("{}: {}", forced.source, forced.option)));
    evidence.extend(
        usb.uas.map(|uas| {
            format!("its descriptors {} UAS", if uas { "offer" } else { "do not offer" })
        }),
    );
    evidence.extend(
        device.queue_depth.map(|d| attribute(context, "device/queue_depth", &d.to_string())),
    );
    let off = ignored.is_some() || quirk.is_some();
    let severity = match usb.uas {
        // The kernel's list of faulty bridges shows in the log only.
        Some(true) if !off && context.machine.described && !context.machine.log.present => {
            Severity::Warn
        }
        // The bridge could queue, and no one decided that it should not.
        Some(true) if !off => Severity::Error,
        Some(false) => Severity::Info,
        // A known defect of the bridge, or a choice.
        _ if off => Severity::Info,
        _ if fast => Severity::Warn,
        _ => Severity::Info,
    };
    findings
        .add(FindingId::UsbStorage, severity)
        .says("the USB bridge is driven by usb-storage: one command at a time")
        .seen(evidence)
        .fix(if off {
            "UAS is off for this bridge, by the kernel's list of faulty ones or by an option, which \
             is usually the cure of resets and lost writes: leave it, or use another bridge. To try \
             UAS, remove the `:u` entry, or override the kernel's list with an entry without flags \
             (`usb-storage.quirks=VENDOR:PRODUCT:`), and watch the log (undo: restore the entry)"
        } else if usb.uas == Some(true) {
            "load the module `uas` and plug the bridge in again; if it stays with usb-storage, the \
             log says why"
        } else {
            "none for a stick or a bridge without UAS, which cannot queue; otherwise use a bridge \
             and a port with UAS (USB 3, driver uas), or attach the drive by SATA"
        });
}
