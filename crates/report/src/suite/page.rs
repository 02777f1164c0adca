//! A run of a suite as a page of its own.

use drivelab_core::record::{Phase, RunRecord};

use super::{picture, rows};
use crate::figures::plain;
use crate::page::html::{escape, inline, scroll, section, table};
use crate::page::skeleton;

/// The page: pictures, then every figure. The same record, the same bytes.
pub fn page(record: &RunRecord) -> String {
    let suite = record.config.suite.as_ref();
    let name = suite.map_or("suite", |suite| suite.name.as_str());
    let title = record.label.clone().unwrap_or_else(|| format!("{name} on {}", record.target));
    let host = record.host.as_ref().map(|host| format!("{} on {}", host.kernel, host.cpu));
    let mut facts = vec![format!("seed {}", record.config.seed)];
    facts.push(host.unwrap_or_else(|| "in virtual time".into()));
    let options = suite.iter().flat_map(|suite| &suite.options);
    facts.extend(options.map(|(option, value)| format!("{option} {value}")));
    let (rows, others) = rows::of(record);
    let mut body = String::new();
    let mut drawn = String::new();
    if !rows.is_empty() {
        drawn += &picture::bars(&rows);
    }
    drawn += &picture::curves(&others);
    if !drawn.is_empty() {
        body += &format!("<section class=\"suite\">\n{drawn}</section>\n");
    }
    for mark in &record.marks {
        body += &format!("<p class=\"about\">{}</p>\n", inline(&mark.message));
    }
    let about = "What each figure is and what it measures.";
    body += &section("Every figure", about, &scroll("Figures", &figures(&record.phases)));
    skeleton("run", &title, &facts, &body)
}

fn figures(phases: &[Phase]) -> String {
    let rows = phases.iter().flat_map(|phase| {
        phase.metrics().map(|figure| {
            let nature = figure.nature.unwrap_or(phase.nature).to_string();
            let value = format!("{} {}", plain(figure.value), figure.unit);
            vec![escape(&figure.name), escape(value.trim()), nature]
        })
    });
    table(&["figure", "", "measures"], rows)
}
