//! Shares of latencies in fio's ranges.

use drivelab_core::histogram::Histogram;

use super::figures::ratio;

/// Ends of the ranges below a microsecond and below a millisecond, in that unit; the last is open
/// only towards the next unit.
pub(super) const BELOW_THOUSAND: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
/// Ends of the ranges in milliseconds; what is behind the last is a range, too.
pub(super) const MILLISECONDS: [u64; 11] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000];

/// Percentages of requests in each range.
#[derive(Debug, Clone, Default)]
pub(super) struct Ranges {
    pub(super) ns: [f64; 10],
    pub(super) us: [f64; 10],
    pub(super) ms: [f64; 12],
}

impl Ranges {
    pub(super) fn of(lat: &Histogram) -> Self {
        let mut ranges = Self::default();
        let n = lat.n();
        for (end, count) in lat.buckets() {
            let ns = end.ns();
            let share = 100.0 * ratio(count, n);
            match ns {
                0..1_000 => ranges.ns[index(&BELOW_THOUSAND, ns)] += share,
                1_000..1_000_000 => ranges.us[index(&BELOW_THOUSAND, ns / 1_000)] += share,
                _ => ranges.ms[index(&MILLISECONDS, ns / 1_000_000)] += share,
            }
        }
        ranges
    }

    /// The ranges below a millisecond in microseconds, as terse lines have them.
    pub(super) fn us_with_ns(&self) -> [f64; 10] {
        let mut all = self.us;
        all[0] += self.ns.iter().sum::<f64>();
        all
    }
}

fn index(ends: &[u64], value: u64) -> usize {
    debug_assert!(ends.is_sorted(), "ranges ascend");
    ends.iter().position(|end| value < *end).unwrap_or(ends.len())
}
