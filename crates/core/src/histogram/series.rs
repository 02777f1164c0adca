//! A latency distribution over time, in bounded memory.

use serde::{Deserialize, Serialize};

use super::{BUCKETS as FINE, bounds, bucket};
use crate::units::{Ratio, Span};

/// Buckets of [`super::Histogram`] that are merged into one here: 16 for each power of two, so a
/// quantile is off by at most 3 %, and a second of a disk fills a few dozen.
const COARSENESS: usize = 8;
const BUCKETS: usize = FINE / COARSENESS;
/// Maximum number of non-empty buckets of all intervals: 1.3 MB at ten bytes each.
const ENTRIES_MAX: usize = 1 << 17;
const INTERVALS_MAX: usize = 1 << 12;

/// A coarse histogram of latencies for each interval of a run, with only the non-empty buckets.
///
/// An interval is a second until the reserved memory is full; then neighbouring intervals are
/// merged in pairs, repeatedly if necessary. So a run of a minute is known second by second, and a
/// run of a week takes no more memory. Recording does not allocate after [`Series::reserve`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Series {
    interval_s: u64,
    /// End index of the entries of each closed interval.
    ends: Vec<usize>,
    /// Non-empty buckets and the number of latencies in each, interval after interval.
    buckets: Vec<u16>,
    counts: Vec<u64>,
    /// The interval being counted: one count for each bucket.
    open: Vec<u64>,
    /// True if the open interval contains anything or half of it has passed.
    begun: bool,
    /// Empty, of the same size: scratch space to merge intervals.
    spare: Vec<u64>,
}

/// The stored form.
#[derive(Serialize, Deserialize)]
struct Stored {
    interval_s: u64,
    /// For each interval its non-empty buckets: least value in nanoseconds, and count.
    buckets_ns: Vec<Vec<(u64, u64)>>,
}

impl Default for Series {
    fn default() -> Self {
        Self { open: vec![0; BUCKETS], spare: vec![0; BUCKETS], ..Self::empty() }
    }
}

impl PartialEq for Series {
    fn eq(&self, other: &Self) -> bool {
        (self.interval_s, &self.ends, self.open_state())
            == (other.interval_s, &other.ends, other.open_state())
            && (&self.buckets, &self.counts) == (&other.buckets, &other.counts)
    }
}
impl Eq for Series {}

impl Series {
    /// The series of a run that keeps none: it takes no memory, and nothing can be recorded in it.
    pub fn empty() -> Self {
        let (ends, buckets, counts) = (Vec::new(), Vec::new(), Vec::new());
        let (open, spare) = (Vec::new(), Vec::new());
        Self { interval_s: 1, ends, buckets, counts, open, begun: false, spare }
    }

    fn open_state(&self) -> (bool, u64) {
        (self.begun, self.open.iter().sum())
    }

    /// Reserves all memory that a run of `seconds` can need.
    pub fn reserve(&mut self, seconds: u64) {
        let intervals = usize::try_from(seconds).unwrap_or(INTERVALS_MAX).min(INTERVALS_MAX);
        let entries = intervals.saturating_mul(BUCKETS).min(ENTRIES_MAX);
        self.ends.reserve_exact(intervals);
        self.buckets.reserve_exact(entries);
        self.counts.reserve_exact(entries);
    }

    /// Counts `times` latencies in that second of the run. Seconds come in order; an earlier one
    /// counts as the latest.
    #[inline]
    pub fn record(&mut self, second: u64, latency: Span, times: u64) {
        if second >= (self.ends.len() as u64 + 1) * self.interval_s {
            self.turn(second);
        }
        debug_assert_eq!(self.open.len(), BUCKETS, "an empty series records nothing");
        self.open[bucket(latency.ns()) / COARSENESS] += times;
        self.begun = true;
    }

    /// Ends the series with the run: intervals in which nothing completed are part of it.
    pub fn finish(&mut self, seconds: u64) {
        if seconds > 0 {
            self.turn(seconds - 1);
        }
        // A run shorter than a second still has one interval.
        if seconds > 0 || self.begun {
            self.close();
        }
    }

    /// Length of an interval in seconds: a power of two.
    pub fn interval_s(&self) -> u64 {
        self.interval_s
    }

    /// Number of intervals, once finished.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The non-empty buckets of an interval, ascending: the least latency of each, and its count.
    pub fn interval(&self, number: usize) -> impl Iterator<Item = (Span, u64)> + '_ {
        self.entries(number).map(|(bucket, count)| (Span::from_ns(low(bucket)), count))
    }

    /// The latency that a share `q` of an interval's does not exceed; `None` for an empty interval.
    pub fn quantile(&self, number: usize, q: Ratio) -> Option<Span> {
        let n: u64 = self.entries(number).map(|(_, count)| count).sum();
        let whole = u128::from(Ratio::ONE.billionths());
        // `max(1)`: a share of 0 means the first value.
        let rank = (u128::from(n) * u128::from(q.billionths())).div_ceil(whole).max(1);
        let mut passed = 0;
        let mut entries = self.entries(number);
        let (bucket, _) = entries.find(|(_, count)| {
            passed += u128::from(*count);
            passed >= rank
        })?;
        // The last bucket ends where the type does.
        let next = if bucket + 1 < BUCKETS { low(bucket + 1) } else { u64::MAX };
        Some(Span::from_ns(low(bucket) + (next - low(bucket) - 1) / 2))
    }

    /// Adds a series of the same time span, as if both had been counted here. Both are finished.
    pub fn merge(&mut self, other: &Self) {
        // A copy: the coarser of both sets the interval, which may change the other one.
        let mut other = other.clone();
        self.coarsen(other.interval_s);
        other.coarsen(self.interval_s);
        // The longer interval of the two is a multiple of the other: both are powers of two.
        let mut both = Self { interval_s: self.interval_s, ..Self::default() };
        for number in 0..self.len().max(other.len()) {
            for series in [&*self, &other] {
                if number < series.len() {
                    series.add_to(number, &mut both.open);
                }
            }
            both.close();
        }
        *self = both;
    }

    /// Makes the intervals of a finished series as long as `interval_s`, if they are shorter.
    fn coarsen(&mut self, interval_s: u64) {
        while self.interval_s < interval_s {
            self.halve();
            if self.begun {
                self.close();
            }
        }
    }

    fn entries(&self, number: usize) -> impl Iterator<Item = (usize, u64)> + '_ {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        let range = start..self.ends[number];
        let buckets = self.buckets[range.clone()].iter().map(|bucket| usize::from(*bucket));
        buckets.zip(self.counts[range].iter().copied())
    }

    fn add_to(&self, number: usize, sums: &mut [u64]) {
        for (bucket, count) in self.entries(number) {
            sums[bucket] = sums[bucket].saturating_add(count);
        }
    }

    /// Closes intervals until `second` lies in the open one.
    #[cold]
    fn turn(&mut self, second: u64) {
        while second / self.interval_s > self.ends.len() as u64 {
            // An interval may fill every bucket: the room for that is kept, so that recording never
            // allocates.
            let full = self.buckets.len() + BUCKETS > ENTRIES_MAX;
            if full || self.ends.len() == INTERVALS_MAX {
                self.halve();
            } else {
                self.close();
            }
        }
    }

    /// Stores the open interval, and begins the next.
    fn close(&mut self) {
        for (bucket, count) in (0..).zip(&mut self.open) {
            if *count > 0 {
                self.buckets.push(bucket);
                self.counts.push(std::mem::take(count));
            }
        }
        self.ends.push(self.buckets.len());
        debug_assert_eq!(self.buckets.len(), self.counts.len());
        self.begun = false;
    }

    /// Merges intervals in pairs. A single remaining one becomes part of the open interval, whose
    /// first half it is.
    fn halve(&mut self) {
        self.interval_s = self.interval_s.saturating_mul(2);
        let (intervals, mut kept) = (self.ends.len(), 0);
        let mut sums = std::mem::take(&mut self.spare);
        for pair in 0..intervals / 2 {
            self.add_to(2 * pair, &mut sums);
            self.add_to(2 * pair + 1, &mut sums);
            for (bucket, sum) in (0..).zip(&mut sums).filter(|(_, sum)| **sum > 0) {
                // Never overtakes the reading position: two intervals together have at least as
                // many buckets.
                debug_assert!(kept < self.buckets.len());
                (self.buckets[kept], self.counts[kept]) = (bucket, std::mem::take(sum));
                kept += 1;
            }
            self.ends[pair] = kept;
        }
        self.spare = sums;
        if intervals % 2 == 1 {
            let mut open = std::mem::take(&mut self.open);
            self.add_to(intervals - 1, &mut open);
            self.open = open;
            self.begun = true;
        }
        self.ends.truncate(intervals / 2);
        self.buckets.truncate(kept);
        self.counts.truncate(kept);
    }
}

/// The least latency of a bucket, in nanoseconds.
fn low(bucket: usize) -> u64 {
    bounds(bucket * COARSENESS).0
}

impl From<Series> for Stored {
    fn from(series: Series) -> Self {
        let mut buckets_ns = Vec::with_capacity(series.len());
        for number in 0..series.len() {
            let entries = series.entries(number).map(|(bucket, count)| (low(bucket), count));
            buckets_ns.push(entries.collect());
        }
        Self { interval_s: series.interval_s, buckets_ns }
    }
}

impl From<Stored> for Series {
    fn from(stored: Stored) -> Self {
        // Never 0, although a file may say so: seconds are divided by it.
        let mut series = Self { interval_s: stored.interval_s.max(1), ..Self::default() };
        for interval in stored.buckets_ns {
            for (ns, count) in interval {
                let open = &mut series.open[bucket(ns) / COARSENESS];
                *open = open.saturating_add(count);
            }
            series.close();
        }
        series
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn counts(series: &Series) -> Vec<u64> {
        let sum = |number| series.interval(number).map(|(_, count)| count).sum();
        (0..series.len()).map(sum).collect()
    }

    #[test]
    fn each_second_has_its_own_distribution() {
        let mut series = Series::default();
        series.record(0, Span::from_us(100), 99);
        series.record(0, Span::from_ms(50), 1);
        series.record(3, Span::from_ms(1), 7);
        series.finish(6);
        assert_eq!((series.interval_s(), counts(&series)), (1, vec![100, 0, 0, 7, 0, 0]));
        let quantile = |number, percent| series.quantile(number, Ratio::percent(percent));
        let near = |found: Option<Span>, us: u64| {
            let off = found.unwrap().ns().abs_diff(us * 1000);
            assert!(off * 1000 < us * 1000 * 32, "{found:?} and {us} us");
        };
        near(quantile(0, 99), 100);
        near(quantile(0, 100), 50_000);
        near(quantile(3, 50), 1000);
        assert_eq!(quantile(1, 50), None);
        let text = serde_json::to_string(&series).unwrap();
        assert_eq!(serde_json::from_str::<Series>(&text).unwrap(), series);
        assert!(text.starts_with(r#"{"interval_s":1,"buckets_ns":[[["#), "{text}");
    }

    /// A series of up to `each` latencies a second, of any size, and each second's beside it.
    fn random(seed: u64, seconds: u64, each: u64) -> (Series, Vec<Vec<u64>>) {
        let mut rng = Rng::new(seed);
        let (mut series, mut all) = (Series::default(), Vec::new());
        series.reserve(seconds);
        for second in 0..seconds {
            let some = rng.below(each + 1);
            let ns: Vec<u64> = (0..some).map(|_| rng.bits() >> rng.below(64)).collect();
            for ns in &ns {
                series.record(second, Span::from_ns(*ns), 1);
            }
            all.push(ns);
        }
        series.finish(seconds);
        (series, all)
    }

    /// What the series of these seconds must be, with intervals of that length.
    fn plain(all: &[Vec<u64>], interval_s: u64) -> Series {
        let mut series = Series { interval_s, ..Series::default() };
        for interval in all.chunks(usize::try_from(interval_s).unwrap()) {
            interval.iter().flatten().for_each(|ns| series.open[bucket(*ns) / COARSENESS] += 1);
            series.close();
        }
        series
    }

    #[test]
    fn long_runs_are_known_in_longer_intervals_and_no_more_memory() {
        // Few latencies in many seconds, then enough latencies that the buckets run out first.
        for (seed, seconds, each) in [(1, 30_001, 3), (2, 4096, 3), (3, 700, 4000)] {
            let (series, all) = random(seed, seconds, each);
            let interval_s = series.interval_s();
            assert_eq!(interval_s > 1, seed != 2, "seed {seed}: {interval_s} s");
            assert!(series.buckets.len() <= ENTRIES_MAX && series.len() <= INTERVALS_MAX);
            assert!(series.buckets.capacity() <= ENTRIES_MAX);
            assert_eq!(series, plain(&all, interval_s), "seed {seed}");
        }
    }

    #[test]
    fn series_of_unlike_intervals_are_added_in_the_longer() {
        let ((mut one, mut all), (other, others)) = (random(5, 9001, 3), random(6, 1001, 3));
        assert!(one.interval_s() > 1 && other.interval_s() == 1);
        all.iter_mut().zip(others).for_each(|(mine, theirs)| mine.extend(theirs));
        let expected = plain(&all, one.interval_s());
        let mut turned = other.clone();
        turned.merge(&one);
        one.merge(&other);
        assert_eq!(one, expected);
        assert_eq!(turned, expected);
    }

    #[test]
    fn a_run_without_time_has_no_intervals() {
        let mut series = Series::default();
        series.finish(0);
        assert!(series.is_empty());
    }
}
