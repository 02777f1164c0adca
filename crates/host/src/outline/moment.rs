//! One second of `--watch`, in words.

use drivelab_core::outline::{Line, Severity, Tone};

use crate::watch::Rate;

/// Columns of the bar that shows the depth in use.
const BAR: usize = 16;

/// One line per disk. A queue of which less than a quarter is used while the disk is busy is
/// yellow: its tags are idle.
pub fn watched(rates: &[Rate]) -> Vec<Line> {
    let head = format!(
        "{:12} {:>7} {:>6} {:BAR$} {:>5} {:>5} {:>8} {:>8} {:>9} {:>9} {:>5}",
        "disk", "depth", "of", "", "rd", "wr", "rd/s", "wr/s", "rd ms", "wr ms", "busy"
    );
    let mut lines = vec![Line::default().part(Tone::Plain, head)];
    for rate in rates {
        if rate.iostats == Some(false) {
            let line = format!("{:12} not counted by the kernel: queue/iostats is 0", rate.name);
            lines.push(Line::default().part(Tone::Wrong(Severity::Warn), line));
            continue;
        }
        let depth = rate.queue_depth.map_or_else(|| "?".into(), |depth| depth.to_string());
        let number =
            |count: Option<u64>| count.map_or_else(|| "?".into(), |count| count.to_string());
        let line = format!(
            "{:12} {:>7.1} {depth:>6} {} {:>5} {:>5} {:>8.0} {:>8.0} {:>9} {:>9} {:>4.0}%",
            rate.name,
            rate.depth_used,
            bar(rate),
            number(rate.in_flight.reads),
            number(rate.in_flight.writes),
            rate.reads_per_s,
            rate.writes_per_s,
            ms(rate.read_lat_ns),
            ms(rate.write_lat_ns),
            rate.busy * 100.0,
        );
        let idle_tags = rate.busy > 0.5
            && rate.queue_depth.is_some_and(|depth| rate.depth_used * 4.0 < f64::from(depth));
        let tone = if idle_tags { Tone::Wrong(Severity::Warn) } else { Tone::Plain };
        lines.push(Line::default().part(tone, line));
    }
    lines
}

fn bar(rate: &Rate) -> String {
    let Some(depth) = rate.queue_depth else { return " ".repeat(BAR) };
    let per_cell = f64::from(depth.max(1)) / 16.0;
    let used = (1..=BAR)
        .zip(1_u32..)
        .filter(|(_, cell)| rate.depth_used >= (f64::from(*cell) - 0.5) * per_cell);
    // Half a cell is the smallest depth that is drawn.
    let used = used.count();
    debug_assert!(used <= BAR, "one cell for each step of the bar");
    format!("{}{}", "#".repeat(used), ".".repeat(BAR - used))
}

fn ms(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".into(), |ns| format!("{}.{:03}", ns / 1_000_000, ns / 1000 % 1000))
}
