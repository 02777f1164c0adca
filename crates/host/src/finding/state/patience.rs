//! Time: commands that were not answered within the limit, a limit below the drive's own, and heat,
//! which makes a drive slow.

use drivelab_core::outline::Severity;

use super::super::context::{Context, Findings, attribute};
use crate::device::{Device, Kind};
use crate::found::FindingId;

/// The kernel's own limit (`SD_TIMEOUT`); a drive may try to read a bad sector for minutes.
const TIMEOUT_S: u32 = 30;
/// Parts of the names of drives that give a bad sector up after seconds by themselves: those for
/// arrays and servers (data sheets: TLER, ERC).
const IMPATIENT: &[&str] = &[
    "EFRX", "EFAX", "EFZX", "EFBX", "EFPX", "FFBX", "FYYZ", "FRYZ", "VRYZ", "KRYZ", "KFBX", "FYPS",
    "FBYX", "FBYZ", "HUS", "HUH", "WUH", "WUS", "VN0", "NM0", "NE0", "NT0", "NM00", "MG0", "HDWG",
    "HDWN", "MK1", "MK2", "MK3", "HDN7",
];

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    counted(context, findings);
    limit(context, findings);
    slow_mode(context, findings);
    slow_card(context, findings);
    heat(context, findings);
}

fn counted(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    let count = device.scsi.as_ref().and_then(|scsi| scsi.timeouts).filter(|count| *count > 0);
    let causes = [
        FindingId::MediumErrors,
        FindingId::LinkErrors,
        FindingId::CommandTimeouts,
        FindingId::CommandErrors,
    ];
    let known = findings.found.iter().any(|found| causes.contains(&found.id));
    let Some(count) = count.filter(|_| !known) else { return };
    // libata ends each failed command as if its time were over (`ata_qc_schedule_eh`).
    let (id, what) = if device.kind == Kind::Ata {
        (FindingId::CommandErrors, "failed or were not answered in time")
    } else {
        (FindingId::CommandTimeouts, "were not answered in time")
    };
    let severity = if device.kind == Kind::Usb { Severity::Info } else { Severity::Warn };
    findings
        .add(id, severity)
        .says(format!("{count} commands {what} since the disk was attached"))
        .seen(vec![attribute(context, "device/iotmo_cnt", &format!("{count:#x}"))])
        .fix(format!(
            "look in the log for their time (`journalctl -k`), and at the drive's own record (`sudo \
             smartctl -x /dev/{}`); a count that grows makes measurements useless",
            device.name
        ));
}

/// Checks for a member of an array that can take longer than the kernel waits for it: the kernel
/// then resets it, and the array drops it, for one sector.
fn limit(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    let model = device.model.as_deref().unwrap_or_default();
    let timeout = device.scsi.as_ref().and_then(|scsi| scsi.timeout_s);
    let Some(timeout) = timeout.filter(|it| (1..=TIMEOUT_S).contains(it)) else { return };
    if device.kind != Kind::Ata
        || !device.is_known_to_rotate()
        || IMPATIENT.iter().any(|part| model.contains(part))
        || !is_mirrored(context)
    {
        return;
    }
    let name = &device.name;
    findings
        .add(FindingId::TimeLimit, Severity::Info)
        .says(format!(
            "the kernel waits {timeout} s for a drive of an array that may try for minutes to read a \
             bad sector: the array then loses the whole drive"
        ))
        .seen(vec![
            attribute(context, "device/timeout", &timeout.to_string()),
            format!("model: {model}"),
        ])
        .fix(format!(
            "`sudo smartctl -l scterc,70,70 /dev/{name}` limits the drive to 7 s until it is switched \
             off (undo: `scterc,0,0`; read it back with `-l scterc`); where the drive refuses it, \
             `echo 180 | sudo tee /sys/block/{name}/device/timeout` (undo: write {timeout})"
        ));
}

/// Returns whether an array with copies or parity is built on the disk or on a partition of it.
fn is_mirrored(context: &Context<'_>) -> bool {
    let device = context.device;
    let parts = device.partitions.iter().flat_map(|part| &part.holders);
    let mut holders = device.holders.iter().chain(parts);
    holders.any(|name| {
        let array = context.all.get(name).and_then(|holder| holder.md.as_ref());
        let level = array.and_then(|array| array.level.as_deref()).unwrap_or_default();
        matches!(level, "raid1" | "raid4" | "raid5" | "raid6" | "raid10")
    })
}

fn slow_mode(context: &Context<'_>, findings: &mut Findings) {
    let Some(ata) = &context.device.ata else { return };
    let mode = ata.transfer_mode.as_deref().unwrap_or_default();
    let known = findings.found.iter().any(|found| found.id == FindingId::TransferMode);
    // A CompactFlash card may have no other mode.
    let slow = mode.contains("PIO") || mode.contains("MWDMA");
    if known || !slow || ata.sata == Some(false) && !knows_dma(context.device) {
        return;
    }
    findings
        .add(FindingId::TransferMode, Severity::Warn)
        .says(format!(
            "data are transferred in mode {mode}, by which the processor moves each word"
        ))
        .seen(vec![format!("ata_device/xfer_mode: {mode}")])
        .fix(
            "look in the log for the errors after which the kernel lowered it, check cable and \
             supply, and attach the drive again, which restores its mode; `libata.dma=` on the \
             kernel command line also turns DMA off (undo: remove it)",
        );
}

/// The bus of a card in a mode below UHS or HS200. Not every slot has a better one: a note.
fn slow_card(context: &Context<'_>, findings: &mut Findings) {
    let Some(bus) = &context.device.card_bus else { return };
    let Some(limit) = bus.limit_mb_per_s else { return };
    findings
        .add(FindingId::TransferMode, Severity::Info)
        .says(format!("the bus of the card runs in mode `{}`: at most {limit} MB/s", bus.mode))
        .seen(vec![bus.seen.clone()])
        .fix(
            "sequential figures are those of the bus, not of the card; a slot and a card that both \
             support UHS-I (eMMC: HS200) are faster, and need a slot that switches to 1.8 V. There \
             is nothing to undo",
        );
}

/// Returns whether the drive is a disk rather than a memory card on an adapter.
fn knows_dma(device: &Device) -> bool {
    device.rpm.is_some_and(|rpm| rpm > 0)
}

fn heat(context: &Context<'_>, findings: &mut Findings) {
    let heat = &context.device.heat;
    if !heat.is_reached() {
        return;
    }
    // From the sensor in sysfs, or from the drive's own record.
    let from_record = context.device.health.is_some();
    let names = if from_record { ["temperature", "limit"] } else { ["temp1_input", "temp1_crit"] };
    let shown = [
        heat.celsius.map(|degrees| format!("{}: {degrees} \u{b0}C", names[0])),
        heat.limit_celsius.map(|degrees| format!("{}: {degrees} \u{b0}C", names[1])),
        heat.alarm.map(|alarm| format!("temp1_alarm: {}", u8::from(alarm))),
    ];
    findings
        .add(FindingId::TooHot, Severity::Warn)
        .says("the drive has reached a limit of temperature: it slows down to cool off")
        .seen(shown.into_iter().flatten().collect())
        .fix(
            "give it air or a heat sink, and let it cool down before you measure; watch \
             `drivelab inspect --temperature` during a long run. There is nothing to undo",
        );
}
