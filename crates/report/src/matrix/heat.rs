//! The heat map: every combination in rows, block sizes and targets in columns.

use drivelab_core::matrix::{CellResult, Matrix, order, plural};

use super::series::lines;
use crate::page::escape;

/// The share of a row's best below which a cell is worth a look.
const OUTLIER: f64 = 0.8;

/// One table a thread count and order; colours compare the targets of a row with the row's best.
pub(crate) fn section(matrix: &Matrix, results: &[CellResult]) -> String {
    let mut rows = String::new();
    for &random in &matrix.random {
        for &threads in &matrix.threads {
            for &read in &matrix.read {
                let lines = lines(matrix, results, read, random, threads);
                let singles = &lines[..matrix.targets.len()];
                for (size, bs) in matrix.bs.iter().enumerate() {
                    let values: Vec<Option<f64>> =
                        singles.iter().map(|line| line.points[size]).collect();
                    let order = order(random);
                    let name = format!("{order}, {}, {read} % read, {bs}", plural(threads));
                    rows += &row(&name, &values);
                }
            }
        }
    }
    let names: Vec<String> =
        matrix.targets.iter().map(|name| format!("<th>{}</th>", escape(name))).collect();
    let names = names.concat();
    format!(
        "<section>\n<h2>Every cell, in MB/s</h2>\n<p>The stronger the colour, the further behind the best \
         target of its row; cells below {:.0} % of it are marked.</p>\n<div class=\"wide\">\n\
         <table class=\"heat\">\n<thead><tr><th></th>{names}</tr></thead>\n<tbody>\n{rows}</tbody>\
         \n</table>\n</div>\n</section>\n",
        100.0 * OUTLIER,
    )
}

fn row(name: &str, values: &[Option<f64>]) -> String {
    let best = values.iter().flatten().fold(0.0, |best: f64, value| best.max(*value));
    let cells: String = values.iter().map(|value| cell(*value, best)).collect();
    format!("<tr><th>{}</th>{cells}</tr>\n", escape(name))
}

fn cell(value: Option<f64>, best: f64) -> String {
    let Some(value) = value else { return "<td class=\"none\">not measured</td>".into() };
    let share = if best > 0.0 { value / best } else { 1.0 };
    // Steps of a tenth: a style sheet has a colour for each.
    let step = libm::floor((share * 10.0).clamp(0.0, 10.0));
    let mark = if share < OUTLIER { "\u{25bc} " } else { "" };
    format!("<td class=\"s{step}\">{mark}{value:.1}</td>")
}
