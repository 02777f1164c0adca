//! Runs of benchmarks of web servers.

use drivelab_core::foreign::ImportedRun;
use drivelab_core::record::{Figure, Flaw, Label, Nature, Remark, Work};

use crate::found::labelled;

/// The answers of a run, and those that were errors.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Answers {
    pub(crate) failed: u64,
    pub(crate) requests: u64,
}

/// A run that begins at a line; `why` is the reason why it measures the CPU.
pub(crate) fn run(
    line: usize,
    work: Work,
    (figures, why): (Vec<Figure>, &str),
    answers: Answers,
) -> ImportedRun {
    let mut phase = labelled("requests", Nature::Cpu, why, figures);
    phase.remarks.push(Remark::new(Label::NotDisk, "the page is served from memory"));
    let Answers { failed, requests } = answers;
    let flaw = Flaw::Failed { failed, requests: requests.max(failed) };
    let flaws = (failed > 0).then_some(flaw).into_iter().collect();
    ImportedRun { line, work, phases: vec![phase], flaws, ..ImportedRun::default() }
}
