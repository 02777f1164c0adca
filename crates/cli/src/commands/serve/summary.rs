//! What `serve` says when it ends.

use drivelab_core::units::Span;
use drivelab_serve::server::{Stopped, Summary};

use crate::commands::json_text;
use crate::ui::Ui;

/// What the server did, for people or as JSON.
pub(super) fn render(summary: &Summary, ui: Ui) -> String {
    let stats = &summary.stats;
    if ui.json {
        let mut document = serde_json::json!({ "schema": "drivelab.serve/1", "stats": stats });
        document["stopped"] = match summary.stopped {
            Stopped::Asked => "asked".into(),
            Stopped::PowerCut { .. } => "power-cut".into(),
        };
        if let Stopped::PowerCut { survival, at, seed } = summary.stopped {
            let mut cut = serde_json::json!(survival);
            cut["at_ns"] = at.ns().into();
            cut["seed"] = seed.into();
            document["power_cut"] = cut;
        }
        return json_text(&document);
    }
    let late = |ns: Option<u64>| ns.map_or_else(|| "-".into(), |ns| Span::from_ns(ns).to_string());
    let lateness = &stats.lateness_ns;
    let mut text = format!(
        "{} requests, at most {} in flight\nlateness p50 {}, p99 {}, max {}\n",
        stats.ios,
        stats.in_flight_max,
        late(lateness.p50),
        late(lateness.p99),
        late(lateness.max),
    );
    if !stats.valid && stats.ios > 0 {
        let bound = Span::from_ns(stats.lateness_bound_ns);
        text.push_str(&format!(
            "VOID: answers were later than {bound}; this measured the host, not the drive\n"
        ));
    }
    if let Stopped::PowerCut { survival, at, seed } = summary.stopped {
        text.push_str(&format!(
            "power cut at {at} with seed {seed}: {} acknowledged writes lost, {} torn\n",
            survival.dropped_writes, survival.torn_writes
        ));
    }
    text
}
