//! `drive`: the modelled drives.

pub(crate) mod fit;
mod measure;
mod medium;
mod predict;
mod random;

use clap::{Args, Subcommand};
use drivelab_model::options::Options;
use drivelab_model::profile::{self, Known, Unknown};
use drivelab_report::drive::{self, DRIVE_SCHEMA, Listed, OpenNumber, Shown};
use drivelab_report::text::json_text;

use crate::commands::completion::{self, Offer};
use crate::exit::Outcome;
use crate::ui::Ui;
use drivelab_core::Refusal;
use drivelab_lab::target;
use fit::FitArgs;
use measure::MeasureArgs;
use predict::PredictArgs;
use random::RandomArgs;

/// List, show, measure, fit, predict or draw drives.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab drive list                                       the included drives
  drivelab drive show seagate-st31000333as,controller=ide   its numbers with their sources
  drivelab drive predict generic-5400                       IOPS by queue depth, and their spread
  drivelab drive measure /dev/sda --out sda.toml            measure a drive; only reads
  drivelab drive fit sda.toml --out my-drive.toml           model it
  drivelab drive random --seed 7 --out some-drive.toml      one drive of a class
  drivelab run drive:my-drive.toml --iodepth 32             use the model")]
pub(crate) struct DriveArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List the drives included in drivelab.
    List,
    /// Show how a drive is attached and set, and its profile with the source of each number.
    Show {
        /// A name from the list, or a profile file, with options: NAME,controller=ide,tags=31
        #[arg(value_parser = Offer(completion::drives), hide_possible_values = true)]
        drive: String,
    },
    /// Predict IOPS and latency against queue depth, with the spread among drives.
    Predict(Box<PredictArgs>),
    /// Fit a profile to measurements.
    Fit(FitArgs),
    /// Measure a drive for two minutes, for `drive fit`; only reads.
    Measure(MeasureArgs),
    /// Draw one drive of a class, and write its profile.
    Random(RandomArgs),
}

/// Lists or shows drives.
pub(crate) fn run(arguments: DriveArgs, ui: Ui) -> Outcome {
    match arguments.verb {
        Verb::List => list(ui),
        Verb::Show { drive } => show(&drive, ui),
        Verb::Predict(arguments) => predict::predict(*arguments, ui),
        Verb::Fit(arguments) => fit::fit(&arguments, ui),
        Verb::Measure(arguments) => measure::measure(&arguments, ui),
        Verb::Random(arguments) => random::random(&arguments, ui),
    }
}

fn list(ui: Ui) -> Outcome {
    let drives = profile::names().into_iter().map(|name| {
        let profile = target::profile(&target::drive_spec(name)?)?;
        let capacity_bytes = profile.capacity().bytes().get();
        Ok(Listed { name, capacity_bytes, model: profile.model })
    });
    let drives = drives.collect::<Result<Vec<Listed>, Refusal>>()?;
    if ui.json {
        let drives = serde_json::json!({ "schema": DRIVE_SCHEMA, "drives": drives });
        return ui.result(&json_text(&drives));
    }
    ui.result(&drive::list(&drives, &Options::KEYS, ui.look()))
}

fn show(name: &str, ui: Ui) -> Outcome {
    let spec = target::drive_spec(name)?;
    let profile = target::profile(&spec)?;
    let built = target::build(&profile, &spec.options, 0)?;
    let settings = target::settings(built.about());
    let modelled = built.about().capacity_bytes;
    let flash = built.about().attached.as_ref().and_then(|attached| attached.flash);
    let text_of_profile = target::profile_text(&spec)?;
    let lacks @ [any, elevator] = profile.lacks();
    if ui.json {
        let settings: serde_json::Map<String, serde_json::Value> =
            settings.into_iter().map(|(name, value)| (name, value.into())).collect();
        let shown = serde_json::json!({
            "schema": DRIVE_SCHEMA,
            "drive": spec.to_string(),
            "model": profile.model,
            "sources": profile.sources,
            "leaves_out": profile.leaves_out,
            "capacity_bytes": flash.map_or(modelled, |flash| flash.whole_bytes),
            "modelled_bytes": modelled,
            "settings": settings,
            "known": profile.known(),
            "unknown": profile.unknowns(),
            "lacks": { "any": any, "elevator": elevator, "source": profile.lacks_source() },
            "profile": text_of_profile,
        });
        return ui.result(&json_text(&shown));
    }
    let open = |unknown: Unknown| OpenNumber {
        name: unknown.name.to_owned(),
        median: unknown.median,
        range95: unknown.range95,
        spread: [unknown.kind, unknown.source].join("; "),
    };
    let known = |known: Known| {
        let source = known.source_in_words();
        [known.name.to_owned(), known.value, source]
    };
    let missing = profile.leaves_out.iter().map(|what| format!("Not modelled: {what}."));
    let shown = Shown {
        title: format!("{} ({spec})", profile.model),
        settings: &settings,
        profile: &text_of_profile,
        known: profile.known().into_iter().map(known).collect(),
        unknown: profile.unknowns().into_iter().map(open).collect(),
        lacks,
        notes: profile.sources.iter().map(|of| format!("Source: {of}.")).chain(missing).collect(),
    };
    ui.result(&drive::shown(&shown, ui.look()))
}
