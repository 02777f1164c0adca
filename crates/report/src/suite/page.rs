//! The phases of a suite in a page.

use drivelab_analysis::figures::significant;
use drivelab_core::record::{Phase, RunRecord};

use super::{picture, rows};
use crate::page::html::{escape, scroll, section as titled, table};

/// Pictures, then every figure; nothing for a load.
pub(crate) fn section(record: &RunRecord) -> String {
    if record.phases.is_empty() {
        return String::new();
    }
    let drawn: String = pictures(record).concat();
    let drawn = match drawn.as_str() {
        "" => drawn,
        all => {
            let all = format!("<div class=\"suite\">\n{all}</div>\n");
            titled("At a glance", "", &all)
        }
    };
    let about = "What each figure is and what it measures.";
    drawn + &titled("Every figure", about, &scroll("Figures", &figures(&record.phases)))
}

/// Bars of the tests, and curves over the target, as far as there are any.
pub(crate) fn pictures(record: &RunRecord) -> Vec<String> {
    let (rows, others) = rows::of(record);
    let bars = if rows.is_empty() { String::new() } else { picture::bars(&rows) };
    let mut drawn = vec![bars, picture::curves(&others)];
    drawn.retain(|one| !one.is_empty());
    drawn
}

/// Rates over the offsets of a target that was passed once from one end to the other.
pub(crate) fn transfer(points: Vec<drivelab_core::record::Point>) -> String {
    let phase = Phase {
        name: "rate".to_owned(),
        nature: drivelab_core::record::Nature::Disk,
        figures: Vec::new(),
        lat_ns: None,
        points,
        remarks: Vec::new(),
    };
    picture::curves(&[&phase])
}

fn figures(phases: &[Phase]) -> String {
    let rows = phases.iter().flat_map(|phase| {
        phase.metrics().map(|figure| {
            let nature = figure.nature.unwrap_or(phase.nature).to_string();
            let value = format!("{} {}", significant(figure.value), figure.unit);
            vec![escape(&figure.name), escape(value.trim()), nature]
        })
    });
    table(&["figure", "value", "measures"], rows)
}
