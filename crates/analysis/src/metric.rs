//! Properties of a metric that follow from its name: its words, its smallest effect and, if it is
//! one of drivelab's own, its unit.

use drivelab_core::record::{self, own_unit};
use drivelab_stats::Better;

use crate::figures;

/// The better direction of a metric that is compared.
///
/// # Panics
/// Neither direction is better.
pub fn better(better: record::Better) -> Better {
    match better {
        record::Better::More => Better::More,
        record::Better::Less => Better::Less,
        record::Better::Neither => unreachable!("what only describes is no metric"),
    }
}

/// Smallest effect worth acting on in the tail of latencies: tails vary more than means, and no
/// one acts on a few percent of a p99.
pub const TAIL_MARGIN: f64 = 0.10;

/// The metric in words, `p99 latency` for `lat_p99_ns`.
pub fn label(metric: &str) -> String {
    if let (Some(kind), all) = of_kind(metric) {
        return format!("{} of {kind}", label(all));
    }
    if let Some((phase, rest)) = metric.rsplit_once('.').filter(|(_, rest)| is_latency(rest)) {
        return format!("{} of {}", label(rest), phase.replace('_', " "));
    }
    match metric {
        "iops_per_usd" => return "IOPS per dollar".to_owned(),
        "bytes_per_s_per_usd" => return "throughput per dollar".to_owned(),
        "worst_bytes_per_s" => return "lowest throughput over block sizes".to_owned(),
        "best_bytes_per_s" => return "highest throughput over block sizes".to_owned(),
        "best_alone_bytes_per_s" => return "highest throughput of one drive alone".to_owned(),
        "iops" => return "IOPS".to_owned(),
        "bytes_per_s" => return "throughput".to_owned(),
        "scaling" => return "scaling efficiency".to_owned(),
        "wall_ns" => return "wall time".to_owned(),
        "cpu_ns" => return "CPU time".to_owned(),
        _ => {}
    }
    let own = own_unit(metric);
    if let Some(which) = metric.strip_suffix("_bytes_per_s").filter(|_| own.is_some()) {
        return format!("{which} throughput");
    }
    let bare = if own.is_some() { strip_unit(metric) } else { metric };
    match bare.split_once('_') {
        Some(("lat", "p50")) => "median latency".to_owned(),
        // `p99_9` is p99.9.
        Some(("lat", which)) if is_quantile(which) => {
            format!("{} latency", which.replace('_', "."))
        }
        Some(("clat", which)) => {
            format!("{} completion latency", which.replace("p50", "median").replace('_', "."))
        }
        Some(("lat", which)) => format!("{} latency", which.replace('_', " ")),
        _ => bare.replace('_', " "),
    }
}

/// The metric in words and a value with its unit, unless the words end with the unit; an empty
/// `unit` is the one in the name.
pub fn named(metric: &str, value: f64, unit: &str) -> (String, String) {
    let words = label(metric);
    let shown = match unit {
        "" => show(metric, value),
        unit => format!("{} {unit}", figures::count(value)),
    };
    let says_unit =
        |unit: &str| words.rsplit(' ').next().is_some_and(|it| it.eq_ignore_ascii_case(unit));
    match shown.rsplit_once(' ') {
        Some((number, unit)) if says_unit(unit) => (words, number.to_owned()),
        _ => (words, shown),
    }
}

/// A value of the metric with its unit, which is known of drivelab's own metrics alone.
pub fn show(metric: &str, value: f64) -> String {
    if let Some(rate) = metric.strip_suffix("_per_usd").filter(|rate| own_unit(rate).is_some()) {
        return format!("{} a dollar", show(rate, value));
    }
    match own_unit(metric) {
        Some("B/s") => figures::bytes_per_s(value),
        Some("ns") => figures::span_ns(value),
        Some(_) => format!("{} IOPS", figures::count(value)),
        None if metric.rsplit('.').next() == Some("scaling") => figures::percent(value),
        None => figures::count(value),
    }
}

/// An interval of the metric, its unit once; a single value where both limits read the same.
pub fn show_range(metric: &str, [lo, hi]: [f64; 2]) -> String {
    let [lo, hi] = [lo, hi].map(|limit| show(metric, limit));
    match (lo.split_once(' '), hi.split_once(' ')) {
        _ if lo == hi => hi,
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number} to {hi}"),
        _ => format!("{lo} to {hi}"),
    }
}

/// The smallest effect worth acting on: the study's, and for tail latencies at least
/// [`TAIL_MARGIN`].
pub fn margin(metric: &str, study: f64) -> f64 {
    let (_, all) = of_kind(metric);
    let latency = all.strip_prefix("lat_").or_else(|| all.strip_prefix("clat_"));
    let tail = latency.is_some_and(|rest| {
        rest.starts_with("max") || (rest.starts_with("p9") && is_quantile(strip_unit(rest)))
    });
    if tail { study.max(TAIL_MARGIN) } else { study }
}

/// True if the metric is a time, which is longer or shorter and not more or less: its unit says so,
/// given or implied by one of drivelab's own names.
pub fn is_time(metric: &str, unit: &str) -> bool {
    let unit = if unit.is_empty() { own_unit(metric).unwrap_or_default() } else { unit };
    TIMES.contains(&unit)
}

/// Units of time as tools and users write them.
const TIMES: [&str; 14] = [
    "ns",
    "us",
    "\u{b5}s",
    "\u{3bc}s",
    "ms",
    "s",
    "sec",
    "second",
    "seconds",
    "min",
    "minutes",
    "h",
    "hours",
    "milliseconds",
];

/// Why a run may not have the metric, and what helps.
pub fn why_missing(metric: &str) -> Option<String> {
    let Needed { requests, kind } = needed(metric)?;
    Some(format!("fewer than {requests} {kind}, too few for this quantile: run longer"))
}

/// The requests that a run must complete to have a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needed {
    /// The number of requests.
    pub requests: u64,
    /// `reads`, `writes` or `flushes` where only those count, else `requests`.
    pub kind: &'static str,
}

/// The number of requests a run must complete to have the metric; `None` where any number will do.
pub fn needed(metric: &str) -> Option<Needed> {
    let (kind, rest) = of_kind(metric);
    let nines = rest.strip_prefix("lat_p99")?.trim_end_matches("_ns").trim_start_matches('_');
    // A quantile is compared where a hundred requests lie beyond it.
    let requests = 10_000 * 10_u64.checked_pow(u32::try_from(nines.len()).ok()?)?;
    Some(Needed { requests, kind: kind.unwrap_or("requests") })
}

/// The kind of request that the metric is of alone, and the metric without it.
fn of_kind(metric: &str) -> (Option<&'static str>, &str) {
    for (prefix, kind) in [("read_", "reads"), ("write_", "writes"), ("flush_", "flushes")] {
        if let Some(rest) = metric.strip_prefix(prefix).filter(|rest| is_latency(rest)) {
            return (Some(kind), rest);
        }
    }
    (None, metric)
}

/// Latency as users wait, or fio's from submission on.
fn is_latency(metric: &str) -> bool {
    metric.starts_with("lat_") || metric.starts_with("clat_")
}

fn strip_unit(metric: &str) -> &str {
    metric.strip_suffix("_ns").unwrap_or(metric)
}

fn is_quantile(which: &str) -> bool {
    which.strip_prefix('p').is_some_and(|digits| {
        !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_words() {
        let check = |metric, expected: &str| assert_eq!(label(metric), expected);
        check("iops", "IOPS");
        check("bytes_per_s", "throughput");
        check("lat_mean_ns", "mean latency");
        check("lat_p50_ns", "median latency");
        check("lat_p99_9_ns", "p99.9 latency");
        check("seq_create", "seq create");
        check("wall_ns", "wall time");
        check("read_lat_p99_ns", "p99 latency of reads");
        check("flush_lat_p50_ns", "median latency of flushes");
        check("read_ahead", "read ahead");
        check("seq_read.lat_p99_ns", "p99 latency of seq read");
        check("clat_p50_ns", "median completion latency");
        check("read_clat_p99_9_ns", "p99.9 completion latency of reads");
    }

    #[test]
    fn a_unit_is_named_once() {
        let check = |metric, unit, expected: [&str; 2]| {
            let (name, value) = named(metric, 80.5, unit);
            assert_eq!([name, value], expected);
        };
        check("iops", "", ["IOPS", "80.5"]);
        check("seq1m_read_iops", "1/s", ["seq1m read iops", "80.5 1/s"]);
        check("rnd4k_read_iops", "", ["rnd4k read iops", "80.5"]);
        check("lat_p99_ns", "", ["p99 latency", "80.5 ns"]);
        check("tps", "tps", ["tps", "80.5"]);
        check("files_4096b", "files/s", ["files 4096b", "80.5 files/s"]);
    }

    #[test]
    fn an_interval_has_its_unit_once() {
        let check =
            |limits, expected: &str| assert_eq!(show_range("lat_mean_ns", limits), expected);
        check([1.2e6, 1.3e6], "1.20 to 1.30 ms");
        check([0.9e6, 1.3e6], "900 us to 1.30 ms");
        check([1.2e6, 1.2001e6], "1.20 ms");
    }

    #[test]
    fn times_are_distinguished_from_rates_by_their_unit() {
        let check =
            |metric, unit, expected| assert_eq!(is_time(metric, unit), expected, "{metric}");
        check("lat_mean_ns", "", true);
        check("w.wall_ns", "", true);
        check("elapsed", "s", true);
        check("bytes_per_s", "", false);
        check("iops", "", false);
        check("errors", "", false);
    }

    #[test]
    fn the_name_of_a_users_metric_decides_neither_unit_nor_words() {
        let check = |metric, value, expected: &str| assert_eq!(show(metric, value), expected);
        check("mbytes_per_s", 455.0, "455");
        check("autoscaling", 12.2, "12.2");
        check("kiops", 12.2, "12.2");
        check("boot_ns", 2e9, "2.00G");
        check("scaling", 0.5, "50 %");
        for metric in ["read_mb_s", "ops_ms", "uptime", "realtime_ops", "runtime"] {
            assert!(!is_time(metric, ""), "{metric}");
            assert!(!is_time(metric, "MB/s"), "{metric}");
        }
        assert_eq!(label("boot_ns"), "boot ns");
        assert_eq!(label("mbytes_per_s"), "mbytes per s");
    }

    #[test]
    fn a_quantile_is_missing_where_requests_are_few() {
        let check = |metric, expected: Option<&str>| {
            let why = why_missing(metric);
            assert_eq!(why.as_deref().map(|it| it.split(", too few").next().unwrap()), expected);
        };
        check("lat_p99_ns", Some("fewer than 10000 requests"));
        check("lat_p99_9_ns", Some("fewer than 100000 requests"));
        check("read_lat_p99_ns", Some("fewer than 10000 reads"));
        check("lat_mean_ns", None);
    }

    #[test]
    fn tails_need_a_larger_effect() {
        let check = |metric, study, expected: f64| {
            assert_eq!(margin(metric, study).to_bits(), expected.to_bits(), "{metric}");
        };
        check("iops", 0.03, 0.03);
        check("lat_mean_ns", 0.03, 0.03);
        check("lat_p50_ns", 0.03, 0.03);
        check("lat_p99_ns", 0.03, 0.10);
        check("lat_p99_9_ns", 0.03, 0.10);
        check("lat_max_ns", 0.03, 0.10);
        check("read_clat_p99_ns", 0.03, 0.10);
        check("lat_p99_ns", 0.20, 0.20);
        check("lat_p9x_ns", 0.03, 0.03);
        check("write_lat_p99_ns", 0.03, 0.10);
        check("write_lat_p50_ns", 0.03, 0.03);
    }
}
