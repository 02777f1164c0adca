//! Modelled drives: the list, one of them, what was fitted, and what it will do at each depth.

mod measured;
mod predicted;

pub use measured::{MeasuredDrive, measured, measured_heading, measured_json};

pub use predicted::{Depth, Flush, Predicted};

use drivelab_core::record::unknown;
use serde::Serialize;

use crate::text::{Align, Look, Table};

/// The name of the JSON document.
pub const DRIVE_SCHEMA: &str = "drivelab.drive/1";

/// A drive that comes with drivelab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Its name here.
    pub name: &'static str,
    /// The maker's name for it.
    pub model: String,
    /// Its size.
    pub capacity_bytes: u64,
}

/// The drives there are, and the keys of their options.
pub fn list(drives: &[Listed], keys: &[&str], look: Look) -> String {
    let mut table =
        Table::new(&[("", Align::Left, 0), ("", Align::Right, 0), ("", Align::Left, 0)]);
    for Listed { name, model, capacity_bytes } in drives {
        let size = format!("{} GB", capacity_bytes / 1_000_000_000);
        table.row([(*name).to_owned(), size, model.clone()]);
    }
    let keys: Vec<String> = keys.iter().map(|key| format!("{key}=")).collect();
    format!("{}\n{}\n", table.render(look), look.wrap(&format!("options: {}", keys.join(" ")), 2))
}

/// One drive, for people.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown<'a> {
    /// A title for the drive.
    pub title: String,
    /// Its attachment and settings, as names and values.
    pub settings: &'a [(String, String)],
    /// Its profile as the file has it.
    pub profile: &'a str,
    /// Key, value and source of each known number; empty if the profile does not have them.
    pub known: Vec<[String; 3]>,
    /// The numbers that have not been measured.
    pub unknown: Vec<OpenNumber>,
    /// The deviation of real drives from the model, in logarithms: of anything, and of anything
    /// behind an elevator of the host.
    pub lacks: [f64; 2],
    /// The origin of the profile and its omissions.
    pub notes: Vec<String>,
}

/// A number that a profile leaves open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenNumber {
    /// The key of the profile.
    pub name: String,
    /// Of the median drive.
    pub median: String,
    /// Between these lie 95 drives of 100.
    pub range95: [String; 2],
    /// Its spread and the origin of that spread.
    pub spread: String,
}

/// One drive: its settings, what is known of it, and what is not.
pub fn shown(drive: &Shown<'_>, look: Look) -> String {
    let mut table = Table::new(&[("", Align::Left, 0), ("", Align::Left, 0)]);
    for (name, value) in drive.settings {
        table.row([format!("  {name}"), value.clone()]);
    }
    let head = format!("{}\n\n{}", drive.title, table.render(look));
    if drive.known.is_empty() && drive.unknown.is_empty() {
        return format!("{head}\n{}", drive.profile);
    }
    let columns = ["  known", "value", "source"];
    let mut known = Table::new(&columns.map(|title| (title, Align::Left, 0)));
    for [name, value, source] in &drive.known {
        known.row([format!("  {name}"), value.clone(), source.clone()]);
    }
    let notes: String = drive.notes.iter().map(|note| look.wrap(note, 2) + "\n").collect();
    format!("{head}\n{}{}\n{notes}", known.render(look), unknown(drive, look))
}

/// Lists the unknown numbers of a drive; empty if there are none.
fn unknown(drive: &Shown<'_>, look: Look) -> String {
    if drive.unknown.is_empty() {
        return String::new();
    }
    let columns = ["  not known", "median", "95 % within"];
    let mut table = Table::new(&columns.map(|title| (title, Align::Left, 0)));
    let mut sources = String::new();
    for OpenNumber { name, median, range95: [low, high], spread } in &drive.unknown {
        let range = if low == high { low.clone() } else { format!("{low} to {high}") };
        table.row([format!("  {name}"), median.clone(), range]);
        sources += &(look.wrap(&format!("- {name}: {spread}"), 4) + "\n");
    }
    let [any, elevator] = drive.lacks.map(|sigma| 100.0 * sigma);
    let lacks = format!(
        "Beyond these numbers, real drives differ from the model by {any:.0} % (one standard \
         deviation), and by {elevator:.0} % behind an elevator of the host."
    );
    format!("\n{}\n{sources}\n{}\n", table.render(look), look.wrap(&lacks, 2))
}

/// A figure that a profile was fitted to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fitted {
    /// The key in the file of measurements, with the load where it is not the plain one.
    pub name: String,
    /// In the unit of the key.
    pub measured: f64,
    /// In the unit of the key.
    pub fitted: f64,
}

/// A number that a fit leaves open, as far as it does.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LeftOpen {
    /// The key of the profile.
    pub name: &'static str,
    /// Half of the draws lie below.
    pub median: f64,
    /// Between these lie 95 draws of 100.
    pub range95: [f64; 2],
    /// `ms`, or nothing.
    pub unit: &'static str,
}

/// A fit, for people.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FittedDrive<'a> {
    /// Measured and fitted figures side by side.
    pub figures: &'a [Fitted],
    /// The numbers that the fit left open.
    pub left_open: &'a [LeftOpen],
    /// The numbers that the measurements could not show.
    pub not_identified: &'a [String],
    /// The nature of the measurements, and doubts about them.
    pub notes: &'a [String],
    /// The profile that was written.
    pub path: &'a str,
}

/// The closeness of a fit, what it left open, and what it could not show.
pub fn fitted(fit: &FittedDrive<'_>, look: Look) -> String {
    let FittedDrive { figures, left_open, not_identified, notes, path } = *fit;
    let titles = [("", Align::Left, 0), ("measured", Align::Right, 0)];
    let more = [("fitted", Align::Right, 0), ("off", Align::Right, 0)];
    let mut table = Table::new(&[titles, more].concat());
    for Fitted { name, measured, fitted } in figures {
        let off = format!("{:.1}%", 100.0 * (fitted / measured - 1.0));
        table.row([name.clone(), format!("{measured:.2}"), format!("{fitted:.2}"), off]);
    }
    let titles = ["left open", "median", "95 % within"].map(|title| (title, Align::Left, 0));
    let mut open = Table::new(&titles);
    for LeftOpen { name, median, range95: [low, high], unit } in left_open {
        let range = format!("{low:.2} - {high:.2}");
        let known = unknown::find(name).map(|known| format!("{} ({name})", known.words));
        let name = known.unwrap_or_else(|| (*name).to_owned());
        open.row([name, format!("{median:.2} {unit}"), range]);
    }
    let unknown: String =
        not_identified.iter().map(|line| look.wrap(&format!("- {line}"), 2) + "\n").collect();
    let notes: String =
        notes.iter().map(|note| look.wrap(&format!("note: {note}"), 2) + "\n").collect();
    format!(
        "{}\n{}\n{notes}what these measurements cannot show, and what stands in for it:\n{unknown}\n\
         written: {path}\n",
        table.render(look),
        open.render(look)
    )
}
