//! `[matrix]`: cells that every arm goes through, instead of workloads.

use drivelab_core::config::{ConfigError, Section};
use drivelab_core::matrix::{Cursor, Matrix, Named};

use super::vocabulary::Settings;

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
