//! A matrix that was measured on real drives, without arms.

use std::collections::BTreeMap;

use drivelab_core::matrix::{Cell, CellResult, Matrix};

use super::{Cells, Group, Row, figures, heat};
use crate::outcome::geometric_mean;
use crate::page::html::{each, escape};
use crate::page::skeleton;
use crate::text::Look;

impl Cells {
    /// The cells that were measured so far, as one arm.
    pub fn measured(matrix: &Matrix, results: &[CellResult]) -> Self {
        let mut rows: Vec<Row> = Vec::new();
        for CellResult { cell, figures } in results {
            let row = row(matrix, cell);
            let same = |known: &Row| (known.block, known.cell()) == (row.block, row.cell());
            let place = rows.iter().position(same).unwrap_or_else(|| {
                rows.push(row);
                rows.len() - 1
            });
            let mut rates = figures.iter().map(|figures| Some(figures.bytes_per_s));
            match cell.target {
                Some(target) => rows[place].alone[target] = rates.next_back().flatten(),
                None => rows[place].together = rates.collect(),
            }
        }
        let cursors = vec!["own".to_owned()];
        Self { matrix: matrix.clone(), cursors, rows, doubts: doubts(results) }
    }
}

/// A row without figures.
fn row(matrix: &Matrix, cell: &Cell) -> Row {
    let targets = matrix.targets.len();
    Row {
        arm: 0,
        cursor: 0,
        block: cell.block,
        read: cell.read,
        random: cell.random,
        threads: cell.threads,
        size: matrix.bs.iter().position(|size| *size == cell.bs).unwrap_or_default(),
        alone: vec![None; targets],
        together: vec![None; targets],
    }
}

/// A line for each mark: how many of the cells have it, and what it says.
fn doubts(results: &[CellResult]) -> Vec<String> {
    let mut cells = BTreeMap::new();
    for result in results {
        let mut marks: Vec<_> = result.figures.iter().flat_map(|figures| &figures.marks).collect();
        marks.sort_unstable();
        marks.dedup();
        for mark in marks {
            *cells.entry(*mark).or_insert(0_usize) += 1;
        }
    }
    let all = results.len();
    let line = |(mark, count): (&drivelab_core::record::MarkId, &usize)| {
        format!("{count} of {all} cells: {}", mark.meaning())
    };
    cells.iter().map(line).collect()
}

/// The page: the same results, the same bytes.
pub fn html(matrix: &Matrix, results: &[CellResult]) -> String {
    let cells = Cells::measured(matrix, results);
    let means = cells.means();
    let facts = [
        format!("{} of {} cells of {}", results.len(), matrix.cells().len(), matrix.runtime),
        format!("region from {} on", matrix.offset),
        matrix.size.map_or_else(|| "to the end".into(), |size| format!("{size} long")),
        format!("seed {}", matrix.seed),
    ];
    let list = |title: &str, lines: &[String]| {
        let items = each("<li>", lines.iter().map(|line| escape(line)), "</li>\n");
        format!("<section>\n<h2>{title}</h2>\n<ul>{items}</ul>\n</section>\n")
    };
    let caveats = match &cells.doubts[..] {
        [] => String::new(),
        doubts => list("What the figures measure", doubts),
    };
    let body = [
        list("Targets", &matrix.targets),
        caveats,
        format!(
            "<section>\n<h2>MB/s by block size</h2>\n{}</section>\n<section>\n<h2>Every cell, in \
             MB/s</h2>\n{}</section>\n",
            figures(&cells, &means, 0),
            heat::every_cell(&cells, &means, 0),
        ),
        scaling(&cells, &means),
    ];
    skeleton("matrix", &matrix.title, &facts, &body.concat())
}

/// How much of what the targets reach alone they reach together.
fn scaling(cells: &Cells, means: &[Row]) -> String {
    let rows = scaling_rows(cells, means).into_iter().map(|(name, share)| {
        format!(
            "<tr><th scope=\"row\">{}</th><td>{:.0} %</td></tr>\n",
            escape(&name),
            100.0 * share
        )
    });
    let rows: String = rows.collect();
    if rows.is_empty() {
        return rows;
    }
    format!(
        "<section>\n<h2>All at once against the sum of each alone</h2>\n<p class=\"about\">\
         Geometric means over all block sizes.</p>\n<table class=\"heat\">\n{rows}</table>\n\
         </section>\n"
    )
}

pub(super) fn scaling_rows(cells: &Cells, means: &[Row]) -> Vec<(String, f64)> {
    let row = |group: Group| {
        let line = cells.line(means, 0, group);
        let shares: Vec<f64> = line.into_iter().flatten().filter_map(Row::scaling).collect();
        (!shares.is_empty()).then(|| (group.words(), geometric_mean(&shares)))
    };
    Group::all(&cells.matrix).into_iter().filter_map(row).collect()
}

/// A line a cell for a terminal: what was measured, in MB/s; then what it may be taken for.
pub fn text(matrix: &Matrix, results: &[CellResult], look: Look) -> String {
    let mut text = String::new();
    for result in results {
        let rate = crate::figures::bytes_per_s;
        let mut line = format!("{}: {}", result.cell.key(matrix), rate(result.bytes_per_s()));
        if let [_, _, ..] = &result.figures[..] {
            let each = result.figures.iter();
            let each = each.map(|one| format!("{} {}", one.target, rate(one.bytes_per_s)));
            line += &format!(" ({})", each.collect::<Vec<_>>().join(", "));
        }
        text += &look.wrap(&line, 2);
        text.push('\n');
    }
    for line in doubts(results) {
        text += &look.wrap(&line, 2);
        text.push('\n');
    }
    text
}
