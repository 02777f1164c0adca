//! `ApacheBench`: the output of `ab` 2.3.

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Work, size};

use crate::found::{Found, detail, figure, number, put};
use crate::web::{self, Answers};

const BANNER: &str = "This is ApacheBench, Version ";
/// Lines that describe the settings, and progress.
const SETTINGS: [&str; 23] = [
    "Copyright",
    "Licensed to",
    "Benchmarking ",
    "Completed ",
    "Finished ",
    "Server ",
    "SSL/TLS",
    "TLS ",
    "Document ",
    "Concurrency Level:",
    "Time taken for tests:",
    "Write errors:",
    "Keep-Alive requests:",
    "Total transferred:",
    "Total body sent:",
    "HTML transferred:",
    "Connection Times",
    "min  mean",
    "Percentage of the requests",
    "(Connect:",
    "WARNING:",
    "These are not close",
    "you should increase",
];

/// True if a text contains the output of `ab`.
pub fn is_ab(text: &str) -> bool {
    text.contains(BANNER)
}

/// Reads every run of a text.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("ab");
    let mut run = Run::default();
    for line in lines(text)? {
        let text = line.text.trim();
        setting(&mut run.work, text);
        if let Some((_, version)) = text.split_once(BANNER) {
            found.version(version.split_whitespace().next().unwrap_or(""));
            std::mem::take(&mut run).finish(&mut found);
            run.line = line.number;
        } else if let Some(count) = text
            .strip_prefix("Failed requests:")
            .or_else(|| text.strip_prefix("Non-2xx responses:"))
        {
            if number(line, count)? > 0.0 {
                let what = text.split(':').next().unwrap_or("");
                found.note(format!("Line {}: {what}: {}.", line.number, count.trim()));
                run.failed = run.failed.max(count.trim().parse().unwrap_or(0));
            }
        } else if let Some(figure) = row(line)? {
            put(&mut run.figures, figure, line.number)?;
        } else if let Some(count) = text.strip_prefix("Complete requests:") {
            run.requests = count.trim().parse().unwrap_or(0);
        } else if !SETTINGS.iter().any(|start| text.starts_with(start)) {
            found.unknown(line.number, text);
        }
    }
    run.finish(&mut found);
    found.finish("give the complete output of a call of `ab` that finished")
}

/// One run during reading.
#[derive(Debug, Default)]
struct Run {
    line: usize,
    figures: Vec<Figure>,
    work: Work,
    requests: u64,
    /// Requests that failed or were answered by an error, of which one may be both.
    failed: u64,
}

impl Run {
    fn finish(self, found: &mut Found) {
        // ab asks for one URL again and again, so the file is read from disk at most once.
        let why = "one small page is served from memory: it measures the CPU";
        let answers = Answers { failed: self.failed, requests: self.requests };
        found.add(web::run(self.line, self.work, (self.figures, why), answers));
    }
}

/// Takes the settings of a line.
fn setting(work: &mut Work, text: &str) {
    let Some((key, value)) = text.split_once(':') else { return };
    let value = value.trim();
    match key {
        "Concurrency Level" => {
            work.set("concurrency", value);
            // ab prints its `Keep-Alive` line only with `-k`.
            if work.get("keepalive").is_none() {
                work.set_switch("keepalive", false);
            }
        }
        "Document Path" => work.set("path", value),
        "Document Length" => work.set("document_size", size(value.trim_end_matches(" bytes"))),
        "Keep-Alive requests" => work.set_switch("keepalive", true),
        // A test that ends by time ends at any number.
        "Complete requests" if value.ends_with("00") => work.set("requests", value),
        _ => {}
    }
}

/// The figure of a line, if it has one.
fn row(line: Line) -> Result<Option<Figure>, ParseError> {
    let text = line.text.trim();
    let mut words = text.split_whitespace();
    if let Some((percent, after)) = text.split_once('%')
        && percent.parse::<u8>().is_ok()
    {
        let name = if percent == "100" { "max".into() } else { format!("p{percent}") };
        let value = number(line, after.split_whitespace().next().unwrap_or(""))?;
        let name = format!("requests_latency_{name}");
        return Ok(Some(detail(&name, value, "ms", Better::Less)));
    }
    let Some((key, value)) = text.split_once(':') else { return Ok(None) };
    let first = value.split_whitespace().next().unwrap_or("");
    let figure = match key {
        "Requests per second" => figure("requests", number(line, first)?, "1/s", Better::More),
        "Time per request" if value.contains("across all") => {
            detail("requests_interval_mean", number(line, first)?, "ms", Better::Less)
        }
        "Time per request" => {
            detail("requests_latency_mean", number(line, first)?, "ms", Better::Less)
        }
        // `received`, and with a body `kb/s sent` and `kb/s total` in separate lines.
        "Transfer rate" => {
            detail("requests_transfer_rate", number(line, first)?, "KiB/s", Better::More)
        }
        "Connect" | "Processing" | "Waiting" | "Total" => {
            // The columns are minimum, mean, deviation, median and maximum.
            let mean = number(line, words.nth(2).unwrap_or(""))?;
            let name = format!("requests_{}_mean", key.to_lowercase());
            detail(&name, mean, "ms", Better::Less)
        }
        _ => return Ok(None),
    };
    Ok(Some(figure))
}

#[cfg(test)]
mod tests;
