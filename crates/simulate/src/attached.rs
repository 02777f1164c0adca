//! The attachment of a modelled drive, as the record of a run states it.

use drivelab_core::record::{Attached, AttachedDevice};
use drivelab_model::{About, Controller};

/// The attachment that a modelled drive describes; `profile` is its name.
pub fn to_model(profile: &str, about: &About) -> Attached {
    let mut noted = AttachedDevice {
        name: profile.to_owned(),
        kind: "model".to_owned(),
        ..AttachedDevice::default()
    };
    noted.set("model", Some(about.model.clone()));
    noted.set("capacity_bytes", Some(about.capacity_bytes));
    if let Some(attached) = &about.attached {
        noted.set("controller", Some(attached.controller.to_string()));
        noted.set("queue_depth", u64::try_from(attached.tags).ok());
        // NVMe has queues and no NCQ: the fact would differ from SATA without being a setting.
        noted.set("ncq", (attached.controller != Controller::Nvme).then_some(attached.queued));
        noted.set("dispatch", Some(attached.dispatch.to_string()));
        let link = |sata| attached.link.filter(|link| link.is_sata() == sata);
        noted.set("link_gbps", link(true).map(|link| link.to_string()));
        noted.set("pcie_link", link(false).map(|link| link.to_string()));
        noted.set("completion", attached.notice.map(|notice| notice.to_string()));
        noted.set("queues", attached.queue_pairs.map(|pairs| pairs.to_string()));
        noted.set("scale", attached.flash.map(|flash| flash.scale.to_string()));
        let state = attached.flash.map(|flash| flash.precondition);
        let state = state.or(attached.shingles.map(|shingles| shingles.precondition));
        noted.set("precondition", state.map(|state| state.to_string()));
        noted.set("spare_bytes", attached.flash.map(|flash| flash.spare_bytes));
        noted.set("trimmed", attached.flash.map(|flash| flash.trimmed.to_string()));
        noted.set("wire_mb_per_s", Some(attached.wire_bytes_per_s / 1_000_000));
        noted.set("scheduler", Some(attached.scheduler.to_string()));
        noted.set("nr_requests", u64::try_from(attached.nr_requests).ok());
        let cache = if attached.reports_cache { "write back" } else { "write through" };
        noted.set("write_cache", Some(cache));
        noted.set("write_cache_bytes", attached.write_cache_bytes);
    }
    if let Some(cache) = &about.controller_cache {
        noted.set("controller_cache_bytes", Some(cache.bytes));
        noted.set("battery", Some(if cache.protected { "on" } else { "off" }));
    }
    if let Some(tier) = &about.tier {
        noted.set("tier", Some(format!("{}:{}", tier.kind, tier.drive.model)));
        noted.set("tier_warm", Some(tier.warm.to_string()));
        noted.set("page_cache_bytes", tier.page_cache_bytes);
    }
    Attached { devices: vec![noted], ..Attached::default() }
}
