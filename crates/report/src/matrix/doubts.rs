//! What the cells may be taken for: the marks of their runs, and how many cells have them.

use std::collections::BTreeMap;

use drivelab_core::matrix::CellResult;

/// A line for each mark: how many of the cells have it, and what it says.
pub(super) fn lines(results: &[CellResult]) -> Vec<String> {
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
    cells
        .iter()
        .map(|(mark, count)| format!("{count} of {all} cells: {}", mark.meaning()))
        .collect()
}

/// The same as a section of the page; nothing where nothing is to be said.
pub(super) fn section(results: &[CellResult]) -> String {
    let items: String = lines(results)
        .iter()
        .map(|line| ["<li>", &crate::page::escape(line), "</li>\n"].concat())
        .collect();
    if items.is_empty() {
        return items;
    }
    format!(
        "<section>\n<h2>What the figures may be taken for</h2>\n<ul>\n{items}</ul>\n</section>\n"
    )
}
