//! `drive predict`: the performance of a modelled drive at depths that were not measured.

use clap::Args;
use drivelab_report::text::json_text;
use drivelab_simulate::predict::{self, Given, Wanted};

use crate::commands::completion::{self, Offer};
use crate::commands::run::workload::WorkloadArgs;
use crate::exit::{Exit, Outcome};
use crate::ui::Ui;
use drivelab_lab::{interrupt, target};

/// What `drive predict` is asked.
#[derive(Debug, Args)]
#[command(after_help = "\
The interval contains 95 of 100 drives that fit the profile. Each specimen that is simulated has
another value of everything that the profile leaves open (`drive show` lists it): its priors, or the
posterior that `drive fit` left of them. The model itself may be off by what `[lacks]` says.

Of a fitted solid-state drive random reads were measured, and the writes that its profile names;
what was not is that of its class. Without --runtime and --number-ios a run on flash has 10,000
requests of 4 KiB (2,000 if writes are flushed), and where it writes they begin once the drive's
buffer is full. Latencies contain the flushes of the load. --iodepth restricts the prediction to
one depth.

Examples:
  drivelab drive predict seagate-st2000dm006
  drivelab drive predict own.toml,precondition=steady --rw randwrite --json
  drivelab drive predict generic-nvme-consumer --rw randwrite --fdatasync 1 --iodepth 1")]
pub(crate) struct PredictArgs {
    /// A name from the list, or a profile file, with options: NAME,controller=ide,tags=31
    #[arg(value_parser = Offer(completion::drives), hide_possible_values = true)]
    drive: String,
    #[command(flatten)]
    workload: WorkloadArgs,
    /// Specimens of the drive that are simulated; 1 is the median drive.
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    specimens: u32,
    /// Seed of all random choices.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Prints IOPS and latency against depth.
pub(crate) fn predict(arguments: PredictArgs, ui: Ui) -> Outcome {
    let spec = target::drive_spec(&arguments.drive)?;
    let wanted = Wanted {
        spec: &spec,
        profile: target::profile(&spec)?,
        specimens: arguments.specimens,
        seed: arguments.seed,
        given: Given::new(|name| arguments.workload.is_typed(name)),
        options: arguments.workload.0,
    };
    let predicted = predict::predict(wanted, &interrupt::silent())?;
    if interrupt::requested() {
        ui.warn("interrupted: only what was finished is shown");
    }
    if predicted.depths.is_empty() {
        return Ok(Exit::Interrupted);
    }
    if ui.json {
        let document = predicted.json(&spec.to_string());
        ui.result(&json_text(&document))?;
    } else {
        ui.result(&predicted.text(ui.look()))?;
    }
    Ok(if interrupt::requested() { Exit::Interrupted } else { Exit::Done })
}
