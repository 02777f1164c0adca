//! Queues: native command queuing off, or fewer commands than the drive supports.

use drivelab_core::outline::Severity;

use super::context::{Context, Findings, attribute, write};
use crate::bus::ata::NcqOff;
use crate::device::{Kind, is_native};
use crate::forced;
use crate::found::FindingId;

/// Number of requests that an elevator needs in order to sort: on IDE the kernel leaves it two, and
/// with 64 a hard disk serves 1.5 times as many random reads (measured at depth 32 with mq-deadline
/// behind `ata_piix`: 73 and 107 per second).
const SORTABLE_REQUESTS_MIN: u32 = 16;

/// Numbers of requests that the kernel chooses by itself: for an elevator twice the smaller one of
/// the queue's depth and 128 (`blk_mq_init_sched`), and 128 before Linux 5.0 (`BLKDEV_MAX_RQ`).
const KERNEL_REQUESTS: [u32; 2] = [256, 128];

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    ncq_off(context, findings);
    shallow(context, findings);
}

fn ncq_off(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    let (Some(false), Some(cause)) = (device.ncq, device.ncq_off_cause) else { return };
    let known = device.ata.as_ref().and_then(|ata| ata.ncq_supported) == Some(true);
    // Without any evidence that the drive supports it, only an explicit option to turn it off
    // counts.
    if cause == NcqOff::Drive || !known && matches!(cause, NcqOff::Host | NcqOff::Runtime) {
        return;
    }
    let (why, fix) = words(cause);
    let native = cause == NcqOff::Host && is_native(&device.controller);
    let severity = if native { Severity::Info } else { Severity::Error };
    let fix = if native { "use a controller that supports queuing, if you need it" } else { fix };
    findings
        .add(FindingId::NcqOff, severity)
        .says(format!("native command queuing is off although the drive supports it: {why}"))
        .seen(evidence(context, cause))
        .fix(fix);
}

fn words(cause: NcqOff) -> (&'static str, &'static str) {
    match cause {
        NcqOff::Drive => ("the drive has none", "nothing"),
        NcqOff::Host => (
            "the controller's mode or driver does not support it",
            "set the SATA mode to AHCI in the firmware setup (see ide-emulation for what to do \
             first), or use a controller that supports queuing",
        ),
        NcqOff::Forced => (
            "libata.force says noncq",
            "remove `noncq` from libata.force on the kernel command line, and reboot",
        ),
        NcqOff::Quirk => (
            "the kernel disables it for this drive",
            "the drive is on the kernel's list of drives with broken NCQ: look for newer firmware; \
             `libata.force=ncq` overrides the list at your own risk",
        ),
        NcqOff::Errors => (
            "the kernel disabled it after errors",
            "fix the errors first (see link-errors): cable, power, firmware; a reboot turns NCQ on \
             again",
        ),
        NcqOff::Runtime => (
            "queue_depth was set to 1",
            "write 31 to /sys/block/DISK/device/queue_depth (32 on kernels since 4.18), and find \
             what sets it to 1 (udev rules, hdparm.conf, tuned)",
        ),
    }
}

fn evidence(context: &Context<'_>, cause: NcqOff) -> Vec<String> {
    let device = context.device;
    let mut evidence = Vec::new();
    if let Some(depth) = device.queue_depth {
        evidence.push(attribute(context, "device/queue_depth", &depth.to_string()));
    }
    let Some(ata) = device.ata.as_ref() else { return evidence };
    if let Some(depth) = ata.drive_queue_depth {
        evidence.push(format!("the drive supports {depth} commands"));
    }
    let port = context.machine.log.port(ata.port);
    let drive = port.and_then(|port| port.devices.get(&ata.device));
    let lines = drive.into_iter().flat_map(|drive| {
        drive.ncq_line.iter().chain(&drive.quirks.first).chain(&drive.ncq_disabled.first)
    });
    evidence.extend(lines.map(|line| format!("log: {line}")));
    if cause == NcqOff::Forced {
        let forced = forced::noncq(&context.machine.forced, ata.unit());
        evidence.extend(forced.map(|forced| format!("{}: {}", forced.source, forced.option)));
    }
    if cause == NcqOff::Host
        && let Some(driver) = &device.controller.driver
    {
        evidence.push(format!("driver {driver}"));
    }
    evidence
}

fn shallow(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    let Some(depth) = device.queue_depth.filter(|_| device.is_drive()) else { return };
    let shown = attribute(context, "device/queue_depth", &depth.to_string());
    let requests = device.queue.nr_requests;
    if let Some(requests) = requests.filter(|requests| *requests < depth) {
        let path = attribute(context, "queue/nr_requests", &requests.to_string());
        // Nothing set it: a drive with one deep queue, such as that of a guest with one processor.
        let usual = KERNEL_REQUESTS.contains(&requests);
        let severity = if usual { Severity::Info } else { Severity::Warn };
        findings
            .add(FindingId::QueueShallow, severity)
            .says(format!("the kernel holds {requests} requests for a queue of {depth}"))
            .seen(vec![path, shown])
            .fix(write(context, "queue/nr_requests", &depth.to_string()));
        return;
    }
    let sorts = device.queue.scheduler.as_deref().is_some_and(|name| name != "none");
    let few = requests.filter(|count| *count < SORTABLE_REQUESTS_MIN);
    if let Some(requests) = few.filter(|_| sorts && device.is_known_to_rotate()) {
        findings
            .add(FindingId::QueueShallow, Severity::Warn)
            .says(format!("the scheduler holds {requests} requests: too few to sort"))
            .seen(vec![attribute(context, "queue/nr_requests", &requests.to_string())])
            .fix(write(context, "queue/nr_requests", "64"));
    }
    let takes = device.ata.as_ref().and_then(|ata| ata.drive_queue_depth);
    // 31 of 32 is the depth that libata used until Linux 4.17.
    let cut = takes.filter(|takes| depth > 1 && depth + 1 < *takes);
    let cut =
        cut.map(|takes| format!("{depth} commands at a time reach a drive that supports {takes}"));
    let scsi = matches!(device.kind, Kind::Sas | Kind::Scsi);
    let unknown = device.kind == Kind::Ata
        && device.ncq_off_cause.is_none()
        && !crate::device::is_ide(&device.controller);
    let single = (depth == 1 && (scsi || unknown))
        .then(|| "commands reach the drive one at a time".to_owned());
    let Some(message) = cut.or(single) else { return };
    findings.add(FindingId::QueueShallow, Severity::Warn).says(message).seen(vec![shown]).fix(
        format!(
            "write a larger number to /sys/block/{}/device/queue_depth, and find what set it low",
            device.name
        ),
    );
}
