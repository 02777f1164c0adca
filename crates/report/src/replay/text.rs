//! A replay as text.

use std::fmt::Write as _;

use super::ReplayResult;

/// The result for people.
pub fn text(result: &ReplayResult) -> String {
    let mut text = String::new();
    // Writing into a string cannot fail.
    let _ = writeln!(
        text,
        "{} on {}, {} loop\n\n  requests  {}\n  refused   {}\n  passed    {:.3} s of virtual time",
        result.trace,
        result.drive,
        result.how,
        result.requests,
        result.errors,
        seconds(result.elapsed_ns),
    );
    let lat = &result.lat_ns;
    let _ =
        writeln!(text, "  latency   mean {:.3} ms, longest {:.3} ms", ms(lat.mean), ms(lat.max));
    let Some(scores) = &result.score else { return text };
    let _ = writeln!(
        text,
        "\n{:8}{:>7}{:>12}{:>12}{:>9}{:>11}{:>12}{:>9}{:>9}",
        "", "n", "measured ms", "modelled ms", "off", "demerit ms", "rms error", "0.1 ms", "0.5 ms"
    );
    for (name, row) in scores.rows() {
        let off = 100.0 * (row.modelled_mean_ms / row.measured_mean_ms - 1.0);
        let _ = writeln!(
            text,
            "{name:8}{:>7}{:>12.3}{:>12.3}{off:>8.2}%{:>11.4}{:>12.3}{:>8.1}%{:>8.1}%",
            row.n,
            row.measured_mean_ms,
            row.modelled_mean_ms,
            row.demerit_ms,
            row.rms_error_ms,
            100.0 * row.within_0_1_ms,
            100.0 * row.within_0_5_ms,
        );
    }
    text
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn ms(ns: u64) -> f64 {
    seconds(ns) * 1e3
}
