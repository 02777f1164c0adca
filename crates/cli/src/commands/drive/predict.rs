//! `drive predict`: what a modelled drive will do at depths nobody has measured.

use clap::Args;
use drivelab_core::record::Latency;
use drivelab_model::profile::Uncertainty;
use serde::Serialize;

use crate::commands::run::workload::WorkloadArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::interrupt;
use crate::target;
use crate::ui::Ui;

/// What `drive predict` is asked.
#[derive(Debug, Args)]
#[command(after_help = "\
The interval holds 95 of 100 drives of this kind: log-normal, with two independent parts. One is
how far the profile is off at depth 1 (`fit_sigma`). The other is how much of what a queue could
gain the firmware takes (`gain_sigma`, the deviation of the logarithm of the gain at depth 32):
depth 1 cannot show it, so it is the spread among drives that were measured. At lesser depths that
part is smaller as the logarithm of the gain is.

Examples:
  drivelab drive predict seagate-st2000dm006
  drivelab drive predict own.toml --rw randwrite --json")]
pub(crate) struct PredictArgs {
    /// A name from the list or a profile file, with options: NAME,controller=ide,tags=31
    drive: String,
    #[command(flatten)]
    workload: WorkloadArgs,
    /// Seed of everything random.
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

/// 95 % of a normal distribution lie within so many deviations.
const WITHIN_95: f64 = 1.96;

/// Prints IOPS and latency against depth.
pub(crate) fn predict(arguments: PredictArgs, ui: Ui) -> Outcome {
    let spec = target::drive_spec(&arguments.drive)?;
    let profile = target::profile(&spec)?;
    let options = arguments.workload.0;
    let mut measured = Vec::new();
    for iodepth in DEPTHS {
        let mut options = options.clone();
        options.iodepth = Some(iodepth);
        options.rw = options.rw.or("randread".parse().ok());
        let workload = options.check().map_err(Failure::bad_request)?;
        let record = target::simulate(&spec, &profile, &workload, arguments.seed, &|_| {})?;
        if interrupt::requested() {
            // A depth that was cut short predicts nothing.
            break;
        }
        measured.push((iodepth, record.total.iops, record.total.lat_ns));
    }
    if interrupt::requested() {
        ui.warn("interrupted: only the depths that were through are shown");
    }
    if measured.is_empty() {
        return Ok(Exit::Interrupted);
    }
    let rows = rows(&measured, profile.uncertainty);
    show(&spec.to_string(), &rows, profile.uncertainty, ui)?;
    Ok(if measured.len() < DEPTHS.len() { Exit::Interrupted } else { Exit::Done })
}

fn show(drive: &str, rows: &[Row], uncertainty: Uncertainty, ui: Ui) -> Outcome {
    if ui.json {
        let document = serde_json::json!({
            "schema": "drivelab.drive/1",
            "drive": drive,
            "uncertainty": explained(uncertainty),
            "depths": rows,
        });
        return ui.result(&crate::commands::json_text(&document));
    }
    ui.result(&text(rows, uncertainty))
}

/// Puts the two parts of the uncertainty together at every depth.
fn rows(measured: &[(u32, f64, Latency)], uncertainty: Uncertainty) -> Vec<Row> {
    let alone = measured[0].1;
    let deepest = (measured[measured.len() - 1].1 / alone).ln();
    let row = |(iodepth, iops, lat_ns): &(u32, f64, Latency)| {
        let gain = iops / alone;
        // A drive whose firmware takes more than the median does so at every depth.
        let part = if deepest > 0.0 { (gain.ln() / deepest).clamp(0.0, 1.0) } else { 0.0 };
        let sigma = uncertainty.fit_sigma.hypot(uncertainty.gain_sigma * part);
        let factor = (WITHIN_95 * sigma).exp();
        let mean = float(lat_ns.mean);
        Row {
            iodepth: *iodepth,
            iops: *iops,
            gain,
            sigma,
            iops_range: [iops / factor, iops * factor],
            mean_range_ns: [mean / factor, mean * factor],
            lat_ns: *lat_ns,
        }
    };
    measured.iter().map(row).collect()
}

fn text(rows: &[Row], uncertainty: Uncertainty) -> String {
    let mut text = format!(
        "{:>5}{:>9}{:>6}{:>16}{:>10}{:>16}{:>10}\n",
        "depth", "IOPS", "gain", "95 % within", "mean ms", "95 % within", "p99 ms"
    );
    for row in rows {
        let range =
            |[low, high]: [f64; 2], unit: f64| format!("{:.1} - {:.1}", low / unit, high / unit);
        text.push_str(&format!(
            "{:>5}{:>9.1}{:>6.2}{:>16}{:>10.2}{:>16}{:>10.2}\n",
            row.iodepth,
            row.iops,
            row.gain,
            range(row.iops_range, 1.0),
            float(row.lat_ns.mean) / 1e6,
            range(row.mean_range_ns, 1e6),
            float(row.lat_ns.p99) / 1e6,
        ));
    }
    text.push_str(&format!("\n{}\n", explained(uncertainty)));
    text
}

#[expect(clippy::cast_precision_loss, reason = "latencies are far below 2^52 ns")]
fn float(ns: u64) -> f64 {
    ns as f64
}

fn explained(uncertainty: Uncertainty) -> String {
    let Uncertainty { fit_sigma, gain_sigma } = uncertainty;
    let queue = match gain_sigma {
        0.0 => "there is no queue whose gain could be uncertain".to_owned(),
        sigma => format!(
            "what firmware makes of a queue is a prior, log-normal: sigma {sigma} of the gain at \
             depth 32"
        ),
    };
    let level = match fit_sigma {
        0.0 => "depth 1 is taken as it stands in the profile".to_owned(),
        sigma => format!("sigma {sigma} at depth 1 from the fit"),
    };
    format!("95 % within: {queue}; {level}")
}
