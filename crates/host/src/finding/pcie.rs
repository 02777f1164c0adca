//! The PCIe link of the controller: fewer lanes or a lower speed than supported.

use drivelab_core::outline::Severity;

use super::context::{Context, Findings};
use crate::bus::pcie::Pcie;
use crate::device::Kind;
use crate::found::FindingId;

/// The rate of eight SATA ports at 6 Gb/s after line coding.
const SATA_PORTS_GBPS: f64 = 8.0 * 4.8;

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    // A virtual link has no width, and that of an onboard USB controller is fixed by its maker.
    if matches!(device.kind, Kind::Virtio | Kind::Usb) {
        return;
    }
    let pcie = &device.pcie;
    if is_ample(context) {
        return;
    }
    let logged = device.controller.address.as_ref();
    let logged = logged.and_then(|address| context.machine.log.controllers.get(address));
    let logged = logged.filter(|log| !log.bandwidth.is_empty());
    let at_boot = if device.log_only { Severity::Info } else { Severity::Error };
    let Some((severity, mut reasons)) = reasons(pcie).or_else(|| {
        // The slot, which is a property of the board, is not in the log.
        logged.map(|_| (at_boot, vec!["the kernel reported the limit at boot".to_owned()]))
    }) else {
        return;
    };
    let mut evidence = vec![format!(
        "{}: {}",
        device.controller.address.as_deref().unwrap_or("PCI function"),
        pcie.summary().unwrap_or_else(|| "see the log".into())
    )];
    if let (Some(speed), Some(width)) = (pcie.slot_max_speed_gts, pcie.slot_max_width) {
        evidence.push(format!("slot: up to {speed} GT/s x{width}"));
    }
    if let (Some(now), Some(most)) = (pcie.bandwidth_gbps, pcie.max_bandwidth_gbps) {
        evidence.push(format!("{now} of {most} Gb/s"));
    }
    evidence.extend(logged.map(|log| format!("log: {}", log.bandwidth.evidence())));
    if device.kind != Kind::Nvme {
        reasons.push("some controllers slow down when idle: check again under load".into());
    }
    findings
        .add(FindingId::PcieDowngraded, severity)
        .says(format!(
            "the PCIe link is slower than the controller supports: {}",
            reasons.join("; ")
        ))
        .seen(evidence)
        .fix(
            "move the drive or card to a slot with enough lanes from the CPU, clean and reseat \
                 it, and check the firmware setup for lane sharing (bifurcation) and a limit on \
                 the PCIe generation",
        );
}

/// Returns whether a SATA controller has more bandwidth than its ports: that of an APU has an
/// internal link, whose width and speed are of no use to it.
fn is_ample(context: &Context<'_>) -> bool {
    let device = context.device;
    let class = device.controller.class().map(|class| class >> 8);
    if !matches!(class, Some(0x0101 | 0x0106)) && device.kind != Kind::Ata {
        return false;
    }
    let address = device.controller.address.as_deref().unwrap_or_default();
    let logged = context.machine.log.controllers.get(address);
    let logged = logged.and_then(|log| log.bandwidth.first.first()).and_then(|line| {
        let (_, text) = line.split_once(": ")?;
        text.split_once(" Gb/s")?.0.parse::<f64>().ok()
    });
    let read = device.pcie.bandwidth_gbps.map(|speed| f64::from(speed.get()) / 1000.0);
    read.or(logged).is_some_and(|gbps| gbps >= SATA_PORTS_GBPS)
}

/// The respects in which it is below its maximum. A slot of an older generation or
/// with fewer lanes is a property of the board, and a warning; everything else can be changed.
fn reasons(pcie: &Pcie) -> Option<(Severity, Vec<String>)> {
    let mut reasons = Vec::new();
    let mut severity = Severity::Warn;
    if let Some((now, most)) = pcie.width.zip(pcie.max_width).filter(|(now, most)| now < most) {
        let slot = pcie.slot_max_width.is_some_and(|slot| slot <= now);
        let why = if slot { " (the slot has no more)" } else { "" };
        reasons.push(format!("{now} of {most} lanes{why}"));
        severity = if slot { severity } else { Severity::Error };
    }
    let speed = pcie.speed_gts.zip(pcie.max_speed_gts).filter(|(now, most)| now < most);
    if let Some((now, most)) = speed {
        let slot = pcie.slot_max_speed_gts.is_some_and(|slot| slot <= now);
        let why = if slot { " (the slot has no more)" } else { "" };
        reasons.push(format!("{now} of {most} GT/s{why}"));
        // A board with a narrow slot may drive it at a low speed as well.
        let narrow = reasons.len() > 1 && severity == Severity::Warn;
        severity = if slot || narrow { severity } else { Severity::Error };
    }
    let above = pcie.limited_by.as_ref().filter(|_| pcie.bandwidth_gbps < pcie.max_bandwidth_gbps);
    if let Some(bridge) = above {
        reasons.push(format!("the link above bridge {bridge} is narrower still"));
        severity = Severity::Error;
    }
    (!reasons.is_empty()).then_some((severity, reasons))
}
