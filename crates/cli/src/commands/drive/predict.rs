//! `drive predict`: what a modelled drive will do at depths nobody has measured.

use clap::Args;

use drivelab_model::profile::Uncertainty;
use drivelab_report::drive::{self, Modelled};
use drivelab_stats::Spread;

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
        let record = target::simulate(&spec, &profile, &workload, arguments.seed, &|_| {})?;
        if interrupt::requested() {
            // A depth that was cut short predicts nothing.
            break;
        }
        let (iops, lat_ns) = (record.total.iops, record.total.lat_ns);
        modelled.push(Modelled { iodepth, iops, lat_ns });
    }
    if interrupt::requested() {
        ui.warn("interrupted: only the depths that were through are shown");
    }
    if modelled.is_empty() {
        return Ok(Exit::Interrupted);
    }
    let Uncertainty { fit_sigma, gain_sigma } = profile.uncertainty;
    let spread = Spread { fit_sigma, gain_sigma };
    let rows = drive::rows(&modelled, spread);
    if ui.json {
        let document = drive::json(&spec.to_string(), &rows, spread);
        ui.result(&crate::commands::json_text(&document))?;
    } else {
        ui.result(&drive::predicted(&rows, spread, ui.look()))?;
    }
    Ok(if modelled.len() < DEPTHS.len() { Exit::Interrupted } else { Exit::Done })
}
