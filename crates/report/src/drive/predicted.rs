//! The predicted rates of a modelled drive at each depth, with what is open about it.

use drivelab_core::record::Latency;
use drivelab_stats::{Prediction, predict};
use serde_json::{Value, json};

use super::DRIVE_SCHEMA;
use crate::text::{Align, Look, Table};

/// A prediction, from simulated drives that fit one profile.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicted {
    /// The number of simulated drives.
    pub specimens: u32,
    /// The keys of the numbers that the profile leaves open.
    pub unknowns: Vec<&'static str>,
    /// The deviation of a real drive's rate from the model, in logarithms.
    pub model_sigma: f64,
    /// Depths, rising.
    pub depths: Vec<Depth>,
    /// Flushes behind random writes.
    pub flushes: Vec<Flush>,
    /// The kind of the writes, and what cannot be known about them.
    pub notes: Vec<String>,
}

/// One depth.
#[derive(Debug, Clone, PartialEq)]
pub struct Depth {
    /// Requests outstanding.
    pub iodepth: u32,
    /// Requests a second of each drive, above 0.
    pub iops: Vec<f64>,
    /// Mean latency of each drive, in ns, above 0.
    pub mean_ns: Vec<f64>,
    /// Latency of the median drive, from the moment a request was meant to be sent.
    pub lat_ns: Latency,
}

/// Flushes, each behind a number of random writes of 4 KiB.
#[derive(Debug, Clone, PartialEq)]
pub struct Flush {
    /// Writes before each.
    pub writes: u32,
    /// Mean time of a flush of each drive, in ns, above 0.
    pub mean_ns: Vec<f64>,
}

impl Predicted {
    fn predict(&self, drives: &[f64]) -> Prediction {
        predict(drives, self.model_sigma)
            .expect("drives were simulated, and each completed requests")
    }

    /// Rates over those at the first depth, drive by drive: a gain hardly depends on the level.
    fn gain(&self, depth: &Depth) -> Prediction {
        let first = &self.depths[0].iops;
        debug_assert_eq!(depth.iops.len(), first.len(), "the same drives at each depth");
        let gains: Vec<f64> = depth.iops.iter().zip(first).map(|(all, one)| all / one).collect();
        // At depth 1 the gain is 1 by definition.
        let model_sigma = if depth.iodepth == 1 { 0.0 } else { self.model_sigma };
        predict(&gains, model_sigma).expect("drives were simulated, and each completed requests")
    }

    /// The prediction for scripts.
    pub fn json(&self, drive: &str) -> Value {
        let mut predicted = json!({
            "schema": DRIVE_SCHEMA,
            "drive": drive,
            "specimens": self.specimens,
            "unknowns": self.unknowns,
            "model_sigma": self.model_sigma,
            "uncertainty": self.explained(),
            "depths": self.depths.iter().map(|depth| self.depth_json(depth)).collect::<Vec<_>>(),
            "flushes": self.flushes.iter().map(|it| self.flush_json(it)).collect::<Vec<_>>(),
        });
        if !self.notes.is_empty() {
            predicted["notes"] = self.notes.clone().into();
        }
        predicted
    }

    fn depth_json(&self, depth: &Depth) -> Value {
        let (iops, mean) = (self.predict(&depth.iops), self.predict(&depth.mean_ns));
        let gain = self.gain(depth);
        json!({
            "iodepth": depth.iodepth,
            "iops": iops.median,
            "iops_range": iops.range95,
            "gain": gain.median,
            "gain_range": gain.range95,
            "sigma": iops.sigma,
            "mean_ns": mean.median,
            "mean_range_ns": mean.range95,
            "lat_ns": depth.lat_ns,
        })
    }

    fn flush_json(&self, flush: &Flush) -> Value {
        let mean = self.predict(&flush.mean_ns);
        json!({
            "writes": flush.writes,
            "mean_ns": mean.median,
            "mean_range_ns": mean.range95,
        })
    }

    /// The prediction for people.
    pub fn text(&self, look: Look) -> String {
        let titles =
            ["depth", "IOPS", "95 % within", "gain", "95 % within", "mean ms", "95 % within"];
        let mut table = Table::new(&titles.map(|title| (title, Align::Right, 0)));
        let range = |[low, high]: [f64; 2], unit: f64, digits: usize| {
            format!("{:.digits$} - {:.digits$}", low / unit, high / unit)
        };
        for depth in &self.depths {
            let (iops, mean) = (self.predict(&depth.iops), self.predict(&depth.mean_ns));
            let gain = self.gain(depth);
            let is_gain = depth.iodepth > 1;
            table.row([
                depth.iodepth.to_string(),
                format!("{:.1}", iops.median),
                range(iops.range95, 1.0, 1),
                format!("{:.2}", gain.median),
                if is_gain { range(gain.range95, 1.0, 2) } else { String::new() },
                format!("{:.2}", mean.median / 1e6),
                range(mean.range95, 1e6, 1),
            ]);
        }
        let mut text = table.render(look) + "\n";
        for flush in &self.flushes {
            let mean = self.predict(&flush.mean_ns);
            text += &format!(
                "a flush after {} random writes: {:.1} ms, 95 % within {} ms\n",
                flush.writes,
                mean.median / 1e6,
                range(mean.range95, 1e6, 1)
            );
        }
        for note in &self.notes {
            text += &(look.wrap(&format!("note: {note}"), 2) + "\n");
        }
        text + "\n" + &look.wrap(&self.explained(), 2) + "\n"
    }

    fn explained(&self) -> String {
        let model = format!(
            "real drives differ from the model by {:.0} % (one standard deviation)",
            100.0 * self.model_sigma
        );
        if self.unknowns.is_empty() {
            return format!("95 % within: the profile leaves nothing open; {model}");
        }
        format!(
            "95 % within: one more drive that fits the profile, from {} specimens that differ in \
             what it leaves open ({}); {model}",
            self.specimens,
            self.unknowns.join(", ")
        )
    }
}
