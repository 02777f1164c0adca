//! The runs of a results folder as results of arms, for comparisons beyond the study.

use std::collections::BTreeMap;

use drivelab_core::Refusal;
use drivelab_core::foreign::{Imported, ImportedRun};
use drivelab_core::record::{Figure, Nature, Phase, RunRecord};

use crate::file::{Choices, StudyFile};
use crate::folder::Header;
use crate::stage::{StoredRun, Task};

/// What `plan.json` and `runs.jsonl` of a folder hold.
#[derive(Debug, Clone, Copy)]
pub struct KeptText<'a> {
    /// The content of `plan.json`.
    pub plan: &'a str,
    /// The content of `runs.jsonl`.
    pub journal: &'a str,
}

/// Reads the runs of `study`, each arm and block as one run with the metrics of every workload,
/// `WORKLOAD.METRIC`. A line that is cut off is the end of a session that was killed.
///
/// # Errors
/// The files are not those of a results folder.
pub fn kept_results(
    mut study: StudyFile,
    kept: KeptText<'_>,
    metrics: impl Fn(&RunRecord) -> Vec<Figure>,
) -> Result<Imported, Refusal> {
    let header: Header = serde_json::from_str(kept.plan).map_err(|error| {
        Refusal::request("`plan.json` of the results folder is damaged").because(error)
    })?;
    study.choose(Choices { only: header.only(), ..Choices::default() })?;
    let (mut runs, mut left_out) = (BTreeMap::<_, Vec<Figure>>::new(), 0_usize);
    for (number, line) in (1..).zip(kept.journal.split_inclusive('\n')) {
        let run: StoredRun = match serde_json::from_str(line) {
            Ok(run) => run,
            Err(_) if !line.ends_with('\n') => break,
            Err(error) => {
                let message = format!("line {number} of `runs.jsonl` is damaged");
                return Err(Refusal::request(message).because(error));
            }
        };
        let Task::Workload(place) = run.task else {
            left_out += 1;
            continue;
        };
        let Some(workload) = study.workloads.get(place) else { continue };
        let step = &run.step;
        let of_step = runs.entry((step.arm, step.block, step.repeat)).or_default();
        of_step.extend(metrics(&run.record).into_iter().map(|figure| Figure {
            name: format!("{}.{}", workload.name, figure.name),
            unit: figure.unit().to_owned(),
            ..figure
        }));
    }
    let run = |((arm, ..), figures): ((usize, _, _), Vec<Figure>)| {
        let arm = study.arms.get(arm)?.name.clone();
        let (name, nature, remarks) = (String::new(), Nature::Disk, Vec::new());
        let phases =
            vec![Phase { name, nature, figures, lat_ns: None, points: Vec::new(), remarks }];
        Some(ImportedRun { arm, phases, ..ImportedRun::default() })
    };
    let runs: Vec<ImportedRun> = runs.into_iter().filter_map(run).collect();
    if runs.is_empty() {
        return Err(Refusal::request("the results folder holds no finished run of a workload"));
    }
    let notes = (left_out > 0)
        .then(|| format!("{left_out} runs of curves and matrix cells are not among the results."));
    Ok(Imported {
        tool: "drivelab".into(),
        tool_version: env!("CARGO_PKG_VERSION").into(),
        runs,
        unknown: Vec::new(),
        notes: notes.into_iter().collect(),
    })
}
