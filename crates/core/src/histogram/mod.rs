//! A latency histogram: log-linear, of bounded size, mergeable.

mod second;
mod series;

pub use second::Second;
pub use series::Series;

use serde::{Deserialize, Serialize};

use crate::units::{Ratio, Span};

/// Buckets in each power of two: 128, so a bucket is at most 1/128 of its value wide.
const SUB_BITS: u32 = 7;
const SUB: usize = 1 << SUB_BITS;
/// Buckets for every value of 64 bits: 2^7 exact ones, then 128 for each of the 57 higher octaves.
const BUCKETS: usize = SUB + (64 - SUB_BITS as usize) * SUB;

/// Counts spans in buckets whose width is at most 1/128 of their value.
///
/// A quantile is the middle of its bucket and so off by at most 0.4 %; below 128 ns, and for the
/// minimum, the maximum and the mean, it is exact. A new histogram takes 59 KiB regardless of what
/// is counted, and counting never allocates; a stored or compact one takes as much memory as the
/// buckets between its minimum and its maximum need.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "Sparse", into = "Sparse")]
pub struct Histogram {
    /// Those of the buckets from `first` on; all others are empty.
    counts: Vec<u64>,
    first: usize,
    n: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

/// The stored form: only non-empty buckets.
#[derive(Serialize, Deserialize)]
struct Sparse {
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
    /// Bucket number and count, ascending.
    buckets: Vec<(u32, u64)>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        (self.n, self.sum_ns, self.min_ns, self.max_ns)
            == (other.n, other.sum_ns, other.min_ns, other.max_ns)
            && self.buckets().eq(other.buckets())
    }
}
impl Eq for Histogram {}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Self {
        Self { counts: vec![0; BUCKETS], ..Self::empty() }
    }

    /// An empty histogram that takes no memory until something is counted.
    pub fn empty() -> Self {
        Self { counts: Vec::new(), first: 0, n: 0, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }

    /// Counts one span.
    #[inline]
    pub fn record(&mut self, span: Span) {
        self.record_times(span, 1);
    }

    /// Counts `times` spans of one length.
    #[inline]
    pub fn record_times(&mut self, span: Span, times: u64) {
        let ns = span.ns();
        debug_assert!(bucket(ns) < BUCKETS);
        // Of a bucket before the first, the difference wraps and is beyond the last.
        match self.counts.get_mut(bucket(ns).wrapping_sub(self.first)) {
            Some(count) => *count += times,
            None => self.grow(bucket(ns), times),
        }
        self.n += times;
        self.sum_ns += u128::from(ns) * u128::from(times);
        // Almost never true: saves two stores per span.
        if ns < self.min_ns {
            self.min_ns = ns;
        }
        if ns > self.max_ns {
            self.max_ns = ns;
        }
    }

    #[cold]
    fn grow(&mut self, bucket: usize, times: u64) {
        self.widen();
        self.counts[bucket] += times;
    }

    /// Makes room for every bucket.
    fn widen(&mut self) {
        let mut all = vec![0; BUCKETS];
        all[self.first..self.first + self.counts.len()].copy_from_slice(&self.counts);
        (self.counts, self.first) = (all, 0);
    }

    /// Gives back the memory of empty buckets before the first filled one and behind the last.
    pub fn compact(&mut self) {
        let first = self.counts.iter().position(|count| *count > 0).unwrap_or(0);
        let last = self.counts.iter().rposition(|count| *count > 0);
        self.counts = last.map_or(Vec::new(), |last| self.counts[first..=last].to_vec());
        self.first = if self.counts.is_empty() { 0 } else { self.first + first };
        debug_assert!(self.first + self.counts.len() <= BUCKETS);
    }

    /// Adds everything that `other` counted, exactly as if it had been counted here.
    pub fn merge(&mut self, other: &Self) {
        if other.n == 0 {
            return;
        }
        let end = other.first + other.counts.len();
        if other.first < self.first || end > self.first + self.counts.len() {
            self.widen();
        }
        // Buckets are the same everywhere, so a sum of counts loses nothing.
        let mine = self.counts[other.first - self.first..].iter_mut();
        for (mine, theirs) in mine.zip(&other.counts) {
            *mine += theirs;
        }
        self.n += other.n;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Number of spans counted.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// The minimum, or `None` while empty.
    pub fn min(&self) -> Option<Span> {
        (self.n > 0).then(|| Span::from_ns(self.min_ns))
    }

    /// The maximum, or `None` while empty.
    pub fn max(&self) -> Option<Span> {
        (self.n > 0).then(|| Span::from_ns(self.max_ns))
    }

    /// The mean, rounded down, or `None` while empty.
    pub fn mean(&self) -> Option<Span> {
        let mean = self.sum_ns.checked_div(u128::from(self.n))?;
        Some(Span::from_ns(u64::try_from(mean).expect("a mean of 64-bit values")))
    }

    /// The span that a share `q` of all counted spans does not exceed, or `None` while empty.
    pub fn quantile(&self, q: Ratio) -> Option<Span> {
        if self.n == 0 {
            return None;
        }
        // Nearest rank in integers: a float product would be off by one rank above 2^53 spans.
        let whole = u128::from(Ratio::ONE.billionths());
        let rank = (u128::from(self.n) * u128::from(q.billionths())).div_ceil(whole);
        let rank = rank.clamp(1, u128::from(self.n));
        let mut passed = 0_u128;
        for (index, count) in (self.first..).zip(&self.counts) {
            passed += u128::from(*count);
            if passed >= rank {
                let (low, width) = bounds(index);
                // The middle halves the largest error of a bucket; minimum and maximum are known
                // exactly.
                let middle = low + (width - 1) / 2;
                return Some(Span::from_ns(middle.clamp(self.min_ns, self.max_ns)));
            }
        }
        unreachable!("the counts sum to n")
    }

    /// The non-empty buckets, ascending: the upper end of each and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (Span, u64)> + '_ {
        let filled = (self.first..).zip(&self.counts).filter(|(_, count)| **count > 0);
        filled.map(|(index, count)| {
            let (low, width) = bounds(index);
            (Span::from_ns((low + (width - 1)).min(self.max_ns)), *count)
        })
    }
}

/// The bucket of a value, which keeps its top eight bits and their position.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "either below SUB or shifted to below 2 SUB")]
fn bucket(ns: u64) -> usize {
    if ns < SUB as u64 {
        return ns as usize;
    }
    // `ns >> octave` lies in SUB..2 SUB, so octave 0 follows the exact buckets without a gap.
    let octave = ns.ilog2() - SUB_BITS;
    octave as usize * SUB + (ns >> octave) as usize
}

/// The least value of a bucket, and the number of values in it.
fn bounds(index: usize) -> (u64, u64) {
    debug_assert!(index < BUCKETS);
    if index < SUB {
        return (index as u64, 1);
    }
    let octave = index / SUB - 1;
    (((index % SUB + SUB) as u64) << octave, 1 << octave)
}

impl From<Sparse> for Histogram {
    fn from(sparse: Sparse) -> Self {
        let mut histogram = Self::empty();
        // A bucket beyond the last cannot have been written by us: skip it.
        let known = || sparse.buckets.iter().filter(|(index, _)| (*index as usize) < BUCKETS);
        let (first, last) = (known().map(|it| it.0).min(), known().map(|it| it.0).max());
        if let (Some(first), Some(last)) = (first, last) {
            histogram.first = first as usize;
            histogram.counts = vec![0; (last - first) as usize + 1];
        }
        for &(index, count) in known() {
            let slot = &mut histogram.counts[index as usize - histogram.first];
            // A stored histogram may hold any numbers: sums saturate instead of overflowing.
            *slot = slot.saturating_add(count);
            histogram.n = histogram.n.saturating_add(count);
        }
        histogram.sum_ns = u128::from(sparse.sum_ns);
        histogram.min_ns = if histogram.n == 0 { u64::MAX } else { sparse.min_ns };
        // A stored maximum below the minimum would make `clamp` panic.
        histogram.max_ns = sparse.max_ns.max(sparse.min_ns);
        histogram
    }
}

impl From<Histogram> for Sparse {
    fn from(histogram: Histogram) -> Self {
        let all = (histogram.first..).zip(&histogram.counts);
        let filled = all.filter(|(_, count)| **count > 0);
        Self {
            // 2^64 ns of summed latency is 584 years of waiting: saturate rather than refuse.
            sum_ns: u64::try_from(histogram.sum_ns).unwrap_or(u64::MAX),
            min_ns: if histogram.n == 0 { 0 } else { histogram.min_ns },
            max_ns: histogram.max_ns,
            buckets: filled
                .map(|(index, count)| {
                    (u32::try_from(index).expect("a few thousand buckets"), *count)
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn of(spans: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        for ns in spans {
            histogram.record(Span::from_ns(*ns));
        }
        histogram
    }

    #[test]
    fn every_value_has_a_bucket_that_holds_it_within_the_stated_width() {
        let mut rng = Rng::new(1);
        let near_powers = (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        let random: Vec<u64> = (0..10_000).map(|_| rng.bits() >> rng.below(64)).collect();
        for ns in near_powers.chain(random).chain([u64::MAX]) {
            let (low, width) = bounds(bucket(ns));
            assert!(low <= ns && ns - low < width, "{ns} in {low}+{width}");
            assert!(width == 1 || width <= low / SUB as u64, "{ns}: {width} is too wide");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn a_compact_histogram_is_the_same_one_and_counts_on() {
        let spans = [70_000, 71_000, 900_000];
        let mut compact = of(&spans);
        compact.compact();
        assert!(compact.counts.len() < BUCKETS / 10, "{}", compact.counts.len());
        assert_eq!(compact, of(&spans));
        let stored = serde_json::to_string(&compact).unwrap();
        assert_eq!(stored, serde_json::to_string(&of(&spans)).unwrap());
        let read: Histogram = serde_json::from_str(&stored).unwrap();
        assert_eq!((read.first, read.counts.len()), (compact.first, compact.counts.len()));
        for more in [[5, 80_000], [80_000, 1 << 40], [75_000, 76_000]] {
            let (mut counted, mut merged) = (compact.clone(), compact.clone());
            for ns in &more {
                counted.record(Span::from_ns(*ns));
            }
            let mut other = of(&more);
            other.compact();
            merged.merge(&other);
            let expected = of(&[&spans[..], &more].concat());
            assert_eq!((&counted, &merged), (&expected, &expected), "{more:?}");
            let half = Ratio::from_billionths(500_000_000);
            assert_eq!(merged.quantile(half), expected.quantile(half));
        }
        let mut nothing = Histogram::new();
        nothing.compact();
        assert!(nothing.counts.is_empty() && nothing == Histogram::empty());
    }

    #[test]
    fn quantiles_are_within_their_stated_error() {
        let mut rng = Rng::new(4);
        let mut spans: Vec<u64> =
            (0..50_000).map(|_| rng.exponential(Span::from_ms(8)).ns()).collect();
        let histogram = of(&spans);
        spans.sort_unstable();
        for permille in [1_u64, 100, 500, 900, 990, 999] {
            let exact = spans[usize::try_from(50 * permille - 1).unwrap()];
            let q = Ratio::from_billionths(permille * 1_000_000);
            let found = histogram.quantile(q).unwrap().ns();
            assert!(found.abs_diff(exact) * 250 <= exact, "{permille}: {found} for {exact}");
        }
        let quantile = |q| histogram.quantile(q).unwrap().ns();
        assert!(quantile(Ratio::ZERO).abs_diff(spans[0]) * 250 <= spans[0]);
        assert!(quantile(Ratio::ONE) <= spans[spans.len() - 1]);
    }

    #[test]
    fn mean_and_extremes_are_exact() {
        let histogram = of(&[1_000_003, 7, 500]);
        assert_eq!(histogram.mean(), Some(Span::from_ns(333_503)));
        assert_eq!(histogram.min(), Some(Span::from_ns(7)));
        assert_eq!(histogram.max(), Some(Span::from_ns(1_000_003)));
        assert_eq!(of(&[]).mean(), None);
        assert_eq!(of(&[]).quantile(Ratio::percent(50)), None);
    }

    proptest::proptest! {
        #[test]
        fn merging_equals_counting_together(one: Vec<u32>, two: Vec<u32>) {
            let wide = |spans: &[u32]| -> Vec<u64> {
                spans.iter().map(|span| u64::from(*span)).collect()
            };
            let mut merged = of(&wide(&one));
            merged.merge(&of(&wide(&two)));
            let both = of(&wide(&[one.clone(), two].concat()));
            assert_eq!(merged, both);
            let mut grown = Histogram::empty();
            for ns in wide(&one) {
                grown.record(Span::from_ns(ns));
            }
            assert_eq!(grown, of(&wide(&one)));
        }

        #[test]
        fn the_stored_form_reads_back(spans: Vec<u32>) {
            let spans: Vec<u64> = spans.iter().map(|span| u64::from(*span)).collect();
            let histogram = of(&spans);
            let text = serde_json::to_string(&histogram).unwrap();
            assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), histogram);
        }
    }
}
