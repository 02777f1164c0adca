//! The remedy of a logged fault, which depends on the way to the disk.

use std::collections::BTreeMap;

use super::super::context::Context;
use super::way::Way;
use crate::device::{Device, Kind};
use crate::found::FindingId;
use crate::log::{Class, Lines};

/// The faults of a device by kind.
pub(super) type Faults = BTreeMap<Class, Lines>;

/// The file of `sysfs` that sets the power saving of a SATA link.
const LINK_POWER: &str = "`echo max_performance | sudo tee \
                          /sys/class/scsi_host/hostN/link_power_management_policy` (undo: write the \
                          old value)";

/// Returns the remedy of a finding for this device.
pub(super) fn of(id: FindingId, context: &Context<'_>, faults: &Faults) -> String {
    let way = Way::of(context);
    let device = context.device;
    match id {
        FindingId::MediumErrors => medium(way, device),
        FindingId::LinkErrors => link(way, device),
        FindingId::CommandTimeouts if only(faults, Class::Interrupt) => interrupt().to_owned(),
        FindingId::CommandTimeouts if only(faults, Class::Stall) => stall(device),
        FindingId::CommandTimeouts => timeout(way, device),
        FindingId::DeviceLost => lost(way, device),
        FindingId::CommandErrors => command(way, device, faults),
        FindingId::IoErrors => io(way, device),
        FindingId::ControllerErrors => controller().to_owned(),
        FindingId::MemberFailed => member(device),
        FindingId::FileSystemErrors => file_system(faults.get(&Class::FileSystem)),
        FindingId::PowerSaving => power().to_owned(),
        FindingId::HealthFailed => health(way, device),
        FindingId::TooHot => heat().to_owned(),
        _ => mode(way, device),
    }
}

/// Returns whether of the faults of commands there is only this kind.
fn only(faults: &Faults, class: Class) -> bool {
    faults.contains_key(&class)
        && ![Class::Timeout, Class::Reset, Class::Command]
            .iter()
            .any(|other| faults.contains_key(other))
}

/// The remedy of a device that answers late, without an error.
fn stall(device: &Device) -> String {
    format!(
        "the device, or one below it, answered too late: look in the log for errors of another \
         device at that time, and watch `drivelab inspect {name} --watch` under the same load. If \
         it only has too much to write, a lower `vm.dirty_bytes` shortens the waiting (undo: `sudo \
         sysctl vm.dirty_ratio=20`)",
        name = device.name
    )
}

/// The device file, for a command.
fn file_of(device: &Device) -> String {
    if let Some(nvme) = &device.nvme {
        return format!("/dev/{}", nvme.controller);
    }
    device.path.clone().unwrap_or_else(|| "/dev/NAME".to_owned())
}

/// The command that shows the drive's own record of errors.
fn how_to_ask(way: Way, device: &Device) -> String {
    let path = file_of(device);
    let ask = match way {
        Way::Raid => {
            return "ask the RAID controller's own tool for the state of its drives".to_owned();
        }
        Way::Guest => {
            return "ask the host's administrator for the state of the disk behind it".to_owned();
        }
        Way::Network => {
            return "look on the machine that has the disk for the errors of the disk itself"
                .to_owned();
        }
        Way::Stack => {
            return format!(
                "`lsblk -s {path}` shows the disks below it, and their findings or `sudo smartctl \
                 -x` which one failed"
            );
        }
        Way::Card => {
            return "`mmc extcsd read` shows the wear (life time estimation) of an eMMC; an SD card \
                    reports none"
                .to_owned();
        }
        Way::Nvme => format!(
            "`sudo smartctl -x {path}` or `sudo nvme smart-log {path}` shows media_errors and \
             critical_warning"
        ),
        Way::Sas => format!(
            "`sudo smartctl -x {path}` shows the grown defect list and the count of uncorrected \
             errors"
        ),
        Way::Usb => format!(
            "`sudo smartctl -x {path}` (perhaps with `-d sat`) shows pending and reallocated \
             sectors, if the bridge passes it on"
        ),
        Way::Sata | Way::Pata => {
            format!("`sudo smartctl -x {path}` shows pending and reallocated sectors")
        }
        Way::Unknown | Way::Controller => {
            format!("`sudo smartctl -x {path}` shows the drive's own record of errors")
        }
    };
    if device.path.is_some() || device.nvme.is_some() {
        return ask;
    }
    let find = match way {
        Way::Sata | Way::Pata => {
            let port = device.ata.as_ref().map_or(0, |ata| ata.port);
            format!("`ls -l /sys/block | grep ata{port}/`")
        }
        Way::Nvme => "`nvme list -v`".to_owned(),
        _ => "`lsblk -S`".to_owned(),
    };
    format!("{ask} ({find} finds its name)")
}

fn medium(way: Way, device: &Device) -> String {
    let ask = how_to_ask(way, device);
    match way {
        Way::Card => format!("save the data now, and replace the card; {ask}"),
        Way::Guest | Way::Network => format!("save the data now; {ask}"),
        Way::Stack => format!(
            "find the disk below it with the fault, save the data, and replace that disk; {ask}"
        ),
        _ => format!(
            "save the data now; {ask}. A sector may be readable again after it was written; \
             replace the drive if their number grows, or if it is not alone"
        ),
    }
}

fn link(way: Way, device: &Device) -> String {
    let ask = how_to_ask(way, device);
    match way {
        Way::Nvme => "reseat the drive and check adapter or riser; look for newer firmware of the \
                      drive and the board, and limit the PCIe generation of the slot in the \
                      firmware setup to find the fault (undo: set it back)"
            .to_owned(),
        Way::Usb => "use a shorter cable and another port, without a hub, and a supply that the \
                     drive needs under load; look for newer firmware of the bridge. If the errors \
                     appear with UAS only, try `usb-storage.quirks=VENDOR:PRODUCT:u` on the kernel \
                     command line (undo: remove it), which costs queuing"
            .to_owned(),
        Way::Card => {
            "clean the contacts and reseat the card; try another card, then a slower mode \
                      of the host"
                .to_owned()
        }
        Way::Sas | Way::Raid => format!(
            "check cable, expander, backplane and firmware of the adapter; \
             `/sys/class/sas_phy/*/invalid_dword_count` shows which phy of a SAS adapter counts \
             errors; {ask}"
        ),
        Way::Network => format!(
            "check the network to the disk: the state of the session (`iscsiadm -m session -P 1`) \
             or of the port (`/sys/class/fc_host/*/port_state`), switches, cables and the log of \
             the target; {ask}"
        ),
        Way::Guest | Way::Stack => ask,
        Way::Pata => format!("check the cable, its length and the power connector; {ask}"),
        Way::Sata => format!(
            "check cable, connectors and power; {ask} (attribute 199, interface CRC errors, points \
             to the cable). If the log names DIPM, or errors come after idle times, {LINK_POWER} \
             turns the link's power saving off. Measure again when the log shows no new errors, \
             because a retried command counts as a slow one"
        ),
        Way::Unknown | Way::Controller => {
            format!(
                "check cable, connectors and power, and whether other disks are concerned; {ask}"
            )
        }
    }
}

fn timeout(way: Way, device: &Device) -> String {
    let ask = how_to_ask(way, device);
    match way {
        Way::Nvme => format!(
            "look for newer firmware of the drive; {ask}. If time-outs go on, try \
             `nvme_core.default_ps_max_latency_us=0` on the kernel command line, which turns power \
             saving off (undo: remove it), and another slot"
        ),
        Way::Usb => {
            "check the supply of the drive (a port gives 0.9 A at most) and the cable, and \
                     use a port without a hub; if it is driven by UAS, \
                     `usb-storage.quirks=VENDOR:PRODUCT:u` on the kernel command line avoids \
                     faults of its bridge (undo: remove it), at the price of queuing"
                .to_owned()
        }
        Way::Sas | Way::Raid => format!(
            "find out whether one disk is slow or all behind an adapter: a disk that recovers a bad \
             sector holds its queue, all of them point to adapter, expander or supply; {ask}; look \
             for newer firmware of the adapter"
        ),
        Way::Card => {
            "try another card and a slower mode; on a board with a new kernel, look for a \
                      known fault of its host driver"
                .to_owned()
        }
        Way::Network => format!(
            "check the network to the disk and the load of the target; {ask}; `/sys/block/{}/device/\
             timeout` is the time in seconds that the kernel waits",
            device.name
        ),
        Way::Guest => format!(
            "{ask}: its storage answered too late, so load there, or a migration of the machine, is \
             likely"
        ),
        Way::Stack => ask,
        Way::Sata | Way::Pata => format!(
            "{ask}; a drive that recovers bad sectors can be busy for minutes (`sudo smartctl -l \
             scterc {}` shows its limit), as can a drive with shingled tracks. Otherwise check cable \
             and supply{}",
            file_of(device),
            if way == Way::Sata {
                format!(", and turn the link's power saving off: {LINK_POWER}")
            } else {
                String::new()
            }
        ),
        Way::Unknown | Way::Controller => format!(
            "{ask}; a drive that recovers bad sectors can be busy for minutes. Otherwise check cable \
             and supply, and whether other disks of the controller are concerned"
        ),
    }
}

fn interrupt() -> &'static str {
    "the drive did its work, so it is not at fault, but each such command took the whole time limit: \
     look for newer firmware of the board and a newer kernel, check in /proc/interrupts that the \
     counters of the drive's queues grow, and try `pci=nomsi` on the kernel command line to find \
     the fault (undo: remove it)"
}

fn lost(way: Way, device: &Device) -> String {
    let ask = how_to_ask(way, device);
    match way {
        Way::Nvme => format!(
            "save the data; switch the machine off and on, because a reset of the drive did not \
             help; then {ask}, look for newer firmware, check its temperature, and try another slot"
        ),
        Way::Usb => "check supply, cable and port; a bridge that drops out under load often lacks \
                     current. After it is attached again, check its file systems"
            .to_owned(),
        Way::Network => format!(
            "check the network and the target, and whether other disks of the same target dropped \
             out; log in again (`iscsiadm -m session --rescan`), and check the file systems; {ask}"
        ),
        Way::Guest | Way::Stack => ask,
        Way::Card => {
            "reseat the card, try it in another reader, and replace it if it stays away".to_owned()
        }
        _ => format!(
            "check supply, cable and backplane, and whether other disks of the same controller \
             dropped out at the same time (then it is not the disk); attach it again, then {ask}"
        ),
    }
}

fn command(way: Way, device: &Device, faults: &Faults) -> String {
    let queue = format!("/sys/block/{}/queue", device.path.as_deref().map_or("NAME", short));
    let mut parts = Vec::new();
    if faults.contains_key(&Class::Command) {
        parts.push(format!(
            "find which command in the log it is: one that the drive does not support is harmless, \
             a read or a write is not; {}",
            how_to_ask(way, device)
        ));
    }
    if faults.contains_key(&Class::Discard) {
        parts.push(format!(
            "failed discards harm no data: mount without `discard` and use fstrim, or `echo 0 | \
             sudo tee {queue}/discard_max_bytes` (undo: write the value of discard_max_hw_bytes)"
        ));
    }
    if faults.contains_key(&Class::WriteZeroes) {
        let mut text = format!(
            "where the command to clear blocks fails, the kernel writes zeros itself and sets \
             {queue}/write_zeroes_max_bytes to 0"
        );
        if matches!(way, Way::Usb | Way::Sas | Way::Sata | Way::Guest | Way::Unknown) {
            text.push_str(
                "; a SCSI disk is not asked again after `echo write | sudo tee \
                 /sys/class/scsi_disk/H:C:T:L/zeroing_mode` (undo: write the old value)",
            );
        }
        parts.push(text);
    }
    parts.join("; ")
}

/// `sda` of `/dev/sda`.
fn short(path: &str) -> &str {
    path.trim_start_matches("/dev/")
}

fn io(way: Way, device: &Device) -> String {
    format!(
        "look at the lines before them in the whole log for the reason (`journalctl -k`); {}",
        how_to_ask(way, device)
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

/// The checks of the file systems that the messages name.
fn file_system(lines: Option<&Lines>) -> String {
    let checks = [
        ("EXT", "`e2fsck -f` on the unmounted file system"),
        ("JBD", "`e2fsck -f` on the unmounted file system"),
        ("Aborting journal", "`e2fsck -f` on the unmounted file system"),
        ("XFS", "`xfs_repair -n` on the unmounted file system"),
        ("BTRFS", "`btrfs scrub start -B` and `btrfs device stats` on the mounted file system"),
        ("F2FS", "`fsck.f2fs` on the unmounted file system"),
        ("FAT", "`fsck.vfat` on the unmounted file system"),
    ];
    let first = lines.map(|lines| lines.first.as_slice()).unwrap_or_default();
    let fitting = checks.iter().filter(|(start, _)| first.iter().any(|it| it.starts_with(start)));
    let mut fitting: Vec<&str> = fitting.map(|(_, check)| *check).collect();
    fitting.dedup();
    let check = if fitting.is_empty() {
        "the check of the volume or file system that the message names".to_owned()
    } else {
        fitting.join(", ")
    };
    format!(
        "save the data, find and remove the cause below (other findings, memory test), then check \
         it: {check}"
    )
}

/// The remedy of a drive that fails by its own record, as smartd reads it.
fn health(way: Way, device: &Device) -> String {
    format!(
        "save the data now; the drive fails by its maker's own limits or its own test, so replace \
         it; {}",
        how_to_ask(way, device)
    )
}

fn heat() -> &'static str {
    "give it air or a heat sink; watch `drivelab inspect --temperature` during a long run: a drive \
     above its limit slows down. There is nothing to undo"
}

fn power() -> &'static str {
    "boot with `nvme_core.default_ps_max_latency_us=0 pcie_aspm=off pcie_port_pm=off` and watch \
     whether it happens again, then leave one option out at a time (undo: remove them); look for \
     newer firmware of drive and board"
}

fn mode(way: Way, device: &Device) -> String {
    if way == Way::Pata {
        return "use an 80-wire cable, and attach the drive to its end; behind an adapter for memory \
                cards, or with a drive that has no cable, `libata.force=80c` declares it (undo: \
                remove it). After errors, attach the drive again to restore its mode"
            .to_owned();
    }
    format!(
        "a SATA link keeps its speed in any such mode, but commands failed before: see the other \
         findings, check cable and supply; {}. Attaching the drive again restores its mode",
        how_to_ask(way, device)
    )
}
