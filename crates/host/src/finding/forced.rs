//! Options of the kernel that change how the disk is driven.

use drivelab_core::outline::Severity;

use super::context::{Context, Findings};
use crate::device::Kind;
use crate::forced::Forced;
use crate::found::FindingId;

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    let applying: Vec<&Forced> =
        context.machine.forced.iter().filter(|forced| applies(context, forced)).collect();
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
    findings
        .add(FindingId::KernelForced, Severity::Warn)
        .says(format!(
            "a boot or module option overrides how the kernel drives this disk: \
                              {what}"
        ))
        .seen(evidence)
        .fix(
            "if there is no known reason for it, remove the option from the kernel command \
                  line or /etc/modprobe.d, reboot, and watch the log; keep it the same in all arms \
                  of a comparison",
        );
}

fn applies(context: &Context<'_>, forced: &Forced) -> bool {
    let device = context.device;
    match forced.module() {
        "libata" | "ahci" | "ata_piix" => {
            device.ata.as_ref().is_some_and(|ata| forced.applies_to_ata(ata.unit()))
        }
        "nvme" | "nvme_core" => device.kind == Kind::Nvme,
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
