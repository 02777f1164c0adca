//! The keys of a study file that make it a matrix study: `[matrix]`, prices, findings.

use drivelab_core::config::{ConfigError, Section};
use drivelab_core::matrix::{Matrix, Named};
use drivelab_engine::Cursor;
use drivelab_report::cells::Group;
use drivelab_report::study::{Figure, Finding};

use super::super::file::Arm;

/// A matrix of cells that every arm goes through, and what was stated about it.
#[derive(Debug, Clone)]
pub(crate) struct GridFile {
    pub(crate) matrix: Matrix,
    /// Where sequential threads go on; the figures show the first.
    pub(crate) cursors: Vec<Cursor>,
    pub(crate) findings: Vec<Finding>,
}

impl GridFile {
    /// The names of the groups of cells that `primary` may name.
    pub(crate) fn groups(&self) -> Vec<String> {
        Group::all(&self.matrix).iter().map(Group::name).collect()
    }

    /// Takes `[matrix]` and `[[finding]]`, or `None` where the study has no matrix.
    pub(crate) fn read(
        top: &mut Section,
        named: Named,
        arms: &[Arm],
    ) -> Result<Option<Self>, ConfigError> {
        let Some(mut section) = top.section("matrix")? else { return Ok(None) };
        let cursors = section.list("cursor")?.unwrap_or_else(|| vec![Cursor::Own]);
        if cursors.is_empty()
            || (cursors.len() == 2 && cursors[0] == cursors[1])
            || cursors.len() > 2
        {
            return Err(section.error("`cursor` is one of `own` and `shared`, or both"));
        }
        let matrix = Matrix::read(&mut section, named)?;
        if matrix.targets.len() < 2 || !matrix.together {
            return Err(section.error(
                "a matrix in a study compares drives alone with all at once: `drives` in `[base]` \
                 must be 2 or more, and `together` stay on",
            ));
        }
        section.finish()?;
        let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
        let mut findings: Vec<Finding> = Vec::new();
        for section in top.sections("finding")? {
            let finding = finding(section, &names, &findings)?;
            findings.push(finding);
        }
        Ok(Some(Self { matrix, cursors, findings }))
    }
}

fn finding(
    mut section: Section,
    arms: &[&str],
    before: &[Finding],
) -> Result<Finding, ConfigError> {
    let name: String = section.require("name")?;
    if before.iter().any(|known| known.name == name) {
        return Err(section.error(format!("two findings are called `{name}`")));
    }
    let figure: String = section.require("figure")?;
    Figure::parse(&figure, arms).map_err(|why| section.error(why))?;
    let source = section.take("source")?.unwrap_or_default();
    let (at_least, at_most) = (section.take("at_least")?, section.take("at_most")?);
    if let (Some(least), Some(most)) = (at_least, at_most)
        && least > most
    {
        return Err(section.error("`at_least` is above `at_most`: nothing could lie between"));
    }
    section.finish()?;
    Ok(Finding { name, figure, source, at_least, at_most })
}
