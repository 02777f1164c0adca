//! A replayed trace, and how near the modelled drive came to the measured one.

mod page;
mod plot;
mod text;
mod withheld;

pub use page::page;
pub use plot::svg;
pub use text::text;
pub use withheld::{Course, Withheld};

use drivelab_core::record::{Latency, Specimen};
use drivelab_stats::Score;
use serde::Serialize;

/// The name of the JSON document.
pub const SCHEMA: &str = "drivelab.replay/1";

/// The result of a replay.
#[derive(Debug, Clone, Serialize)]
pub struct ReplayResult {
    /// The name and version of this document.
    pub schema: &'static str,
    /// The trace, as it was named.
    pub trace: String,
    /// Its format.
    pub format: String,
    /// The drive, as it was named.
    pub drive: String,
    /// The simulated drive, if the profile leaves numbers open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub specimen: Option<Specimen>,
    /// Further remarks needed to read the figures.
    pub notes: Vec<String>,
    /// `closed` or `open`.
    #[serde(rename = "loop")]
    pub how: &'static str,
    /// Requests that were replayed.
    pub requests: u64,
    /// Of them those that the drive refused, nearly always for lying beyond its end.
    pub errors: u64,
    /// Virtual time that passed.
    pub elapsed_ns: u64,
    /// From the moment a request came until it was done, unless withheld.
    pub lat_ns: Option<Latency>,
    /// Requests that waited for an answer at the same time, at most.
    pub unanswered_max: u64,
    /// The longest time from a request's arrival until the drive accepted it.
    pub late_ns_max: u64,
    /// Why there are neither latencies nor scores.
    pub withheld: Vec<Withheld>,
    /// The model's errors, if the trace holds measured times and a score was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<Scores>,
}

/// Reads and writes apart: errors of different sign cancel in a pooled figure.
#[derive(Debug, Clone, Serialize)]
pub struct Scores {
    /// All requests.
    pub all: Option<ScoreRow>,
    /// Reads.
    pub reads: Option<ScoreRow>,
    /// Everything else.
    pub writes: Option<ScoreRow>,
}

/// A score with units in its names.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ScoreRow {
    /// Requests compared.
    pub n: usize,
    /// Mean that was measured.
    pub measured_mean_ms: f64,
    /// Mean of the model.
    pub modelled_mean_ms: f64,
    /// Root mean square distance between the distributions.
    pub demerit_ms: f64,
    /// Root mean square of the single differences.
    pub rms_error_ms: f64,
    /// Share of requests off by at most 0.1 ms.
    pub within_0_1_ms: f64,
    /// Share of requests off by at most 0.5 ms.
    pub within_0_5_ms: f64,
}

/// One request: whether it was a read, what was measured and what the model says, in ms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compared {
    /// A read.
    pub read: bool,
    /// The measured time.
    pub measured_ms: f64,
    /// The modelled time.
    pub modelled_ms: f64,
}

impl Scores {
    /// Scores all, reads and the rest.
    pub fn of(compared: &[Compared]) -> Self {
        Self {
            all: row(compared, |_| true),
            reads: row(compared, |one| one.read),
            writes: row(compared, |one| !one.read),
        }
    }

    /// The rows that have requests, with their names.
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, &ScoreRow)> {
        let rows = [("all", &self.all), ("reads", &self.reads), ("writes", &self.writes)];
        rows.into_iter().filter_map(|(name, row)| row.as_ref().map(|row| (name, row)))
    }
}

fn row(compared: &[Compared], wanted: impl Fn(&Compared) -> bool) -> Option<ScoreRow> {
    let chosen = compared.iter().filter(|one| wanted(one));
    let pairs: Vec<(f64, f64)> = chosen.map(|one| (one.measured_ms, one.modelled_ms)).collect();
    let score = Score::of(&pairs)?;
    Some(ScoreRow {
        n: score.n,
        measured_mean_ms: score.measured_mean,
        modelled_mean_ms: score.modelled_mean,
        demerit_ms: score.demerit,
        rms_error_ms: score.rms_error,
        within_0_1_ms: score.within_near,
        within_0_5_ms: score.within_far,
    })
}

/// The result as JSON.
pub fn json(result: &ReplayResult) -> String {
    serde_json::to_string_pretty(result).expect("plain data is always JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared() -> Vec<Compared> {
        let one = |read, measured_ms, modelled_ms| Compared { read, measured_ms, modelled_ms };
        vec![one(true, 10.0, 10.05), one(true, 12.0, 12.4), one(false, 2.0, 3.0)]
    }

    #[test]
    fn reads_and_writes_are_scored_apart() {
        let scores = Scores::of(&compared());
        let rows: Vec<(&str, usize, f64)> =
            scores.rows().map(|(name, row)| (name, row.n, row.within_0_5_ms)).collect();
        assert_eq!(rows, [("all", 3, 2.0 / 3.0), ("reads", 2, 1.0), ("writes", 1, 0.0)]);
        assert!(Scores::of(&compared()[..2]).writes.is_none());
    }

    #[test]
    fn the_page_holds_scores_and_plots_and_no_script() {
        let result = ReplayResult {
            schema: SCHEMA,
            trace: "a <trace>".into(),
            format: "disksim".into(),
            drive: "drive:fixed".into(),
            specimen: None,
            notes: Vec::new(),
            how: "closed",
            requests: 3,
            errors: 0,
            elapsed_ns: 1,
            lat_ns: Some(Latency::default()),
            unanswered_max: 1,
            late_ns_max: 0,
            withheld: Vec::new(),
            score: Some(Scores::of(&compared())),
        };
        let html = page(&result, &compared());
        // Two panels each for reads and writes, and two signs in the legend.
        assert_eq!(html.matches("<svg").count(), 6);
        assert!(html.contains("a &lt;trace&gt;") && !html.contains("<script"));
        assert!(html.contains("<tr><td>reads<td>2<td>11.000<td>11.225<td>"), "{html}");
        assert!(html.contains("--h3:&#39;measured mean, ms&#39;;--e3:right;"), "{html}");
        let reads = page(&result, &compared()[..2]);
        assert_eq!(reads.matches("<figure>").count(), 2, "no writes, no plots of them");
        assert_eq!(svg("a", &compared()).matches("<polyline").count(), 6);
    }
}
