//! The heat map: every combination in rows, block sizes and targets in columns.

use drivelab_core::matrix::{CellResult, Matrix, order, plural};

use super::series::{Line, SUM, lines, with_all};
use crate::page::escape;

/// The share of a row's best below which a cell is worth a look.
const OUTLIER: f64 = 0.8;

/// Every target alone, every target while all are measured, and their sum; colours compare a target
/// with the best of its row, alone or with all.
pub(crate) fn section(matrix: &Matrix, results: &[CellResult]) -> String {
    let mut rows = String::new();
    let mut names: Vec<String> = matrix.targets.clone();
    for &random in &matrix.random {
        for &threads in &matrix.threads {
            for &read in &matrix.read {
                let lines = lines(matrix, results, read, random, threads);
                let alone = &lines[..matrix.targets.len()];
                let with_all = with_all(matrix, results, read, random, threads);
                let sum = lines.iter().filter(|line| line.name == SUM);
                names.truncate(matrix.targets.len());
                names.extend(with_all.iter().chain(sum.clone()).map(|line| line.name.clone()));
                for (size, bs) in matrix.bs.iter().enumerate() {
                    let at = |line: &Line| line.points[size];
                    let groups: [Vec<Option<f64>>; 3] = [
                        alone.iter().map(at).collect(),
                        with_all.iter().map(at).collect(),
                        sum.clone().map(at).collect(),
                    ];
                    let order = order(random);
                    let name = format!("{order}, {}, {read} % read, {bs}", plural(threads));
                    rows += &row(&name, &groups);
                }
            }
        }
    }
    let names: Vec<String> =
        names.iter().map(|name| format!("<th scope=\"col\">{}</th>", escape(name))).collect();
    let names = names.concat();
    format!(
        "<section>\n<h2>Every cell, in MB/s</h2>\n<p>Each target alone, then with all at once. \
         The stronger the colour, the further behind the best target of its row; cells below \
         {:.0} % of it are marked.</p>\n<div class=\"wide\">\n<table class=\"heat\">\n\
         <thead><tr><th></th>{names}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n\
         </section>\n",
        100.0 * OUTLIER,
    )
}

fn row(name: &str, groups: &[Vec<Option<f64>>]) -> String {
    let of = |values: &Vec<Option<f64>>| {
        let best = values.iter().flatten().fold(0.0, |best: f64, value| best.max(*value));
        values.iter().map(|value| cell(*value, best)).collect::<String>()
    };
    let cells: String = groups.iter().map(of).collect();
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
