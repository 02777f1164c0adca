//! `drive predict` and `drive fit`: what a modelled drive will do, and a model from measurements.

use std::path::PathBuf;

use clap::Args;
use drivelab_core::record::Latency;
use drivelab_core::workload::WorkloadOptions;
use drivelab_model::fit::{self, Measurements};
use serde::Serialize;

use super::run::workload::WorkloadArgs;
use crate::failure::{AtPath as _, Failure, Outcome};
use crate::target;
use crate::ui::Ui;

/// What `drive predict` is asked.
#[derive(Debug, Args)]
pub(crate) struct PredictArgs {
    /// A name from the list or a profile file, with options: NAME,controller=ide,tags=31
    drive: String,
    #[command(flatten)]
    workload: WorkloadArgs,
    /// Seed of everything random.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What `drive fit` is asked.
#[derive(Debug, Args)]
#[command(after_help = "\
Example of MEASUREMENTS (any subset of the figures):
  [drive]
  capacity_bytes = 2_000_398_934_016
  rpm = 7200
  [random_read_qd1]
  bs = \"4k\"
  mean_ms = 17.57
  p50_ms = 17.69
  p99_ms = 28.44
  [sequential]
  read_mb_per_s = 143")]
pub(crate) struct FitArgs {
    /// What was measured at depth 1, as TOML.
    measurements: PathBuf,
    /// The profile file to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Seed of the search.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The depths that are predicted.
const DEPTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// One depth.
#[derive(Debug, Serialize)]
struct Row {
    iodepth: u32,
    iops: f64,
    /// Where 95 drives of 100 of this kind would lie, as far as the order in their queue goes.
    iops_range: [f64; 2],
    lat_ns: Latency,
}

/// Spread of the logarithm of the gain at depth 32 among desktop SATA drives: the project's prior,
/// log-normal around 1.65.
const SIGMA: f64 = 0.20;

/// Prints IOPS and latency against depth.
pub(crate) fn predict(arguments: PredictArgs, ui: Ui) -> Outcome {
    let spec = target::drive_spec(&arguments.drive)?;
    let profile = target::profile(&spec)?;
    let options = WorkloadOptions::from(arguments.workload);
    let mut rows: Vec<Row> = Vec::new();
    for iodepth in DEPTHS {
        let mut options = options.clone();
        options.iodepth = Some(iodepth);
        options.rw = options.rw.or("randread".parse().ok());
        let workload = options.check().map_err(Failure::bad_request)?;
        let record = target::simulate(&spec, &profile, &workload, arguments.seed, &|_| {})?;
        // The uncertainty grows with what the queue gains: nothing at depth 1, all of it at 32.
        let part = f64::from(iodepth.ilog2()) / 5.0;
        let factor = 1.0 + 1.96 * SIGMA * part;
        let iops = record.total.iops;
        let lat_ns = record.total.lat_ns;
        rows.push(Row { iodepth, iops, iops_range: [iops / factor, iops * factor], lat_ns });
    }
    if ui.json {
        let document = serde_json::json!({
            "schema": "drivelab.drive/1",
            "drive": spec.to_string(),
            "uncertainty": UNCERTAINTY,
            "depths": rows,
        });
        return ui.result(&super::json_text(&document));
    }
    let mut text = format!(
        "{:>7}{:>10}{:>20}{:>12}{:>12}\n",
        "depth", "IOPS", "95 of 100 within", "mean ms", "p99 ms"
    );
    for row in rows {
        let range = format!("{:.1} - {:.1}", row.iops_range[0], row.iops_range[1]);
        text.push_str(&format!(
            "{:>7}{:>10.1}{range:>20}{:>12.2}{:>12.2}\n",
            row.iodepth,
            row.iops,
            ms(row.lat_ns.mean),
            ms(row.lat_ns.p99),
        ));
    }
    text.push_str(&format!("\n{UNCERTAINTY}\n"));
    ui.result(&text)
}

const UNCERTAINTY: &str = "the range is the spread among drives of what firmware makes of a queue; \
                           depth 1 is as good as the profile";

#[expect(clippy::cast_precision_loss, reason = "latencies are far below 2^52 ns")]
fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Fits a profile and writes it.
pub(crate) fn fit(arguments: &FitArgs, ui: Ui) -> Outcome {
    let path = &arguments.measurements;
    let text = std::fs::read_to_string(path).at_path("read the measurements", path)?;
    let measurements = Measurements::read(&path.display().to_string(), &text)?;
    let model = arguments.out.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let fit = fit::fit(&model, &measurements, arguments.seed).map_err(Failure::bad_words)?;
    std::fs::write(&arguments.out, &fit.profile).at_path("write the profile", &arguments.out)?;
    if ui.json {
        let figures: Vec<_> = fit
            .figures
            .iter()
            .map(|figure| {
                serde_json::json!({
                    "name": figure.name, "measured": figure.measured, "fitted": figure.fitted,
                })
            })
            .collect();
        let document = serde_json::json!({
            "schema": "drivelab.drive/1",
            "profile": arguments.out,
            "figures": figures,
            "rms_log_error": fit.rms_log_error,
            "not_identified": fit::NOT_IDENTIFIED,
        });
        return ui.result(&super::json_text(&document));
    }
    let mut text = format!("{:12}{:>10}{:>10}{:>9}\n", "", "measured", "fitted", "off");
    for figure in &fit.figures {
        let off = 100.0 * (figure.fitted / figure.measured - 1.0);
        text.push_str(&format!(
            "{:12}{:>10.2}{:>10.2}{off:>8.1}%\n",
            figure.name, figure.measured, figure.fitted
        ));
    }
    text.push_str("\nwhat these measurements cannot show, and what stands in for it:\n");
    for line in fit::NOT_IDENTIFIED {
        text.push_str(&format!("  {line}\n"));
    }
    text.push_str(&format!("\nwritten: {}\n", arguments.out.display()));
    ui.result(&text)
}
