//! Matrix studies: every arm goes through a matrix of cells, on each drive alone and on all at
//! once, and stated findings are held against what comes out.

mod runs;

use drivelab_core::plan::Plan;
use drivelab_model::profile::Profile;
use drivelab_report::attachment::Question;
use drivelab_report::cells::{self, Cells};
use drivelab_report::study::{ArmInfo, ContrastInfo, Experiment, StudyResult};
use drivelab_study::file::MatrixFile;
use drivelab_study::{Stage as _, StudyFile};

use super::experiment::finding;
use crate::failure::Failure;
use crate::stage::Simulator;
use crate::ui::Progress;
use runs::Runs;

/// Makes all runs of a matrix study in virtual time and concludes; `None` where the user asked to
/// stop.
pub(crate) fn simulate(
    study: &StudyFile,
    given: &MatrixFile,
    plan: &Plan,
    reproduce: String,
) -> Result<Option<StudyResult>, Failure> {
    let bench = Simulator::new(study)?;
    let profile = one_profile(study, &bench)?;
    let arms: Vec<_> = bench.drives().iter().map(|(_, options)| *options).collect();
    let runs = Runs::new(given, profile, &arms)?;
    let (cells, made) = runs.counts();
    let progress = Progress::steps(made as u64, &study.title);
    let one = std::num::NonZeroUsize::MIN;
    let threads = std::thread::available_parallelism().unwrap_or(one);
    let Some(rows) = runs.make(profile, threads, &progress)? else { return Ok(None) };
    drop(progress);
    let mut notes = bench.notes(&[]);
    notes.push(format!(
        "{cells} cells come from {made} runs of {} in virtual time. The drives differ in their \
         seeds only: a cell that draws no random numbers was run once for all of them, and reads \
         once for both states of the write cache.",
        given.matrix.runtime
    ));
    notes.extend(study.notes.iter().cloned());
    let cells = Cells {
        matrix: given.matrix.clone(),
        cursors: given.cursors.iter().map(ToString::to_string).collect(),
        rows,
        doubts: Vec::new(),
    };
    let experiment = experiment(study, given, plan, &bench, cells, notes, reproduce);
    drivelab_report::study::analyse(experiment).map(Some).map_err(Failure::cannot_here)
}

/// The profile of every arm.
fn one_profile<'a>(study: &StudyFile, bench: &'a Simulator) -> Result<&'a Profile, Failure> {
    if study.arms.iter().any(|arm| arm.drive.is_some()) {
        return Err(Failure::bad_words("all arms of a matrix use the drive of `[base]`"));
    }
    Ok(bench.drives()[0].0)
}

fn experiment(
    study: &StudyFile,
    given: &MatrixFile,
    plan: &Plan,
    bench: &Simulator,
    cells: Cells,
    notes: Vec<String>,
    reproduce: String,
) -> Experiment {
    let arms = study.arms.iter().zip(bench.settings()).map(|(arm, mut settings)| {
        let price = arm.price_usd.map(|price| ("price".into(), format!("{price:.2} USD")));
        settings.extend(price);
        ArmInfo {
            name: arm.name.clone(),
            summary: arm.summary.clone(),
            settings,
            price_usd: arm.price_usd,
            levels: Vec::new(),
        }
    });
    let contrasts = study.contrasts.iter().map(|contrast| ContrastInfo {
        name: contrast.name.clone(),
        from: contrast.from,
        to: contrast.to,
    });
    Experiment {
        title: study.title.clone(),
        stage: study.stage.to_string(),
        seed: study.seed,
        blocks: plan.blocks,
        design: plan.design,
        primary: study.primary.clone(),
        candidate: Some(study.candidate),
        margin: study.margin.to_f64(),
        arms: arms.collect(),
        workloads: cells::workloads(&given.matrix),
        contrasts: contrasts.collect(),
        interactions: Vec::new(),
        findings: study.findings.iter().map(finding).collect(),
        asks_gain: study.asks_gain,
        runs: cells::samples(&cells),
        cells: Some(cells),
        curves: Vec::new(),
        // Modelled arms are what the study file says of them, which stands under the settings.
        attached: Question::default(),
        risks: bench.risks(&[]),
        notes,
        reproduce,
    }
}
