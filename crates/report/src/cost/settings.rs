//! Bills of one command under several settings, side by side.

use drivelab_analysis::cost::Requests;
use drivelab_analysis::figures;
use drivelab_core::shown_in_line;
use serde_json::{Value, json};

use super::text::two_digits;
use super::{CostReport, words};
use crate::text::{Align, BOLD, DOUBT, Look, Table};

/// The bills; each has the values of the settings that it was made out under.
#[derive(Debug, Clone)]
pub struct SettingsReport {
    /// The command, with the names of settings in braces.
    pub command: String,
    /// The names of the settings.
    pub names: Vec<String>,
    /// The values, and the bill.
    pub bills: Vec<(Vec<String>, CostReport)>,
}

impl SettingsReport {
    /// The document of schema `drivelab.cost-settings/1`.
    pub fn to_json(&self) -> Value {
        let bills = self.bills.iter().map(|(values, report)| {
            let settings: serde_json::Map<String, Value> =
                self.names.iter().cloned().zip(values.iter().map(|it| json!(it))).collect();
            json!({ "settings": settings, "bill": report.to_json() })
        });
        json!({
            "schema": "drivelab.cost-settings/1",
            "command": self.command,
            "bills": bills.collect::<Vec<_>>(),
        })
    }

    /// The bills as text: requests, times and, at a rate, years of flash.
    pub fn to_text(&self, look: Look) -> String {
        let mut text = format!("{}\n", look.paint(&shown_in_line(&self.command), BOLD));
        let kernel = self.bills.first().map(|(_, report)| report.bill.kernel.as_str());
        text += &format!("under Linux {}\n\n", kernel.unwrap_or_default());
        text += &self.requests(look);
        text += &self.times(look);
        text += &self.years(look);
        let (mut varies, mut notes) = (Vec::new(), Vec::new());
        for (values, CostReport { bill, .. }) in &self.bills {
            let values = values.join(", ");
            let which = shown_in_line(&values);
            varies.extend(
                bill.varies.iter().map(|it| format!("{which}: {}", words::varying(it, bill))),
            );
            // Most are of the command, not of a setting.
            for note in &bill.notes {
                if !notes.contains(note) {
                    notes.push(note.clone());
                }
            }
        }
        if !(varies.is_empty() && notes.is_empty()) {
            text.push('\n');
        }
        text += &look.each("NOT THE SAME TWICE:", DOUBT, &varies);
        text + &look.each("Note:", BOLD, &notes)
    }

    /// A table whose first columns are the settings.
    fn table(&self, columns: &[(&str, Align, u8)]) -> Table {
        let names: Vec<_> = self.names.iter().map(|name| shown_in_line(name)).collect();
        let settings = names.iter().map(|name| (name.as_ref(), Align::Left, 0));
        Table::new(&settings.chain(columns.iter().copied()).collect::<Vec<_>>())
    }

    fn requests(&self, look: Look) -> String {
        let mut table = self.table(&[
            ("reads", Align::Right, 1),
            ("writes", Align::Right, 0),
            ("bytes written", Align::Right, 0),
            ("against the first", Align::Right, 0),
            ("flushes", Align::Right, 0),
            ("syncs", Align::Right, 1),
        ]);
        let first = self.bills.first().map_or(0, |(_, report)| report.bill.total.write_bytes);
        for (values, report) in &self.bills {
            let Requests { reads, writes, write_bytes, flushes, .. } = report.bill.total;
            table.row(values.iter().cloned().chain([
                reads.to_string(),
                writes.to_string(),
                write_bytes.to_string(),
                ratio(write_bytes, first),
                flushes.to_string(),
                report.bill.syncs.to_string(),
            ]));
        }
        table.render(look)
    }

    fn times(&self, look: Look) -> String {
        let drives = self.bills.first().map(|(_, report)| &report.bill.drives[..]);
        let columns: Vec<(&str, Align, u8)> = drives
            .unwrap_or_default()
            .iter()
            .map(|drive| (drive.class.as_str(), Align::Right, 0))
            .collect();
        let mut table = self.table(&columns);
        for (values, report) in &self.bills {
            let times = report.bill.drives.iter().map(|drive| time(drive.time_ns));
            table.row(values.iter().cloned().chain(times));
        }
        format!("\ntime on\n{}", table.render(look))
    }

    fn years(&self, look: Look) -> String {
        let rated = self.bills.iter().find(|(_, report)| !report.lifetimes.is_empty());
        let Some((_, rated)) = rated else { return String::new() };
        let columns: Vec<(&str, Align, u8)> =
            rated.lifetimes.iter().map(|it| (it.endurance.class, Align::Right, 0)).collect();
        let mut table = self.table(&columns);
        for (values, report) in &self.bills {
            let mut years: Vec<String> = report
                .lifetimes
                .iter()
                .map(|it| figures::range(it.years.map(two_digits)))
                .collect();
            // A command that writes nothing wears no flash.
            years.resize(columns.len(), "no wear".to_owned());
            table.row(values.iter().cloned().chain(years));
        }
        let per_hour = figures::plain(rated.per_hour.unwrap_or_default());
        format!("\nyears of flash at {per_hour} runs an hour\n{}", table.render(look))
    }
}

/// A time to three digits.
fn time(ns: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let ns = ns as f64;
    figures::span_ns(ns)
}

/// The ratio of two numbers of bytes; none where the first writes nothing.
fn ratio(bytes: u64, first: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a ratio of three digits")]
    let ratio = (first > 0).then(|| bytes as f64 / first as f64);
    ratio.map_or_else(String::new, figures::times)
}
