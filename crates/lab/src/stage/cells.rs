//! The cells of a matrix on real files and devices.

use std::path::Path;

use drivelab_core::Refusal;
use drivelab_core::matrix::{Cell, Matrix};
use drivelab_core::outline::Risk;
use drivelab_core::record::RunRecord;
use drivelab_engine::RunPlan;
use drivelab_study::{Entered, PlannedRun, Stage, StoredRun, StudyFile, Task};

use super::cell_loads::{self, Region};
use crate::interrupt;
use crate::measure;
use crate::request::{CellLoad, Permissions, Work};

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
        cell_loads::loads(&self.matrix, &self.study.cells[index], &regions, seed)
    }

    /// The same as plans on this machine.
    fn plans(&self, index: usize, seed: u64) -> Vec<RunPlan> {
        cell_loads::plans(&self.loads(index, seed), &self.permissions)
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
            cell_loads::refuse_twice(self.matrix.targets.iter().map(Path::new))?;
        }
        Ok(Entered::Ready)
    }

    fn run(&mut self, request: PlannedRun) -> Result<RunRecord, Refusal> {
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
