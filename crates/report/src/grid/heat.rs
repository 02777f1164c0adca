//! How well drives scale, cell by cell: one table an arm.

use super::Grid;
use crate::cells::Group;
use crate::page::{each, escape};

/// The tables of all arms.
pub(super) fn section(grid: &Grid) -> String {
    let arms = 0..grid.study.arms.len();
    let tables: String = arms.map(|arm| table(grid, arm)).collect();
    format!(
        "<section>\n<h2>How well the drives work together</h2>\n<p class=\"about\">All drives at \
         once, in per cent of the sum of each alone. The darker, the more is lost.</p>\n\
         <div class=\"heats\">\n{tables}</div>\n</section>\n"
    )
}

fn table(grid: &Grid, arm: usize) -> String {
    let sizes = &grid.matrix.bs;
    let heads = each("<th>", sizes.iter().map(|size| escape(&size.to_string())), "</th>");
    let mut rows = String::new();
    for group in Group::all(&grid.matrix) {
        let cells: String =
            grid.line(arm, 0, group).iter().map(|row| cell(row.scaling())).collect();
        rows += &format!("<tr><th>{}</th>{cells}</tr>\n", escape(&group.name()));
    }
    format!(
        "<figure><figcaption>{}</figcaption><div class=\"wide\"><table class=\"heat\">\n<thead>\
         <tr><th>% of the sum</th>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\
         </figure>\n",
        escape(&grid.study.arms[arm].name),
    )
}

fn cell(share: Option<f64>) -> String {
    let Some(share) = share else { return "<td class=\"none\">-</td>".into() };
    // Steps of a tenth: a style sheet has a colour for each.
    let step = libm::floor((share * 10.0 + 0.05).clamp(0.0, 10.0));
    format!("<td class=\"s{step}\">{:.0}</td>", 100.0 * share)
}
