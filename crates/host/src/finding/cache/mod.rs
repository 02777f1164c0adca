//! Write caches: volatile, off, or different from the kernel's view; file systems that send no
//! flushes.

mod remedy;

use drivelab_core::outline::Severity;

use super::context::{Context, Findings, attribute};
use crate::device::{Device, Kind};
use crate::found::FindingId;

/// Prefixes of the names of SATA drives whose data sheets promise to protect cached writes against
/// power failure.
///
/// An NVMe drive that protects them reports no volatile cache, so none is listed.
const PROTECTED: &[&str] = &[
    // Intel data centre drives (product briefs of each series).
    "INTEL SSDSC2BA",
    "INTEL SSDSC2BB",
    "INTEL SSDSC2BX",
    "INTEL SSDSC2KB",
    "INTEL SSDSC2KG",
    // Samsung SM863/SM883/PM863/PM883/PM893.
    "SAMSUNG MZ7KM",
    "SAMSUNG MZ7KH",
    "SAMSUNG MZ7LM",
    "SAMSUNG MZ7LH",
    "SAMSUNG MZ7L3",
    // Micron 5100 to 5400. A bare `MTFDDAK` is on client drives too.
    "Micron_5100",
    "Micron_5200",
    "Micron_5300",
    "Micron_5400",
    // Kingston DC500 and DC600, not DC400 and DC450.
    "KINGSTON SEDC500",
    "KINGSTON SEDC600",
];

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    views(context, findings);
    volatile(context, findings);
    off(context, findings);
    barriers(context, findings);
}

fn views(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    let cache = &device.write_cache;
    let kernel = attribute(context, "queue/write_cache", cache.kernel.as_deref().unwrap_or("?"));
    let mut seen = reported(device);
    seen.push(kernel.clone());
    match (device.caches_writes(), cache.kernel_flushes()) {
        (Some(true), Some(false)) => lost_flushes(findings, seen, &remedy::send_flushes(device)),
        (Some(false), Some(true)) => {
            findings
                .add(FindingId::WriteCacheViewDiffers, Severity::Warn)
                .says("the kernel flushes a cache that the device reports as off")
                .seen(seen)
                .fix(format!(
                    "harmless but slow; to make both agree, {}",
                    remedy::read_cache_mode_again(device)
                ));
        }
        _ => assumed(context, findings, kernel),
    }
    stacked(context, findings);
}

/// Returns the reports of a device about its write cache, as evidence: that of its driver, and the
/// drive's own where it differs.
fn reported(device: &Device) -> Vec<String> {
    let cache = &device.write_cache;
    let own = cache.device.as_ref().map(|own| format!("the device reports: {own}"));
    let mut seen: Vec<String> = own.into_iter().collect();
    // What sd reports is its copy, which goes stale behind some adapters.
    if device.caches_writes() != cache.device_caches() {
        let on = if device.caches_writes() == Some(true) { "on" } else { "off" };
        seen.push(format!("the drive's identity (word 85): {on}"));
    }
    seen
}

fn lost_flushes(findings: &mut Findings, evidence: Vec<String>, remedy: &str) {
    debug_assert!(!evidence.is_empty(), "an error is shown with what it rests on");
    findings
        .add(FindingId::WriteCacheViewDiffers, Severity::Error)
        .says(
            "the device caches writes, but the kernel sends it no flushes: a power failure \
             loses data that fsync had returned for",
        )
        .seen(evidence)
        .fix(format!(
            "{remedy}; find what changed it (udev rules, tuned, a boot script): fsync measurements \
             made in this state are invalid"
        ));
}

/// Checks for a drive that the kernel could not ask, for which it assumed the better case.
fn assumed(context: &Context<'_>, findings: &mut Findings, kernel: String) {
    let log = context.machine.log.disks.get(&context.device.name);
    let Some(log) = log.filter(|log| !log.assumed_write_through.is_empty()) else { return };
    // A virtual disk reports no cache, and its host decides.
    if context.device.write_cache.kernel_flushes() != Some(false)
        || context.device.emulated().is_some()
    {
        return;
    }
    findings
        .add(FindingId::WriteCacheViewDiffers, Severity::Warn)
        .says(
            "the bridge does not report whether the drive caches writes; the kernel assumes \
                  it does not, and sends no flushes",
        )
        .seen(vec![format!("log: {}", log.assumed_write_through.evidence()), kernel])
        .fix(format!(
            "ask the drive itself (`sudo hdparm -W /dev/{name}`, `sudo smartctl -g wcache \
             /dev/{name}`) if the bridge passes commands on; if it caches, `echo 'temporary write \
             back' | sudo tee {}`",
            remedy::cache_type(context.device),
            name = context.device.name,
        ));
}

/// Checks that a device built on others flushes if one of them must.
fn stacked(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    if device.write_cache.kernel_flushes() != Some(false) || device.kind == Kind::Partition {
        return;
    }
    let below = device.slaves.iter().filter_map(|name| {
        let disk = context.all.get(name).or_else(|| {
            context.all.values().find(|disk| disk.partitions.iter().any(|p| p.name == *name))
        })?;
        (disk.write_cache.kernel_flushes() == Some(true)).then_some(disk)
    });
    let Some(disk) = below.into_iter().next() else { return };
    lost_flushes(
        findings,
        vec![
            attribute(context, "queue/write_cache", "write through"),
            format!("/sys/block/{}/queue/write_cache: write back", disk.name),
        ],
        "set the device up again (stop and assemble the array, deactivate and activate the volume, \
         or reboot): writing its queue/write_cache does nothing where it began without a cache",
    );
}

/// Returns whether its maker promises that cached writes survive a power failure.
fn is_protected(device: &Device) -> bool {
    device.kind != Kind::Nvme && device.model.as_deref().is_some_and(is_protected_model)
}

fn is_protected_model(model: &str) -> bool {
    let model = model.to_uppercase();
    PROTECTED.iter().any(|start| model.starts_with(&start.to_uppercase()))
}

fn volatile(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    if !device.is_drive() || is_protected(device) {
        return;
    }
    // NVMe reports only to the kernel whether it has a volatile cache.
    let nvme = device.kind == Kind::Nvme && device.write_cache.kernel_flushes() == Some(true);
    if device.caches_writes() != Some(true) && !nvme {
        return;
    }
    let mut evidence = reported(device);
    if evidence.is_empty() {
        evidence.push(attribute(context, "queue/write_cache", "write back"));
    }
    // The cache of a RAID volume is the controller's, often with a battery.
    if device.hidden_behind_raid() {
        findings
            .add(FindingId::WriteCacheVolatile, Severity::Info)
            .says("the volume's cache is that of the RAID controller, which may have a battery")
            .seen(evidence)
            .fix("look up the state of cache and battery with the controller's own tool");
        return;
    }
    let physical = device.is_physical();
    evidence.extend(device.model.as_ref().map(|model| format!("model: {model}")));
    let alike = "none needed if programs fsync important data; keep it the same in all arms of a \
                 comparison. To make every write safe:";
    let (severity, message, fix) = if physical {
        let lost = "the write cache is on, without known power-loss protection: a power failure loses \
                 unflushed writes";
        let off = remedy::set_write_cache(device, false);
        (Severity::Warn, lost, format!("{alike} {off}; or use a drive with power-loss protection"))
    } else {
        let message = "the host caches writes: what survives a power failure depends on the host";
        let fix = "ask the host's administrator what the disk is and how it is cached: every figure \
                 measured here depends on it";
        (Severity::Info, message, fix.to_owned())
    };
    findings.add(FindingId::WriteCacheVolatile, severity).says(message).seen(evidence).fix(fix);
}

fn off(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    // A USB bridge often reports a value without asking the drive; RAID firmware has its own cache.
    let asks = matches!(device.kind, Kind::Ata | Kind::Sas | Kind::Scsi);
    if !asks || device.emulated().is_some() || device.caches_writes() != Some(false) {
        return;
    }
    let has = device.ata.as_ref().is_none_or(|ata| ata.write_cache.is_some() || device.log_only);
    if !has && device.rpm.is_some() {
        return;
    }
    findings
        .add(FindingId::WriteCacheOff, Severity::Warn)
        .says(if device.hidden_behind_raid() {
            "the controller reports that writes are not cached: safe if true, and small writes are \
             slow"
        } else {
            "the drive's write cache is off: safe, and each small write waits for the medium"
        })
        .seen(reported(device))
        .fix(format!(
            "to turn it on: {}; in a comparison, keep it the same in all arms",
            remedy::set_write_cache(device, true)
        ));
}

fn barriers(context: &Context<'_>, findings: &mut Findings) {
    for mount in context.device.all_mounts() {
        let Some(option) = mount.without_barriers() else { continue };
        findings
            .add(FindingId::Nobarrier, Severity::Error)
            .says(format!(
                "{} on {} is mounted with {option}: fsync does not flush the drive's cache",
                mount.file_system, mount.point
            ))
            .seen(vec![format!("options of {}: {}", mount.point, mount.options.join(","))])
            .fix(
                "remove the option from /etc/fstab and remount; with power-loss protection, \
                 flushes cost next to nothing anyway",
            );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_drives_are_not_taken_for_protected_ones() {
        for client in ["KINGSTON SEDC400S37480G", "KINGSTON SEDC450R480G", "MTFDDAK256TBN"] {
            assert!(!is_protected_model(client), "{client}");
        }
    }

    #[test]
    fn data_centre_drives_are_protected() {
        for protected in [
            "INTEL SSDSC2KB480G8",
            "KINGSTON SEDC600M960G",
            "SAMSUNG MZ7KH960HAJR-00005",
            "Micron_5300_MTFDDAK480TDS",
        ] {
            assert!(is_protected_model(protected), "{protected}");
        }
    }
}
