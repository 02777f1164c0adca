//! The SATA, SAS or USB link: slower than possible, or slowed down.

use drivelab_core::outline::Severity;

use super::context::{Context, Findings};
use crate::bus::Link;
use crate::device::{Device, Kind};
use crate::found::FindingId;
use crate::log::{AtaLinkLog, AtaPortLog};
use crate::speed::Speed;

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    below_capability(context, findings);
    downshift(context, findings);
}

fn port<'a>(context: &'a Context<'_>) -> Option<&'a AtaPortLog> {
    let ata = context.device.ata.as_ref()?;
    context.machine.log.port(ata.port)
}

fn link_log<'a>(context: &'a Context<'_>) -> Option<&'a AtaLinkLog> {
    port(context)?.link(context.device.ata.as_ref()?.device)
}

/// The expected rate of the link, and whether that is certain.
fn expected(device: &Device, seen: Option<Speed>, forced: bool) -> Option<(Speed, Severity)> {
    let Link { drive_gbps, host_gbps, limit_gbps, speed_gbps, .. } = device.link;
    let speed = speed_gbps?;
    // `libata.force` lowers the value that the kernel then reports as the limit of the hardware.
    let host_gbps = host_gbps.filter(|host| !forced || *host > speed);
    if forced && let Some(drive) = drive_gbps {
        return Some((host_gbps.map_or(drive, |host| drive.min(host)), Severity::Error));
    }
    if let (Some(drive), Some(host)) = (drive_gbps, host_gbps) {
        return Some((drive.min(host), Severity::Error));
    }
    // It was faster before: so both ends support that rate.
    if let Some(seen) = seen.filter(|seen| *seen > speed) {
        return Some((seen, Severity::Error));
    }
    if let Some(drive) = drive_gbps {
        // A limit equal to the present rate shows that the link could be faster.
        let limited = limit_gbps.is_some_and(|limit| limit <= speed);
        return Some((drive, if limited { Severity::Error } else { Severity::Warn }));
    }
    // Only the limit is known: 1.5 and 3.0 are the rates of SATA 1 and 2, so the next higher one is
    // expected.
    let limit = limit_gbps.filter(|limit| *limit <= speed && limit.get() < 6000)?;
    let step = Speed::mbps(limit.get() * 2);
    Some((host_gbps.map_or(step, |host| host.min(step)), Severity::Error))
}

fn below_capability(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    if device.kind == Kind::Nvme {
        return;
    }
    let log = link_log(context);
    let seen = log.and_then(|log| log.fastest);
    let Some((expected, severity)) = expected(device, seen, is_forced(context)) else { return };
    let Some(speed) = device.link.speed_gbps.filter(|speed| *speed < expected) else { return };
    let mut evidence = vec![format!("link: {speed} Gb/s")];
    let told = [
        ("drive", device.link.drive_gbps),
        ("controller", device.link.host_gbps),
        ("limit set", device.link.limit_gbps),
    ];
    evidence
        .extend(told.iter().filter_map(|(who, s)| s.map(|speed| format!("{who}: {speed} Gb/s"))));
    evidence.extend(log.and_then(|log| log.line.as_ref()).map(|line| format!("log: {line}")));
    let usb = device.usb.as_ref();
    evidence.extend(usb.and_then(|usb| usb.version.as_ref()).map(|v| format!("USB version: {v}")));
    let sure = severity == Severity::Error;
    let unsure = if sure { "" } else { "; the controller's maximum is not visible" };
    let severity = if usb.is_some() { Severity::Warn } else { severity };
    findings
        .add(FindingId::LinkBelowCapability, severity)
        .says(match usb {
            // A USB 2 device with link power management reports 2.10 as well.
            Some(_) => format!(
                "the link runs at {speed} Gb/s, but {expected} Gb/s may be possible: the device \
                 reports a version that USB 3 devices report on a slow port"
            ),
            None => {
                format!("the link runs at {speed} Gb/s, but {expected} Gb/s is possible{unsure}")
            }
        })
        .seen(evidence)
        .fix(match (usb, is_forced(context)) {
            (Some(_), _) => {
                "if it is a USB 3 device, plug it into a USB 3 port, with a USB 3 cable"
            }
            (None, true) => {
                "remove the limit (libata.force) from the kernel command line, and reboot"
            }
            (None, false) => {
                "check cable, connectors, back plane and jumpers (some drives have one for 1.5 \
                     Gb/s), use the fastest port of the board, and check the firmware setup for a \
                     limit"
            }
        });
}

fn is_forced(context: &Context<'_>) -> bool {
    let Some(ata) = context.device.ata.as_ref() else { return false };
    let unit = ata.unit();
    let mut forced = context.machine.forced.iter();
    forced.any(|forced| forced.applies_to_ata(unit) && forced.limits_speed())
        || port(context).is_some_and(|port| port.forced.first.iter().any(|l| l.contains("PHY spd")))
}

fn downshift(context: &Context<'_>, findings: &mut Findings) {
    let counted = context.device.ata.as_ref().and_then(|ata| ata.downshifts).unwrap_or(0);
    let logged = link_log(context).filter(|log| !log.downshifts.is_empty());
    if counted == 0 && logged.is_none() {
        return;
    }
    let mut evidence: Vec<String> = Vec::new();
    evidence.extend(logged.map(|log| format!("log: {}", log.downshifts.evidence())));
    if counted > 0 {
        evidence.push(format!("ata_device/spdn_cnt: {counted}"));
    }
    findings
        .add(FindingId::LinkDownshift, Severity::Error)
        .says("the kernel slowed the link down after errors")
        .seen(evidence)
        .fix(
            "replace the cable, and route it away from power cables; if errors persist, try \
                 another port and another drive to find the faulty end. Attaching the drive again \
                 restores the speed until errors return, and so does a reboot",
        );
}
