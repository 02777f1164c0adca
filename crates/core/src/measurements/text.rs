//! Writes a file of measurements.

use std::fmt::Write as _;

use super::read::stream_key;
use super::{MeasuredBurst, MeasuredFlush, MeasuredLoad, Measurements};
use crate::record::Mark;

impl Measurements {
    /// The text of the file; each line of `heading` is a comment at its beginning.
    pub fn text(&self, heading: &str) -> String {
        let mut text = String::new();
        for line in heading.lines() {
            let _ = writeln!(text, "# {line}");
        }
        let _ = writeln!(text, "[drive]\ncapacity_bytes = {}", self.capacity_bytes);
        if let Some(rpm) = self.rpm {
            let _ = writeln!(text, "rpm = {rpm}");
        }
        if let Some(kind) = self.kind {
            let _ = writeln!(text, "kind = \"{kind}\"");
        }
        if let Some(interface) = self.interface {
            let _ = writeln!(text, "interface = \"{interface}\"");
        }
        if let Some(link) = &self.link {
            let _ = writeln!(text, "link = {link:?}");
        }
        if let Some(bytes) = self.sector_bytes {
            let _ = writeln!(text, "sector_bytes = {bytes}");
        }
        if !self.sources.is_empty() {
            let _ = writeln!(text, "source = {:?}", self.sources.join("; "));
        }
        // The two single tables come before the lists. TOML does not require this, but readers
        // prefer it.
        let (alone, others): (Vec<_>, Vec<_>) = self.loads.iter().partition(|load| is_plain(load));
        for load in alone.into_iter().chain(others) {
            load_text(&mut text, load);
        }
        if !self.streams.is_empty() {
            text += "\n[sequential]\nbs = \"1M\"\n";
        }
        if let Some(state) = self.streams.iter().find_map(|stream| stream.state) {
            let _ = writeln!(text, "write_state = \"{state}\"");
        }
        for stream in &self.streams {
            let _ = writeln!(text, "{} = {:.2}", stream_key(stream), stream.mb_per_s);
        }
        for MeasuredFlush { writes, mean_ms, mean_error } in &self.flushes {
            let _ = writeln!(text, "\n[[flush]]\nwrites = {writes}\nmean_ms = {mean_ms:.3}");
            error_text(&mut text, *mean_error);
        }
        for MeasuredBurst { writes, p50_ms, error } in &self.bursts {
            let _ = writeln!(text, "\n[[cached_write]]\nwrites = {writes}\np50_ms = {p50_ms:.6}");
            error_text(&mut text, *error);
        }
        for Mark { id, message } in &self.marks {
            let _ = writeln!(text, "\n[[mark]]\nid = \"{id}\"\nmessage = {message:?}");
        }
        text
    }
}

/// True if the load has its own table, `[random_read_qd1]`.
fn is_plain(load: &MeasuredLoad) -> bool {
    load.iodepth == 1 && load.span_bytes.is_none()
}

fn load_text(text: &mut String, load: &MeasuredLoad) {
    let kind = if load.write { "random_write" } else { "random_read" };
    if is_plain(load) {
        let _ = writeln!(text, "\n[{kind}_qd1]");
    } else {
        let _ = writeln!(text, "\n[[{kind}]]\niodepth = {}", load.iodepth);
    }
    if let Some(bytes) = load.span_bytes {
        let _ = writeln!(text, "span_bytes = {bytes}");
    }
    if let Some(state) = load.state {
        let _ = writeln!(text, "state = \"{state}\"");
    }
    let _ = writeln!(text, "bs = {}", load.block_bytes);
    if let Some(requests) = load.requests {
        let _ = writeln!(text, "n = {requests}");
    }
    error_text(text, load.rate_error);
    for (key, value) in load.figures.iter() {
        // Of a time below a millisecond, as solid-state drives have them, to the nanosecond.
        let digits = if value < 1.0 && key.ends_with("_ms") { 6 } else { 3 };
        let _ = writeln!(text, "{key} = {value:.digits$}");
    }
}

fn error_text(text: &mut String, error: Option<f64>) {
    // Never printed as 0, which would be read as exact.
    if let Some(error) = error.filter(|error| *error > 0.0) {
        let _ = writeln!(text, "error_percent = {:.3}", (100.0 * error).max(0.001));
    }
}
