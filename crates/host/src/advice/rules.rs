//! The rules of the traps: pure functions of an inspection.

use std::collections::BTreeMap;

use drivelab_core::outline::Severity;

use super::{State, Step, Trap, TrapId};
use crate::device::{Device, Kind};
use crate::found::{Finding, FindingId};
use crate::inspection::Inspection;

/// The media rate of the fastest rotating disks with one actuator, in Mbit/s: 300 MB/s, a little
/// above data sheets of 2024.
const ROTATING_MBPS: u64 = 2400;
/// SATA and SAS send ten bits for eight (up to 6 Gb/s).
const CODED: (u64, u64) = (8, 10);
/// Above this size the first 2 GiB are less than 2 % of a disk.
const LARGE_BYTES: u64 = 100_000_000_000;

/// Derives one trap on this machine.
pub(super) fn trap(id: TrapId, drives: &[&Device], inspection: &Inspection) -> Trap {
    let found = match id {
        TrapId::IdeMode => of_findings(inspection, &[FindingId::IdeEmulation]),
        TrapId::RaidMode => found_where(inspection, |device, finding| {
            // A RAID controller is no fault, and changes the result all the same.
            finding.id == FindingId::RaidMode
                && (finding.severity != Severity::Info || device.hidden_behind_raid())
        }),
        TrapId::TagsUnused => tags_unused(inspection),
        TrapId::LinkSpeed => of_findings(inspection, LINKS),
        TrapId::Elevator => elevator(inspection),
        TrapId::SharedBus => shared_bus(drives),
        TrapId::WriteCache => write_cache(drives, inspection),
        TrapId::OtherLoad => {
            of_findings(inspection, &[FindingId::DeviceBusy, FindingId::MdResyncing])
        }
        TrapId::PageCache => page_cache(drives),
        TrapId::FirstGigabytes => first_gigabytes(drives),
        TrapId::OneAtATime => one_at_a_time(drives),
        TrapId::SingleRun => single_run(drives),
    };
    // For the first drive: the others would be settled in the same way.
    let settle = found.first().map(|first| settle(id, first.device)).unwrap_or_default();
    let (state, message) = match found.first() {
        Some(first) => (first.state, first.message.clone()),
        None => (State::Clear, String::new()),
    };
    let found: Vec<Found<'_>> = found.into_iter().filter(|one| one.state == state).collect();
    debug_assert!(state == State::Clear || !found.is_empty(), "a trap concerns a drive");
    let mut messages: Vec<String> = found.iter().map(|one| one.message.clone()).collect();
    // Drives of one model give the same message.
    messages.dedup();
    Trap {
        id,
        articles: id.articles(),
        state,
        disks: found.iter().map(|one| one.device.name.clone()).collect(),
        message: if messages.len() > 1 { messages.join("; ") } else { message },
        evidence: found.into_iter().map(|one| one.evidence).filter(|it| !it.is_empty()).collect(),
        settle,
    }
}

/// A drive that a trap concerns; those that it applies to come first.
struct Found<'a> {
    device: &'a Device,
    state: State,
    message: String,
    evidence: String,
}

impl<'a> Found<'a> {
    fn beware(device: &'a Device, message: &str) -> Self {
        let (message, evidence) = (message.to_owned(), String::new());
        Self { device, state: State::Beware, message, evidence }
    }
}

const LINKS: &[FindingId] = &[
    FindingId::LinkBelowCapability,
    FindingId::LinkDownshift,
    FindingId::LinkErrors,
    FindingId::PcieDowngraded,
];

/// Returns the errors and warnings of `inspect` with these ids, one for each device.
fn of_findings<'a>(inspection: &'a Inspection, ids: &[FindingId]) -> Vec<Found<'a>> {
    found_where(inspection, |_, finding| {
        ids.contains(&finding.id) && finding.severity != Severity::Info
    })
}

fn found_where(
    inspection: &Inspection,
    is_it: impl Fn(&Device, &Finding) -> bool,
) -> Vec<Found<'_>> {
    let found = inspection.devices.iter().filter_map(|device| {
        let finding = device.findings.iter().find(|finding| is_it(device, finding))?;
        let (message, evidence) = (finding.message.clone(), finding.evidence.clone());
        Some(Found { device, state: State::Applies, message, evidence })
    });
    found.collect()
}

/// Returns whether a shallow queue is the elevator's and not the drive's.
fn holds_few(device: &Device) -> bool {
    let (held, depth) = (device.queue.nr_requests, device.queue_depth);
    held.zip(depth).is_some_and(|(held, depth)| held < depth.max(16))
}

fn tags_unused(inspection: &Inspection) -> Vec<Found<'_>> {
    found_where(inspection, |device, finding| match finding.id {
        FindingId::NcqOff | FindingId::UsbStorage => finding.severity != Severity::Info,
        FindingId::QueueShallow => !holds_few(device),
        _ => false,
    })
}

fn elevator(inspection: &Inspection) -> Vec<Found<'_>> {
    found_where(inspection, |device, finding| match finding.id {
        FindingId::QueueShallow => holds_few(device),
        FindingId::SchedulerUnfit | FindingId::ReadaheadExtreme => {
            finding.severity != Severity::Info
        }
        _ => false,
    })
}

/// Drives of one controller whose bus is slower than all of them, or is conventional PCI.
fn shared_bus<'a>(drives: &[&'a Device]) -> Vec<Found<'a>> {
    let mut controllers: BTreeMap<&str, Vec<&'a Device>> = BTreeMap::new();
    for device in drives.iter().filter(|device| shares_controller(device.kind)) {
        if let Some(address) = device.controller.address.as_deref() {
            controllers.entry(address).or_default().push(device);
        }
    }
    let mut found = Vec::new();
    for (address, of_controller) in controllers {
        debug_assert!(!of_controller.is_empty(), "an entry is made for a drive");
        let Some(message) = narrow_bus(address, &of_controller) else { continue };
        found.extend(of_controller.into_iter().map(|it| Found::beware(it, &message)));
    }
    found
}

fn shares_controller(kind: Kind) -> bool {
    matches!(kind, Kind::Ata | Kind::Sas | Kind::Scsi)
}

fn narrow_bus(address: &str, drives: &[&Device]) -> Option<String> {
    let first = drives.first()?;
    let Some(bus) = first.pcie.bandwidth_gbps else {
        return is_conventional_pci(address, first).then(|| {
            format!(
                "{address} is behind a bridge and reports no PCIe link: a conventional PCI bus of \
                 32 bit and 33 MHz carries 133 MB/s for all drives together"
            )
        });
    };
    // A single drive of unknown rate makes the sum unknown.
    let wanted: u64 = drives.iter().map(|device| media_rate(device)).sum::<Option<u64>>()?;
    (drives.len() > 1 && wanted > u64::from(bus.get())).then(|| {
        format!(
            "{} drives share the PCIe link of {address}, {bus} Gb/s: all of them together are \
             faster",
            drives.len()
        )
    })
}

/// Returns the rate in Mbit/s at which a drive can deliver data.
fn media_rate(device: &Device) -> Option<u64> {
    let link = device.link.speed_gbps.map(|it| u64::from(it.get()) * CODED.0 / CODED.1);
    if device.is_known_to_rotate() { Some(link?.min(ROTATING_MBPS)) } else { link }
}

/// Returns whether a device is on conventional PCI. Functions of the chipset are on bus 0, and
/// cards of PCI Express report their link.
fn is_conventional_pci(address: &str, device: &Device) -> bool {
    let bus = address.split(':').nth(1);
    let is_card = bus.is_some_and(|bus| bus != "00");
    let has_link = device.pcie.speed_gts.is_some() || device.pcie.width.is_some();
    is_card && !has_link && !device.pcie.asleep && device.kind.is_physical()
}

fn write_cache<'a>(drives: &[&'a Device], inspection: &'a Inspection) -> Vec<Found<'a>> {
    let mut found = found_where(inspection, |_, finding| {
        matches!(finding.id, FindingId::WriteCacheViewDiffers | FindingId::Nobarrier)
            && finding.severity == Severity::Error
    });
    found.extend(unequal_caches(drives));
    if !found.is_empty() {
        return found;
    }
    let states = drives.iter().filter_map(|device| {
        let message = if device.caches_writes()? {
            "the write cache is on: a write is acknowledged before it is safe, and a test without \
             flushes measures the cache"
        } else {
            "the write cache is off: each small write waits for the medium, unlike in a comparison \
             made with it on"
        };
        Some(Found::beware(device, message))
    });
    states.collect()
}

/// Drives of one model whose caches are set differently.
fn unequal_caches<'a>(drives: &[&'a Device]) -> Vec<Found<'a>> {
    let unequal = drives.iter().filter(|device| has_unequal_twin(device, drives));
    let found = unequal.map(|device| Found {
        device,
        state: State::Applies,
        message: "drives of one model have different write cache settings: arms on them differ in \
                  more than what is compared"
            .to_owned(),
        evidence: format!(
            "{} reports: {}",
            device.name,
            device.write_cache.device.as_deref().unwrap_or_default()
        ),
    });
    found.collect()
}

/// Returns whether a drive of the same model has another known cache setting.
fn has_unequal_twin(device: &Device, drives: &[&Device]) -> bool {
    let (Some(model), Some(caches)) = (&device.model, device.caches_writes()) else {
        return false;
    };
    drives.iter().any(|other| {
        let theirs = other.caches_writes();
        other.model.as_ref() == Some(model) && theirs.is_some_and(|theirs| theirs != caches)
    })
}

fn page_cache<'a>(drives: &[&'a Device]) -> Vec<Found<'a>> {
    let message = "a file smaller than memory is read from memory: a figure above the rate of the \
                   link is the page cache's";
    let virtually = "a file smaller than memory is read from memory, and what the disk answers may come \
                     from the memory of its host: a figure above the rate of any drive is that of a \
                     cache";
    let found = drives.iter().map(|device| {
        Found::beware(device, if device.is_physical() { message } else { virtually })
    });
    found.collect()
}

fn first_gigabytes<'a>(drives: &[&'a Device]) -> Vec<Found<'a>> {
    let message = "a test of the first gigabytes of a rotating disk hardly moves the arm, and reads \
                   the fast zone";
    let rotating = drives.iter().filter(|device| device.is_known_to_rotate());
    let large = rotating.filter(|device| device.capacity_bytes.is_some_and(|it| it > LARGE_BYTES));
    large.map(|device| Found::beware(device, message)).collect()
}

fn one_at_a_time<'a>(drives: &[&'a Device]) -> Vec<Found<'a>> {
    let message = "HD Tune and CrystalDiskMark 2.2 send one request at a time: they cannot show \
                   what a queue brings";
    let queuing = drives.iter().filter(|device| {
        device.queue_depth.is_some_and(|depth| depth > 1) || device.kind == Kind::Nvme
    });
    queuing.map(|device| Found::beware(device, message)).collect()
}

fn single_run<'a>(drives: &[&'a Device]) -> Vec<Found<'a>> {
    let message = "one run per setting has no variation to compare with, and the best of five hides \
                   it: alternate the settings, and repeat";
    drives.iter().map(|device| Found::beware(device, message)).collect()
}

/// The commands that settle a trap, for one of the drives that it concerns.
fn settle(id: TrapId, device: &Device) -> Vec<Step> {
    match id {
        TrapId::IdeMode | TrapId::Elevator => {
            let shows = "what the mode brings on a modelled disk, and the elevator alone";
            let mut steps = vec![Step::study("ahci-or-ide", shows)];
            steps.extend(Step::modelled(device, "ahci-or-ide"));
            steps
        }
        TrapId::RaidMode => {
            vec![Step::study("bios-modes", "IDE, AHCI and RAID mode on a modelled disk")]
        }
        TrapId::TagsUnused => {
            let shows = "what tags bring to a modelled disk and SSD";
            let mut steps = vec![Step::study("tag-dispatch", shows)];
            steps.extend(Step::modelled(device, "ahci-or-ide"));
            steps
        }
        TrapId::LinkSpeed => {
            let curve = Step::read(device, "--suite hdtune", "a plateau shows the link's limit");
            let study = Step::study("bios-modes", "what 1.5 instead of 3 Gb/s costs a disk");
            std::iter::once(study).chain(curve).collect()
        }
        TrapId::SharedBus => {
            vec![Step::study("two-controllers", "five drives behind PCI and PCI Express")]
        }
        TrapId::WriteCache => {
            let shows = "what the cache and the mode bring, each and together";
            vec![Step::study("ncq-and-caching", shows)]
        }
        TrapId::OtherLoad => vec![Step::inspect(device, "who uses it; repeat until it is idle")],
        TrapId::PageCache => {
            let shows = "the same file through the page cache and past it";
            vec![Step::study_of_file(device, "buffered-or-direct", shows)]
        }
        TrapId::FirstGigabytes => {
            let run = "--rw randread --bs 4k --iodepth 32 --runtime 30s";
            let part = Step::read(device, &format!("{run} --size 2G"), "the first 2 GiB");
            part.into_iter().chain(Step::read(device, run, "the whole disk")).collect()
        }
        TrapId::OneAtATime => {
            let steps =
                [(1, "one request at a time"), (32, "32 outstanding")].map(|(depth, shows)| {
                    let run = format!("--rw randread --bs 4k --iodepth {depth} --runtime 30s");
                    Step::read(device, &run, shows)
                });
            steps.into_iter().flatten().collect()
        }
        TrapId::SingleRun => Step::equal_runs(device).unwrap_or_default(),
    }
}
