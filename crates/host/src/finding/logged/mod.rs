//! Faults that the kernel log reports: of medium, link, time, power, command and file system.

mod remedy;
mod way;

use drivelab_core::outline::Severity;

use self::remedy::Faults;
use super::context::{Context, Findings};
use crate::device::{Device, Kind, UNSETTLED_MIN, fabric_min};
use crate::found::FindingId;
use crate::log::{Class, KernelLog, Lines};

/// Number of resets of a SCSI device from which on they are no longer those of its attachment.
const RESETS_MIN: u64 = 3;

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    let mut faults = context.device.faults(&context.machine.log);
    sort_out(context.device, &context.machine.log, &mut faults);
    for rule in RULES {
        let found: Vec<&Lines> =
            rule.classes.iter().filter_map(|class| faults.get(class)).collect();
        let mut evidence: Vec<String> =
            found.iter().map(|lines| format!("log: {}", lines.evidence())).collect();
        if rule.id == FindingId::LinkErrors {
            evidence.extend(kept(context.device));
        }
        if evidence.is_empty() {
            continue;
        }
        debug_assert!(!rule.classes.is_empty(), "a finding rests on messages");
        findings
            .add(rule.id, rule.severity)
            .says(rule.message)
            .seen(evidence)
            .fix(remedy::of(rule.id, context, &faults));
    }
}

/// One finding that follows from messages.
struct Rule {
    id: FindingId,
    severity: Severity,
    classes: &'static [Class],
    message: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        id: FindingId::DeviceLost,
        severity: Severity::Error,
        classes: &[Class::Lost],
        message: "the device stopped answering, and the kernel gave it up",
    },
    Rule {
        id: FindingId::DeviceLost,
        severity: Severity::Warn,
        classes: &[Class::Unplugged],
        message: "the device was disconnected while data was being written to it",
    },
    Rule {
        id: FindingId::MediumErrors,
        severity: Severity::Error,
        classes: &[Class::Medium],
        message: "the drive reports sectors that it cannot read or write",
    },
    Rule {
        id: FindingId::HealthFailed,
        severity: Severity::Error,
        classes: &[Class::Health],
        message: "the drive itself reports that it is failing",
    },
    Rule {
        id: FindingId::TooHot,
        severity: Severity::Warn,
        classes: &[Class::Heat],
        message: "the drive was, or is, above a limit of its temperature",
    },
    Rule {
        id: FindingId::LinkErrors,
        severity: Severity::Error,
        classes: &[Class::Link, Class::Fabric],
        message: "there were errors on the link to the drive",
    },
    Rule {
        id: FindingId::CommandTimeouts,
        severity: Severity::Error,
        classes: &[Class::Timeout, Class::Reset],
        message: "commands were not answered in time, and the kernel aborted them or reset the \
                  device",
    },
    Rule {
        id: FindingId::CommandTimeouts,
        severity: Severity::Warn,
        classes: &[Class::Interrupt],
        message: "the drive answered in time, but its interrupt was lost, and the kernel noticed it \
                  after the time limit only",
    },
    Rule {
        id: FindingId::CommandTimeouts,
        severity: Severity::Warn,
        classes: &[Class::Stall],
        message: "a file system waited for the device for half a minute or longer",
    },
    Rule {
        id: FindingId::CommandErrors,
        severity: Severity::Warn,
        classes: &[Class::Command, Class::Discard, Class::WriteZeroes],
        message: "the drive rejected or aborted commands",
    },
    Rule {
        id: FindingId::IoErrors,
        severity: Severity::Error,
        classes: &[Class::Io],
        message: "requests to the disk failed, and the log does not say why",
    },
    Rule {
        id: FindingId::ControllerErrors,
        severity: Severity::Error,
        classes: &[Class::Controller],
        message: "the controller failed or was reset; all disks behind it are concerned",
    },
    Rule {
        id: FindingId::MemberFailed,
        severity: Severity::Error,
        classes: &[Class::Member, Class::Stopped, Class::Path],
        message: "a member of an array, or a path to a multipath disk, failed",
    },
    Rule {
        id: FindingId::FileSystemErrors,
        severity: Severity::Error,
        classes: &[Class::FileSystem],
        message: "a file system or volume on it reports damage, or stopped writing",
    },
    Rule {
        id: FindingId::PowerSaving,
        severity: Severity::Error,
        classes: &[Class::Power],
        message: "the controller did not come back, and the kernel suspects its power saving",
    },
    Rule {
        id: FindingId::TransferMode,
        severity: Severity::Warn,
        classes: &[Class::Mode],
        message: "the kernel lowered the transfer mode of the drive",
    },
];

/// Removes what follows from another fault, or is usual in that number.
fn sort_out(device: &Device, log: &KernelLog, faults: &mut Faults) {
    // A device that never settled failed, if it is a drive at all.
    if let Some(lines) = faults.remove(&Class::Unsettled)
        && (device.model.is_some() || device.kind == Kind::Ata && lines.count >= UNSETTLED_MIN)
    {
        faults.entry(Class::Link).or_default().add_all(&lines);
    }
    let causes = [Class::Medium, Class::Link, Class::Timeout, Class::Lost, Class::Controller];
    if causes.iter().any(|class| faults.contains_key(class)) {
        faults.remove(&Class::Io);
    }
    // A failed command is aborted with every other one in its queue.
    if [Class::Medium, Class::Link, Class::Timeout, Class::Lost]
        .iter()
        .any(|class| faults.contains_key(class))
    {
        faults.remove(&Class::Command);
        faults.remove(&Class::Stall);
    }
    if count(faults, Class::Command) > 0 {
        faults.remove(&Class::Io);
    }
    let usb = device.kind == Kind::Usb;
    let resets = count(faults, Class::Reset);
    if !faults.contains_key(&Class::Timeout) && resets < RESETS_MIN && !(usb && resets > 1) {
        faults.remove(&Class::Reset);
    }
    if count(faults, Class::Fabric) < fabric_min(log) {
        faults.remove(&Class::Fabric);
    }
    // A single message about the journal or a probe may be of a device that is no file system.
    if !holds_data(device) {
        for class in [Class::Io, Class::Lost, Class::Link, Class::Command] {
            faults.remove(&class);
        }
    }
}

/// Number of lines of a kind.
fn count(faults: &Faults, class: Class) -> u64 {
    faults.get(&class).map_or(0, |lines| lines.count)
}

/// Returns whether requests to it reach a disk: those to a file, to memory or to another machine do
/// not fail because of a link.
fn holds_data(device: &Device) -> bool {
    device.is_drive()
        || matches!(device.kind, Kind::Controller | Kind::Md | Kind::Dm | Kind::Lvm | Kind::Luks)
        || device.kind == Kind::Multipath
        || device.log_only && device.kind != Kind::Loop
}

/// The errors that libata keeps of the drive, as evidence.
fn kept(device: &Device) -> Option<String> {
    let kept = device.ata.as_ref()?.errors_kept.filter(|count| *count > 0)?;
    Some(format!("ata_device/ering: {kept} entries"))
}
