//! A modelled drive as a guest sees it: controller, disk, and the settings of its queue.

use drivelab_core::dispatch::Dispatch;
use drivelab_core::units::{Bytes, Sectors};
use drivelab_guest::machine::{AtaConfig, BlockConfig, Hardware};
use drivelab_guest::setting::{NO_SCHEDULER, QueueSetting};
use drivelab_model::options::Link;
use drivelab_model::profile::Profile;
use drivelab_model::{About, Attachment, Controller, Scheduler};
use drivelab_serve::drive::Attributes;

use drivelab_core::Refusal;

/// The most requests that the driver of virtio sends; no larger queue is needed.
pub(super) const TAGS_MAX: u16 = 128;
/// The slots of an AHCI adapter.
const AHCI_SLOTS: u16 = 32;
/// An IDE channel takes one command.
const IDE_SLOTS: u16 = 1;

/// A drive in a guest.
#[derive(Debug)]
pub(super) struct Seen {
    /// Its name there; another where the guest has more disks.
    pub(super) disk: &'static str,
    pub(super) hardware: Hardware,
    pub(super) capacity: Bytes,
    pub(super) physical_sector: Sectors,
    /// Nothing for a drive that is a service time.
    pub(super) setting: Option<QueueSetting>,
}

impl Seen {
    /// A drive behind its controller, or behind virtio where the guest has no such controller.
    pub(super) fn new(
        host: &About,
        profile: &Profile,
        attributes: Attributes,
    ) -> Result<Self, Refusal> {
        let bytes = Bytes::new(host.capacity_bytes);
        let capacity = Sectors::holding(bytes);
        let Attributes { physical_sector, volatile_cache, .. } = attributes;
        let setting = setting(host)?;
        let attached = host.attached.as_ref();
        let Some(attached) = attached.filter(|_| is_sata(host)) else {
            let config = BlockConfig { capacity, physical_sector, write_cache: volatile_cache };
            let hardware = Hardware::Block(config);
            return Ok(Self {
                disk: VIRTIO[0],
                hardware,
                capacity: bytes,
                physical_sector,
                setting,
            });
        };
        let is_ide = attached.controller == Controller::Ide;
        // Behind IDE the drive can queue all the same.
        let queue_depth = if is_ide { profile.queue_depth() } else { attached.tags };
        // Word 217 of ATA IDENTIFY: 1 is a drive without platters, 0 one that does not say.
        let rpm = match profile.rpm() {
            Some(rpm) => u16::try_from(rpm).unwrap_or(0),
            None => u16::from(!attributes.rotational),
        };
        let config = AtaConfig {
            model: host.model.clone(),
            capacity,
            physical_sector,
            rpm,
            queue_depth: u8::try_from(queue_depth).unwrap_or(u8::MAX),
            trims: !attributes.rotational,
            has_write_cache: true,
            write_cache: volatile_cache,
            link: generation(attached),
        };
        let hardware = if is_ide { Hardware::Ide(config, None) } else { Hardware::Ahci(config) };
        Ok(Self { disk: SATA[0], hardware, capacity: bytes, physical_sector, setting })
    }
}

/// The names in Linux of disks behind controllers for SATA.
pub(super) const SATA: [&str; 8] = ["sda", "sdb", "sdc", "sdd", "sde", "sdf", "sdg", "sdh"];
/// And behind any other.
pub(super) const VIRTIO: [&str; 8] = ["vda", "vdb", "vdc", "vdd", "vde", "vdf", "vdg", "vdh"];

/// Returns whether the guest has a controller for SATA for the drive.
fn is_sata(host: &About) -> bool {
    let controller = host.attached.as_ref().map(|attached| attached.controller);
    matches!(controller, Some(Controller::Ahci | Controller::Ide))
}

/// The generation of a SATA link.
fn generation(attached: &Attachment) -> u8 {
    match attached.link {
        Some(Link::Sata1) => 1,
        Some(Link::Sata2) => 2,
        _ => 3,
    }
}

/// The settings of the queue of the guest's disk; none for a drive that is a service time.
pub(super) fn setting(host: &About) -> Result<Option<QueueSetting>, Refusal> {
    let Some(attached) = &host.attached else { return Ok(None) };
    let scheduler = match attached.scheduler {
        Scheduler::None => NO_SCHEDULER,
        Scheduler::Deadline => "mq-deadline",
        Scheduler::Bfq => "bfq",
        Scheduler::Kyber => "kyber",
        other => {
            let message = format!("Linux has no elevator `{other}`");
            return Err(Refusal::request(message).hint(
                "set `scheduler` to `none`, `deadline`, `bfq` or `kyber`, or use stage simulate",
            ));
        }
    };
    let (driver, most) = match attached.controller {
        Controller::Ahci => (Some("ahci"), AHCI_SLOTS),
        Controller::Ide => (Some("ata_piix"), IDE_SLOTS),
        Controller::Scsi | Controller::Nvme => (None, TAGS_MAX),
    };
    if attached.queue_pairs.is_some_and(|pairs| pairs.count > 1) {
        let message = "the guest's disk has one queue";
        return Err(Refusal::request(message).hint("omit `queues`, or use stage simulate"));
    }
    let tags = u16::try_from(attached.tags).ok().filter(|tags| *tags <= most);
    let Some(tags) = tags else {
        let message = format!(
            "the guest's driver sends {most} commands at most, and this drive takes {}",
            attached.tags
        );
        return Err(Refusal::request(message).hint(format!("add `tags={most}`")));
    };
    if tags > 1 && attached.dispatch != Dispatch::Shared {
        let message = format!("Linux has no tag dispatch `{}`", attached.dispatch);
        return Err(Refusal::request(message).hint("omit `dispatch`, or use stage simulate"));
    }
    let nr_requests = attached.nr_requests as u64;
    let write_cache = attached.reports_cache;
    // Virtio has as many requests as tags, and an adapter as many as slots.
    let slots = if driver.is_some() { most } else { tags };
    Ok(Some(QueueSetting { driver, scheduler, nr_requests, tags, slots, write_cache }))
}

#[cfg(test)]
mod tests {
    use drivelab_model::options::DriveSpec;

    use super::*;
    use crate::target;

    fn of_spec(spec: &str) -> Result<Seen, Refusal> {
        let spec: DriveSpec = spec.parse().unwrap();
        let profile = target::profile(&spec).unwrap();
        let host = target::describe(&profile, &spec.options, 1)?;
        Seen::new(&host, &profile, target::attributes(&profile, &host))
    }

    /// ATA has no word for a protected cache.
    #[test]
    fn capacitors_count_for_the_host_behind_nvme_alone() {
        for (spec, expected) in [("generic-sata-datacenter", true), ("micron-7300pro", false)] {
            let spec = format!("{spec},scale=1/64,tags=32");
            assert_eq!(of_spec(&spec).unwrap().setting.unwrap().write_cache, expected, "{spec}");
        }
    }

    #[test]
    fn the_guest_gets_the_elevator_of_the_drives_options() {
        let queued = of_spec("seagate-st31000333as").unwrap();
        let setting = queued.setting.unwrap();
        assert_eq!((queued.disk, setting.scheduler, setting.tags), ("sda", "none", 32));
        assert_eq!((setting.driver, setting.write_cache), (Some("ahci"), true));
        let Hardware::Ahci(config) = queued.hardware else { panic!("it is a SATA drive") };
        assert_eq!((config.queue_depth, config.link, config.rpm), (32, 2, 7200));
        let single = of_spec("seagate-st31000333as,ncq=off,nr-requests=64").unwrap();
        let setting = single.setting.unwrap();
        assert_eq!((setting.scheduler, setting.nr_requests), ("mq-deadline", 64));
        assert_eq!((setting.tags, setting.slots), (1, 32), "the adapter has slots all the same");
        let ide = of_spec("seagate-st31000333as,controller=ide").unwrap();
        let setting = ide.setting.unwrap();
        assert_eq!((setting.driver, setting.nr_requests), (Some("ata_piix"), 2));
        assert_eq!((ide.disk, setting.tags, setting.slots), ("sda", 1, 1));
        let Hardware::Ide(config, None) = ide.hardware else { panic!("it is behind IDE") };
        assert_eq!(config.queue_depth, 32, "the drive could queue");
        // These two only a real kernel has.
        for name in ["bfq", "kyber"] {
            let spec = format!("seagate-st31000333as,scheduler={name}");
            assert_eq!(of_spec(&spec).unwrap().setting.unwrap().scheduler, name);
            let spec: DriveSpec = spec.parse().unwrap();
            let profile = target::profile(&spec).unwrap();
            let refused = target::build(&profile, &spec.options, 1).unwrap_err().to_string();
            assert!(refused.contains("not modelled") && refused.contains("--stage kernel"));
        }
        let check = |spec: &str, part: &str| {
            let failure = of_spec(spec).unwrap_err();
            assert!(failure.to_string().contains(part), "{spec}: {failure}");
        };
        check("seagate-st31000333as,scheduler=bioq", "bioq");
        check("seagate-st31000333as,dispatch=split", "split");
    }
}
