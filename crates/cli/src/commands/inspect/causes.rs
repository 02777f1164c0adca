//! The settings that could make two results on the disks of this machine differ.

use drivelab_core::Refusal;
use drivelab_core::outline::{Line, Tone};
use drivelab_host::{Device, Inspection, Kind};
use drivelab_lab::target;
use drivelab_model::options::DriveSpec;
use drivelab_simulate::explain::causes_of;
use serde::Serialize;

/// A cause of the library of `explain`, and the disks that can have it.
#[derive(Debug, Serialize)]
pub(super) struct Possible {
    id: String,
    words: String,
    look: String,
    disks: Vec<String>,
}

/// The causes that some disk can have, the most usual first.
pub(super) fn of(found: &Inspection) -> Result<Vec<Possible>, Refusal> {
    let mut all: Vec<Possible> = Vec::new();
    let disks = found.devices.iter().filter(|device| device.is_drive());
    for (disk, class) in disks.filter_map(|disk| Some((disk, class(disk)?))) {
        let spec: DriveSpec = class.parse().map_err(Refusal::request_error)?;
        for cause in causes_of(&spec, &target::profile(&spec)?) {
            match all.iter_mut().find(|known| known.id == cause.id) {
                Some(known) => known.disks.push(disk.name.clone()),
                None => all.push(Possible {
                    id: cause.id,
                    words: cause.words,
                    look: cause.look,
                    disks: vec![disk.name.clone()],
                }),
            }
        }
    }
    Ok(all)
}

/// The modelled drive that stands for a disk; none for a device without a medium.
fn class(disk: &Device) -> Option<&'static str> {
    match (disk.kind, disk.queue.rotational?) {
        (Kind::Nvme, _) => Some("generic-nvme"),
        (Kind::Sas, true) => Some("generic-10k"),
        (Kind::Ata | Kind::Scsi | Kind::Usb, true) => Some("generic-advanced-format"),
        (Kind::Ata | Kind::Scsi | Kind::Usb | Kind::Sas, false) => Some("generic-sata"),
        _ => None,
    }
}

/// Causes that are shown; all of them are in the JSON.
const SHOWN: usize = 8;

/// The most usual causes in words, with the command that shows each.
pub(super) fn lines(causes: &[Possible]) -> Vec<Line> {
    if causes.is_empty() {
        return Vec::new();
    }
    let head = "Could make two results on these disks differ, the most usual first:";
    let mut lines = vec![Line::default().part(Tone::Bold, head)];
    for cause in causes.iter().take(SHOWN) {
        let text = format!("{}: {}", cause.words, cause.look);
        lines.push(Line::new(text, 4).part(Tone::Plain, "  "));
    }
    if causes.len() > SHOWN {
        let more = format!("{} more are in --json", causes.len() - SHOWN);
        lines.push(Line::new(more, 4).part(Tone::Plain, "  "));
    }
    let next = "`drivelab explain A... -- B...` says which of them explains a difference.";
    lines.extend([Line::new(next, 0), Line::default()]);
    lines
}
