//! Settings that do not suit the drive: scheduler, read-ahead, alignment.

use drivelab_core::outline::Severity;

use super::context::{Context, Findings, attribute, write};
use crate::device::{Alignment, Kind};
use crate::found::FindingId;

/// The kernel's default (`VM_READAHEAD_PAGES`, `include/linux/mm.h`).
const READ_AHEAD_KB: u64 = 128;
/// A read-ahead beyond this is extreme.
const READ_AHEAD_KB_MAX: u64 = 32 * READ_AHEAD_KB;
/// The smallest write of flash, regardless of the sector size that a drive reports.
const FLASH_PAGE_BYTES: u64 = 4096;

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    scheduler(context, findings);
    read_ahead(context, findings);
    alignment(context, findings);
}

fn scheduler(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    let Some(scheduler) = device.queue.scheduler.as_deref() else { return };
    let single = device.queue.hardware_queues.is_none_or(|queues| queues <= 1);
    let (message, better) = match scheduler {
        "none" | "noop" if device.is_known_to_rotate() && single => (
            "a rotating disk without a scheduler: requests are not sorted by position",
            "mq-deadline",
        ),
        "bfq" | "cfq" if device.kind == Kind::Nvme => {
            ("a scheduler for slow disks costs an NVMe drive more than it gains", "none")
        }
        "cfq"
            if device.rpm == Some(0)
                || device.rpm.is_none()
                    && device.queue.rotational == Some(false)
                    && device.is_physical() =>
        {
            ("a scheduler that waits for adjacent requests, on a flash drive", "none")
        }
        _ => return rotational_flag(context, findings),
    };
    // Kernels before 5.0 have other names, and an unknown one is refused (EINVAL).
    let others = if better == "none" { ["none", "noop"] } else { ["mq-deadline", "deadline"] };
    let offered = &device.queue.schedulers;
    let better = others.iter().find(|name| offered.iter().any(|it| it == **name)).copied();
    let better = better.unwrap_or(others[0]);
    findings
        .add(FindingId::SchedulerUnfit, Severity::Warn)
        .says(message)
        .seen(vec![
            attribute(context, "queue/scheduler", scheduler),
            match device.rpm {
                Some(rpm) if rpm > 0 => format!("the drive rotates at {rpm} rpm"),
                Some(_) => "the drive has no platters".into(),
                None => String::new(),
            },
        ])
        .fix(format!(
            "{}, and make it last with a udev rule",
            write(context, "queue/scheduler", better)
        ));
}

/// The kernel uses this flag; the drive's own value is more reliable.
fn rotational_flag(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    let (Some(rpm), Some(rotational)) = (device.rpm, device.queue.rotational) else { return };
    if rotational == (rpm > 0) {
        return;
    }
    let (is, taken) = if rpm > 0 { ("spins", "flash") } else { ("is flash", "a spinning disk") };
    findings
        .add(FindingId::SchedulerUnfit, Severity::Warn)
        .says(format!("the drive {is}, but the kernel treats it as {taken}"))
        .seen(vec![
            attribute(context, "queue/rotational", if rotational { "1" } else { "0" }),
            format!("the drive reports: {rpm} rpm"),
        ])
        .fix(format!(
            "{}; file systems read it at mount time",
            write(context, "queue/rotational", if rpm > 0 { "1" } else { "0" })
        ));
}

fn read_ahead(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    let looked_at = device.is_drive() || matches!(device.kind, Kind::Md | Kind::Lvm | Kind::Luks);
    let Some(read_ahead) = device.queue.read_ahead_kb.filter(|_| looked_at) else { return };
    // The kernel itself gives an array two full stripes (`blk_apply_bdi_limits`).
    let stripes = device.queue.optimal_io_bytes.unwrap_or(0) / 1024 * 2;
    let most = READ_AHEAD_KB_MAX.max(stripes);
    let usual = READ_AHEAD_KB.max(stripes);
    let message = if read_ahead == 0 {
        "the page cache does not read ahead: sequential reads of files go page by page".to_owned()
    } else if read_ahead > most {
        format!(
            "the page cache reads up to {read_ahead} KiB ahead: mapped files and short sequential \
             reads fetch more than requested"
        )
    } else {
        return;
    };
    // A large one is often a deliberate choice in the image of a machine whose disk is remote.
    let is_meant = read_ahead > 0 && is_virtual(device.kind);
    let severity = if is_meant { Severity::Info } else { Severity::Warn };
    findings
        .add(FindingId::ReadaheadExtreme, severity)
        .says(message)
        .seen(vec![attribute(context, "queue/read_ahead_kb", &read_ahead.to_string())])
        .fix(format!(
            "{} (the kernel's own value for it), or measure with O_DIRECT, which does not use it",
            write(context, "queue/read_ahead_kb", &usual.to_string())
        ));
}

fn is_virtual(kind: Kind) -> bool {
    kind.is_drive() && !kind.is_physical()
}

fn alignment(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    let physical = device.queue.physical_sector_bytes.unwrap_or(512);
    let flash = device.is_drive()
        && device.kind.is_physical()
        && (device.rpm == Some(0) || device.queue.rotational == Some(false));
    let unit = if flash { physical.max(FLASH_PAGE_BYTES) } else { physical };
    let offset = device.queue.alignment_offset_bytes.and_then(|offset| u64::try_from(offset).ok());
    let alignment = Alignment { physical_bytes: unit, offset_bytes: offset.unwrap_or(0) };
    let shift = match alignment.offset_bytes {
        0 => String::new(),
        bytes => format!("alignment_offset of the disk: {bytes} bytes"),
    };
    let own = device.partition.iter();
    for part in device.partitions.iter().chain(own).filter(|part| !part.is_container()) {
        // A partition requested by name has its disk's units, but not its disk's shift.
        let Some(start) = part.start_bytes else { continue };
        let disk =
            if device.partition.is_some() { part_alignment(context, alignment) } else { alignment };
        let misses = disk.misses_by(start);
        if misses == 0 {
            continue;
        }
        let severity = if physical > 512 { Severity::Error } else { Severity::Warn };
        findings
            .add(FindingId::Misaligned, severity)
            .says(format!(
                "{} starts {misses} bytes into a {unit}-byte {}: most writes span two",
                part.name,
                if physical == unit { "sector" } else { "flash page" }
            ))
            .seen(vec![
                format!("/sys/block/{}/{}/start: {}", part.disk, part.name, start / 512),
                format!("physical sector: {physical} bytes"),
                shift.clone(),
            ])
            .fix(
                "save the data, then recreate the partition at a multiple of 1 MiB, the default of \
                 partitioning tools since about 2010, or move it (`sfdisk --move-data`, GParted); a \
                 power failure during the move loses data",
            );
    }
}

/// The disk's shift, for a partition that is inspected alone.
fn part_alignment(context: &Context<'_>, alignment: Alignment) -> Alignment {
    let disk = context.device.partition.as_ref().and_then(|part| context.all.get(&part.disk));
    let offset = disk.and_then(|disk| disk.queue.alignment_offset_bytes);
    let offset_bytes = offset.and_then(|offset| u64::try_from(offset).ok()).unwrap_or(0);
    Alignment { offset_bytes, ..alignment }
}
