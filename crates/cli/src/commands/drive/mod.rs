//! `drive`: the modelled drives.

mod fit;
mod predict;

use clap::{Args, Subcommand};
use drivelab_model::options::Options;
use drivelab_model::profile;
use serde::Serialize;

use crate::commands::completion::{self, Offer};
use crate::failure::Outcome;
use crate::target;
use crate::ui::Ui;
use fit::FitArgs;
use predict::PredictArgs;

/// List, show, fit or predict modelled drives.
#[derive(Debug, Args)]
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
    /// Fit a profile to measurements at depth 1.
    Fit(FitArgs),
}

/// A row of `drive list`.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    model: String,
    capacity_bytes: u64,
}

/// Lists or shows drives.
pub(crate) fn run(arguments: DriveArgs, ui: Ui) -> Outcome {
    match arguments.verb {
        Verb::List => list(ui),
        Verb::Show { drive } => show(&drive, ui),
        Verb::Predict(arguments) => predict::predict(*arguments, ui),
        Verb::Fit(arguments) => fit::fit(&arguments, ui),
    }
}

fn list(ui: Ui) -> Outcome {
    let mut rows = Vec::new();
    for name in profile::names() {
        let spec = target::drive_spec(name)?;
        let profile = target::profile(&spec)?;
        rows.push(Row {
            name,
            capacity_bytes: profile.capacity().bytes().get(),
            model: profile.model,
        });
    }
    if ui.json {
        let drives = serde_json::json!({ "schema": "drivelab.drive/1", "drives": rows });
        return ui.result(&crate::commands::json_text(&drives));
    }
    let mut text = String::new();
    for row in rows {
        let gb = row.capacity_bytes / 1_000_000_000;
        text.push_str(&format!("{:28}{gb:>6} GB  {}\n", row.name, row.model));
    }
    text.push_str(&format!(
        "\noptions: {}\n",
        Options::KEYS.map(|key| format!("{key}=")).join(" ")
    ));
    ui.result(&text)
}

fn show(drive: &str, ui: Ui) -> Outcome {
    let spec = target::drive_spec(drive)?;
    let profile = target::profile(&spec)?;
    let built = target::build(&profile, &spec.options, 0)?;
    let settings = target::settings(built.about());
    let text_of_profile = target::profile_text(&spec)?;
    if ui.json {
        let settings: serde_json::Map<String, serde_json::Value> =
            settings.into_iter().map(|(name, value)| (name, value.into())).collect();
        let shown = serde_json::json!({
            "schema": "drivelab.drive/1",
            "drive": spec.to_string(),
            "model": profile.model,
            "sources": profile.sources,
            "leaves_out": profile.leaves_out,
            "capacity_bytes": built.about().capacity_bytes,
            "settings": settings,
            "profile": text_of_profile,
        });
        return ui.result(&crate::commands::json_text(&shown));
    }
    let mut text = format!("{} ({spec})\n\n", profile.model);
    let width = settings.iter().map(|(name, _)| name.len()).max().unwrap_or(0) + 2;
    for (name, value) in settings {
        text.push_str(&format!("  {name:width$}{value}\n"));
    }
    text.push_str(&format!("\n{text_of_profile}"));
    ui.result(&text)
}
