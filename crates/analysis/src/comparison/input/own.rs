//! Runs of drivelab, of each only what a comparison needs: an arm may have 100,000 of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use drivelab_core::record::{Flaw, MarkId, Specimen, Work};

use super::Figures;
use super::figures::Shapes;
use crate::attachment::Facts;
use crate::digest::{CommonRun, Own, RunDigest};
use crate::run::Dated;

/// A run in an arm.
#[derive(Debug, Clone)]
pub(super) struct OwnRun {
    pub(super) figures: Figures,
    pub(super) ended_unix_s: Option<u64>,
    pub(super) seed: u64,
    pub(super) flaws: Vec<Flaw>,
    /// A hash of what it asked and measured: a copy has the same.
    pub(super) content: u128,
    pub(super) shared: Arc<Shared>,
}

/// The part of a run that others have as well.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) work: Arc<Work>,
    pub(super) host: Option<Arc<str>>,
    pub(super) marks: Arc<[MarkId]>,
    pub(super) simulated: Option<Arc<(String, Specimen)>>,
}

/// Shared parts that are compared with that of the next run.
const KNOWN_MAX: usize = 16;

/// The runs of one arm. What many of them have in common is kept once.
#[derive(Debug, Default)]
pub struct OwnRuns {
    pub(super) name: String,
    pub(super) runs: Vec<OwnRun>,
    /// The different ways in which they were attached.
    pub(super) facts: BTreeSet<Facts>,
    /// The digests that were seen last, with what was made of them.
    known: Vec<(Arc<CommonRun>, Figures, Arc<Shared>)>,
    shapes: Shapes,
    works: BTreeSet<Arc<Work>>,
    marks: BTreeSet<Arc<[MarkId]>>,
    hosts: BTreeSet<Arc<str>>,
}

impl OwnRuns {
    /// An arm without runs.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Adds a run that was read with its record.
    pub(super) fn add_record(&mut self, run: &Dated) {
        let RunDigest { common, own } = RunDigest::of(&run.record);
        self.add(RunDigest { common, own: Own { ended_unix_s: run.ended_unix_s, ..own } });
    }

    /// Adds a run.
    pub fn add(&mut self, RunDigest { common, own }: RunDigest) {
        // Equal pointers spare the comparison of the contents.
        let at = self
            .known
            .iter()
            .position(|(known, ..)| Arc::ptr_eq(known, &common) || *known == common);
        let at = at.unwrap_or_else(|| self.learn(common));
        let (_, shape, shared) = &self.known[at];
        debug_assert!(self.known.len() <= KNOWN_MAX);
        self.runs.push(OwnRun {
            figures: shape.with_values(own.values),
            ended_unix_s: own.ended_unix_s,
            seed: own.seed,
            flaws: own.flaws,
            content: own.content,
            shared: Arc::clone(shared),
        });
    }

    /// Remembers a digest that was not seen lately, and returns its index.
    fn learn(&mut self, common: Arc<CommonRun>) -> usize {
        if self.known.len() == KNOWN_MAX {
            // The oldest: runs of the same work mostly follow one another.
            self.known.remove(0);
        }
        // `insert` alone would need a copy of the facts of each run.
        if !self.facts.contains(&common.facts) {
            self.facts.insert(common.facts.clone());
        }
        let shape = self.shapes.share(Figures::from(common.figures.clone()));
        let host = common.host.as_deref().map(Arc::from);
        let shared = Shared {
            work: share(&mut self.works, Arc::new(common.work.clone())),
            host: host.map(|host| share(&mut self.hosts, host)),
            marks: share(&mut self.marks, common.marks.as_slice().into()),
            simulated: common.simulated.clone().map(Arc::new),
        };
        self.known.push((common, shape, Arc::new(shared)));
        self.known.len() - 1
    }
}

/// The equal one that is known, or `own`, which is known from now on.
fn share<T: Ord + ?Sized>(known: &mut BTreeSet<Arc<T>>, own: Arc<T>) -> Arc<T> {
    if let Some(known) = known.get(&own) {
        return Arc::clone(known);
    }
    known.insert(Arc::clone(&own));
    own
}
