//! What a modelled drive will do at each depth, and where most drives of its kind lie.

use std::fmt::Write as _;

use drivelab_core::record::Latency;
use drivelab_stats::{Spread, predict};
use serde::Serialize;
use serde_json::json;

/// The name of the JSON document.
pub const DRIVE_SCHEMA: &str = "drivelab.drive/1";

/// A depth at which the model was run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Modelled {
    /// Requests outstanding.
    pub iodepth: u32,
    /// Requests a second.
    pub iops: f64,
    /// From the moment a request was meant to be sent.
    pub lat_ns: Latency,
}

/// One depth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    iodepth: u32,
    iops: f64,
    /// IOPS over those at depth 1.
    gain: f64,
    /// The deviation of the logarithm of `iops`.
    sigma: f64,
    /// Where 95 drives of 100 of this kind lie.
    iops_range: [f64; 2],
    /// The same for the mean latency, in ns.
    mean_range_ns: [f64; 2],
    lat_ns: Latency,
}

/// What is predicted of a drive whose kind is spread so.
pub fn rows(modelled: &[Modelled], spread: Spread) -> Vec<Row> {
    let rates: Vec<f64> = modelled.iter().map(|depth| depth.iops).collect();
    let row = |(depth, found): (&Modelled, drivelab_stats::Prediction)| {
        let (iops, factor, mean) = (depth.iops, found.factor, float(depth.lat_ns.mean));
        Row {
            iodepth: depth.iodepth,
            iops,
            gain: found.gain,
            sigma: found.sigma,
            iops_range: [iops / factor, iops * factor],
            mean_range_ns: [mean / factor, mean * factor],
            lat_ns: depth.lat_ns,
        }
    };
    modelled.iter().zip(predict(&rates, spread)).map(row).collect()
}

/// The prediction for scripts.
pub fn json(drive: &str, rows: &[Row], spread: Spread) -> serde_json::Value {
    json!({
        "schema": DRIVE_SCHEMA,
        "drive": drive,
        "uncertainty": explained(spread),
        "depths": rows,
    })
}

/// The prediction for people.
pub fn text(rows: &[Row], spread: Spread) -> String {
    let mut text = format!(
        "{:>5}{:>9}{:>6}{:>16}{:>10}{:>16}{:>10}\n",
        "depth", "IOPS", "gain", "95 % within", "mean ms", "95 % within", "p99 ms"
    );
    for row in rows {
        let range =
            |[low, high]: [f64; 2], unit: f64| format!("{:.1} - {:.1}", low / unit, high / unit);
        // Writing into a string cannot fail.
        let _ = writeln!(
            text,
            "{:>5}{:>9.1}{:>6.2}{:>16}{:>10.2}{:>16}{:>10.2}",
            row.iodepth,
            row.iops,
            row.gain,
            range(row.iops_range, 1.0),
            float(row.lat_ns.mean) / 1e6,
            range(row.mean_range_ns, 1e6),
            float(row.lat_ns.p99) / 1e6,
        );
    }
    format!("{text}\n{}\n", explained(spread))
}

fn explained(Spread { fit_sigma, gain_sigma }: Spread) -> String {
    let queue = match gain_sigma {
        0.0 => "no queue, so no uncertain gain".to_owned(),
        sigma => {
            format!("the gain from queuing is a prior, log-normal with sigma {sigma} at depth 32")
        }
    };
    let level = match fit_sigma {
        0.0 => "depth 1 is taken from the profile without error".to_owned(),
        sigma => format!("sigma {sigma} at depth 1 from the fit"),
    };
    format!("95 % within: {queue}; {level}")
}

#[expect(clippy::cast_precision_loss, reason = "latencies are far below 2^52 ns")]
fn float(ns: u64) -> f64 {
    ns as f64
}
