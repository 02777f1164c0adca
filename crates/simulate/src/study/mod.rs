//! A study from its text to its result, in memory: what a browser runs. With a results folder the
//! same steps are those of the command line.

pub mod experiment;
pub mod short;

use std::collections::BTreeMap;

use drivelab_analysis::study::StudyResult;
use drivelab_core::control::{Control, Event};
use drivelab_core::plan::Plan;
use drivelab_core::{Refusal, StageName};
use drivelab_study::{
    Agenda, Asked, Choices, Frame, Stage, StoredRun, StudyFile, Vocabulary, describe, planned,
    repeat,
};

use crate::source::Source;
use crate::stage::Simulator;
use experiment::{Carried, experiment};

/// A study at stage simulate that is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Its name, as the command line has it.
    pub name: &'a str,
    /// The text of its file.
    pub text: &'a str,
    /// Number of blocks; as in the file where absent.
    pub blocks: Option<u32>,
    /// Number of drives drawn.
    pub specimens: Option<u32>,
    /// Seed of all random choices.
    pub seed: Option<u64>,
    /// The only workloads; all where empty.
    pub only: &'a [String],
    /// The modelled drive, instead of the study's.
    pub drive: Option<&'a str>,
}

/// Carries a study out in virtual time, and concludes from its runs.
///
/// # Errors
/// The study cannot be read or run, or no conclusion is possible.
pub fn conclude(
    wanted: Wanted<'_>,
    vocabulary: &dyn Vocabulary,
    source: &'static dyn Source,
    control: &Control<'_>,
) -> Result<StudyResult, Refusal> {
    let mut study = StudyFile::parse(wanted.name, wanted.text, vocabulary)?;
    study.choose(Choices {
        stage: Some(StageName::Simulate),
        blocks: wanted.blocks,
        specimens: wanted.specimens,
        seed: wanted.seed,
        only: wanted.only,
        drive: wanted.drive,
        ..Choices::default()
    })?;
    short::refuse(&study)?;
    let mut stage = Simulator::new(&mut study, source)?;
    let asked = Asked {
        study: wanted.name.to_owned(),
        blocks: study.blocks,
        specimens: wanted.specimens,
        only: wanted.only.to_vec(),
        drive: wanted.drive.map(str::to_owned),
        ..Asked::default()
    };
    let plan = drivelab_study::plan(&study);
    let runs = carry_out(&study, &plan, &mut stage, control)?;
    let frame = Frame {
        settings: stage.settings(),
        risks: stage.risks(&runs),
        notes: stage.notes(&runs),
        reproduce: repeat::command(&repeat::words(&study, &asked, stage.size())),
    };
    let carried = Carried { plan: &plan, asked: Some(&asked), frame: &frame, runs: &runs };
    drivelab_analysis::study::analyse(experiment(&study, carried)).map_err(Refusal::machine_error)
}

/// Makes every run of a plan, and keeps them in memory.
fn carry_out(
    study: &StudyFile,
    plan: &Plan,
    stage: &mut Simulator,
    control: &Control<'_>,
) -> Result<Vec<StoredRun>, Refusal> {
    let agenda = Agenda::new(study, plan);
    let mut made: BTreeMap<usize, StoredRun> = BTreeMap::new();
    for (step, runs) in agenda.stays() {
        let requests: Vec<_> = runs.iter().map(|(_, task)| planned(study, step, *task)).collect();
        for ((index, task), record) in runs.iter().zip(stage.run_all(&requests)?) {
            let run = StoredRun { step: *step, task: *task, boot: None, record };
            if let Some(refusal) = short::too_short(study, &run) {
                return Err(refusal);
            }
            made.insert(*index, run);
            let (done, of) = (made.len() as u64, agenda.count() as u64);
            control.report(Event::Finished { run: &describe(study, step, *task), done, of });
        }
        if control.stopped() {
            return Err(Refusal::interrupted("the study was stopped before its end"));
        }
    }
    Ok(made.into_values().collect())
}
