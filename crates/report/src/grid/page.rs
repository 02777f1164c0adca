//! A matrix study as one page: what was stated and whether it holds, how well the drives scale, and
//! the figures of every arm. Plain SVG and tables: no script, no network.

use drivelab_core::matrix::{Cell, CellFigures, CellResult};

use super::finding::{Answer, Held};
use super::{Grid, heat, text};
use crate::cells::Row;
use crate::matrix;
use crate::page::{each, escape, inline};

/// The page: the same result, the same bytes.
pub fn html(grid: &Grid) -> String {
    let study = &grid.study;
    let title = escape(&study.title);
    let mut body = format!(
        "<p class=\"kicker\">drivelab study</p>\n<h1>{title}</h1>\n<p class=\"about\">Stage {}, \
         {} arms, {} cells of {}, seed {}, {} {}.</p>\n",
        escape(&study.stage),
        study.arms.len(),
        grid.cells.len(),
        grid.matrix.runtime,
        study.seed,
        study.used.len(),
        if study.used.len() == 1 { "block" } else { "blocks" },
    );
    body += &findings(grid);
    body += &heat::section(grid);
    for arm in 0..study.arms.len() {
        body += &arm_section(grid, arm);
    }
    body += &settings(grid);
    body += &besides(grid);
    matrix::document(&title, &body)
}

fn findings(grid: &Grid) -> String {
    if grid.answers.is_empty() {
        return String::new();
    }
    let items: String = grid.answers.iter().map(|answer| finding(grid, answer)).collect();
    format!(
        "<section>\n<h2>What was stated</h2>\n<dl class=\"findings\">\n{items}</dl>\n</section>\n"
    )
}

fn finding(grid: &Grid, answer: &Answer) -> String {
    let (class, sign) = match answer.held {
        Held::Holds => ("holds", "\u{2713}"),
        Held::DoesNotHold => ("fails", "\u{2717}"),
        Held::CannotTell => ("open", "?"),
    };
    let lines = text::lines(grid, answer);
    let lines = each("<li>", lines.iter().map(|line| inline(line)), "</li>");
    format!(
        "<dt><span class=\"verdict {class}\"><span aria-hidden=\"true\">{sign}</span> {}</span> {}\
         </dt><dd><ul>{lines}</ul></dd>\n",
        answer.held.words(),
        inline(&answer.finding.claim),
    )
}

/// The figures and cells of one arm.
fn arm_section(grid: &Grid, arm: usize) -> String {
    let info = &grid.study.arms[arm];
    let rows = grid.cells_of(arm, 0);
    let results: Vec<CellResult> = rows.iter().flat_map(|row| results(grid, row)).collect();
    let open = if arm == 0 { " open" } else { "" };
    format!(
        "<section>\n<details{open}><summary><h2>{}</h2> {}</summary>\n{}<details><summary>Every \
         cell</summary>\n{}</details>\n</details>\n</section>\n",
        escape(&info.name),
        escape(&info.summary),
        matrix::figures(&grid.matrix, &results),
        matrix::heat::section(&grid.matrix, &results),
    )
}

/// The cell of a row as the figures want it: each drive alone, and all at once.
fn results(grid: &Grid, row: &Row) -> Vec<CellResult> {
    let cell = |target| Cell {
        block: 0,
        target,
        read: row.read,
        random: row.random,
        threads: row.threads,
        bs: grid.matrix.bs[row.size].clone(),
    };
    let figures = |target: usize, bytes_per_s: f64| CellFigures {
        target: grid.matrix.targets[target].clone(),
        bytes_per_s,
        iops: 0.0,
        lat_ns: [0; 3],
        errors: 0,
        marks: Vec::new(),
        attached: None,
    };
    let alone = row.alone.iter().enumerate().map(|(place, rate)| CellResult {
        cell: cell(Some(place)),
        figures: vec![figures(place, *rate)],
    });
    let all = row.together.iter().enumerate().map(|(place, rate)| figures(place, *rate));
    let together = CellResult { cell: cell(None), figures: all.collect() };
    alone.chain([together]).collect()
}

fn settings(grid: &Grid) -> String {
    let arms = &grid.study.arms;
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in arms.iter().flat_map(|arm| &arm.settings) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let heads = each("<th>", arms.iter().map(|arm| escape(&arm.name)), "</th>");
    let row = |name: &&str| {
        let of = |arm: &crate::study::ArmInfo| {
            let value = arm.settings.iter().find(|(known, _)| known == name);
            format!("<td>{}</td>", value.map(|(_, value)| escape(value)).unwrap_or_default())
        };
        let cells: String = arms.iter().map(of).collect();
        format!("<tr><th>{}</th>{cells}</tr>\n", escape(name))
    };
    let rows: String = names.iter().map(row).collect();
    format!(
        "<section>\n<h2>Settings</h2>\n<div class=\"wide\"><table class=\"settings\">\n<thead><tr>\
         <th></th>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n</section>\n"
    )
}

fn besides(grid: &Grid) -> String {
    let study = &grid.study;
    let notes = study.risks.iter().chain(&study.notes);
    let items = each("<li>", notes.map(|note| inline(note)), "</li>\n");
    format!(
        "<section>\n<h2>What to know besides</h2>\n<ul>\n{items}</ul>\n</section>\n<section>\n\
         <h2>How to repeat it</h2>\n<pre><code>{}</code></pre>\n</section>\n",
        escape(&study.reproduce),
    )
}
