//! `drive predict`: what a modelled drive will do at depths nobody has measured.

use drivelab_report::text::json_text;
use std::path::PathBuf;

use clap::Args;
use drivelab_engine::RunPlan;
use drivelab_model::profile::Uncertainty;
use drivelab_report::drive::{self, Modelled};
use drivelab_stats::Spread;

use crate::commands::completion::{self, Offer};
use crate::commands::run::workload::WorkloadArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::interrupt;
use crate::target;
use crate::ui::Ui;

/// What `drive predict` is asked.
#[derive(Debug, Args)]
#[command(after_help = "\
The interval contains 95 of 100 drives of this type. It is log-normal with two independent parts:
the error of the profile at depth 1 (`fit_sigma`), and the share of the possible gain from queuing
that the firmware achieves (`gain_sigma`, the standard deviation of the logarithm of the gain at
depth 32). Measurements at depth 1 do not show the second part, so it is the spread among measured
drives. At lower depths it is smaller in proportion to the logarithm of the gain.

Examples:
  drivelab drive predict seagate-st2000dm006
  drivelab drive predict own.toml --rw randwrite --json")]
pub(crate) struct PredictArgs {
    /// A name from the list, or a profile file, with options: NAME,controller=ide,tags=31
    #[arg(value_parser = Offer(completion::drives), hide_possible_values = true)]
    drive: String,
    #[command(flatten)]
    workload: WorkloadArgs,
    /// Seed of all random choices.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The depths that are predicted.
const DEPTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// Prints IOPS and latency against depth.
pub(crate) fn predict(arguments: PredictArgs, ui: Ui) -> Outcome {
    let spec = target::drive_spec(&arguments.drive)?;
    let profile = target::profile(&spec)?;
    let options = arguments.workload.0;
    let mut modelled = Vec::new();
    for iodepth in DEPTHS {
        let mut options = options.clone();
        options.iodepth = Some(iodepth);
        options.rw = options.rw.or("randread".parse().ok());
        let workload = options.check().map_err(Failure::bad_request)?;
        let plan = RunPlan { seed: arguments.seed, ..RunPlan::new(PathBuf::new(), workload) };
        let record = target::simulate(&spec, &profile, &plan, &|_| {})?;
        if interrupt::requested() {
            // A depth that was cut short predicts nothing.
            break;
        }
        let total = record.total.expect("a load has a total");
        let (iops, lat_ns) = (total.iops, total.lat_ns);
        modelled.push(Modelled { iodepth, iops, lat_ns });
    }
    if interrupt::requested() {
        ui.warn("interrupted: only the finished depths are shown");
    }
    if modelled.is_empty() {
        return Ok(Exit::Interrupted);
    }
    let Uncertainty { fit_sigma, gain_sigma } = profile.uncertainty;
    let spread = Spread { fit_sigma, gain_sigma };
    let rows = drive::rows(&modelled, spread);
    if ui.json {
        let document = drive::json(&spec.to_string(), &rows, spread);
        ui.result(&json_text(&document))?;
    } else {
        ui.result(&drive::predicted(&rows, spread, ui.look()))?;
    }
    Ok(if modelled.len() < DEPTHS.len() { Exit::Interrupted } else { Exit::Done })
}
