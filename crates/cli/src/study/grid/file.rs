//! The keys of a study file that make it a matrix study: `[matrix]`, prices, findings.

use drivelab_core::config::{ConfigError, Section};
use drivelab_core::matrix::{Matrix, Named};
use drivelab_core::workload::BlockSizes;
use drivelab_engine::Cursor;
use drivelab_report::grid::{Cells, Figure, Finding, Group, Measure, On, Take, Test};

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
        let mut findings: Vec<Finding> = Vec::new();
        for section in top.sections("finding")? {
            let finding = finding(section, &matrix, arms, &findings)?;
            findings.push(finding);
        }
        Ok(Some(Self { matrix, cursors, findings }))
    }
}

fn finding(
    mut section: Section,
    matrix: &Matrix,
    arms: &[Arm],
    before: &[Finding],
) -> Result<Finding, ConfigError> {
    let name: String = section.require("name")?;
    if before.iter().any(|known| known.name == name) {
        return Err(section.error(format!("two findings are called `{name}`")));
    }
    let claim = section.require("claim")?;
    let test = match section.list::<String>("consistent_with")? {
        Some(names) => {
            let place = |name: &String| {
                let found = before.iter().position(|known| known.name == *name);
                let missing = || section.error(format!("no finding before is called `{name}`"));
                found.ok_or_else(missing)
            };
            Test::Consistent(names.iter().map(place).collect::<Result<_, _>>()?)
        }
        None => Test::Figure(figure(&mut section, matrix, arms)?),
    };
    section.finish()?;
    Ok(Finding { name, claim, test })
}

fn figure(section: &mut Section, matrix: &Matrix, arms: &[Arm]) -> Result<Figure, ConfigError> {
    let named = |section: &mut Section, key| -> Result<Vec<usize>, ConfigError> {
        let names: Vec<String> = section.list(key)?.unwrap_or_default();
        let place = |name: &String| super::super::file::arm_named(section, arms, name);
        names.iter().map(place).collect()
    };
    let mine = named(section, "arms")?;
    if mine.is_empty() {
        return Err(section.error("a finding speaks of arms: `arms = [\"NAME\"]`"));
    }
    let against = named(section, "against")?;
    let (at_least, at_most) = (section.take("at_least")?, section.take("at_most")?);
    if let (Some(least), Some(most)) = (at_least, at_most)
        && least > most
    {
        return Err(section.error("`at_least` is above `at_most`: nothing could lie between"));
    }
    Ok(Figure {
        what: section.take("what")?.unwrap_or(Measure::MbPerS),
        on: section.take("on")?.unwrap_or(On::Together),
        take: section.take("take")?.unwrap_or(Take::Mean),
        cells: match section.section("cells")? {
            None => Cells::default(),
            Some(cells) => self::cells(cells, matrix)?,
        },
        arms: mine,
        against,
        at_least,
        at_most,
    })
}

fn cells(mut section: Section, matrix: &Matrix) -> Result<Cells, ConfigError> {
    let sizes: Vec<BlockSizes> = section.list("bs")?.unwrap_or_default();
    let place = |size: &BlockSizes| {
        let missing = || section.error(format!("`[matrix]` has no block size {size}"));
        matrix.bs.iter().position(|known| known == size).ok_or_else(missing)
    };
    let sizes = sizes.iter().map(place).collect::<Result<_, _>>()?;
    let mut among = |key, known: &[u32]| -> Result<Vec<u32>, ConfigError> {
        let wanted: Vec<u32> = section.list(key)?.unwrap_or_default();
        match wanted.iter().find(|value| !known.contains(value)) {
            Some(value) => Err(section.error(format!("`[matrix]` has no `{key}` of {value}"))),
            None => Ok(wanted),
        }
    };
    let cells = Cells {
        read: among("read", &matrix.read)?,
        random: among("random", &matrix.random)?,
        threads: among("threads", &matrix.threads)?,
        sizes,
    };
    section.finish()?;
    Ok(cells)
}
