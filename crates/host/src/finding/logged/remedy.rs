//! The remedy of a logged fault, which depends on the bus.

use super::super::context::Context;
use crate::device::{Device, Kind};
use crate::found::FindingId;
use crate::log::Lines;

/// Returns the remedy of a finding for this device.
pub(super) fn of(id: FindingId, context: &Context<'_>, lines: Option<&Lines>) -> String {
    let device = context.device;
    match id {
        FindingId::MediumErrors => medium(device),
        FindingId::LinkErrors => link(device),
        FindingId::CommandTimeouts => timeout(device),
        FindingId::DeviceLost => lost(device),
        FindingId::CommandErrors => command(device, lines),
        FindingId::IoErrors => io(device),
        FindingId::ControllerErrors => controller().to_owned(),
        FindingId::MemberFailed => member(device),
        FindingId::FileSystemErrors => file_system().to_owned(),
        FindingId::PowerSaving => power().to_owned(),
        _ => mode().to_owned(),
    }
}

/// The device file, for a command.
fn file_of(device: &Device) -> String {
    if let Some(nvme) = &device.nvme {
        return format!("/dev/{}", nvme.controller);
    }
    device.path.clone().unwrap_or_else(|| "/dev/DISK".to_owned())
}

/// The command that shows the drive's own record of errors.
fn how_to_ask(device: &Device) -> String {
    if device.hidden_behind_raid() {
        return "ask the RAID controller's own tool for the state of its drives".to_owned();
    }
    let path = file_of(device);
    match device.kind {
        Kind::Nvme => format!(
            "`sudo smartctl -x {path}` or `sudo nvme smart-log {path}` shows media_errors and \
             critical_warning"
        ),
        Kind::Sas | Kind::Scsi => format!(
            "`sudo smartctl -x {path}` shows the grown defect list and the count of uncorrected \
             errors"
        ),
        Kind::Mmc => "`mmc extcsd read` shows the wear (life time estimation) of an eMMC; an SD \
                      card reports none"
            .to_owned(),
        Kind::Usb => format!(
            "`sudo smartctl -x {path}` (perhaps with `-d sat`) shows pending and reallocated \
             sectors, if the bridge passes it on"
        ),
        Kind::Virtio | Kind::Xen | Kind::HyperV => {
            "ask the host's administrator for the state of the disk behind it".to_owned()
        }
        _ => format!("`sudo smartctl -x {path}` shows pending and reallocated sectors"),
    }
}

fn medium(device: &Device) -> String {
    let ask = how_to_ask(device);
    match device.kind {
        Kind::Mmc => format!("save the data now, and replace the card; {ask}"),
        Kind::Virtio | Kind::Xen | Kind::HyperV => format!("save the data now; {ask}"),
        Kind::Md | Kind::Dm | Kind::Lvm | Kind::Luks | Kind::Multipath => {
            "find the disk below it with the fault, save the data, and replace that disk".to_owned()
        }
        _ => format!(
            "save the data now; {ask}. A sector may be readable again after it was written; \
             replace the drive if their number grows, or if it is not alone"
        ),
    }
}

fn link(device: &Device) -> String {
    match device.kind {
        Kind::Nvme => {
            "reseat the drive and check adapter or riser; look for newer firmware of the \
                       drive and the board, and limit the PCIe generation of the slot in the \
                       firmware setup to find the fault (undo: set it back)"
                .to_owned()
        }
        Kind::Usb => "use a shorter cable and another port, without a hub, and a supply that the \
                      drive needs under load; look for newer firmware of the bridge. If the errors \
                      appear with UAS only, try `usb-storage.quirks=VENDOR:PRODUCT:u` on the kernel \
                      command line (undo: remove it), which costs queuing"
            .to_owned(),
        Kind::Mmc => {
            "clean the contacts and reseat the card; try another card, then a slower mode \
                      of the host"
                .to_owned()
        }
        Kind::Sas | Kind::Scsi => format!(
            "check cable, expander, backplane and firmware of the adapter; \
             `/sys/class/sas_phy/*/invalid_dword_count` shows which phy counts errors; {}",
            how_to_ask(device)
        ),
        _ => "check cable, connectors and power, and the drive's SMART values (attribute 199, \
              interface CRC errors, points to the cable); if the log names DIPM, or errors come \
              after idle times, `echo max_performance | sudo tee \
              /sys/class/scsi_host/hostN/link_power_management_policy` turns the link's power \
              saving off (undo: write the old value). Measure again when the log shows no new \
              errors, because a retried command counts as a slow one"
            .to_owned(),
    }
}

fn timeout(device: &Device) -> String {
    let ask = how_to_ask(device);
    match device.kind {
        Kind::Nvme => format!(
            "look for newer firmware of the drive; {ask}. If time-outs go on, try \
             `nvme_core.default_ps_max_latency_us=0` on the kernel command line, which turns power \
             saving off (undo: remove it), and another slot"
        ),
        Kind::Usb => {
            "check the supply of the drive (a port gives 0.9 A at most) and the cable, and \
                      use a port without a hub; if it is driven by UAS, \
                      `usb-storage.quirks=VENDOR:PRODUCT:u` on the kernel command line avoids \
                      faults of its bridge (undo: remove it), at the price of queuing"
                .to_owned()
        }
        Kind::Sas | Kind::Scsi => format!(
            "find out whether one disk is slow or all behind an adapter: a disk that recovers a bad \
             sector holds its queue, all of them point to adapter, expander or supply; {ask}; look \
             for newer firmware of the adapter"
        ),
        Kind::Mmc => {
            "try another card and a slower mode; on a board with a new kernel, look for a \
                      known fault of its host driver"
                .to_owned()
        }
        Kind::Virtio | Kind::Xen | Kind::HyperV => ask,
        _ => format!(
            "{ask}; a drive that recovers bad sectors can be busy for minutes (`sudo smartctl -l \
             scterc {}` shows its limit), as can a drive with shingled tracks. Otherwise check the \
             supply, and turn the link's power saving off: `echo max_performance | sudo tee \
             /sys/class/scsi_host/hostN/link_power_management_policy` (undo: write the old value)",
            file_of(device)
        ),
    }
}

fn lost(device: &Device) -> String {
    let ask = how_to_ask(device);
    match device.kind {
        Kind::Nvme => format!(
            "save the data; switch the machine off and on, because a reset of the drive did not \
             help; then {ask}, look for newer firmware, check its temperature, and try another slot"
        ),
        Kind::Usb => {
            "check supply, cable and port; a bridge that drops out under load often lacks \
                      current. After it is attached again, check its file systems"
                .to_owned()
        }
        _ => format!(
            "check supply, cable and backplane, and whether other disks of the same controller \
             dropped out at the same time (then it is not the disk); attach it again, then {ask}"
        ),
    }
}

fn command(device: &Device, lines: Option<&Lines>) -> String {
    let discard = lines.is_some_and(|lines| {
        lines.first.iter().any(|line| line.contains("DISCARD") || line.contains("WRITE_ZEROES"))
    });
    if discard {
        return "mount without `discard` and use fstrim, or set \
                queue/discard_max_bytes to 0 (undo: write the value of discard_max_hw_bytes); data \
                is not at risk"
            .to_owned();
    }
    let mut text = "find which command in the log it is: one that the drive does not support is \
                    harmless, a read or a write is not"
        .to_owned();
    text.push_str("; ");
    text.push_str(&how_to_ask(device));
    text
}

fn io(device: &Device) -> String {
    format!(
        "look at the lines before them in the whole log for the reason (`journalctl -k`); {}",
        how_to_ask(device)
    )
}

fn controller() -> &'static str {
    "look for newer firmware of the controller, check its temperature, its seat in the slot and the \
     supply; a disk behind it is to blame only if the same one is named each time"
}

fn member(device: &Device) -> String {
    match device.kind {
        Kind::Md => format!(
            "`sudo mdadm --detail /dev/{}` shows the state of each member; find out why it failed \
             before you add it again, and save the data first if no redundancy is left",
            device.name
        ),
        _ => "find out why it failed with the other findings and `sudo smartctl -x`; `mdadm \
              --detail` or `multipath -ll` shows the state of all members or paths"
            .to_owned(),
    }
}

fn file_system() -> &'static str {
    "save the data, find and remove the cause below (other findings, memory test), then check the \
     unmounted file system: `e2fsck -f`, `xfs_repair -n`, `btrfs scrub` and `btrfs device stats`"
}

fn power() -> &'static str {
    "boot with `nvme_core.default_ps_max_latency_us=0 pcie_aspm=off pcie_port_pm=off` and watch \
     whether it happens again, then leave one option out at a time (undo: remove them); look for \
     newer firmware of drive and board"
}

fn mode() -> &'static str {
    "use an 80-wire cable, and attach the drive to its end; behind an adapter for memory cards, or \
     with a drive that has no cable, `libata.force=80c` declares it (undo: remove it). After errors, \
     attach the drive again to restore its mode"
}
