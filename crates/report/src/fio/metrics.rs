//! Figures in the text format of `OpenMetrics`, which Prometheus reads.

use std::fmt::Write as _;

use super::figures::{Kind, ratio};
use super::{Job, Results};

const KINDS: [&str; 4] = ["read", "write", "trim", "sync"];

/// The families in the order in which they are written: name, type, help.
const FAMILIES: [(&str, &str, &str); 3] = [
    ("drivelab_requests", "counter", "Requests completed."),
    ("drivelab_bytes", "counter", "Bytes moved."),
    ("drivelab_latency_seconds", "summary", "Time from the due time to completion."),
];

/// Requests, bytes and latencies of each job and kind of request.
pub fn openmetrics(results: &Results) -> String {
    let mut out = String::new();
    for (name, kind, help) in FAMILIES {
        write!(out, "# TYPE {name} {kind}\n# HELP {name} {help}\n").expect("text is written");
        for job in &results.jobs {
            for (op, figures) in KINDS.iter().zip(&job.kinds).filter(|(_, it)| it.ios > 0) {
                family(&mut out, name, &labels(job, op), figures);
            }
        }
    }
    out + "# EOF\n"
}

fn family(out: &mut String, name: &str, labels: &str, figures: &Kind) {
    let lat = &figures.lat;
    let written = match name {
        "drivelab_requests" => writeln!(out, "{name}_total{{{labels}}} {}", figures.ios),
        "drivelab_bytes" => writeln!(out, "{name}_total{{{labels}}} {}", figures.bytes),
        _ => {
            for (percent, ns) in &lat.percentiles {
                let (quantile, seconds) = (percent / 100.0, ratio(*ns, 1_000_000_000));
                let line = format!("{name}{{{labels},quantile=\"{quantile}\"}} {seconds}\n");
                out.push_str(&line);
            }
            let sum = ratio(lat.mean, 1_000_000_000) * ratio(lat.n, 1);
            writeln!(out, "{name}_sum{{{labels}}} {sum}\n{name}_count{{{labels}}} {}", lat.n)
        }
    };
    written.expect("text is written");
}

fn labels(job: &Job, op: &str) -> String {
    let name = job.name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("job=\"{name}\",op=\"{op}\"")
}
