//! Runs of drivelab, of each only what a comparison needs: a record has some kilobytes, and an arm
//! may have 100,000 of them.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hasher as _};
use std::io;
use std::sync::Arc;

use drivelab_core::record::{Figure, Flaw, MarkId, RunRecord, Specimen, Work};

use super::Figures;
use super::figures::Shapes;
use crate::attachment::{self, Facts};
use crate::run::Dated;
use crate::{marks, run, validity};

/// What a comparison needs of a run.
#[derive(Debug, Clone)]
pub struct OwnRun {
    pub(super) figures: Figures,
    pub(super) work: Arc<Work>,
    pub(super) ended_unix_s: Option<u64>,
    pub(super) seed: u64,
    pub(super) host: Option<Arc<str>>,
    pub(super) marks: Arc<[MarkId]>,
    pub(super) simulated: Option<Arc<(String, Specimen)>>,
    pub(super) flaws: Vec<Flaw>,
    facts: Option<Facts>,
    /// What it asked and measured, as a number: a copy has the same.
    pub(super) content: u128,
}

impl OwnRun {
    /// What a comparison needs of `run`.
    pub fn of(run: &Dated) -> Self {
        let record = &run.record;
        let simulated = record.specimen.clone().map(|drive| (record.target.clone(), drive));
        Self {
            figures: figures(record).into(),
            work: Arc::new(Work::of(record)),
            ended_unix_s: run.ended_unix_s,
            seed: record.config.seed,
            host: record.host.as_ref().map(|host| host.id.as_str().into()),
            marks: record.marks.iter().map(|mark| mark.id).collect(),
            simulated: simulated.map(Arc::new),
            flaws: validity::flaws(record),
            facts: Some(attachment::facts(record)),
            content: content(record),
        }
    }
}

fn figures(record: &RunRecord) -> Vec<Figure> {
    let mut figures = run::metrics(record);
    for figure in &mut figures {
        figure.remarks.extend(marks::remarks(record));
    }
    figures
}

/// Writes into two hashes that begin differently: 128 bits, of which no two different runs of an
/// archive agree by chance.
struct Content([DefaultHasher; 2]);

impl io::Write for Content {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for hash in &mut self.0 {
            hash.write(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn content(record: &RunRecord) -> u128 {
    let mut hashes = [DefaultHasher::new(), DefaultHasher::new()];
    hashes[1].write_u8(1);
    let mut to = Content(hashes);
    let all = (&record.target, &record.config, &record.total, &record.phases);
    serde_json::to_writer(&mut to, &all).expect("a record is JSON, and a hash takes everything");
    let [high, low] = to.0.map(|hash| u128::from(hash.finish()));
    high << 64 | low
}

/// The runs of one arm. What many of them have in common is kept once.
#[derive(Debug, Default)]
pub struct OwnRuns {
    pub(super) name: String,
    pub(super) runs: Vec<OwnRun>,
    /// The different ways in which they were attached.
    pub(super) facts: BTreeSet<Facts>,
    shapes: Shapes,
    works: BTreeSet<Arc<Work>>,
    marks: BTreeSet<Arc<[MarkId]>>,
    hosts: BTreeSet<Arc<str>>,
    simulated: Option<Arc<(String, Specimen)>>,
}

impl OwnRuns {
    /// An arm without runs.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Adds a run.
    pub fn add(&mut self, mut run: OwnRun) {
        run.figures = self.shapes.share(run.figures);
        share(&mut self.works, &mut run.work);
        share(&mut self.marks, &mut run.marks);
        if let Some(host) = &mut run.host {
            share(&mut self.hosts, host);
        }
        if self.simulated == run.simulated {
            run.simulated.clone_from(&self.simulated);
        } else {
            self.simulated.clone_from(&run.simulated);
        }
        if let Some(facts) = run.facts.take()
            && !self.facts.contains(&facts)
        {
            self.facts.insert(facts);
        }
        self.runs.push(run);
    }
}

/// Replaces `own` by what is equal and was there before.
fn share<T: Ord + ?Sized>(known: &mut BTreeSet<Arc<T>>, own: &mut Arc<T>) {
    if let Some(known) = known.get(own) {
        *own = Arc::clone(known);
    } else {
        known.insert(Arc::clone(own));
    }
}
