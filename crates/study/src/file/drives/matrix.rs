//! `[matrix]`: cells that every arm goes through, instead of workloads.

use drivelab_core::config::{ConfigError, Section};
use drivelab_core::matrix::{Cursor, Matrix, Named};

use crate::file::arm::{self, Arm};
use crate::file::vocabulary::Settings;

/// Takes `[matrix]`, or `None` where the study has no matrix; `named` lacks targets and cursors.
/// Arms that name no targets get those of the matrix.
pub(in crate::file) fn matrix(
    top: &mut Section,
    named: Named,
    base: &Settings,
    arms: &mut [Arm],
) -> Result<Option<Matrix>, ConfigError> {
    let Some(mut section) = top.section("matrix")? else {
        return match arms.iter().find(|arm| arm.targets.len() > 1) {
            Some(arm) => Err(top.error(format!(
                "arm `{}` has several targets, but only a `[matrix]` measures several at once",
                arm.name
            ))),
            None => Ok(None),
        };
    };
    let shared = arm::targets(&mut section)?;
    arms.iter_mut().filter(|arm| arm.targets.is_empty()).for_each(|arm| {
        arm.targets.clone_from(&shared);
    });
    let cursors = section.list("cursor")?.unwrap_or_else(|| vec![Cursor::Own]);
    if cursors.is_empty() || cursors.len() > 2 || (cursors.len() == 2 && cursors[0] == cursors[1]) {
        return Err(section.error("`cursor` is one of `own` and `shared`, or both"));
    }
    let modelled = base.iter().find(|setting| setting.key == "drives");
    let modelled = modelled.and_then(|drives| drives.text.parse::<usize>().ok());
    let real = arms.iter().map(|arm| arm.targets.len()).find(|count| *count > 0);
    let drives = modelled.or(real).unwrap_or(1);
    let other = arms.iter().find(|arm| !arm.targets.is_empty() && arm.targets.len() != drives);
    if let Some(arm) = other {
        return Err(section.error(format!(
            "arm `{}` has {} for a matrix of {drives}: `drives` in `[base]` and the `targets` of \
             every arm must agree",
            arm.name,
            counted(arm.targets.len()),
        )));
    }
    let targets = (1..=drives).map(|number| format!("drive {number}")).collect();
    let matrix = Matrix::read(&mut section, Named { targets, cursors, ..named })?;
    if drives > 1 && !matrix.together {
        return Err(section.error(
            "a matrix in a study compares drives alone with all at once: leave `together` out, or \
             have one drive",
        ));
    }
    section.finish()?;
    Ok(Some(matrix))
}

fn counted(targets: usize) -> String {
    if targets == 1 { "1 target".into() } else { format!("{targets} targets") }
}
