//! The cells of a matrix on real files and devices.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use drivelab_core::matrix::{Cell, Matrix};
use drivelab_core::outline::Risk;
use drivelab_core::record::{JobRecord, Mark, RunRecord};
use drivelab_core::units::Bytes;
use drivelab_core::workload::Workload;
use drivelab_core::{AtPath as _, Refusal};
use drivelab_engine::RunPlan;
use drivelab_study::{Entered, Request, Stage, StoredRun, StudyFile, Task};

use crate::interrupt;
use crate::measure::{self, Together};
use crate::request::{CellLoad, Load, Permissions, Work};

/// The targets of a matrix, which has no arms.
#[derive(Debug)]
pub struct RealCells {
    study: StudyFile,
    matrix: Matrix,
    permissions: Permissions,
}

impl RealCells {
    /// Refuses modelled drives, and cells whose buffers do not fit the memory.
    pub fn new(study: &StudyFile, permissions: Permissions) -> Result<Self, Refusal> {
        let matrix = study.matrix.clone().expect("only a matrix has cells");
        refuse_models(&matrix)?;
        let real = Self { study: study.clone(), matrix, permissions };
        for (index, cell) in real.study.cells.iter().enumerate() {
            measure::fits(&real.plans(index, 0)).map_err(|failure| {
                let failure = real.of_cell(failure, cell).without_hints();
                failure.hint("leave the largest `bs` or `threads` out, or `together = false`")
            })?;
        }
        Ok(real)
    }

    /// One load for each target of a cell.
    fn loads(&self, index: usize, seed: u64) -> Vec<CellLoad> {
        let targets = self.matrix.targets.iter();
        let regions: Vec<Region> =
            targets.map(|target| Region { path: target.into(), first: 0, size: None }).collect();
        loads(&self.matrix, &self.study.cells[index], &regions, seed)
    }

    /// The same as plans on this machine.
    fn plans(&self, index: usize, seed: u64) -> Vec<RunPlan> {
        plans(&self.loads(index, seed), &self.permissions)
    }

    /// A failure that names its cell.
    fn of_cell(&self, failure: Refusal, cell: &Cell) -> Refusal {
        let context = format!("the cell `{}` cannot be measured", cell.words(&self.matrix));
        failure.context(context)
    }

    /// Refuses at once what some cell would be refused for hours later: a target that is missing,
    /// in use, or not to be written. What is missing is laid out here.
    fn try_out(&self) -> Result<(), Refusal> {
        let mut seen: Vec<(usize, u32, usize, bool)> = Vec::new();
        for (index, cell) in self.study.cells.iter().enumerate() {
            let Some(target) = cell.target else { continue };
            let kind = (target, cell.group.threads, cell.size, cell.group.read < 100);
            if !seen.contains(&kind) && !interrupt::requested() {
                measure::try_out(&self.plans(index, self.study.seed))
                    .map_err(|failure| self.of_cell(failure, cell))?;
                seen.push(kind);
            }
        }
        Ok(())
    }
}

/// The location of a drive of a matrix: a target, or a part of one.
#[derive(Debug, Clone)]
pub(super) struct Region {
    pub(super) path: PathBuf,
    /// Its first byte.
    pub(super) first: u64,
    /// Its length; to the end of the target where absent.
    pub(super) size: Option<Bytes>,
}

/// One load for each drive of a cell, where `regions` has every drive of the matrix.
pub(super) fn loads(matrix: &Matrix, cell: &Cell, regions: &[Region], seed: u64) -> Vec<CellLoad> {
    let (numjobs, workload) = cell.jobs(matrix).expect("every cell was tried");
    let regions = cell.target.map_or(regions, |target| &regions[target..=target]);
    let of_region = |region: &Region| {
        let (offset, all) = (workload.offset.get(), region.size.map(Bytes::get));
        let rest = all.map(|all| Bytes::new(all.saturating_sub(offset)));
        let offset = Bytes::new(region.first + offset);
        let workload = Workload { offset, size: workload.size.or(rest), ..workload.clone() };
        let load = Load { numjobs, direct: matrix.direct, ..Load::new(workload) };
        CellLoad { path: region.path.clone(), load, seed }
    };
    regions.iter().map(of_region).collect()
}

/// The loads of a cell as plans on this machine.
pub(crate) fn plans(loads: &[CellLoad], permissions: &Permissions) -> Vec<RunPlan> {
    let plan = |one: &CellLoad| one.load.plan(one.path.clone(), one.seed, permissions);
    loads.iter().map(plan).collect()
}

/// Refuses a target that is named twice.
pub(super) fn refuse_twice<'a>(targets: impl Iterator<Item = &'a Path>) -> Result<(), Refusal> {
    let mut known: Vec<(&Path, [u64; 3])> = Vec::new();
    for target in targets {
        let meta = fs::metadata(target).at_path("look at", target)?;
        let same = match meta.rdev() {
            0 => [meta.dev(), meta.ino(), 0],
            device => [0, 0, device],
        };
        if let Some((other, _)) = known.iter().find(|(_, identity)| *identity == same) {
            let (other, target) = (other.display(), target.display());
            let message = format!("targets `{other}` and `{target}` are the same");
            return Err(Refusal::request(message).hint("leave one of them out"));
        }
        known.push((target, same));
    }
    Ok(())
}

/// Refuses modelled drives, of which files would be made by that name.
fn refuse_models(matrix: &Matrix) -> Result<(), Refusal> {
    let Some(model) = matrix.targets.iter().find(|target| target.starts_with("drive:")) else {
        return Ok(());
    };
    Err(Refusal::request(format!("`{model}` is a modelled drive, and a matrix measures real ones"))
        .hint("a matrix of models is a study with a `[matrix]` table: drivelab study FILE")
        .hint(format!("a file of that name is `./{model}`")))
}

impl Stage for RealCells {
    type Error = Refusal;

    fn target(&self) -> String {
        self.matrix.targets.join(", ")
    }

    fn enter(&mut self, _arm: usize) -> Result<Entered, Refusal> {
        self.try_out()?;
        if !interrupt::requested() {
            refuse_twice(self.matrix.targets.iter().map(Path::new))?;
        }
        Ok(Entered::Ready)
    }

    fn run(&mut self, request: Request) -> Result<RunRecord, Refusal> {
        let Task::Cell(index) = request.task else { unreachable!("a matrix has cells alone") };
        let of_cell = self.loads(index, request.seed);
        let path = of_cell.first().map(|one| one.path.clone()).unwrap_or_default();
        let asked = crate::Request::on_path(path, Work::Cell(of_cell), request.seed);
        crate::run(&asked.permitting(self.permissions.clone()), &interrupt::silent())
    }

    fn settings(&self) -> Vec<Vec<(String, String)>> {
        Vec::new()
    }

    fn risks(&self, _runs: &[StoredRun]) -> Vec<Risk> {
        Vec::new()
    }

    fn notes(&self, _runs: &[StoredRun]) -> Vec<String> {
        Vec::new()
    }
}

/// One record of what was measured on each target at the same time, with a job for each.
pub(crate) fn record(made: Together) -> RunRecord {
    let Together { records, total } = made;
    let targets: Vec<&str> = records.iter().map(|record| record.target.as_str()).collect();
    let target = targets.join(", ");
    let jobs: Vec<JobRecord> = records
        .iter()
        .flat_map(|record| &record.total)
        .cloned()
        .map(JobRecord::figures_only)
        .collect();
    let mut marks: Vec<Mark> = Vec::new();
    for mark in records.iter().flat_map(|record| &record.marks) {
        if marks.iter().all(|known| known.id != mark.id) {
            marks.push(mark.clone());
        }
    }
    let is_alone = records.len() == 1;
    let first = records.into_iter().next().expect("a cell has a target");
    // How several targets are attached is in the records of each alone.
    let attached = first.attached.filter(|_| is_alone);
    let total = Some(total.record().without_series());
    RunRecord { target, jobs, total, marks, attached, ..first }
}
