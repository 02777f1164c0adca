//! The heat maps: how well drives work together, and every cell.

use drivelab_analysis::cells::{Cells, Row, SUM};
use drivelab_core::matrix::{order, plural};

use crate::page::html::{each, escape, scroll};

/// The share of a row's best below which a cell is worth a look.
const OUTLIER: f64 = 0.8;

/// A heat map: named rows of cells under heads.
struct Map {
    heads: Vec<String>,
    rows: Vec<(String, Vec<String>)>,
}

impl Map {
    fn html(&self, name: &str) -> String {
        let heads = each("<th scope=\"col\">", self.heads.iter().map(|it| escape(it)), "</th>");
        let rows = self.rows.iter().map(|(name, cells)| {
            format!("<th scope=\"row\">{}</th>{}", escape(name), cells.concat())
        });
        let rows = each("<tr>", rows, "</tr>\n");
        let table = format!(
            "<table class=\"heat\">\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n\
             </table>"
        );
        scroll(name, &table)
    }
}

/// A cell whose colour is its share of the best there could be: a step of a tenth has a colour.
fn cell(share: Option<f64>, text: &str) -> String {
    let Some(share) = share else { return "<td class=\"none\">\u{2013}</td>".to_owned() };
    // A share of exactly a tenth, or off by a rounding error, belongs to its own step.
    let step = libm::floor((share * 10.0 + 1e-9).clamp(0.0, 10.0));
    format!("<td class=\"s{step}\">{text}</td>")
}

/// All drives at once in per cent of the sum of each alone, for one arm.
pub(super) fn scaling(cells: &Cells, means: &[Row], arm: usize) -> String {
    let mut heads = vec!["% of the sum".to_owned()];
    heads.extend(cells.matrix.bs.iter().map(ToString::to_string));
    let rows = cells
        .matrix
        .groups()
        .into_iter()
        .map(|group| {
            let shares = cells.line(means, arm, group);
            let shares = shares.iter().map(|row| row.and_then(Row::scaling));
            let text = |share: Option<f64>| format!("{:.0}", 100.0 * share.unwrap_or_default());
            (group.words(), shares.map(|share| cell(share, &text(share))).collect())
        })
        .collect();
    Map { heads, rows }.html("How well the drives work together")
}

/// Each target alone, each while all are measured, and their sum, in MB/s for one arm; colours hold
/// a target against the best of its row, alone or with all.
pub(super) fn every_cell(cells: &Cells, means: &[Row], arm: usize) -> String {
    let matrix = &cells.matrix;
    let mut heads = vec!["MB/s".to_owned()];
    heads.extend(matrix.targets.iter().cloned());
    if matrix.has_all() {
        heads.extend(matrix.targets.iter().map(|name| format!("{name}, with all")));
        heads.push(SUM.to_owned());
    }
    let mut rows = Vec::new();
    for group in matrix.groups() {
        for (size, row) in cells.line(means, arm, group).into_iter().enumerate() {
            let at = |rates: fn(&Row) -> &Vec<Option<f64>>, index: usize| {
                row.and_then(|row| rates(row).get(index).copied().flatten())
            };
            let indexes = 0..matrix.targets.len();
            let mut shown = best_marked(indexes.clone().map(|index| at(|row| &row.alone, index)));
            if matrix.has_all() {
                shown.extend(best_marked(indexes.map(|index| at(|row| &row.together, index))));
                shown.extend(best_marked([row.and_then(Row::sum)].into_iter()));
            }
            let (order, threads) = (order(group.random), plural(group.threads));
            let name = format!("{order}, {threads}, {} % read, {}", group.read, matrix.bs[size]);
            rows.push((name, shown));
        }
    }
    let about = format!(
        "<p class=\"about\">Each target alone, then with all at once. The stronger the colour, the \
         further a cell is behind the best target of its row; cells below {:.0} % of it are \
         marked.</p>\n",
        100.0 * OUTLIER
    );
    about + &Map { heads, rows }.html("Every cell, in MB/s")
}

/// Cells that are held against the best of them.
fn best_marked(rates: impl Iterator<Item = Option<f64>>) -> Vec<String> {
    let rates: Vec<Option<f64>> = rates.collect();
    let best = rates.iter().flatten().fold(0.0, |best: f64, rate| best.max(*rate));
    let shown = rates.iter().map(|rate| {
        let share = rate.map(|rate| if best > 0.0 { rate / best } else { 1.0 });
        let mark = if share.is_some_and(|share| share < OUTLIER) { "\u{25bc} " } else { "" };
        cell(share, &format!("{mark}{:.1}", rate.unwrap_or_default() / 1e6))
    });
    shown.collect()
}
