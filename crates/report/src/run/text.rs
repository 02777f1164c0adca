//! One run for a terminal: its figures, and what each of them is.

use anstyle::Style;
use drivelab_analysis::outcome::validity;
use drivelab_analysis::{attachment, figures};
use drivelab_core::numbers::float;
use drivelab_core::record::{JobRecord, Latency, RunRecord, Stamp};
use drivelab_core::workload::Workload;
use drivelab_core::{counted, shown_in_line};
use drivelab_stats::quantile_reportable;

use super::span;
use crate::text::{Align, BOLD, DIM, DOUBT, Look, Table};

/// The margin for a settled rate if no study says what matters: the usual smallest effect.
pub(super) const STEADY_MARGIN: f64 = 0.03;

/// The run as text: totals first, then latencies, then what casts doubt on them.
pub fn text(record: &RunRecord, look: Look) -> String {
    let title = match &record.label {
        Some(label) => format!("{label}: {}", record.target),
        None => record.target.clone(),
    };
    let mut text = format!("{}\n\n", look.paint(&shown_in_line(&title), BOLD));
    if let Some(total) = &record.total {
        text += &load(total, record, look);
    }
    if !record.phases.is_empty() {
        text += &crate::suite::text(record, look);
    }
    text.push('\n');
    if let Some(found) = &record.verification {
        text += &crate::verification::text(found, look);
    }
    for mark in &record.marks {
        let (lead, style) =
            if mark.id.is_warning() { ("Warning:", DOUBT) } else { ("What this is:", BOLD) };
        text += &look.led(lead, style, &mark.message, 2);
        text.push('\n');
    }
    if let Some(warning) = drivelab_analysis::run::steady::warning(record, STEADY_MARGIN) {
        text += &look.led("Warning:", BOLD, &warning, 2);
        text.push('\n');
    }
    if let Some(views) = views(record) {
        text += &look.led("Service time:", BOLD, &views, 2);
        text.push('\n');
    }
    if let Some(written) = flash(record) {
        text += &look.led("Written to flash:", BOLD, &written, 2);
        text.push('\n');
    }
    if let Some(drive) = record.specimen.as_ref().and_then(crate::specimens::which) {
        text += &look.led("Which drive:", BOLD, &drive, 2);
        text.push('\n');
    }
    if let Some(attached) = attachment::line(record) {
        text += &look.led("Attached:", BOLD, &attached, 2);
        text.push('\n');
    }
    text += &look.led("How it was measured:", BOLD, &conditions(record), 2);
    text.push('\n');
    text
}

/// The figures of a load: totals, latencies, kinds of requests, course and jobs.
fn load(total: &JobRecord, record: &RunRecord, look: Look) -> String {
    let mut parts = vec![format!("{}\n", look.wrap(&summary(total), 2))];
    parts.push(latencies(total).render(look));
    if total.kinds().count() > 1 {
        parts.push(kinds(total).render(look));
    }
    parts.extend(super::over_time::text(total, look));
    if record.jobs.len() > 1 {
        parts.push(jobs(record).render(look));
    }
    parts.join("\n")
}

pub(super) fn summary(total: &JobRecord) -> String {
    let failed = validity::failed_share(total);
    // Figures of the rest must not be read as those of the target.
    let warned = match &failed {
        Some(share) if validity::is_selection(total) => {
            format!("{share} of the requests FAILED, and these figures are those of the others: ")
        }
        _ => String::new(),
    };
    let mut summary = format!(
        "{warned}{} IOPS, {}; {} in {}",
        figures::count(total.iops),
        figures::bytes_per_s(total.bytes_per_s),
        requests(total),
        span(total.elapsed_ns),
    );
    if let Some(depth) = total.queue_depth_mean {
        summary += &format!(", mean queue depth {depth:.2}");
    }
    if let Some(cpu) = total.cpu_ns_per_io {
        summary += &format_args!(", {} CPU time per request", figures::span_ns(cpu)).to_string();
    }
    if let Some(held) = total.steady {
        summary += &format!(
            "; steady from second {} on: {} IOPS, {}, {} per request",
            held.from_s,
            figures::count(held.iops),
            figures::bytes_per_s(held.bytes_per_s),
            span(held.lat_mean_ns),
        );
    }
    if let Some(share) = failed {
        let all = total.ios + total.errors;
        summary +=
            &format_args!("; {} of {all} requests FAILED ({share})", total.errors).to_string();
    }
    summary
}

/// Describes the drive's writes to its flash for each byte of the host.
fn flash(record: &RunRecord) -> Option<String> {
    let written = record.flash?;
    let all = written.host_bytes + written.copied_bytes + written.padded_bytes;
    Some(format!(
        "{} bytes for each byte of the host (write amplification), {} of them moved by collection",
        figures::significant(written.write_amplification),
        figures::percent(float(written.copied_bytes) / float(all)),
    ))
}

/// Compares a served model's latencies with those that its client saw.
fn views(record: &RunRecord) -> Option<String> {
    let model = record.served.as_ref()?.model_ns?;
    let seen = record.total.as_ref()?.service_ns;
    let pair = |lat: &Latency| [lat.mean, lat.p50].map(span);
    let ([mean, median], [seen_mean, seen_median]) = (pair(&model), pair(&seen));
    Some(format!(
        "by the model's word mean {mean} and median {median}; as this kernel saw it {seen_mean} \
         and {seen_median}"
    ))
}

/// `70 reads, 30 writes, 3 flushes`.
fn requests(total: &JobRecord) -> String {
    let kinds: Vec<String> =
        total.kinds().map(|(name, kind)| format!("{} {name}", kind.ios)).collect();
    if kinds.is_empty() { format!("{} requests", total.ios) } else { kinds.join(", ") }
}

/// Each kind of request by itself; flushes are in no other figure.
fn kinds(total: &JobRecord) -> Table {
    let mut table = Table::new(&[
        ("", Align::Left, 0),
        ("per second", Align::Right, 0),
        ("throughput", Align::Right, 0),
        ("mean", Align::Right, 0),
        ("p50", Align::Right, 0),
        ("p99", Align::Right, 1),
        ("max", Align::Right, 2),
    ]);
    for (name, kind) in total.kinds() {
        let lat = &kind.lat_ns;
        let few = if quantile_reportable(0.99, lat.n) { Style::new() } else { DIM };
        let moved = match kind.bytes_per_s {
            0.0 => "-".to_owned(),
            moved => figures::bytes_per_s(moved),
        };
        let plain = Style::new();
        table.row(vec![
            (name.to_owned(), plain),
            (figures::count(kind.iops), plain),
            (moved, plain),
            (span(lat.mean), plain),
            (span(lat.p50), plain),
            (span(lat.p99), few),
            (span(lat.max), plain),
        ]);
    }
    table
}

type Quantile = fn(&Latency) -> u64;

/// The distributions side by side; quantiles with too few requests beyond them are marked.
fn latencies(total: &JobRecord) -> Table {
    let mut table = Table::new(&[
        ("latency", Align::Left, 0),
        ("response time", Align::Right, 0),
        ("service time", Align::Right, 0),
        ("lateness", Align::Right, 1),
        ("", Align::Left, 2),
    ]);
    let rows: [(&str, Quantile, f64); 8] = [
        ("mean", |l| l.mean, 0.0),
        ("min", |l| l.min, 0.0),
        ("p50", |l| l.p50, 0.5),
        ("p90", |l| l.p90, 0.9),
        ("p99", |l| l.p99, 0.99),
        ("p99.9", |l| l.p99_9, 0.999),
        ("p99.99", |l| l.p99_99, 0.9999),
        ("max", |l| l.max, 0.0),
    ];
    for (name, of, share) in rows {
        let few = share > 0.0 && !quantile_reportable(share, total.lat_ns.n);
        let style = if few { DIM } else { Style::new() };
        let show = |latency: &Latency| match latency.n {
            0 => "-".to_owned(),
            _ => span(of(latency)),
        };
        let doubt = if few { "too few requests to rely on" } else { "" };
        table.row(vec![
            (name.to_owned(), Style::new()),
            (show(&total.lat_ns), style),
            (show(&total.service_ns), style),
            (show(&total.late_ns), style),
            (doubt.to_owned(), DIM),
        ]);
    }
    table
}

fn jobs(record: &RunRecord) -> Table {
    let mut table = Table::new(&[
        ("job", Align::Right, 0),
        ("IOPS", Align::Right, 0),
        ("throughput", Align::Right, 0),
        ("mean", Align::Right, 0),
        ("p99", Align::Right, 1),
        ("errors", Align::Right, 2),
    ]);
    for (number, job) in (1..).zip(&record.jobs) {
        let cells = [
            format!("{number}"),
            figures::count(job.iops),
            figures::bytes_per_s(job.bytes_per_s),
            span(job.lat_ns.mean),
            figures::span_ns(float(job.lat_ns.p99)),
            job.errors.to_string(),
        ];
        table.row(cells.map(|cell| (cell, Style::new())).to_vec());
    }
    table
}

pub(super) fn conditions(record: &RunRecord) -> String {
    let config = &record.config;
    let cache = if config.direct { "bypassing the page cache" } else { "through the page cache" };
    let host = match &record.host {
        Some(host) => format!(", {} on {}", host.kernel, host.cpu),
        None => String::new(),
    };
    let stamps = match record.total.as_ref().map(|total| total.stamp) {
        Some(Stamp::Batch) => ", one timestamp per batch",
        Some(Stamp::Io) | None => "",
    };
    format!(
        "{}{}{stamps}, {cache}, {}, seed {}, drivelab {}{host}",
        config.workload.as_ref().map(work).unwrap_or_default(),
        config.ioengine,
        counted(config.numjobs, "job"),
        config.seed,
        config.drivelab
    )
}

fn work(workload: &Workload) -> String {
    let (rw, blocks, depth) = (workload.rw, &workload.blocks, workload.pace.iodepth());
    format!("{rw}, blocks of {blocks}, depth {depth} with ")
}
