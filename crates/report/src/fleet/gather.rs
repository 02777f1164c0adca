//! Disks and their runs, out of what was collected from hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use drivelab_core::record::{AttachedDevice, Better, RunRecord};

use crate::attachment::Facts;
use crate::run;

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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
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

/// What peers have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PeerKey {
    /// The drive's own name.
    pub model: String,
    /// How it is attached, in words.
    pub attachment: String,
    /// What its runs did, as options of `drivelab run`.
    pub work: String,
}

/// What was collected from one host at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Collection {
    /// The host.
    pub host: String,
    /// When, in milliseconds since 1970.
    pub time_ms: u64,
    /// Its drives, as its inspection found them.
    pub drives: Vec<AttachedDevice>,
    /// The runs that were made there.
    pub runs: Vec<RunRecord>,
}

/// Runs that say nothing of one disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Runs on no disk or on several, or on one without a model.
    pub without_disk: usize,
    /// Runs without the figure that is asked for, or with one that is not above zero.
    pub without_figure: usize,
}

/// All that was collected from a fleet, as far as it is compared.
#[derive(Debug, Clone)]
pub struct Fleet {
    pub(super) metric: String,
    pub(super) hosts: BTreeSet<String>,
    pub(super) disks: BTreeMap<DiskName, Disk>,
    pub(super) left_out: LeftOut,
    pub(super) better: Option<Better>,
}

/// A disk as it was found last.
#[derive(Debug, Clone, Default)]
pub(super) struct Disk {
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
            left_out: LeftOut::default(),
            better: None,
        }
    }

    /// Adds what was collected from a host; in any order.
    pub fn add(&mut self, collection: &Collection) {
        self.hosts.insert(collection.host.clone());
        for drive in &collection.drives {
            self.see(&collection.host, drive, collection.time_ms);
        }
        for record in &collection.runs {
            self.run(&collection.host, record, collection.time_ms);
        }
    }

    fn see(&mut self, host: &str, drive: &AttachedDevice, time_ms: u64) -> &mut Disk {
        let name = DiskName { host: host.to_owned(), device: drive.name.clone() };
        let disk = self.disks.entry(name).or_default();
        if disk.facts.is_empty() || time_ms >= disk.seen_ms {
            disk.seen_ms = time_ms;
            disk.facts =
                drive.facts.iter().map(|(name, fact)| (name.clone(), fact.to_string())).collect();
        }
        disk
    }

    fn run(&mut self, host: &str, record: &RunRecord, time_ms: u64) {
        let devices = record.attached.iter().flat_map(|attached| &attached.devices);
        let drives: Vec<&AttachedDevice> = devices.filter(|it| it.made_of.is_empty()).collect();
        let [drive] = drives[..] else {
            self.left_out.without_disk += 1;
            return;
        };
        let Some(peers) = peers(drive, record) else {
            self.left_out.without_disk += 1;
            return;
        };
        let metric = run::metrics(record).into_iter().find(|it| it.name == self.metric);
        let Some(figure) = metric.filter(|it| it.value.is_finite() && it.value > 0.0) else {
            self.left_out.without_figure += 1;
            return;
        };
        self.better.get_or_insert(figure.better);
        let measured = Measured { time_ms, peers, value: figure.value };
        self.see(host, drive, time_ms).runs.push(measured);
    }

    /// The runs of each disk of each group, the latest last. A disk that was attached otherwise
    /// before belongs to the group of its latest run alone.
    pub(super) fn groups(&self) -> BTreeMap<&PeerKey, Vec<(&DiskName, Vec<f64>)>> {
        let mut groups: BTreeMap<&PeerKey, Vec<(&DiskName, Vec<f64>)>> = BTreeMap::new();
        for (name, disk) in &self.disks {
            let mut latest: BTreeMap<&str, &Measured> = BTreeMap::new();
            for run in &disk.runs {
                let known = latest.entry(&run.peers.work).or_insert(run);
                if run.time_ms >= known.time_ms {
                    *known = run;
                }
            }
            for of_work in latest.values() {
                let mut runs: Vec<&Measured> =
                    disk.runs.iter().filter(|run| run.peers == of_work.peers).collect();
                runs.sort_by_key(|run| run.time_ms);
                let values = runs.iter().map(|run| run.value).collect();
                groups.entry(&of_work.peers).or_default().push((name, values));
            }
        }
        groups
    }
}

/// What the disk of a run shares with its peers; `None` where nothing says which model it is.
fn peers(drive: &AttachedDevice, record: &RunRecord) -> Option<PeerKey> {
    let fact = |name: &&str| {
        let fact = drive.facts.get(*name)?;
        let words = name.replace('_', " ");
        Some(if *name == "kind" { fact.to_string() } else { format!("{words} {fact}") })
    };
    let attachment: Vec<String> = ATTACHMENT.iter().filter_map(fact).collect();
    Some(PeerKey {
        model: drive.facts.get("model")?.to_string(),
        attachment: attachment.join(", "),
        work: run::options(record).join(" "),
    })
}
