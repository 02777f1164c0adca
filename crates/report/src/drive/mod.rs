//! Modelled drives: the list, one of them, what was fitted, and what it will do at each depth.

mod measured;
mod predicted;

pub use measured::{MeasuredDrive, measured, measured_heading, measured_json};

pub use predicted::{Depth, Flush, Predicted};

use serde::Serialize;

use crate::text::{Align, Look, Table};

/// The name of the JSON document.
pub const DRIVE_SCHEMA: &str = "drivelab.drive/1";

/// A drive that comes with drivelab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// What it is called here.
    pub name: &'static str,
    /// What its maker calls it.
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

/// One drive: its settings, and its profile as the file has it.
pub fn shown(title: &str, settings: &[(String, String)], profile: &str, look: Look) -> String {
    let mut table = Table::new(&[("", Align::Left, 0), ("", Align::Left, 0)]);
    for (name, value) in settings {
        table.row([format!("  {name}"), value.clone()]);
    }
    format!("{title}\n\n{}\n{profile}", table.render(look))
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

/// How near a fit came, and what it could not show.
pub fn fitted(figures: &[Fitted], not_identified: &[String], path: &str, look: Look) -> String {
    let titles = [("", Align::Left, 0), ("measured", Align::Right, 0)];
    let more = [("fitted", Align::Right, 0), ("off", Align::Right, 0)];
    let mut table = Table::new(&[titles, more].concat());
    for Fitted { name, measured, fitted } in figures {
        let off = format!("{:.1}%", 100.0 * (fitted / measured - 1.0));
        table.row([name.clone(), format!("{measured:.2}"), format!("{fitted:.2}"), off]);
    }
    let unknown: String =
        not_identified.iter().map(|line| look.wrap(&format!("- {line}"), 2) + "\n").collect();
    format!(
        "{}\nwhat these measurements cannot show, and what stands in for it:\n{unknown}\n\
         written: {path}\n",
        table.render(look)
    )
}
