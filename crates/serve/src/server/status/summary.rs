//! What a server says when it ends.

use std::fmt;

use drivelab_core::{Span, Time};
use serde_json::{Value, json};

use super::{Stopped, Summary};
use crate::store::Survival;

impl Summary {
    /// The document of schema `drivelab.serve/1`.
    pub fn to_json(&self) -> Value {
        let mut document = json!({ "schema": "drivelab.serve/1", "stats": self.stats });
        document["stopped"] = match self.stopped {
            Stopped::Asked => "asked".into(),
            Stopped::PowerCut { .. } => "power-cut".into(),
        };
        document["faults"] = json!(self.faults);
        if let Some(taken) = &self.taken_away {
            document["taken_away"] =
                json!({ "from": taken.from, "written_back": taken.written_back });
        }
        if let Stopped::PowerCut { survival, at, seed } = self.stopped {
            let mut cut = json!(survival);
            cut["at_ns"] = at.ns().into();
            cut["seed"] = seed.into();
            document["power_cut"] = cut;
        }
        document
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text_of(self))
    }
}

fn text_of(summary: &Summary) -> String {
    let stats = &summary.stats;
    let late = |ns: Option<u64>| ns.map_or_else(|| "-".into(), |ns| Span::from_ns(ns).to_string());
    let lateness = &stats.lateness_ns;
    let mut text = format!(
        "{} requests, at most {} in flight{}\n\
         lateness p50 {}, p99 {}, max {}; {} later than {}, {}\n",
        stats.ios,
        stats.in_flight_max,
        if stats.since_ns > 0 { " since the last reset" } else { "" },
        late(lateness.p50),
        late(lateness.p99),
        late(lateness.max),
        stats.late,
        Span::from_ns(stats.lateness_bound_ns),
        match stats.lateness_bound_from {
            "drive" => "a twentieth of the drive's typical read",
            "option" => "set by --lateness-bound",
            _ => "the minimum for an idle host",
        },
    );
    if !stats.valid && stats.ios > 0 {
        text.push_str(
            "VOID: more than 1 % of the completions were later; this measured the host, not the \
             drive\n",
        );
    }
    for fault in summary.faults.iter().filter(|fault| fault.strikes() > 0) {
        text.push_str(&format!("fault {}: {} strikes\n", fault.id(), fault.strikes()));
    }
    if let Stopped::PowerCut { survival, at, seed } = summary.stopped {
        text.push_str(&of_power_cut(survival, at, seed));
    }
    text
}

fn of_power_cut(survival: Survival, at: Time, seed: u64) -> String {
    format!(
        "power cut at {at} with seed {seed}: {} acknowledged writes lost and {} torn of those that \
         reached the drive; dirty pages in the kernel never reached it\n",
        survival.dropped_writes, survival.torn_writes
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_loss_is_told_only_of_what_reached_the_drive() {
        let cut = |dropped_writes| Survival { dropped_writes, torn_writes: 0 };
        for lost in [0, 7] {
            let text = of_power_cut(cut(lost), Time::from_ns(1_500_000_000), 3);
            let words = format!("{lost} acknowledged writes lost");
            assert!(text.contains(&words), "{text}");
            assert!(text.contains("dirty pages in the kernel never reached it"), "{text}");
        }
    }
}
