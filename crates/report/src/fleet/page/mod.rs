//! The findings in a fleet as one page.

mod finding;
mod picture;

use drivelab_analysis::fleet::{FleetResult, Found};
use drivelab_analysis::{figures, metric};

pub use finding::{file_name, page as finding_page};

use finding::part;

use super::text::{lead, notes, usual_and_others};
use crate::page::answer;
use crate::page::html::{escape, inline, list, scroll, section, table};
use crate::page::skeleton;
use drivelab_core::counted;

/// Findings that a page shows whole; the table has all.
const SHOWN: usize = 40;

/// The targets of the table's links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Parts of the same page.
    Parts,
    /// Separate pages, named by [`file_name`].
    Pages,
}

/// The page, with the command that made it; `form` stands above the answer.
pub fn page(result: &FleetResult, links: Links, reproduce: &str, form: &str) -> String {
    let facts = [
        counted(result.hosts as u64, "host"),
        counted(result.disks as u64, "disk"),
        format!("margin {}", figures::percent(result.options.margin)),
        format!("false discovery rate {}", figures::percent(result.options.false_discovery)),
    ];
    let answer = answer::lead(&inline(&lead(result)));
    let parts = match links {
        Links::Pages => String::new(),
        Links::Parts => result
            .found
            .iter()
            .enumerate()
            .take(SHOWN)
            .map(|(index, it)| {
                let title = format!(
                    "<span id=\"finding-{}\">{}</span>",
                    index + 1,
                    escape(&it.disk.to_string())
                );
                part(result, it, &title)
            })
            .collect(),
    };
    let body = [
        form.to_owned(),
        answer,
        found(result, links),
        drifts(result),
        parts,
        judged(result),
        repeat(reproduce),
    ];
    skeleton("fleet", "Disks of a fleet", &facts, &body.concat())
}

fn found(result: &FleetResult, links: Links) -> String {
    if result.found.is_empty() {
        return String::new();
    }
    let row = |(index, it): (usize, &Found)| {
        let (group, outlier) = (&result.groups[it.group], &it.outlier);
        let address = match links {
            Links::Parts if index >= SHOWN => String::new(),
            Links::Parts => format!("#finding-{}", index + 1),
            Links::Pages => file_name(index, it),
        };
        let name = escape(&it.disk.to_string());
        let name = match address.as_str() {
            "" => name,
            address => format!("<a href=\"{}\">{name}</a>", escape(address)),
        };
        vec![
            name,
            escape(&group.peers.model),
            metric::show(&result.metric, outlier.figure),
            metric::show_range(&result.metric, outlier.range95),
            it.difference(),
            figures::significant(outlier.q),
        ]
    };
    let heads = ["disk", "model", "figure", "95 % of its peers within", "difference", "q"];
    let rows = table(&heads, result.found.iter().enumerate().map(row));
    let about = "Of the disks in this table the expected share of false alarms is at most the \
                 false discovery rate.";
    section("Disks that differ from their peers", about, &scroll("Disks that differ", &rows))
}

fn drifts(result: &FleetResult) -> String {
    if result.drifts.is_empty() {
        return String::new();
    }
    let rows = result.drifts.iter().map(|drift| {
        let (usual, others) = usual_and_others(drift);
        vec![
            escape(&drift.model),
            format!("<code>{}</code>", escape(&drift.setting)),
            escape(&usual),
            escape(&others),
        ]
    });
    let rows = table(&["model", "setting", "usual", "other"], rows);
    let about = "Disks of one model and kind whose settings differ, as their latest inspection \
                 found them.";
    section("Settings that drifted apart", about, &scroll("Settings", &rows))
}

fn judged(result: &FleetResult) -> String {
    let rows = result.groups.iter().filter_map(|group| {
        let judged = group.judged()?;
        Some(vec![
            escape(&group.peers.model),
            escape(&group.peers.attachment),
            format!("<code>{}</code>", escape(&group.peers.work)),
            group.disks.len().to_string(),
            judged.runs.to_string(),
            metric::show(&result.metric, judged.centre),
            figures::percent(libm::round(100.0 * judged.smallest_found) / 100.0),
        ])
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let heads = ["model", "attached", "work", "disks", "runs each", "centre", "detectable from"];
    let table = match rows.len() {
        0 => String::new(),
        _ => scroll("Groups", &table(&heads, rows.into_iter())),
    };
    let about = "Disks of the same model, attached in the same way, that did the same work. The \
                 last column is the smallest share below the others at which one disk is reported.";
    section(
        "Peers",
        about,
        &(table + &list("Not judged, and how far the rest could be seen", "notes", &notes(result))),
    )
}

fn repeat(reproduce: &str) -> String {
    let about = "Figures are compared as logarithms; the p value of a disk is exact for normal \
                 figures of its peers, whose outer fifths count no more than their neighbours.";
    section("How to repeat it", about, &format!("<pre><code>{}</code></pre>\n", escape(reproduce)))
}
