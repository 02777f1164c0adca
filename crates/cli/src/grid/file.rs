//! The keys of a study file that make it a matrix study: `[matrix]`, prices, findings.

use drivelab_core::config::{ConfigError, Section};
use drivelab_core::matrix::{Cursor, Matrix};
use drivelab_core::workload::BlockSizes;
use drivelab_report::grid::{Cells, Figure, Finding, Measure, On, Take, Test};
use drivelab_study::file::MatrixFile;
use drivelab_study::{Arm, StudyFile};

/// A matrix of cells that every arm goes through, and what was stated about it.
#[derive(Debug, Clone)]
pub(crate) struct GridFile {
    pub(crate) matrix: Matrix,
    /// Where sequential threads go on; the figures show the first.
    pub(crate) cursors: Vec<Cursor>,
    pub(crate) findings: Vec<Finding>,
}

impl GridFile {
    /// Reads the findings of a matrix study.
    pub(crate) fn read(study: &StudyFile, file: &MatrixFile) -> Result<Self, ConfigError> {
        let mut findings: Vec<Finding> = Vec::new();
        for section in file.findings.clone() {
            let finding = finding(section, &file.matrix, &study.arms, &findings)?;
            findings.push(finding);
        }
        Ok(Self { matrix: file.matrix.clone(), cursors: file.cursors.clone(), findings })
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
        let place = |name: &String| {
            let known: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
            let missing = || {
                section
                    .error(format!("there is no arm `{name}`; there are `{}`", known.join("`, `")))
            };
            known.iter().position(|known| known == name).ok_or_else(missing)
        };
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
