//! The message of a server when it ends.

use std::fmt;

use drivelab_core::{Span, Time};
use serde_json::{Value, json};

use super::{Stopped, Summary};
use crate::server::why_void;
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
        if let Some(unmount) = &self.forced_unmount {
            document["taken_away"] =
                json!({ "from": unmount.from, "written_back": unmount.written_back });
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
        let (stats, served) = (&self.stats, &self.stats.served);
        let lateness = &served.lateness_ns;
        let [p50, p99, max] = [lateness.p50, lateness.p99, lateness.max]
            .map(|ns| ns.map_or_else(|| "-".to_owned(), |ns| Span::from_ns(ns).to_string()));
        let since = if stats.since_ns > 0 { " since the last reset" } else { "" };
        writeln!(f, "{} requests, at most {} in flight{since}", served.ios, stats.in_flight_max)?;
        let (late, bound) = (served.late, Span::from_ns(served.lateness_bound_ns));
        let whence = match stats.lateness_bound_from {
            "drive" => "a twentieth of the drive's typical read",
            "option" => "set by --lateness-bound",
            _ => "the minimum for an idle host",
        };
        writeln!(
            f,
            "lateness p50 {p50}, p99 {p99}, max {max}; {late} later than {bound}, {whence}"
        )?;
        if let Some(why) = why_void(served).filter(|_| served.ios > 0) {
            writeln!(f, "VOID: {why}")?;
        }
        for fault in self.faults.iter().filter(|fault| fault.strikes > 0) {
            writeln!(f, "fault {}: {} strikes", fault.id, fault.strikes)?;
        }
        match self.stopped {
            Stopped::Asked => Ok(()),
            Stopped::PowerCut { survival, at, seed } => {
                f.write_str(&describe_power_cut(survival, at, seed))
            }
        }
    }
}

fn describe_power_cut(survival: Survival, at: Time, seed: u64) -> String {
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
            let text = describe_power_cut(cut(lost), Time::from_ns(1_500_000_000), 3);
            let words = format!("{lost} acknowledged writes lost");
            assert!(text.contains(&words), "{text}");
            assert!(text.contains("dirty pages in the kernel never reached it"), "{text}");
        }
    }
}
