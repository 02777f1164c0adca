//! Notes how the target of a run is attached: an inspection of a real one, or the description
//! that a model gives of itself.

use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use drivelab_core::record::{Attached, AttachedDevice, FoundFault, Mark, MarkId};
use drivelab_host::device::Mount;
use drivelab_host::{Device, FindingId, Inspection, Options, Reader, Wanted};

use crate::kernel_log;

pub use drivelab_simulate::attached::to_model;

/// Remembers paths that did not answer before one run, so that later runs do not wait for them.
static READER: LazyLock<Mutex<Reader>> = LazyLock::new(|| Mutex::new(Reader::new("/")));

/// Inspects what `path` is on, just before a run; without serial numbers, as a capture is.
///
/// A failed inspection is no reason not to run: the record says why it failed.
pub fn to_path(path: &Path) -> Attached {
    // A file that is laid out by the run is where its folder is.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    // Links are resolved where there is a file: the disk that holds it counts.
    let path = path.canonicalize().unwrap_or(path);
    let there = path.ancestors().find_map(|part| Some((part, holder(part)?)));
    let Some((_, wanted)) = there else {
        let unseen = Some(format!("`{}` is nowhere", path.display()));
        return Attached { unseen, ..Attached::default() };
    };
    let options = Options { log: kernel_log::of_this_boot(), ..Options::default() };
    let mut reader = READER.lock().unwrap_or_else(PoisonError::into_inner);
    let mut attached = match drivelab_host::inspect_within(&mut reader, &[wanted], &options) {
        Ok(found) => of_inspection(&found),
        Err(error) => Attached { unseen: Some(error.to_string()), ..Attached::default() },
    };
    // The file system of a block device itself is no part of the run.
    let file = path.to_str().filter(|_| !is_block_device(&path)).map(str::to_owned);
    let mount = file.map(|file| reader.read(move |root| Mount::of_file(&root, &file)));
    if let Some(Ok(Some(mount))) = mount {
        attached.machine.insert("file_system".into(), mount.file_system.into());
        attached.machine.insert("mount_options".into(), mount.options.join(",").into());
    }
    attached
}

fn is_disturbing(fault: &FoundFault) -> bool {
    FindingId::from_name(&fault.id).is_some_and(FindingId::changes_measurements)
}

/// The fact that a disk is one of a virtual machine.
const GUEST: &str = "virtual";

/// The mark for findings that change what a run on these devices measures, and for disks that a
/// host makes of files or volumes.
pub fn mark(attached: &Attached) -> Option<Mark> {
    let mut found = Vec::new();
    for device in &attached.devices {
        let findings = device.findings.iter().filter(|fault| is_disturbing(fault));
        let said =
            findings.map(|fault| format!("{}: {} ({})", device.name, fault.message, fault.id));
        found.extend(said);
        // `O_DIRECT` ends in the guest: the host may keep the file of the disk in its memory.
        if device.facts.contains_key(GUEST) {
            let name = &device.name;
            found.push(format!("{name}: a virtual machine's disk: the host's memory may answer"));
        }
    }
    (!found.is_empty()).then(|| Mark { id: MarkId::Attachment, message: found.join("; ") })
}

fn is_block_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| about.file_type().is_block_device())
}

/// The device that a file is on, or that a device file stands for; `None` where there is no file.
pub fn holder(path: &Path) -> Option<Wanted> {
    let about = std::fs::metadata(path).ok()?;
    let block = about.file_type().is_block_device();
    // A device file lies on the file system of /dev; its device is `rdev`.
    let number = if block { about.rdev() } else { about.dev() };
    let path: PathBuf = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let path = path.to_string_lossy().into_owned();
    Some(Wanted::Holder { path, number: drivelab_host::device_number(number) })
}

/// The drives of an inspection, without what is built on them.
pub fn drives(found: &Inspection) -> Vec<AttachedDevice> {
    found.devices.iter().filter(|device| device.is_drive()).map(of_device).collect()
}

fn of_inspection(found: &Inspection) -> Attached {
    let environment = &found.environment;
    let mut attached = Attached { boot: environment.boot.clone(), ..Attached::default() };
    if let Some(governor) = &environment.cpu_governor {
        attached.machine.insert("cpu_governor".into(), governor.as_str().into());
    }
    let options: Vec<&str> = environment.forced.iter().map(|f| f.option.as_str()).collect();
    if !options.is_empty() {
        attached.machine.insert("kernel_options".into(), options.join(" ").into());
    }
    let silent = found.problems.iter().filter(|problem| problem.is_silence());
    let silent: Vec<&str> = silent.map(|problem| problem.path.as_str()).collect();
    if !silent.is_empty() {
        attached.machine.insert("unanswered".into(), silent.join(" ").into());
    }
    attached.devices = found.devices.iter().map(of_device).collect();
    attached
}

fn of_device(device: &Device) -> AttachedDevice {
    let kind = serde_json::to_value(device.kind).ok();
    let mut noted = AttachedDevice {
        name: device.name.clone(),
        kind: kind.and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or_default(),
        made_of: device.slaves.clone(),
        identity: device.identity.clone(),
        ..AttachedDevice::default()
    };
    let findings = device.findings.iter().map(|finding| FoundFault {
        id: finding.id.to_string(),
        severity: finding.severity.to_string(),
        message: finding.message.clone(),
    });
    noted.findings = findings.collect();
    // A partition's queue is its disk's, which is noted there.
    if device.partition.is_none() {
        identity(&mut noted, device);
        way(&mut noted, device);
        queue(&mut noted, device);
        stack(&mut noted, device);
    }
    noted
}

fn identity(noted: &mut AttachedDevice, device: &Device) {
    noted.set("model", device.model.clone());
    noted.set("firmware", device.firmware.clone());
    noted.set("capacity_bytes", device.capacity_bytes);
    noted.set("rpm", device.rpm);
    noted.set("kind", Some(noted.kind.clone()));
    noted.set(GUEST, device.is_of_guest().then_some(true));
}

fn way(noted: &mut AttachedDevice, device: &Device) {
    let controller = &device.controller;
    noted.set("controller", controller.mode.clone());
    noted.set("driver", controller.driver.clone());
    noted.set("pci_id", controller.vendor_device.clone());
    noted.set("link_gbps", device.link.speed_gbps.map(|speed| speed.to_string()));
    noted.set("pcie", device.pcie.summary());
    noted.set("queue_depth", device.queue_depth);
    noted.set("ncq", device.ncq);
    noted.set("host_driver", device.scsi.as_ref().and_then(|scsi| scsi.host_driver.clone()));
    noted.set("usb_driver", device.usb.as_ref().and_then(|usb| usb.driver.clone()));
    noted.set("transport", device.nvme.as_ref().and_then(|nvme| nvme.transport.clone()));
    noted.set("transfer_mode", device.ata.as_ref().and_then(|ata| ata.transfer_mode.clone()));
    noted.set("link_policy", device.power.link_policy.clone());
    noted.set("runtime_control", device.power.runtime_control.clone());
}

fn queue(noted: &mut AttachedDevice, device: &Device) {
    let queue = &device.queue;
    // What the device says; a device that says nothing is what the kernel takes it for.
    let cache = &device.write_cache;
    noted.set("write_cache", cache.device.clone().or_else(|| cache.kernel.clone()));
    noted.set("write_cache_kernel", cache.kernel.clone());
    noted.set("fua", queue.fua);
    noted.set("scheduler", queue.scheduler.clone());
    noted.set("nr_requests", queue.nr_requests);
    noted.set("hardware_queues", queue.hardware_queues);
    noted.set("tags", queue.tags);
    noted.set("read_ahead_kb", queue.read_ahead_kb);
    noted.set("max_sectors_kb", queue.max_sectors_kb);
    noted.set("nomerges", queue.nomerges);
    noted.set("rq_affinity", queue.rq_affinity);
    noted.set("wbt_lat_usec", queue.wbt_lat_usec);
    noted.set("rotational", queue.rotational);
    noted.set("logical_sector_bytes", queue.logical_sector_bytes);
    noted.set("physical_sector_bytes", queue.physical_sector_bytes);
}

fn stack(noted: &mut AttachedDevice, device: &Device) {
    noted.set("owner", device.dm.as_ref().and_then(|dm| dm.owner.clone()));
    let Some(array) = &device.md else { return };
    noted.set("level", array.level.clone());
    noted.set("disks", array.disks);
    noted.set("degraded", array.degraded);
    noted.set("sync_action", array.sync_action.clone());
    noted.set("chunk_bytes", array.chunk_bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_that_change_a_measurement_are_a_mark() {
        let found = |id: &str| FoundFault {
            id: id.to_owned(),
            severity: "error".to_owned(),
            message: "a sentence".to_owned(),
        };
        let with = |ids: &[&str]| {
            let findings = ids.iter().map(|id| found(id)).collect();
            let name = "sda".to_owned();
            let device = AttachedDevice { name, findings, ..AttachedDevice::default() };
            mark(&Attached { devices: vec![device], ..Attached::default() })
        };
        assert_eq!(with(&[]), None);
        assert_eq!(with(&["write-cache-volatile", "device-busy"]), None);
        assert!(with(&["remote-disk"]).is_some(), "limits and credits of a cloud");
        let mut guest = AttachedDevice { name: "vda".to_owned(), ..AttachedDevice::default() };
        guest.set(GUEST, Some(true));
        let found = mark(&Attached { devices: vec![guest], ..Attached::default() }).unwrap();
        let expected = "vda: a virtual machine's disk: the host's memory may answer";
        assert_eq!(found.message, expected);
        let mark = with(&["ncq-off", "write-cache-volatile", "too-hot"]).unwrap();
        assert_eq!(mark.id, MarkId::Attachment);
        assert_eq!(mark.message, "sda: a sentence (ncq-off); sda: a sentence (too-hot)");
    }
}
