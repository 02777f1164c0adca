//! The measurements of a drive.

use drivelab_analysis::signs::{Confidence, Sign};
use drivelab_core::measurements::{
    MeasuredBurst, MeasuredFlush, MeasuredLoad, Measurements, Position,
};
use drivelab_core::numbers::float;
use drivelab_core::units::Span;
use serde_json::{Value, json};

use super::DRIVE_SCHEMA;
use crate::text::{Align, Look, Table};

/// A measurement with what it is.
#[derive(Debug, Clone, Copy)]
pub struct MeasuredDrive<'a> {
    /// The device or file that was measured.
    pub target: &'a str,
    /// The file that was written.
    pub path: &'a str,
    /// The contents of that file.
    pub measurements: &'a Measurements,
    /// It came to its end.
    pub complete: bool,
    /// The duration.
    pub took: Span,
    /// Requests sent.
    pub requests: u64,
    /// Requests that failed.
    pub failed: u64,
    /// The properties that it shows.
    pub signs: &'a [Sign],
}

/// The heading of the file: what made it, and what must be known of it.
pub fn measured_heading(command: &str, words: &[String]) -> String {
    let lines = [format!("Measured by `{command}`.")].into_iter().chain(words.iter().cloned());
    lines.collect::<Vec<String>>().join("\n")
}

const POSITIONS: [(Position, &str); 3] =
    [(Position::Outer, "outer"), (Position::Middle, "middle"), (Position::Inner, "inner")];

/// The measurement for scripts.
pub fn measured_json(drive: &MeasuredDrive<'_>) -> Value {
    let MeasuredDrive { target, path, measurements, complete, took, requests, failed, signs } =
        *drive;
    let loads = measurements.loads.iter();
    let loads = loads.map(|load| load_json(load, measurements.capacity_bytes));
    let lasting = measurements.streams.iter().filter(|stream| stream.state.is_some());
    let mut found = json!({
        "schema": DRIVE_SCHEMA,
        "target": target,
        "measurements": path,
        "complete": complete,
        "seconds": float(took.ns()) / 1e9,
        "requests": requests,
        "errors": failed,
        "capacity_bytes": measurements.capacity_bytes,
        "rpm": measurements.rpm,
        "kind": measurements.kind,
        "interface": measurements.interface,
        "link": measurements.link,
        "loads": loads.collect::<Vec<_>>(),
        "read_mb_per_s": streams_json(measurements, false),
        "write_mb_per_s": streams_json(measurements, true),
        "flushes": measurements.flushes.iter().map(flush_json).collect::<Vec<_>>(),
        "marks": measurements.marks,
        "signs": signs,
    });
    // Only of solid-state drives that were written to.
    if !measurements.bursts.is_empty() {
        found["cached_writes"] = measurements.bursts.iter().map(burst_json).collect();
        found["sustained_write"] =
            lasting.map(|it| json!({ "mb_per_s": it.mb_per_s, "state": it.state })).collect();
    }
    found
}

fn load_json(load: &MeasuredLoad, capacity_bytes: u64) -> Value {
    let mut row = json!({
        "rw": if load.write { "randwrite" } else { "randread" },
        "bs_bytes": load.block_bytes,
        "span_bytes": load.span_bytes.unwrap_or(capacity_bytes),
        "iodepth": load.iodepth,
        "n": load.requests,
        "iops_error": load.rate_error,
    });
    if let Some(state) = load.state {
        row["state"] = state.to_string().into();
    }
    for (key, value) in load.figures.iter() {
        row[key] = value.into();
    }
    row
}

/// The rate at each position where it was measured.
fn streams_json(measurements: &Measurements, write: bool) -> Value {
    let rates = POSITIONS.iter().filter_map(|(position, name)| {
        Some(((*name).to_owned(), measurements.stream_at(write, *position)?.into()))
    });
    rates.collect::<serde_json::Map<String, Value>>().into()
}

fn flush_json(flush: &MeasuredFlush) -> Value {
    let MeasuredFlush { writes, mean_ms, mean_error } = *flush;
    json!({ "writes": writes, "mean_ms": mean_ms, "mean_error": mean_error })
}

fn burst_json(burst: &MeasuredBurst) -> Value {
    let MeasuredBurst { writes, p50_ms, error } = *burst;
    json!({ "writes": writes, "p50_ms": p50_ms, "error": error })
}

/// The measurement for people.
pub fn measured(drive: &MeasuredDrive<'_>, look: Look) -> String {
    let measured = drive.measurements;
    let titles = ["random 4 KiB", "within", "depth", "IOPS", "+-", "gain", "p10 ms", "p50", "p99"];
    let align = |at: usize| if at < 2 { Align::Left } else { Align::Right };
    let columns: Vec<_> =
        titles.iter().enumerate().map(|(at, title)| (*title, align(at), 0)).collect();
    let mut table = Table::new(&columns);
    for load in &measured.loads {
        let alone = |other: &&MeasuredLoad| {
            (other.write, other.span_bytes, other.iodepth) == (load.write, load.span_bytes, 1)
        };
        let alone = measured.loads.iter().find(alone).and_then(MeasuredLoad::iops);
        let gain = alone.zip(load.iops()).map(|(one, all)| all / one);
        let figure = |key| load.figures.get(key);
        let number = |value: Option<f64>, digits| {
            value.map_or_else(String::new, |value: f64| format!("{value:.digits$}"))
        };
        // Of flash to the microsecond.
        let time = |ms: Option<f64>| number(ms, if ms.is_some_and(|ms| ms < 1.0) { 3 } else { 2 });
        let span = load.span_bytes.map(|bytes| format!("{} GB", bytes / 1_000_000_000));
        table.row([
            match (load.write, load.state) {
                (true, Some(state)) => format!("writes, {state}"),
                (true, None) => "writes".to_owned(),
                (false, _) => "reads".to_owned(),
            },
            span.unwrap_or_else(|| "whole drive".into()),
            load.iodepth.to_string(),
            number(load.iops(), 1),
            load.rate_error.map_or_else(String::new, |error| format!("{:.1}%", 100.0 * error)),
            number(gain, 2),
            time(figure("p10_ms")),
            time(figure("p50_ms")),
            time(figure("p99_ms")),
        ]);
    }
    let about =
        "`gain` is the rate divided by that at depth 1, `+-` the standard error of the rate.";
    let mut text = signs_text(drive.signs, look);
    text += &format!("{}{}\n\n", table.render(look), look.wrap(about, 2));
    text += &rates_text(measured);
    if let Some(rpm) = measured.rpm {
        text += &format!("rotation: {rpm} rpm\n");
    }
    if let Some(interface) = measured.interface {
        let link = measured.link.as_ref().map_or_else(String::new, |link| format!(", link {link}"));
        text += &format!("solid-state drive: {interface}{link}\n");
    }
    for MeasuredFlush { writes, mean_ms, .. } in &measured.flushes {
        text += &format!("flush after {writes} writes: {mean_ms:.1} ms\n");
    }
    for mark in &measured.marks {
        text += &format!("{}\n", look.wrap(&format!("note: {}", mark.message), 2));
    }
    let MeasuredDrive { path, requests, failed, took, .. } = *drive;
    let seconds = took.ns() / 1_000_000_000;
    let errors = if failed > 0 { format!(", {failed} of them failed") } else { String::new() };
    text += &format!("\n{requests} requests in {seconds} s{errors}\nwritten: {path}\n");
    text + &look.command("next: ", &format!("drivelab drive fit {path} --out own.toml")) + "\n"
}

/// The findings in words, those that are known first.
fn signs_text(signs: &[Sign], look: Look) -> String {
    let mut text = String::new();
    for known in [true, false] {
        for sign in signs.iter().filter(|it| it.value.is_some() == known) {
            let Sign { words, evidence, confidence, .. } = sign;
            let words = match confidence {
                Confidence::Certain => format!("certain: {words} ({evidence})"),
                Confidence::Likely => format!("likely: {words} ({evidence})"),
                Confidence::CannotTell => format!("{words} ({evidence})"),
            };
            text += &(look.wrap(&words, 2) + "\n");
        }
    }
    text + "\n"
}

/// Sequential rates, and writes that the buffer takes over, a line each.
fn rates_text(measured: &Measurements) -> String {
    let mut text = String::new();
    for (write, verb) in [(false, "reads"), (true, "writes")] {
        let rates: Vec<String> = POSITIONS
            .into_iter()
            .filter_map(|(position, name)| {
                Some(format!("{name} {:.0} MB/s", measured.stream_at(write, position)?))
            })
            .collect();
        if !rates.is_empty() {
            text += &format!("sequential {verb}: {}\n", rates.join(", "));
        }
    }
    for stream in &measured.streams {
        if let Some(state) = stream.state {
            let rate = stream.mb_per_s;
            text += &format!("sustained sequential writes, {state}: {rate:.0} MB/s\n");
        }
    }
    for MeasuredBurst { p50_ms, .. } in &measured.bursts {
        text += &format!("a write that the buffer takes over: {p50_ms:.3} ms\n");
    }
    text
}
