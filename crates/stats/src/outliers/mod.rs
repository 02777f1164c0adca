//! Disks that differ from their peers, with the false discovery rate controlled over a whole fleet.
//!
//! A disk's figure is the mean logarithm of its latest runs, as many of each disk as the disk with
//! the fewest has: otherwise a disk with few runs would lie farther out by chance than its peers.
//! It is held against the trimmed mean and the Winsorised deviation of the *other* disks of its
//! group. A tenth of them at each end counts no more than its neighbours, so that several bad disks
//! of one group do not hide one another. The p value is exact for normal figures in a group of any
//! size (`reference` derives it), and asks whether a disk differs by more than the margin.
//! Benjamini and Hochberg (1995, JRSS B 57:289) over all disks that were judged give the q values.

mod judgement;
mod peers;
mod reference;
mod small;

pub use judgement::{
    FALSE_DISCOVERY_MAX, GroupJudgement, JudgedGroup, Outlier, OutlierCriteria, PEER_GROUP_MIN,
    PeerGroup,
};
pub use small::{SideBySide, side_by_side};

use std::collections::BTreeMap;

use crate::numbers::float;
use peers::{Peers, Sorted};
use reference::Reference;

/// Judges fleets; keeps the reference distributions that were needed so far.
#[derive(Debug, Clone)]
pub struct OutlierJudge {
    criteria: OutlierCriteria,
    references: BTreeMap<usize, Reference>,
}

/// A disk that may differ: its group, its index, and its distance in deviations of its peers.
struct Candidate {
    group: usize,
    index: usize,
    peers: Peers,
    beyond: f64,
    p: f64,
}

impl OutlierJudge {
    /// A judge by these criteria.
    ///
    /// # Panics
    /// The margin is negative, or the rate not above 0 and at most [`FALSE_DISCOVERY_MAX`].
    pub fn new(criteria: OutlierCriteria) -> Self {
        assert!(criteria.margin >= 0.0, "a margin is a share");
        let rate = criteria.false_discovery;
        assert!(rate > 0.0 && rate <= FALSE_DISCOVERY_MAX, "a rate that can be controlled");
        Self { criteria, references: BTreeMap::new() }
    }

    /// Judges all groups of a fleet together.
    pub fn judge(&mut self, groups: &[&PeerGroup]) -> Vec<GroupJudgement> {
        let sorted: Vec<Result<Sorted, GroupJudgement>> =
            groups.iter().map(|group| Sorted::of(group)).collect();
        let judged: Vec<(usize, &Sorted)> = sorted
            .iter()
            .enumerate()
            .filter_map(|(at, it)| Some((at, it.as_ref().ok()?)))
            .collect();
        let disks: usize = judged.iter().map(|(_, it)| it.figures.len()).sum();
        let found = self.outliers(&judged, disks);
        let mut results = Vec::new();
        for (at, group) in sorted.iter().enumerate() {
            results.push(match group {
                Err(why) => why.clone(),
                Ok(group) => {
                    let own = found.iter().filter(|(group, _)| *group == at);
                    let own = own.map(|(_, outlier)| *outlier).collect();
                    GroupJudgement::Judged(self.judged(group, own, disks))
                }
            });
        }
        results
    }

    /// The disks that are reported, each with its group, ascending.
    fn outliers(&mut self, groups: &[(usize, &Sorted)], disks: usize) -> Vec<(usize, Outlier)> {
        let margin = libm::log1p(self.criteria.margin);
        let mut candidates = Vec::new();
        for (group, sorted) in groups {
            // The peers of a disk are the others of its group.
            let distribution = self.reference(sorted.figures.len() - 1);
            for index in 0..sorted.figures.len() {
                let peers = sorted.peers_of(index);
                // Less the margin: a difference of no interest is no finding.
                let beyond = (sorted.figures[index] - peers.centre).abs() - margin;
                if beyond > 0.0 && peers.deviation > 0.0 {
                    let beyond = beyond / peers.deviation;
                    let p = distribution.two_sided_at_least(beyond);
                    candidates.push(Candidate { group: *group, index, peers, beyond, p });
                }
            }
        }
        // The bound is cheap and below the p value: a disk it does not reject is not rejected by
        // its p value either, and only the few others need the exact tail.
        self.keep_rejected(&mut candidates, disks);
        for candidate in &mut candidates {
            let peers = groups.iter().find(|(group, _)| *group == candidate.group);
            let count = peers.expect("a group that was judged").1.figures.len() - 1;
            candidate.p = self.reference(count).two_sided(candidate.beyond);
        }
        let q = self.keep_rejected(&mut candidates, disks);
        let mut found = Vec::new();
        for (candidate, q) in candidates.iter().zip(q) {
            let sorted = groups.iter().find(|(group, _)| *group == candidate.group);
            let (_, sorted) = sorted.expect("a group that was judged");
            found.push((candidate.group, self.outlier(candidate, sorted, q)));
        }
        found.sort_by_key(|(group, outlier)| (*group, outlier.index));
        found
    }

    /// Leaves the candidates that Benjamini and Hochberg reject among `disks` p values, in order of
    /// p; returns their q values.
    fn keep_rejected(&self, candidates: &mut Vec<Candidate>, disks: usize) -> Vec<f64> {
        candidates.sort_by(|a, b| {
            a.p.total_cmp(&b.p).then_with(|| (a.group, a.index).cmp(&(b.group, b.index)))
        });
        debug_assert!(candidates.len() <= disks);
        // Benjamini and Hochberg: p times the number of tests, over its rank.
        let mut q: Vec<f64> = (1..)
            .zip(candidates.iter())
            .map(|(rank, it)| (it.p * float(disks) / float(rank)).min(1.0))
            .collect();
        let rejected = q.iter().rposition(|q| *q <= self.criteria.false_discovery);
        let count = rejected.map_or(0, |last| last + 1);
        candidates.truncate(count);
        q.truncate(count);
        // A q value is the smallest rate that rejects the disk, so it never exceeds a later one.
        let mut least = 1.0_f64;
        for q in q.iter_mut().rev() {
            least = least.min(*q);
            *q = least;
        }
        q
    }

    fn outlier(&mut self, candidate: &Candidate, sorted: &Sorted, q: f64) -> Outlier {
        let Candidate { index, peers, p, .. } = *candidate;
        let figure = sorted.figures[index];
        let distribution = self.reference(sorted.figures.len() - 1);
        let reach = distribution.critical(0.05) * peers.deviation;
        Outlier {
            index,
            figure: libm::exp(figure),
            centre: libm::exp(peers.centre),
            range95: [peers.centre - reach, peers.centre + reach].map(libm::exp),
            ratio: libm::exp(figure - peers.centre),
            p,
            q,
        }
    }

    fn judged(&mut self, group: &Sorted, outliers: Vec<Outlier>, disks: usize) -> JudgedGroup {
        let whole = group.whole();
        // A single disk is reported where its p value reaches the first step of the ladder.
        let p = self.criteria.false_discovery / float(disks);
        let beyond = self.reference(group.figures.len() - 1).critical(p);
        let least = libm::log1p(self.criteria.margin) + beyond * whole.deviation;
        JudgedGroup {
            runs: group.runs,
            figures: group.figures.iter().map(|figure| libm::exp(*figure)).collect(),
            outliers,
            centre: libm::exp(whole.centre),
            smallest_found: 1.0 - libm::exp(-least),
        }
    }

    fn reference(&mut self, peers: usize) -> &mut Reference {
        self.references.entry(peers).or_insert_with(|| Reference::new(peers))
    }
}

#[cfg(test)]
mod tests;
