//! A matrix as one page: the four figures of the controller comparison and a heat map.
//!
//! Sequential and random, with few and with many threads: one figure each, a panel for each share
//! of reads, block size to the right, MB/s upwards. Plain SVG and tables: no script, no network.

mod doubts;
pub(crate) mod heat;
mod panel;
mod series;
#[cfg(test)]
mod tests;

use drivelab_core::matrix::{CellResult, Matrix, order, plural};

use crate::page::escape;
use crate::text::Look;
use series::{Line, lines};

const STYLE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/report/matrix.css"));

/// The page: the same results, the same bytes.
pub fn html(matrix: &Matrix, results: &[CellResult]) -> String {
    let title = escape(&matrix.title);
    let done = results.len();
    let all = matrix.cells().len();
    let mut body = format!(
        "<h1>{title}</h1>\n<p>{done} of {all} cells of {}; region from {} on, {}; seed {}.</p>\n",
        matrix.runtime,
        matrix.offset,
        matrix.size.map_or_else(|| "to the end".into(), |size| format!("{size} long")),
        matrix.seed,
    );
    body += &escape_list(&matrix.targets);
    body += &doubts::section(results);
    body += &figures(matrix, results);
    body += &heat::section(matrix, results);
    body += &scaling(matrix, results);
    document(&title, &body)
}

/// A page around `body`; the title is escaped already.
pub(crate) fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"drivelab {}\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        crate::VERSION,
    )
}

/// The figures of all orders and thread counts.
pub(crate) fn figures(matrix: &Matrix, results: &[CellResult]) -> String {
    let mut body = String::new();
    for &random in &matrix.random {
        for &threads in &matrix.threads {
            body += &figure(matrix, results, random, threads);
        }
    }
    body
}

fn escape_list(names: &[String]) -> String {
    let items: Vec<String> =
        names.iter().map(|name| format!("<li>{}</li>", escape(name))).collect();
    format!("<ul class=\"targets\">{}</ul>\n", items.concat())
}

fn figure(matrix: &Matrix, results: &[CellResult], random: u32, threads: u32) -> String {
    let order = capital(&order(random));
    let panels: Vec<(u32, Vec<Line>)> = matrix
        .read
        .iter()
        .map(|read| (*read, lines(matrix, results, *read, random, threads)))
        .collect();
    let most = panels.iter().flat_map(|(_, lines)| lines).flat_map(|line| &line.points);
    let most = most.flatten().fold(0.0, |most: f64, point| most.max(*point));
    if most <= 0.0 {
        return String::new();
    }
    let drawn: String =
        panels.iter().map(|(read, lines)| panel::svg(matrix, *read, lines, most)).collect();
    format!(
        "<section>\n<h2>{order}, {}</h2>\n{}<div class=\"panels\">\n{drawn}</div>\n\
         </section>\n",
        plural(threads),
        panel::legend(matrix),
    )
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// How much of what the targets reach alone they reach together.
fn scaling(matrix: &Matrix, results: &[CellResult]) -> String {
    let rows = scaling_rows(matrix, results);
    if rows.is_empty() {
        return String::new();
    }
    let rows: Vec<String> = rows
        .iter()
        .map(|(name, share)| {
            format!("<tr><th>{}</th><td>{:.0} %</td></tr>\n", escape(name), 100.0 * share)
        })
        .collect();
    let rows = rows.concat();
    format!(
        "<section>\n<h2>All at once against the sum of each alone</h2>\n<table>\n{rows}</table>\n\
         </section>\n"
    )
}

fn scaling_rows(matrix: &Matrix, results: &[CellResult]) -> Vec<(String, f64)> {
    let mut rows = Vec::new();
    for &random in &matrix.random {
        for &threads in &matrix.threads {
            for &read in &matrix.read {
                let lines = lines(matrix, results, read, random, threads);
                let find = |name: &str| lines.iter().find(|line| line.name == name);
                let (Some(mean), Some(sum)) = (find(series::MEAN), find(series::SUM)) else {
                    continue;
                };
                let singles = series::count(matrix.targets.len());
                let pairs = mean.points.iter().zip(&sum.points);
                let shares: Vec<f64> = pairs
                    .filter_map(|(mean, sum)| Some((*sum)? / ((*mean)? * singles)))
                    .filter(|share| share.is_finite())
                    .collect();
                if shares.is_empty() {
                    continue;
                }
                let order = order(random);
                let name = format!("{order}, {}, {read} % read, over all sizes", plural(threads));
                rows.push((name, shares.iter().sum::<f64>() / series::count(shares.len())));
            }
        }
    }
    rows
}

/// A line a cell for a terminal: what was measured, in MB/s; then what it may be taken for.
pub fn text(matrix: &Matrix, results: &[CellResult], look: Look) -> String {
    let mut text = String::new();
    for result in results {
        let rate = crate::figures::bytes_per_s;
        let mut line = format!("{}: {}", result.cell.key(matrix), rate(result.bytes_per_s()));
        if let [_, _, ..] = &result.figures[..] {
            let each = result.figures.iter();
            let each = each.map(|it| format!("{} {}", it.target, rate(it.bytes_per_s)));
            line += &format!(" ({})", each.collect::<Vec<_>>().join(", "));
        }
        text += &look.wrap(&line, 2);
        text.push('\n');
    }
    for line in doubts::lines(results) {
        text += &look.wrap(&line, 2);
        text.push('\n');
    }
    text
}
