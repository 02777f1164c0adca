//! The number of requests from which a quantile of latency may be reported.

/// Requests that must lie beyond a quantile for it to be more than an accident.
const BEYOND_MIN: f64 = 100.0;

/// True if `n` requests are enough to report the `q` quantile (0.99 is p99).
///
/// It takes 100 / (1 - q): 10,000 for p99, a million for p99.99.
#[expect(clippy::cast_precision_loss, reason = "2^52 requests take longer than a life")]
pub fn quantile_reportable(q: f64, n: u64) -> bool {
    // 1 - 0.9999 is a little off 0.0001 in binary: a billionth of slack.
    (0.0..1.0).contains(&q) && n as f64 * (1.0 - q) >= BEYOND_MIN * (1.0 - 1e-9)
}
