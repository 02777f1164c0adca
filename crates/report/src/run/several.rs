//! Several runs: the jobs of a job file, or runs of one label.

use anstyle::Style;
use drivelab_analysis::figures;
use drivelab_analysis::run::{metrics, record_name};
use drivelab_core::record::RunRecord;

use super::span;
use super::text::text as of_one;
use crate::text::{Align, BOLD, Look, Table};

/// The heads of the columns of [`row`].
pub(crate) const HEADS: [&str; 6] = ["run", "IOPS", "throughput", "mean", "p99", "max"];

/// One table of all, then each by itself; a run alone is only that.
pub fn jobs_text(records: &[RunRecord], look: Look) -> String {
    let texts: Vec<String> = records.iter().map(|record| of_one(record, look)).collect();
    if records.len() < 2 {
        return texts.concat();
    }
    let columns =
        HEADS.map(|head| (head, if head == "run" { Align::Left } else { Align::Right }, 0));
    let mut table = Table::new(&columns);
    for record in records {
        table.row(row(record).map(|cell| (cell, Style::new())).to_vec());
    }
    let title = look.paint(&format!("{} runs", records.len()), BOLD);
    format!("{title}\n\n{}\n{}", table.render(look), texts.join("\n"))
}

/// A run in a line; of a benchmark that is no load its first figure.
pub(crate) fn row(record: &RunRecord) -> [String; 6] {
    let name = record_name(record).to_owned();
    let Some(total) = &record.total else {
        let first = metrics(record).into_iter().next();
        let first = first.map(|it| format!("{} {}", figures::significant(it.value), it.unit()));
        let first = first.map(|value| value.trim_end().to_owned()).unwrap_or_default();
        return [name, String::new(), first, String::new(), String::new(), String::new()];
    };
    let lat = &total.lat_ns;
    [
        name,
        figures::count(total.iops),
        figures::bytes_per_s(total.bytes_per_s),
        span(lat.mean),
        span(lat.p99),
        span(lat.max),
    ]
}
