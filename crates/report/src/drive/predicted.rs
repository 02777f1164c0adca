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
    /// Mechanisms that the load needs and the model lacks.
    pub lacks: Vec<&'static str>,
}

/// One depth.
#[derive(Debug, Clone, PartialEq)]
pub struct Depth {
    /// Requests outstanding.
    pub iodepth: u32,
    /// Requests a second of each drive, above 0.
    pub iops: Vec<f64>,
    /// Requests a second that no such drive exceeds.
    pub most: Option<f64>,
    /// Mean latency of each drive, in ns, above 0; with its share of the flushes.
    pub mean_ns: Vec<f64>,
    /// Latency of the median drive, from the moment a request was meant to be sent.
    pub lat_ns: Latency,
}

/// Flushes, each behind a number of writes.
#[derive(Debug, Clone, PartialEq)]
pub struct Flush {
    /// Writes before each.
    pub writes: u32,
    /// The writes are those of the load; else random ones of 4 KiB.
    pub of_load: bool,
    /// Mean time of a flush of each drive, in ns, above 0.
    pub mean_ns: Vec<f64>,
}

impl Predicted {
    fn predict(&self, drives: &[f64]) -> Prediction {
        predict(drives, self.model_sigma)
            .expect("drives were simulated, and each completed requests")
    }

    /// Rates, of which none is above what the link or the rotation allows.
    fn rates(&self, depth: &Depth) -> Prediction {
        let mut rates = self.predict(&depth.iops);
        if let Some(most) = depth.most {
            rates.median = rates.median.min(most);
            rates.range95 = rates.range95.map(|end| end.min(most));
        }
        rates
    }

    /// Rates over those at the first depth, drive by drive: a gain hardly depends on the level.
    fn gain(&self, depth: &Depth) -> Prediction {
        let first = &self.depths[0].iops;
        debug_assert_eq!(depth.iops.len(), first.len(), "the same drives at each depth");
        let gains: Vec<f64> = depth.iops.iter().zip(first).map(|(all, one)| all / one).collect();
        // The model errs in an effect by no more than the largest one, which is none at the first
        // depth: a drive that takes one command at a time gains nothing, however fast it is.
        let largest = gains.iter().map(|gain| libm::log(*gain).abs()).fold(0.0, f64::max);
        let model_sigma = self.model_sigma.min(largest);
        let mut found = predict(&gains, model_sigma)
            .expect("drives were simulated, and each completed requests");
        // Requests that only overlap gain as many times their number at most.
        let most = f64::from(depth.iodepth) / f64::from(self.depths[0].iodepth);
        if gains.iter().all(|gain| *gain <= most) {
            found.median = found.median.min(most);
            found.range95 = found.range95.map(|end| end.min(most));
        }
        found
    }

    /// Latencies, of which none is below what the limit of the rate leaves to as many requests.
    fn means(&self, depth: &Depth) -> Prediction {
        let mut means = self.predict(&depth.mean_ns);
        let least = depth.most.map_or(0.0, |most| f64::from(depth.iodepth) * 1e9 / most);
        // A load that waits for its flushes has fewer in progress.
        if depth.mean_ns.iter().all(|mean| *mean >= 0.99 * least) {
            means.median = means.median.max(least);
            means.range95 = means.range95.map(|end| end.max(least));
        }
        means
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
        if !self.lacks.is_empty() {
            predicted["lacks"] = self.lacks.clone().into();
        }
        predicted
    }

    fn depth_json(&self, depth: &Depth) -> Value {
        let (iops, mean) = (self.rates(depth), self.means(depth));
        let gain = self.gain(depth);
        json!({
            "iodepth": depth.iodepth,
            "iops": iops.median,
            "iops_range": iops.range95,
            "iops_most": depth.most,
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
            "of_load": flush.of_load,
            "mean_ns": mean.median,
            "mean_range_ns": mean.range95,
        })
    }

    /// The prediction for people.
    pub fn text(&self, look: Look) -> String {
        let titles =
            ["depth", "IOPS", "95 % within", "gain", "95 % within", "mean ms", "95 % within"];
        let mut table = Table::new(&titles.map(|title| (title, Align::Right, 0)));
        for depth in &self.depths {
            let (iops, mean) = (self.rates(depth), self.means(depth));
            let gain = self.gain(depth);
            let is_gain = depth.iodepth > self.depths[0].iodepth;
            let [low, high] = gain.range95;
            table.row([
                depth.iodepth.to_string(),
                rate(iops.median),
                iops.range95.map(rate).join(" - "),
                format!("{:.2}", gain.median),
                if is_gain { format!("{low:.2} - {high:.2}") } else { String::new() },
                ms(mean.median),
                mean.range95.map(ms).join(" - "),
            ]);
        }
        let mut text = table.render(look) + "\n";
        for flush in &self.flushes {
            let mean = self.predict(&flush.mean_ns);
            text += &format!(
                "a flush after {}: {} ms, 95 % within {} ms\n",
                flush.behind(),
                ms(mean.median),
                mean.range95.map(ms).join(" - ")
            );
        }
        for what in &self.lacks {
            text +=
                &(look.wrap(&format!("not modelled: {what}; the ranges allow for it"), 2) + "\n");
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

impl Flush {
    fn behind(&self) -> String {
        match (self.of_load, self.writes) {
            (true, 1) => "each write of this load".into(),
            (true, writes) => format!("{writes} writes of this load"),
            (false, writes) => format!("{writes} random writes"),
        }
    }
}

/// A rate with as many decimals as a reader can use.
fn rate(per_s: f64) -> String {
    let digits = match per_s {
        ..10.0 => 2,
        ..1000.0 => 1,
        _ => 0,
    };
    format!("{per_s:.digits$}")
}

/// Milliseconds, with three significant digits at least.
fn ms(ns: f64) -> String {
    let ms = ns / 1e6;
    let digits = match ms {
        ..0.1 => 4,
        ..1.0 => 3,
        ..10.0 => 2,
        _ => 1,
    };
    format!("{ms:.digits$}")
}
