//! Options of the kernel that change how the disk is driven.

use drivelab_core::outline::Severity;

use super::context::{Context, Findings};
use crate::device::Kind;
use crate::forced::Forced;
use crate::found::FindingId;

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    let found = context.machine.forced.iter().filter(|forced| applies(context, forced));
    let (ignored, applying): (Vec<&Forced>, Vec<&Forced>) =
        found.partition(|forced| forced.is_legacy() && !has_legacy_queues(context));
    without_effect(&ignored, findings);
    let port = context.device.ata.as_ref().and_then(|ata| context.machine.log.port(ata.port));
    let logged = port.filter(|port| !port.forced.is_empty());
    if applying.is_empty() && logged.is_none() {
        return;
    }
    let options: Vec<&str> = applying.iter().map(|forced| forced.option.as_str()).collect();
    let mut evidence: Vec<String> =
        applying.iter().map(|forced| format!("{}: {}", forced.source, forced.option)).collect();
    evidence.extend(logged.map(|port| format!("log: {}", port.forced.evidence())));
    let what = if options.is_empty() { "libata.force".to_owned() } else { options.join(" ") };
    // Options of PCI Express are set for all devices, often by the maker of the machine.
    let general =
        logged.is_none() && applying.iter().all(|forced| forced.module().starts_with("pci"));
    // Nor is the cure of a known fault a fault.
    let is_cure = logged.is_none() && applying.iter().all(|forced| cure(forced).is_some());
    let severity = if general || is_cure { Severity::Info } else { Severity::Warn };
    let cures = applying.iter().filter_map(|forced| cure(forced));
    let mut cures: Vec<&str> = cures.collect();
    cures.dedup();
    let cures = if cures.is_empty() {
        String::new()
    } else {
        format!(" (it is known to cure {})", cures.join(", and "))
    };
    findings
        .add(FindingId::KernelForced, severity)
        .says(format!("a boot or module option overrides how the kernel drives this disk: {what}"))
        .seen(evidence)
        .fix(format!(
            "if there is no known reason for it{cures}, remove the option from the kernel command \
             line or /etc/modprobe.d, reboot, and watch the log (undo: add it again); keep it the \
             same in all arms of a comparison"
        ));
}

/// The fault for which users set an option.
fn cure(forced: &Forced) -> Option<&'static str> {
    match (forced.module(), forced.value.to_ascii_lowercase().as_str()) {
        ("nvme_core", "0") if forced.option.contains("default_ps_max_latency_us") => {
            Some("NVMe drives that do not wake up from power saving")
        }
        ("pcie_aspm" | "pcie_port_pm", _) => Some("drives that drop out when their link sleeps"),
        ("pci", "noaer") => Some("a log flooded by errors of PCI Express, which it only hides"),
        ("pci", "nomsi") => Some("lost interrupts"),
        ("usb-storage" | "usb_storage", value) if value.ends_with('u') => {
            Some("bridges that fail with UAS")
        }
        (_, "noncq" | "noncqtrim") => Some("drives with faulty queuing"),
        _ => None,
    }
}

/// Reports options that this kernel accepts and ignores, as a note.
fn without_effect(ignored: &[&Forced], findings: &mut Findings) {
    let options: Vec<&str> = ignored.iter().map(|forced| forced.option.as_str()).collect();
    if options.is_empty() {
        return;
    }
    let evidence = ignored.iter().map(|forced| format!("{}: {}", forced.source, forced.option));
    findings
        .add(FindingId::KernelForced, Severity::Info)
        .says(format!("`{}` has had no effect since Linux 5.0", options.join(" ")))
        .seen(evidence.collect())
        .fix(
            "remove it; queue/scheduler shows the scheduler in use, and a udev rule makes another \
             one permanent",
        );
}

/// True for kernels that may still have request queues without blk-mq; those of unknown version
/// count as current.
fn has_legacy_queues(context: &Context<'_>) -> bool {
    context.machine.kernel.is_some_and(|version| version < (5, 0))
}

fn applies(context: &Context<'_>, forced: &Forced) -> bool {
    let device = context.device;
    match forced.module() {
        "libata" | "ahci" | "ata_piix" => {
            device.ata.as_ref().is_some_and(|ata| forced.applies_to_ata(ata.unit()))
        }
        "nvme" | "nvme_core" | "pcie_aspm" | "pcie_port_pm" | "pci" => device.kind == Kind::Nvme,
        "scsi_mod" => device.scsi.is_some(),
        "usb-storage" | "usb_storage" => {
            let id = device.usb.as_ref().and_then(|usb| usb.vendor_product.as_ref());
            id.is_some_and(|id| forced.value.contains(id.as_str()))
        }
        "dm_mod" => device.dm.is_some(),
        "elevator" => device.is_drive(),
        _ => false,
    }
}
