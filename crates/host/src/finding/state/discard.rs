//! Discards that do not reach a flash drive.

use drivelab_core::outline::Severity;

use super::super::context::{Context, Findings, attribute};
use crate::device::{Device, Kind};
use crate::found::FindingId;
use crate::log::disk_of;

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    if device.queue.discard_max_bytes != Some(0) {
        return;
    }
    if device.kind == Kind::Luks {
        encrypted(context, findings);
        return;
    }
    let flash = device.rpm == Some(0) || device.queue.rotational == Some(false);
    if !flash || !device.is_physical() || device.hidden_behind_raid() {
        return;
    }
    let mode = device.scsi.as_ref().and_then(|scsi| scsi.provisioning_mode.as_deref());
    findings
        .add(FindingId::DiscardOff, Severity::Info)
        .says(
            "discards do not reach the drive: it keeps blocks that were deleted, and writes become \
             slower as it fills up",
        )
        .seen(vec![
            attribute(context, "queue/discard_max_bytes", "0"),
            mode.map(|mode| format!("provisioning_mode: {mode}")).unwrap_or_default(),
        ])
        .fix(remedy(device));
}

fn remedy(device: &Device) -> String {
    let path = format!("/dev/{}", device.name);
    let fill = "before a measurement, bring the drive into the same state in all arms";
    match device.kind {
        Kind::Usb => {
            let address = device.scsi.as_ref().map_or("H:C:T:L", |scsi| scsi.address.as_str());
            let mode = format!("/sys/class/scsi_disk/{address}/provisioning_mode");
            format!(
                "{fill}. If `sudo sg_vpd -p lbpv {path}` shows that the bridge supports UNMAP, `echo \
                 unmap | sudo tee {mode}` (undo: write `full`), then read discard_max_bytes again; a \
                 bridge that does not keep its promise loses data, so try it on an empty disk"
            )
        }
        Kind::Sas | Kind::Scsi => format!(
            "{fill}. Some adapters pass discards on only to drives that return zeros afterwards \
             (`sudo sg_vpd -p lbpv {path}`: LBPRZ); another port or adapter may pass them on"
        ),
        _ => format!(
            "{fill}. `sudo hdparm -I {path}` shows whether the drive supports TRIM; the kernel's log \
             says if it does not use it for this drive"
        ),
    }
}

/// Returns whether the kernel sends discards to a flash drive.
fn takes_discards(disk: &Device) -> bool {
    disk.queue.rotational == Some(false) && disk.queue.discard_max_bytes > Some(0)
}

/// Checks for an encrypted disk that stops the discards of its file system.
fn encrypted(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    let mut below = device.slaves.iter().filter_map(|name| context.all.get(disk_of(name)));
    let Some(disk) = below.find(|disk| takes_discards(disk)) else { return };
    let name = device.dm.as_ref().and_then(|dm| dm.name.as_deref()).unwrap_or(&device.name);
    findings
        .add(FindingId::DiscardOff, Severity::Info)
        .says(format!(
            "the encrypted disk passes no discards on to {}, which keeps deleted blocks",
            disk.name
        ))
        .seen(vec![attribute(context, "queue/discard_max_bytes", "0")])
        .fix(format!(
            "`sudo cryptsetup refresh --allow-discards {name}` passes them on (undo: `sudo \
             cryptsetup refresh {name}`), and shows an attacker which blocks are free"
        ));
}
