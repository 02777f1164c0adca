//! From a fleet to what is found in it.

use std::collections::BTreeSet;

use drivelab_core::record::Better;
use drivelab_stats::{
    GroupJudgement, JudgedGroup, Outlier, OutlierCriteria, OutlierJudge, SideBySide, holm,
    side_by_side,
};

use super::drift::{Drift, drifts};
use super::gather::{DiskKey, DiskName, Fleet, LeftOut, PeerKey};
use crate::attachment::Facts;
use crate::figures;

/// The options of a fleet analysis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FleetOptions {
    /// Smallest difference from the peers that matters.
    pub margin: f64,
    /// Share of the reported disks that may be false alarms.
    pub false_discovery: f64,
}

/// The result of a fleet analysis.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetResult {
    /// The figure by which disks are compared.
    pub metric: String,
    /// The better direction of it; `None` where nothing was measured.
    pub better: Option<Better>,
    /// The options of the analysis.
    pub options: FleetOptions,
    /// Hosts that were collected from.
    pub hosts: usize,
    /// Disks that were seen there.
    pub disks: usize,
    /// The disks that differ, the least likely first.
    pub found: Vec<Found>,
    /// Groups of peers, the largest first.
    pub groups: Vec<PeerResult>,
    /// Settings that drifted apart.
    pub drifts: Vec<Drift>,
    /// Runs that say nothing of one disk.
    pub left_out: LeftOut,
}

/// A group of peers.
#[derive(Debug, Clone, PartialEq)]
pub struct PeerResult {
    /// The properties that they have in common.
    pub peers: PeerKey,
    /// The disks.
    pub disks: Vec<DiskName>,
    /// The judgement of the disks among each other.
    pub judgement: GroupJudgement,
    /// The disks of a group that is too small to be judged, next to one another.
    pub small: Option<SmallGroup>,
}

/// A group that is too small to be judged.
#[derive(Debug, Clone, PartialEq)]
pub struct SmallGroup {
    /// Its disks, and whether their runs differ.
    pub disks: SideBySide,
    /// The p value, adjusted for the number of such groups (Holm).
    pub p_adjusted: Option<f64>,
}

/// A disk that differs from its peers.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The disk.
    pub disk: DiskName,
    /// Its group, by index.
    pub group: usize,
    /// The evidence.
    pub outlier: Outlier,
    /// Settings of it, as it was found last.
    pub facts: Facts,
    /// The other disks of its host that differ.
    pub others_of_host: usize,
}

impl FleetResult {
    /// Disks that were held against their peers; one that did several kinds of work counts in each.
    pub fn judged(&self) -> usize {
        self.groups.iter().filter(|group| group.judged().is_some()).map(|it| it.disks.len()).sum()
    }
}

impl PeerResult {
    /// The figures, where the group was judged.
    pub fn judged(&self) -> Option<&JudgedGroup> {
        match &self.judgement {
            GroupJudgement::Judged(judged) => Some(judged),
            GroupJudgement::TooSmall | GroupJudgement::NoVariation => None,
        }
    }
}

impl Found {
    /// By how much, and which way: `30 % lower`.
    pub fn difference(&self) -> String {
        let way = if self.outlier.ratio < 1.0 { "lower" } else { "higher" };
        format!("{} {way}", figures::percent_change(self.outlier.ratio))
    }

    /// True if it is worse than its peers; `None` where neither way is better.
    pub fn is_worse(&self, better: Option<Better>) -> Option<bool> {
        match better? {
            Better::More => Some(self.outlier.ratio < 1.0),
            Better::Less => Some(self.outlier.ratio > 1.0),
            Better::Neither => None,
        }
    }
}

/// Judges all groups together.
pub fn analyse(fleet: &Fleet, options: FleetOptions) -> FleetResult {
    let gathered = fleet.groups();
    let runs: Vec<Vec<Vec<f64>>> = gathered
        .values()
        .map(|disks| disks.iter().map(|(_, runs)| runs.clone()).collect())
        .collect();
    let runs: Vec<&[Vec<f64>]> = runs.iter().map(Vec::as_slice).collect();
    let FleetOptions { margin, false_discovery } = options;
    let judged = OutlierJudge::new(OutlierCriteria { margin, false_discovery }).judge(&runs);
    let small = small_groups(&runs);
    let mut groups: Vec<(PeerResult, Vec<&DiskKey>)> = gathered
        .into_iter()
        .zip(judged.into_iter().zip(small))
        .map(|((peers, disks), (judgement, small))| {
            let keys: Vec<&DiskKey> = disks.into_iter().map(|(key, _)| key).collect();
            let disks = keys.iter().map(|key| fleet.disks[*key].name.clone()).collect();
            (PeerResult { peers: peers.clone(), disks, judgement, small }, keys)
        })
        .collect();
    // The largest group first; equal ones keep the order of their keys.
    groups.sort_by_key(|(group, _)| std::cmp::Reverse(group.disks.len()));
    let found = outliers(fleet, &groups);
    let groups = groups.into_iter().map(|(group, _)| group).collect();
    FleetResult {
        metric: fleet.metric.clone(),
        better: fleet.better,
        options,
        hosts: fleet.hosts.len(),
        disks: fleet.disks_seen(),
        found,
        groups,
        drifts: drifts(fleet),
        left_out: fleet.left_out(),
    }
}

/// The groups that are too small to be judged, in the order of all groups.
fn small_groups(groups: &[&[Vec<f64>]]) -> Vec<Option<SmallGroup>> {
    let found = groups
        .iter()
        .map(|group| side_by_side(group).map(|disks| SmallGroup { p_adjusted: disks.p, disks }));
    let mut found: Vec<Option<SmallGroup>> = found.collect();
    let mut tested: Vec<&mut f64> =
        found.iter_mut().flatten().filter_map(|group| group.p_adjusted.as_mut()).collect();
    let adjusted = holm(&tested.iter().map(|p| **p).collect::<Vec<f64>>());
    for (p, adjusted) in tested.iter_mut().zip(adjusted) {
        **p = adjusted;
    }
    found
}

fn outliers(fleet: &Fleet, groups: &[(PeerResult, Vec<&DiskKey>)]) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for (index, (group, keys)) in groups.iter().enumerate() {
        for outlier in group.judged().map(|it| &it.outliers).into_iter().flatten() {
            let disk = group.disks[outlier.index].clone();
            let facts = fleet.disks[keys[outlier.index]].facts.clone();
            found.push(Found { disk, group: index, outlier: *outlier, facts, others_of_host: 0 });
        }
    }
    // The surest first; names decide between equals, so that the list is repeatable.
    found.sort_by(|a, b| a.outlier.p.total_cmp(&b.outlier.p).then_with(|| a.disk.cmp(&b.disk)));
    let names: Vec<DiskName> = found.iter().map(|it| it.disk.clone()).collect();
    for it in &mut found {
        // A set, because a disk may be an outlier in several groups.
        let others: BTreeSet<&DiskName> =
            names.iter().filter(|name| name.host == it.disk.host && **name != it.disk).collect();
        it.others_of_host = others.len();
    }
    found
}
