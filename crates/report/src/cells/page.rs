//! The picture of the cells: rates against block size, and heat maps.

use drivelab_analysis::cells::{Cells, Line, Row, lines};
use drivelab_analysis::figures::capital;
use drivelab_core::matrix::{Group, order, plural};

use super::{heat, panel};
use crate::page::html::{escape, fold};

/// The cells of all arms, each given by name and summary.
pub(crate) fn section(cells: &Cells, arms: &[(&str, &str)]) -> String {
    let means = cells.means();
    let arms = arms.iter().enumerate();
    let heats = arms.clone().map(|(arm, (name, _))| {
        let map = heat::scaling(cells, &means, arm);
        format!("<figure><figcaption><b>{}</b></figcaption>{map}</figure>\n", escape(name))
    });
    let rates = arms.map(|(arm, (name, summary))| {
        let title = format!("<b>{}</b> {}", escape(name), escape(summary));
        let every = fold("Every cell", &heat::every_cell(cells, &means, arm));
        let arm_section = fold(&title, &(figures(cells, &means, arm) + &every));
        // Only the first arm is open, so that the page stays short.
        if arm == 0 { arm_section.replacen("<details>", "<details open>", 1) } else { arm_section }
    });
    let rates = rates.collect::<String>();
    let rates = format!("<section>\n<h2>MB/s by block size</h2>\n{rates}</section>\n");
    if !cells.matrix.has_all() {
        return rates;
    }
    format!(
        "<section>\n<h2>How well the drives work together</h2>\n<p class=\"about\">All drives at \
         once, in per cent of the sum of each alone. The stronger the colour, the more is lost.</p>\n\
         <div class=\"heats\">\n{}</div>\n</section>\n{rates}",
        heats.collect::<String>(),
    )
}

/// A figure for every order and number of threads, a panel for each share of reads.
fn figures(cells: &Cells, means: &[Row], arm: usize) -> String {
    let matrix = &cells.matrix;
    let mut drawn = String::new();
    for &random in &matrix.random {
        for &threads in &matrix.threads {
            let panels: Vec<(u32, Vec<Line>)> = matrix
                .read
                .iter()
                .map(|read| {
                    let group = Group { random, threads, read: *read };
                    (*read, lines(matrix, &cells.line(means, arm, group)))
                })
                .collect();
            let points = panels.iter().flat_map(|(_, lines)| lines).flat_map(|line| &line.points);
            // The panels of a figure have the same scale, because they are compared.
            let most = points.flatten().fold(0.0, |most: f64, point| most.max(*point));
            // Without a figure there is nothing to draw yet.
            if most > 0.0 {
                let svgs =
                    panels.iter().map(|(read, lines)| panel::svg(matrix, *read, lines, most));
                drawn += &format!(
                    "<h3>{}, {}</h3>\n<div class=\"panels\">\n{}</div>\n",
                    capital(&order(random)),
                    plural(threads),
                    svgs.collect::<String>(),
                );
            }
        }
    }
    panel::legend(matrix) + &drawn
}
