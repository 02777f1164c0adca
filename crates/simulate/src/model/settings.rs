//! Everything that is set about a modelled drive, in words.

use drivelab_core::Ratio;
use drivelab_core::record::{Mark, MarkId};
use drivelab_core::units::{Bytes, Span};
use drivelab_model::options::Precondition;
use drivelab_model::{About, Arrangement, Attachment, ModelledTier};

/// The mark of a run on a part of a drive.
pub(super) fn scaled(about: &About) -> Option<Mark> {
    let flash = about.attached.as_ref()?.flash.filter(|flash| !flash.scale.is_whole())?;
    let gb = |bytes: u64| (bytes + 500_000_000) / 1_000_000_000;
    let (size, whole) = (gb(about.capacity_bytes), gb(flash.whole_bytes));
    let message = format!(
        "{} of the flash is modelled: {size} of {whole} GB, with spare space and the blocks of a \
         die in proportion; {} before the run",
        flash.scale,
        state(flash.precondition)
    );
    Some(Mark { id: MarkId::Scaled, message })
}

const fn state(of_flash: Precondition) -> &'static str {
    match of_flash {
        Precondition::Fresh => "never written to",
        Precondition::Full => "written once in sequence",
        Precondition::Steady => "in the steady state of random writes",
    }
}

/// The rows that only a solid-state drive has.
fn flash(attached: &Attachment) -> Vec<(String, String)> {
    let Some(flash) = attached.flash else { return Vec::new() };
    let whole = flash.whole_bytes / 1_000_000_000;
    let whole_bytes = flash.whole_bytes.max(1);
    let spare = (1000 * flash.spare_bytes + whole_bytes / 2) / whole_bytes;
    let trimmed = match flash.trimmed {
        Ratio::ZERO => String::new(),
        part => format!("; the last {part} trimmed"),
    };
    let protection =
        if flash.protected { "on: what is acknowledged survives a power cut" } else { "off" };
    let rows = [
        ("scale", format!("{} of {whole} GB", flash.scale)),
        ("spare flash", format!("{}.{} % of that", spare / 10, spare % 10)),
        ("state", format!("{} ({}){trimmed}", flash.precondition, state(flash.precondition))),
        ("power-loss protection", protection.to_owned()),
    ];
    let notice = attached.notice.map(|notice| ("completions", notice.to_string()));
    let queues = attached.queue_pairs.map(|pairs| ("queues", pairs.to_string()));
    let rows = rows.into_iter().chain(notice).chain(queues);
    rows.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The rows that only a disk with shingled tracks has.
fn shingled(attached: &Attachment) -> Vec<(String, String)> {
    let Some(shingles) = attached.shingles else { return Vec::new() };
    let state = match shingles.precondition {
        Precondition::Fresh | Precondition::Full => "empty",
        Precondition::Steady => "full of random writes",
    };
    let (cache, band) = (Bytes::new(shingles.media_cache_bytes), Bytes::new(shingles.band_bytes));
    let rows = [
        ("shingled tracks", format!("bands of {band}")),
        ("media cache", format!("{cache}, {state} ({})", shingles.precondition)),
    ];
    rows.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

/// Everything that is set about a drive, as names and values for people.
pub fn settings(about: &About) -> Vec<(String, String)> {
    let mut settings = vec![("drive".to_owned(), about.model.clone())];
    settings.extend(about.arrangement.iter().flat_map(arrangement));
    settings.extend(about.controller_cache.map(|cache| {
        let state =
            if cache.protected { "behind a battery" } else { "no battery: written through" };
        ("controller cache".to_owned(), format!("{}, {state}", Bytes::new(cache.bytes)))
    }));
    let Some(attached) = &about.attached else { return settings };
    let guard = match (attached.guard_ns.map(Span::from_ns), attached.guard_growth) {
        (None, _) if attached.flash.is_some() => "all at once, each on its die".into(),
        (None, _) => "first come, first served".into(),
        (Some(guard), None) => format!("shortest positioning first, guard band {guard}"),
        (Some(guard), Some(share)) => format!(
            "shortest positioning first, guard band {guard} and {:.0} % of the seek time beyond \
             the shortest seek",
            100.0 * share
        ),
    };
    let cache = attached
        .write_cache_bytes
        .map_or_else(|| "off".into(), |bytes| format!("on, {}", Bytes::new(bytes)));
    let rows = [
        ("controller", attached.controller.to_string()),
        ("commands on the wire", attached.tags.to_string()),
        ("command queuing", if attached.queued { "on" } else { "off" }.into()),
        ("order in the drive", if attached.queued { guard } else { "one at a time".into() }),
        ("wire", format!("{} MB/s", attached.wire_bytes_per_s / 1_000_000)),
        ("tag dispatch", attached.dispatch.to_string()),
        ("host elevator", attached.scheduler.to_string()),
        ("nr_requests", attached.nr_requests.to_string()),
        ("write cache", cache),
    ];
    settings.extend(rows.map(|(name, value)| (name.to_owned(), value)));
    settings.extend(flash(attached));
    settings.extend(shingled(attached));
    settings.extend(about.tier.iter().flat_map(|tier| before(tier)));
    settings
}

/// The fast drive of a tier, and how it is attached, as names and values for people.
fn before(tier: &ModelledTier) -> Vec<(String, String)> {
    let memory = tier.page_cache_bytes.map(|bytes| ("page cache", Bytes::new(bytes).to_string()));
    let state = if tier.warm { "warm: the beginning of the drive is on it" } else { "cold" };
    let rows = [("tier", tier.kind.to_string()), ("tier's state", state.to_owned())];
    let rows = rows.into_iter().chain(memory);
    let own = settings(&tier.drive);
    let own = own.into_iter().map(|(name, value)| (format!("tier's {name}"), value));
    rows.map(|(name, value)| (name.to_owned(), value)).chain(own).collect()
}

/// The arrangement of several drives, as names and values for people.
fn arrangement(it: &Arrangement) -> Vec<(String, String)> {
    let array = match (it.raid, it.chunk_bytes) {
        (None, _) => "one after another".into(),
        (Some(level), None) => format!("RAID {level}"),
        (Some(level), Some(chunk)) => format!("RAID {level}, chunks of {}", Bytes::new(chunk)),
    };
    let failed = it.failed.map(|index| format!("; drive {index} has failed")).unwrap_or_default();
    let bus = match (&it.bus, it.bus_bytes_per_s) {
        (Some(bus), Some([reads, writes])) => {
            let mb = |rate: u64| (rate + 500_000) / 1_000_000;
            let (reads, writes) = (mb(reads), mb(writes));
            let how = if it.bus_shared { "shared by both directions" } else { "each way" };
            format!("{bus}: {reads} MB/s from the drives, {writes} MB/s to them, {how}")
        }
        _ => "no limit".into(),
    };
    let queue = it.host_queue.map_or_else(|| "no limit of its own".into(), |n| n.to_string());
    let rows = [
        ("drives", format!("{}, {array}{failed}", it.drives)),
        ("bus", bus),
        ("host queue", queue),
        ("requests split at", Bytes::new(it.piece_bytes).to_string()),
    ];
    rows.map(|(name, value)| (name.to_owned(), value)).to_vec()
}
