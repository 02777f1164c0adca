//! `[matrix]`: cells that every arm goes through, instead of workloads.

use drivelab_core::config::{ConfigError, Section};
use drivelab_core::matrix::{Cursor, Group, Matrix, Named};

use super::vocabulary::Settings;

/// A matrix of cells that every arm goes through.
#[derive(Debug, Clone)]
pub struct MatrixFile {
    /// What is varied.
    pub matrix: Matrix,
    /// Where sequential threads go on; figures show the first.
    pub cursors: Vec<Cursor>,
}

impl MatrixFile {
    /// The names of the groups of cells that `primary` may name.
    pub(super) fn groups(&self) -> Vec<String> {
        Group::all(&self.matrix).iter().map(Group::name).collect()
    }

    /// Takes `[matrix]`, or `None` where the study has no matrix.
    pub(super) fn read(
        top: &mut Section,
        title: &str,
        (blocks, seed): (u32, u64),
        base: &Settings,
    ) -> Result<Option<Self>, ConfigError> {
        let Some(mut section) = top.section("matrix")? else { return Ok(None) };
        let cursors = section.list("cursor")?.unwrap_or_else(|| vec![Cursor::Own]);
        if cursors.is_empty()
            || (cursors.len() == 2 && cursors[0] == cursors[1])
            || cursors.len() > 2
        {
            return Err(section.error("`cursor` must be `own`, `shared` or both"));
        }
        let drives = base.iter().find(|(key, _)| *key == "drives");
        let drives: u32 = drives.and_then(|(_, drives)| drives.parse().ok()).unwrap_or(1);
        let targets = (1..=drives).map(|number| format!("drive {number}")).collect();
        let named = Named { title: title.to_owned(), targets, blocks, seed };
        let matrix = Matrix::read(&mut section, named)?;
        if matrix.targets.len() < 2 || !matrix.together {
            return Err(section.error(
                "a matrix study compares each drive alone with all at once: set `drives` in \
                 `[base]` to 2 or more, and keep `together` on",
            ));
        }
        section.finish()?;
        Ok(Some(Self { matrix, cursors }))
    }
}
