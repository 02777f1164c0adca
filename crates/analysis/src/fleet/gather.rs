//! Disks and their runs, out of what was collected from hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use drivelab_core::record::{AttachedDevice, Better, Work};

use crate::attachment::Facts;
use crate::digest::{CommonRun, RunDigest};
use crate::validity;

/// The settings that make disks of one model peers, in the order in which they are named.
const ATTACHMENT: [&str; 11] = [
    "kind",
    "controller",
    "driver",
    "transport",
    "link_gbps",
    "pcie",
    "ncq",
    "queue_depth",
    "scheduler",
    "write_cache",
    "link_policy",
];

/// A disk: the host, and the name of the device there.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DiskName {
    /// The host, as it was collected from.
    pub host: String,
    /// The device, as the kernel calls it.
    pub device: String,
}

impl fmt::Display for DiskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.device, self.host)
    }
}

/// The properties that peers have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PeerKey {
    /// The drive's own name.
    pub model: String,
    /// The attachment, in words.
    pub attachment: String,
    /// The work of its runs, as options of `drivelab run`.
    pub work: String,
    /// The same as keys and values, which have more than there are options.
    pub keys: Work,
}

/// The identity of a disk across collections.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DiskKey {
    /// Its serial number or world wide name, as a fingerprint; on one host, because clones of a
    /// virtual machine have the same.
    Known { host: String, identity: String },
    /// Its name and what it is, which hold for one boot.
    Position { host: String, boot: String, model: String, bytes: String, device: String },
}

/// The data collected from one host at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Collection {
    /// The host.
    pub host: String,
    /// The time of collection, in milliseconds since 1970.
    pub time_ms: u64,
    /// In which boot of the host; unknown in collections of older versions.
    pub boot: Option<String>,
    /// Its drives, as its inspection found them.
    pub drives: Vec<AttachedDevice>,
    /// The runs that were made there.
    pub runs: Vec<RunDigest>,
}

/// Runs that say nothing of one disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Runs on no disk or on several, or on one without a model.
    pub without_disk: usize,
    /// Runs without the figure that is asked for, or with one that is not above zero.
    pub without_figure: usize,
    /// Runs on disks that nothing identifies, in an earlier boot of their host.
    pub of_earlier_boots: usize,
    /// Runs whose requests failed, or whose figures are of something else.
    pub invalid: usize,
}

/// All that was collected from a fleet, as far as it is compared.
#[derive(Debug, Clone)]
pub struct Fleet {
    pub(super) metric: String,
    pub(super) hosts: BTreeSet<String>,
    pub(super) disks: BTreeMap<DiskKey, Disk>,
    /// The latest boot of each host, with the time of its latest collection.
    boots: BTreeMap<String, (u64, String)>,
    pub(super) left_out: LeftOut,
    pub(super) better: Option<Better>,
}

/// A disk as it was found last.
#[derive(Debug, Clone, Default)]
pub(super) struct Disk {
    /// Its name there, which it had last.
    pub(super) name: DiskName,
    seen_ms: u64,
    pub(super) facts: Facts,
    pub(super) runs: Vec<Measured>,
}

#[derive(Debug, Clone)]
pub(super) struct Measured {
    pub(super) time_ms: u64,
    pub(super) peers: PeerKey,
    pub(super) value: f64,
}

impl Fleet {
    /// A fleet of nothing, whose disks are compared by `metric`.
    pub fn new(metric: &str) -> Self {
        Self {
            metric: metric.to_owned(),
            hosts: BTreeSet::new(),
            disks: BTreeMap::new(),
            boots: BTreeMap::new(),
            left_out: LeftOut::default(),
            better: None,
        }
    }

    /// Adds what was collected from a host; in any order.
    pub fn add(&mut self, collection: &Collection) {
        self.hosts.insert(collection.host.clone());
        let boot_id = boot(collection);
        let latest = (collection.time_ms, boot_id.clone());
        let known = self.boots.entry(collection.host.clone()).or_default();
        // At equal times the identifier decides, so that the order of the files does not.
        *known = latest.max(known.clone());
        for drive in &collection.drives {
            self.see(collection, &boot_id, drive);
        }
        for run in &collection.runs {
            self.run(collection, &boot_id, run);
        }
    }

    fn see(&mut self, collection: &Collection, boot: &str, drive: &AttachedDevice) -> &mut Disk {
        let disk = self.disks.entry(key(collection, boot, drive)).or_default();
        // The facts are those of the latest collection, in any order of the files.
        if disk.facts.is_empty() || collection.time_ms >= disk.seen_ms {
            let (host, device) = (collection.host.clone(), drive.name.clone());
            disk.name = DiskName { host, device };
            disk.seen_ms = collection.time_ms;
            disk.facts =
                drive.facts.iter().map(|(name, fact)| (name.clone(), fact.to_string())).collect();
        }
        disk
    }

    fn run(&mut self, collection: &Collection, boot: &str, run: &RunDigest) {
        let [drive] = &run.common.drives[..] else {
            self.left_out.without_disk += 1;
            return;
        };
        let Some(peers) = peers(drive, &run.common) else {
            self.left_out.without_disk += 1;
            return;
        };
        let found = run.figure(&self.metric);
        let Some((figure, value)) = found.filter(|(_, value)| value.is_finite() && *value > 0.0)
        else {
            self.left_out.without_figure += 1;
            return;
        };
        if !validity::counts(&run.own.flaws) {
            self.left_out.invalid += 1;
            return;
        }
        // All runs report the same metric, so the first one settles the direction.
        self.better.get_or_insert(figure.better);
        let measured = Measured { time_ms: collection.time_ms, peers, value };
        self.see(collection, boot, drive).runs.push(measured);
    }

    /// The disks that count: those that nothing identifies only as they were in the latest boot,
    /// because the same name is another disk in another boot.
    pub(super) fn current(&self) -> impl Iterator<Item = (&DiskKey, &Disk)> {
        self.disks.iter().filter(|(key, _)| match key {
            DiskKey::Known { .. } => true,
            DiskKey::Position { host, boot, .. } => {
                self.boots.get(host).is_none_or(|(_, latest)| latest == boot)
            }
        })
    }

    /// Disks of the hosts; a modelled drive that was measured there is none of them.
    pub(super) fn disks_seen(&self) -> usize {
        let kinds = self.current().map(|(_, disk)| disk.facts.get("kind"));
        kinds.filter(|kind| kind.is_none_or(|kind| kind != MODELLED)).count()
    }

    /// Runs that say nothing of one disk.
    pub(super) fn left_out(&self) -> LeftOut {
        let all: usize = self.disks.values().map(|disk| disk.runs.len()).sum();
        let current: usize = self.current().map(|(_, disk)| disk.runs.len()).sum();
        LeftOut { of_earlier_boots: all - current, ..self.left_out }
    }

    /// The runs of each disk of each group, the latest last. A disk that was attached otherwise
    /// before belongs to the group of its latest run alone.
    pub(super) fn groups(&self) -> BTreeMap<&PeerKey, Vec<(&DiskKey, Vec<f64>)>> {
        let mut groups: BTreeMap<&PeerKey, Vec<(&DiskKey, Vec<f64>)>> = BTreeMap::new();
        for (key, disk) in self.current() {
            let mut latest: BTreeMap<&Work, &Measured> = BTreeMap::new();
            for run in &disk.runs {
                let known = latest.entry(&run.peers.keys).or_insert(run);
                if run.time_ms >= known.time_ms {
                    *known = run;
                }
            }
            // Runs of this work with other peers had another attachment: they do not count.
            for of_work in latest.values() {
                let mut runs: Vec<&Measured> =
                    disk.runs.iter().filter(|run| run.peers == of_work.peers).collect();
                runs.sort_by_key(|run| run.time_ms);
                let values = runs.iter().map(|run| run.value).collect();
                groups.entry(&of_work.peers).or_default().push((key, values));
            }
        }
        groups
    }
}

/// The kind of a modelled drive, and of a device that stands for one.
const MODELLED: &str = "model";

/// The boot of a collection; where that is unknown each collection may be of another.
fn boot(collection: &Collection) -> String {
    // Without an identifier, names of devices hold only within this collection.
    collection.boot.clone().unwrap_or_else(|| format!("at {}", collection.time_ms))
}

/// Identifies the disk. An identity that two drives of one host share identifies neither.
fn key(collection: &Collection, boot: &str, drive: &AttachedDevice) -> DiskKey {
    let host = collection.host.clone();
    if let Some(identity) = &drive.identity {
        // Some makers give all drives of a series one number, which then distinguishes none.
        let drives = collection.drives.iter();
        if drives.filter(|it| it.identity.as_ref() == Some(identity)).count() < 2 {
            return DiskKey::Known { host, identity: identity.clone() };
        }
    }
    DiskKey::Position {
        host,
        boot: boot.to_owned(),
        model: fact(drive, "model"),
        bytes: fact(drive, "capacity_bytes"),
        device: drive.name.clone(),
    }
}

/// The model of a disk; one that reports none, as many virtual ones, is grouped with others of its
/// kind. `None` if that is unknown, too.
pub(super) fn model_or_kind(
    model: Option<&impl ToString>,
    kind: Option<&impl ToString>,
) -> Option<String> {
    let kind = kind.map(ToString::to_string).filter(|kind| kind != MODELLED);
    model.map(ToString::to_string).or_else(|| Some(format!("{} without a model", kind?)))
}

/// The properties that the disk of a run shares with its peers; `None` if its model and its kind
/// are unknown.
fn peers(drive: &AttachedDevice, run: &CommonRun) -> Option<PeerKey> {
    let attachment: Vec<String> = ATTACHMENT
        .iter()
        .filter_map(|name| {
            let fact = drive.facts.get(*name)?;
            let words = name.replace('_', " ");
            Some(if *name == "kind" { fact.to_string() } else { format!("{words} {fact}") })
        })
        .collect();
    Some(PeerKey {
        model: model_or_kind(drive.facts.get("model"), drive.facts.get("kind"))?,
        attachment: attachment.join(", "),
        work: run.options.clone(),
        keys: run.work.clone(),
    })
}

fn fact(drive: &AttachedDevice, name: &str) -> String {
    drive.facts.get(name).map(ToString::to_string).unwrap_or_default()
}
