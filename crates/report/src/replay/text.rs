//! A replay as text.

use super::{ReplayResult, Scores, Withheld};
use crate::text::{Align, Look, Table};

/// The result for people.
pub fn text(result: &ReplayResult, look: Look) -> String {
    let (trace, drive, how) = (&result.trace, &result.drive, result.how);
    let mut facts = Table::new(&[("", Align::Left, 0), ("", Align::Left, 0)]);
    facts.row(["  requests", &result.requests.to_string()]);
    facts.row(["  refused", &result.errors.to_string()]);
    let passed = seconds(result.elapsed_ns);
    facts.row(["  passed", &format!("{passed:.3} s of virtual time")]);
    if result.late_ns_max > 0 {
        let late = ms(result.late_ns_max);
        facts.row(["  late", &format!("accepted by the drive at most {late:.3} ms late")]);
    }
    let latency = result.lat_ns.map_or("withheld".to_owned(), |lat_ns| {
        format!("mean {:.3} ms, longest {:.3} ms", ms(lat_ns.mean), ms(lat_ns.max))
    });
    facts.row(["  latency", &latency]);
    let mut text = format!("{trace} on {drive}, {how} loop\n\n{}", facts.render(look));
    if let Some(scores) = &result.score {
        text += &format!("\n{}", table(scores).render(look));
    }
    for Withheld { message, hint, .. } in &result.withheld {
        text += &format!("\n{}\n", look.wrap(&format!("withheld: {message}; {hint}"), 2));
    }
    for note in &result.notes {
        text += &format!("\n{}\n", look.wrap(&format!("note: {note}"), 2));
    }
    text
}

fn table(scores: &Scores) -> Table {
    let titles = "|n|measured ms|modelled ms|off|demerit ms|rms error|0.1 ms|0.5 ms".split('|');
    let mut columns: Vec<_> = titles.map(|title| (title, Align::Right, 0)).collect();
    columns[0].1 = Align::Left;
    let mut table = Table::new(&columns);
    for (name, row) in scores.rows() {
        table.row([
            name.to_owned(),
            row.n.to_string(),
            format!("{:.3}", row.measured_mean_ms),
            format!("{:.3}", row.modelled_mean_ms),
            format!("{:.2}%", 100.0 * (row.modelled_mean_ms / row.measured_mean_ms - 1.0)),
            format!("{:.4}", row.demerit_ms),
            format!("{:.3}", row.rms_error_ms),
            format!("{:.1}%", 100.0 * row.within_0_1_ms),
            format!("{:.1}%", 100.0 * row.within_0_5_ms),
        ]);
    }
    table
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn ms(ns: u64) -> f64 {
    seconds(ns) * 1e3
}
