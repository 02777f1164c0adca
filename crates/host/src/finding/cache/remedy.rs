//! Commands that change a disk's write cache, which depend on its bus.

use crate::device::{Device, Kind};

/// Returns what turns the drive's write cache on or off, and for how long that lasts.
pub(super) fn set_write_cache(device: &Device, on: bool) -> String {
    let value = u8::from(on);
    let path = device.path.as_deref().unwrap_or("/dev/DISK");
    if let Some(nvme) = &device.nvme {
        let controller = &nvme.controller;
        return format!(
            "`sudo nvme set-feature /dev/{controller} --feature-id=6 --value={value}`, until the \
             controller is reset"
        );
    }
    if device.hidden_behind_raid() {
        return "use the controller's own tool".to_owned();
    }
    let text = if on { "write back" } else { "write through" };
    match device.kind {
        // `hdparm` may not reach these disks, and the kernel would not follow.
        Kind::Sas | Kind::Scsi => {
            let attribute = cache_type(device);
            format!("`echo '{text}' | sudo tee {attribute}`, which sets the drive and the kernel")
        }
        Kind::Usb => {
            let again = rescan(device);
            format!("`sudo hdparm -W{value} {path}` if the bridge passes it on, then {again}")
        }
        _ => {
            let set = format!("`sudo hdparm -W{value} {path}`, until the drive is switched off");
            // libata reads the mode again after the command; other adapters do not see it.
            let follow = device.scsi.as_ref().map(|_| {
                let attribute = cache_type(device);
                format!("; where `{attribute}` keeps the old mode, {}", rescan(device))
            });
            set + &follow.unwrap_or_default()
        }
    }
}

/// Returns what makes the kernel send flushes to a device that caches writes.
pub(super) fn send_flushes(device: &Device) -> String {
    let name = &device.name;
    let write = format!("`echo 'write back' | sudo tee /sys/block/{name}/queue/write_cache`");
    let still = if device.scsi.is_some() {
        let path = cache_type(device);
        format!("`echo 'write back' | sudo tee {path}`, or {}", rescan(device))
    } else {
        "set the device up again".to_owned()
    };
    format!("{write}, and read it back: if it still says `write through`, {still}")
}

/// Returns what makes the kernel ask the drive for its cache mode again.
pub(super) fn read_cache_mode_again(device: &Device) -> String {
    if device.scsi.is_some() {
        return rescan(device);
    }
    let name = &device.name;
    format!("`echo 'write through' | sudo tee /sys/block/{name}/queue/write_cache`")
}

/// Returns the path of the attribute that holds the cache mode of a SCSI disk.
pub(super) fn cache_type(device: &Device) -> String {
    let address = device.scsi.as_ref().map_or("H:C:T:L", |scsi| scsi.address.as_str());
    format!("/sys/class/scsi_disk/{address}/cache_type")
}

fn rescan(device: &Device) -> String {
    format!("rescan the disk (`echo 1 | sudo tee /sys/block/{}/device/rescan`)", device.name)
}
