//! `[matrix]`: cells that every arm goes through, instead of workloads; and matrix files.

use drivelab_core::config::{ConfigError, Section};
use drivelab_core::matrix::{Cursor, Matrix, Named};

use super::{Arm, Settings, StudyFile};
use crate::stage::StageName;

/// Takes `[matrix]`, or `None` where the study has no matrix; `named` lacks targets and cursors.
pub(super) fn matrix(
    top: &mut Section,
    named: Named,
    base: &Settings,
) -> Result<Option<Matrix>, ConfigError> {
    let Some(mut section) = top.section("matrix")? else { return Ok(None) };
    let cursors = section.list("cursor")?.unwrap_or_else(|| vec![Cursor::Own]);
    if cursors.is_empty() || cursors.len() > 2 || (cursors.len() == 2 && cursors[0] == cursors[1]) {
        return Err(section.error("`cursor` is one of `own` and `shared`, or both"));
    }
    let drives = base.iter().find(|(key, _)| *key == "drives");
    let drives: u32 = drives.and_then(|(_, drives)| drives.parse().ok()).unwrap_or(1);
    let targets = (1..=drives).map(|number| format!("drive {number}")).collect();
    let matrix = Matrix::read(&mut section, Named { targets, cursors, ..named })?;
    if !matrix.has_all() {
        return Err(section.error(
            "a matrix in a study compares drives alone with all at once: `drives` in `[base]` \
             must be 2 or more, and `together` stay on",
        ));
    }
    section.finish()?;
    Ok(Some(matrix))
}

impl StudyFile {
    /// The study of a matrix file: real targets and a single arm, so that there is no verdict.
    pub fn of_matrix(matrix: Matrix) -> Self {
        Self {
            title: matrix.title.clone(),
            blocks: matrix.blocks,
            seed: matrix.seed,
            stage: StageName::Hardware,
            is_stage_named: true,
            arms: vec![Arm::default()],
            cells: matrix.cells(),
            matrix: Some(matrix),
            ..Self::default()
        }
    }

    /// Whether it is [that of a matrix file](Self::of_matrix).
    pub fn is_matrix_alone(&self) -> bool {
        self.arms.len() == 1
    }
}
