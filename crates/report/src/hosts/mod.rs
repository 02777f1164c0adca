//! A load from many hosts: each of them, and all together.

use drivelab_analysis::metric;
use drivelab_core::record::{HostRun, HostsRecord, JobRecord};
use serde_json::Value;

use crate::text::{Align, BOLD, DOUBT, Look, Table};

/// For scripts.
///
/// # Panics
/// Never: plain data is always JSON.
pub fn json(record: &HostsRecord) -> Value {
    serde_json::to_value(record).expect("plain data is always JSON")
}

/// For people.
pub fn text(record: &HostsRecord, look: Look) -> String {
    let mut text = lead(record, look);
    text += "\n";
    text += &table(record, look);
    for rank in &record.stragglers {
        let body = format!(
            "rank {rank}{} is at least 20 % slower than the median: the total is not that of equal \
             hosts.",
            record.hosts.iter().find(|host| host.rank == *rank).map(named).unwrap_or_default()
        );
        text += &(look.led("Straggler:", DOUBT, &body, 2) + "\n");
    }
    if !record.lost.is_empty() {
        let ranks = list(&record.lost);
        let body = format!("{ranks} of {}: the figures are those of the others.", record.ranks);
        text += &(look.led("Lost:", DOUBT, &body, 2) + "\n");
    }
    if record.hosts.iter().any(|host| host.interrupted) {
        let body = "interrupted hosts have figures of the time before, and their own rates.";
        text += &(look.led("Interrupted:", DOUBT, body, 2) + "\n");
    }
    if let Some(skew) = record.start_skew {
        let [skew, error] = [skew.ns, skew.error_ns].map(span);
        let body = format!("the hosts began within {skew}, known to {error}.");
        text += &(look.wrap(&body, 2) + "\n");
    }
    text
}

fn lead(record: &HostsRecord, look: Look) -> String {
    let Some(total) = &record.total else { return "No host has figures.\n".to_owned() };
    let hosts = match record.hosts.len() {
        1 => "1 host".to_owned(),
        count => format!("{count} hosts"),
    };
    let sum = format!(
        "{hosts} together: {}, {}.",
        metric::show("iops", total.iops),
        metric::show("bytes_per_s", total.bytes_per_s)
    );
    look.paint(&sum, BOLD) + "\n"
}

fn table(record: &HostsRecord, look: Look) -> String {
    let mut table = Table::new(&[
        ("rank", Align::Right, 0),
        ("host", Align::Left, 0),
        ("IOPS", Align::Right, 0),
        ("throughput", Align::Right, 0),
        ("median", Align::Right, 0),
        ("p99", Align::Right, 0),
        ("clock", Align::Right, 0),
        ("late", Align::Right, 0),
    ]);
    for host in &record.hosts {
        let figures = host.run.total.as_ref();
        let figures = figures.map(figures_of).unwrap_or_default();
        let sign = if host.clock.ns < 0 { "-" } else { "+" };
        let clock = format!("{sign}{}", span(host.clock.ns.unsigned_abs()));
        let start = [clock, span(host.start.late_ns)];
        let cells = [vec![host.rank.to_string(), host.host.clone()], figures.into(), start.into()];
        table.row(cells.concat());
    }
    // The sum of a single host is that host.
    if let Some(total) = record.total.as_ref().filter(|_| record.hosts.len() > 1) {
        let cells = [
            vec!["all".into(), String::new()],
            figures_of(total).into(),
            vec![String::new(), String::new()],
        ];
        table.row(cells.concat());
    }
    table.render(look) + "\n"
}

fn figures_of(total: &JobRecord) -> [String; 4] {
    let bare = |text: String| text.trim_end_matches(" IOPS").to_owned();
    [
        bare(metric::show("iops", total.iops)),
        metric::show("bytes_per_s", total.bytes_per_s),
        span(total.lat_ns.p50),
        span(total.lat_ns.p99),
    ]
}

fn named(host: &HostRun) -> String {
    format!(" ({})", host.host)
}

fn list(ranks: &[u32]) -> String {
    let numbers: Vec<String> = ranks.iter().map(u32::to_string).collect();
    let word = if ranks.len() == 1 { "rank" } else { "ranks" };
    format!("{word} {}", numbers.join(", "))
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
pub(crate) fn span(ns: u64) -> String {
    metric::show("lat_ns", ns as f64)
}

#[cfg(test)]
mod tests {
    use drivelab_core::record::{ClockOffset, HOSTS_SCHEMA, HostStart, RunRecord, Skew};

    use super::*;

    const LOOK: Look = Look { width: 100, colour: false };
    const TODAY: &str =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/records/today.json"));

    fn host(rank: u32, ahead_ns: i64) -> HostRun {
        let run: RunRecord = serde_json::from_str(TODAY).unwrap();
        HostRun {
            rank,
            host: format!("node{rank}"),
            clock: ClockOffset { ns: ahead_ns, error_ns: 20_000 },
            start: HostStart { late_ns: 60_000, unix_ns: 1 },
            interrupted: false,
            run,
        }
    }

    #[test]
    fn each_host_is_a_line_and_what_is_doubtful_is_said() {
        let run: RunRecord = serde_json::from_str(TODAY).unwrap();
        let record = HostsRecord {
            schema: HOSTS_SCHEMA.into(),
            ranks: 4,
            hosts: vec![host(0, 0), host(1, -50_000_000), host(3, 50_000_000)],
            lost: vec![2],
            stragglers: vec![3],
            start_skew: Some(Skew { ns: 70_000, error_ns: 40_000 }),
            total: run.total,
        };
        let text = text(&record, LOOK);
        for words in [
            "3 hosts together:",
            "node1",
            "-50.0 ms",
            "+50.0 ms",
            "Straggler: rank 3 (node3)",
            "Lost: rank 2 of 4",
            "began within 70.0 us, known to 40.0 us",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert_eq!(json(&record)["lost"][0], 2);
        assert_eq!(serde_json::from_value::<HostsRecord>(json(&record)).unwrap(), record);
    }
}
