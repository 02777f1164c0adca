//! `drive random`: one drive out of all that a class allows.

use std::path::PathBuf;

use clap::Args;
use drivelab_core::{Refusal, Rng};
use drivelab_model::profile::{self, Profile};
use drivelab_report::drive::DRIVE_SCHEMA;
use drivelab_report::text::json_text;
use serde::Serialize;

use crate::exit::Outcome;
use crate::output;
use crate::ui::Ui;

/// The seed, the class and the file of a drawn drive.
#[derive(Debug, Args)]
#[command(after_help = "\
The numbers that the class leaves open are drawn from their spreads, each with its source; the
others are those of the class.

Examples:
  drivelab drive random --seed 7 --out some-drive.toml
  drivelab drive show some-drive.toml")]
pub(super) struct RandomArgs {
    /// The number of the drive: the same seed draws the same one.
    #[arg(long, value_name = "N")]
    seed: u64,
    /// The profile to write.
    #[arg(long, value_name = "FILE.toml")]
    out: PathBuf,
    /// The class: `generic-5400`, `generic-10k`, `generic-sata` or `generic-nvme` [default: drawn
    /// as well].
    #[arg(long, value_name = "NAME")]
    class: Option<String>,
}

/// A drawn number.
#[derive(Debug, Serialize)]
struct Number {
    name: &'static str,
    value: String,
    source: String,
}

/// Drives that are tried: numbers drawn one by one need not go together.
const TRIES: u32 = 100;

/// Draws a drive and writes its profile.
pub(super) fn random(arguments: &RandomArgs, ui: Ui) -> Outcome {
    output::refuse_other(&arguments.out, &output::PROFILE)?;
    let class = class_of(arguments)?;
    let profile = Profile::embedded(class).expect("the name is of an included profile");
    let drawn = (0..TRIES).map(|number| numbers(&profile, number, arguments.seed));
    let texts = drawn.map(|numbers| (text(class, arguments.seed, &numbers), numbers));
    let name = arguments.out.display().to_string();
    let mut possible = texts.filter(|(text, _)| Profile::parse(&name, text, &|_| None).is_ok());
    let (text, numbers) =
        possible.next().expect("one of a hundred drives around the median can be built");
    output::write(&arguments.out, &text, &output::PROFILE)?;
    if ui.json {
        return ui.result(&json_text(&serde_json::json!({
            "schema": DRIVE_SCHEMA,
            "profile": arguments.out,
            "class": class,
            "seed": arguments.seed,
            "numbers": numbers,
        })));
    }
    ui.result(&format!("wrote a drive of the class `{class}`: `drivelab drive show {name}`"))
}

/// The class that was typed, or one that the seed draws.
fn class_of(arguments: &RandomArgs) -> Result<&'static str, Refusal> {
    let classes: Vec<&str> =
        profile::names().into_iter().filter(|name| name.starts_with("generic-")).collect();
    let Some(typed) = &arguments.class else {
        let mut rng = Rng::new(arguments.seed);
        let index = usize::try_from(rng.below(classes.len() as u64)).expect("a few classes");
        return Ok(classes[index]);
    };
    classes.iter().find(|class| *class == typed).copied().ok_or_else(|| {
        Refusal::request(format!("`{typed}` is not a class of drives"))
            .hint(format!("the classes are `{}`", classes.join("`, `")))
    })
}

/// The open numbers of one drive, with where their spreads come from.
fn numbers(profile: &Profile, number: u32, seed: u64) -> Vec<Number> {
    let known = profile.drawn(number, seed).known();
    let unknown = profile.unknowns();
    let drawn = unknown.into_iter().filter_map(|unknown| {
        let known = known.iter().find(|known| known.name == unknown.name)?;
        let source = format!("drawn: {}; {}", unknown.kind, unknown.source);
        Some(Number { name: unknown.name, value: known.value.clone(), source })
    });
    drawn.collect()
}

/// The profile as a file.
fn text(class: &str, seed: u64, numbers: &[Number]) -> String {
    let mut text = format!(
        "# Made by `drivelab drive random --seed {seed}`: one drive of the class `{class}`.\n\
         # Each number is drawn from its spread over such drives, which the comment gives.\n\
         base = \"{class}\"\nmodel = \"random drive {seed} of the class {class}\"\n"
    );
    for Number { name, value, source } in numbers {
        // TOML allows `_` in numbers, Rust's parser does not.
        let is_number = value.replace('_', "").parse::<f64>().is_ok();
        let value = if is_number { value.clone() } else { format!("\"{value}\"") };
        // A line break would end the comment.
        text += &format!("{name} = {value}  # [E] {}\n", source.replace('\n', " "));
    }
    text
}
