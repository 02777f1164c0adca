//! fio's logs of histograms (`--write_hist_log`): a line for each window and direction.
//!
//! A line contains milliseconds, direction, block size, and the number of requests that completed
//! in the window by bins of their completion latency (`clat`). fio up to 2.21 has 19 groups of 64
//! bins in microseconds, later versions 29 groups in nanoseconds; `log_hist_coarseness` merges
//! 2, 4, ... 64 neighbours. No two of these counts of bins are equal, so the count shows the unit.

use drivelab_core::csv::{Line, ParseError, lines, quote};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Nature};

use crate::found::{Found, figure, phase};
use crate::quantity::PERCENTILES;

const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];
/// Time, direction and block size.
const FIELDS: usize = 3;
/// Bins of a group; each group is twice as wide as the one before it, but for the first two.
const GROUP: u64 = 64;
/// Groups of fio up to 2.21, and the nanoseconds of its unit.
const OLD: (u64, f64) = (19, 1e3);
/// Groups and nanoseconds of later versions.
const NEW: (u64, f64) = (29, 1.0);
/// Bins are merged by at most this power of two.
const COARSENESS_MAX: u32 = 6;
/// Fewer bins are a line of another log. Fewer than fio writes are a damaged one, which is named.
const BINS_MIN: usize = 8;

/// True if a text begins like such a log.
pub fn is_histogram_log(text: &str) -> bool {
    let first = text.trim_start_matches('\u{feff}').lines().find(|line| !line.trim().is_empty());
    let fields = first.unwrap_or_default().split(',').map(|field| field.trim().parse::<u64>());
    // Not the whole line, which may be as long as the file.
    let fields: Option<Vec<u64>> = fields.take(FIELDS + BINS_MIN).map(Result::ok).collect();
    fields.is_some_and(|it| it.len() == FIELDS + BINS_MIN && it[1] < 3 && it[2].is_multiple_of(512))
}

/// The bins of a log.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Layout {
    bins: usize,
    /// Number of fio's bins in each.
    merged: u64,
    unit_ns: f64,
}

impl Layout {
    /// The layout with this number of bins.
    fn of(bins: usize) -> Option<Self> {
        let all = [OLD, NEW].into_iter().flat_map(|(groups, unit_ns)| {
            (0..=COARSENESS_MAX).map(move |power| ((groups * GROUP) >> power, 1 << power, unit_ns))
        });
        let mut fitting = all.filter(|(count, ..)| usize::try_from(*count) == Ok(bins));
        let (_, merged, unit_ns) = fitting.next()?;
        debug_assert!(fitting.next().is_none(), "each count belongs to one layout");
        Some(Self { bins, merged, unit_ns })
    }

    /// The value that fio reports for a bin, in nanoseconds: the middle of its range, or the value
    /// itself where it has only one.
    #[expect(clippy::cast_precision_loss, reason = "latencies are below 2^52 ns")]
    fn middle_ns(self, bin: usize) -> f64 {
        let first = bin as u64 * self.merged;
        let (from, to) = (start(first), start(first + self.merged));
        let middle = if to - from == 1 { from as f64 } else { (from + to) as f64 / 2.0 };
        middle * self.unit_ns
    }
}

/// The shortest latency of one of fio's bins, in its unit.
fn start(bin: u64) -> u64 {
    if bin < 2 * GROUP {
        return bin;
    }
    let width = bin / GROUP - 1;
    (GROUP + bin % GROUP) << width
}

/// Reads a log as one run.
///
/// # Errors
/// Names a line with other fields than fio writes.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("fio");
    let mut layout: Option<Layout> = None;
    let mut sides: [Vec<u64>; 3] = Default::default();
    for line in lines(text)? {
        if layout.is_none() {
            let bins = line.text.split(',').count().saturating_sub(FIELDS);
            layout = Some(Layout::of(bins).ok_or_else(|| wrong(line))?);
        }
        let layout = layout.expect("set by the first line");
        add(line, layout, &mut sides)?;
    }
    let hint = "give a log that fio finished";
    let Some(layout) = layout else { return found.finish(hint) };
    let used = sides.iter().filter(|side| side.iter().any(|count| *count > 0)).count();
    let mut figures = Vec::new();
    for (name, side) in DIRECTIONS.iter().zip(&sides) {
        // As in the other logs, one direction alone needs no prefix.
        let prefix = if used > 1 { format!("{name}_") } else { String::new() };
        figures.extend(latencies(&prefix, side, layout));
    }
    found.note(
        "A log does not say how it was made: whether the page cache was bypassed is unknown. The \
         requests after the last whole window are not in it."
            .to_owned(),
    );
    if layout.merged > 1 {
        found.note(format!(
            "`log_hist_coarseness` merged {} bins: a figure is the middle of a range of up to \
             {:.0} % of its beginning.",
            layout.merged,
            100.0 * relative_width(layout.merged),
        ));
    }
    found.run(1, "", vec![phase("", Nature::Disk, figures)]);
    found.finish(hint)
}

/// The widest range of merged bins behind the first two groups, by its beginning.
#[expect(clippy::cast_precision_loss, reason = "at most 64 bins")]
fn relative_width(merged: u64) -> f64 {
    assert!(merged <= GROUP, "a group is the most that is merged");
    merged as f64 / GROUP as f64
}

/// Adds a line to the counts of its direction.
fn add(line: Line, layout: Layout, sides: &mut [Vec<u64>; 3]) -> Result<(), ParseError> {
    let mut fields = line.text.split(',').map(|field| field.trim().parse::<u64>());
    let (_, direction, _) = (fields.next(), fields.next(), fields.next());
    let direction = direction.and_then(Result::ok).and_then(|it| usize::try_from(it).ok());
    let side = direction.and_then(|it| sides.get_mut(it)).ok_or_else(|| wrong(line))?;
    side.resize(layout.bins, 0);
    let mut seen = 0;
    for field in fields {
        let count = field.map_err(|_| wrong(line))?;
        let bin = side.get_mut(seen).ok_or_else(|| wrong(line))?;
        *bin = bin.saturating_add(count);
        seen += 1;
    }
    if seen == layout.bins { Ok(()) } else { Err(wrong(line)) }
}

fn wrong(line: Line) -> ParseError {
    let begin: String = line.text.chars().take(40).collect();
    let what = format!("{} is not a line of a log of histograms of fio", quote(&begin));
    let hint = "fio writes time, direction (0 to 2), block size, and on each line the same number \
                of bins: 1216 or 1856, or with `log_hist_coarseness` a half, a quarter, ... of it";
    ParseError::new(line.number, what, hint)
}

/// The figures of one direction. By fio's own rule a percentile is the first bin that reaches it.
#[expect(clippy::cast_precision_loss, reason = "requests are fewer than 2^52")]
fn latencies(prefix: &str, counts: &[u64], layout: Layout) -> Vec<Figure> {
    let all = counts.iter().fold(0, |sum: u64, count| sum.saturating_add(*count));
    if all == 0 {
        return Vec::new();
    }
    // Merged bins get another name: they must not be compared with finer ones.
    let metric = if layout.merged == 1 { "clat" } else { "clat_coarse" };
    let middles = counts.iter().enumerate().map(|(bin, count)| (layout.middle_ns(bin), *count));
    let sum: f64 = middles.clone().map(|(ns, count)| ns * count as f64).sum();
    let metric = format!("{prefix}{metric}");
    let mut figures = vec![latency(&metric, "bin_mean", sum / all as f64)];
    for (which, share, needed) in PERCENTILES {
        let mut below = 0_u64;
        let reaches = middles.clone().find(|(_, count)| {
            below = below.saturating_add(*count);
            below as f64 >= share * all as f64
        });
        let known = reaches.filter(|_| all as f64 >= needed);
        figures.extend(known.map(|(ns, _)| latency(&metric, which, ns)));
    }
    figures
}

fn latency(metric: &str, which: &str, ns: f64) -> Figure {
    figure(&format!("{metric}_{which}_ns"), ns, "ns", Better::Less)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line with these counts by bin.
    fn line(direction: u32, bins: usize, counts: &[(usize, u64)]) -> String {
        let mut all = vec![0; bins];
        for (bin, count) in counts {
            all[*bin] = *count;
        }
        let all: Vec<String> = all.iter().map(u64::to_string).collect();
        format!("1000, {direction}, 4096, {}\n", all.join(", "))
    }

    fn figures(text: &str) -> Vec<(String, f64)> {
        let imported = parse(text).unwrap();
        let figures = imported.runs[0].phases[0].figures.iter();
        figures.map(|figure| (figure.name.clone(), figure.value)).collect()
    }

    #[test]
    fn the_number_of_bins_shows_the_unit() {
        fn check(bins: usize, bin: usize, expected: &[(&str, f64)]) {
            let expected: Vec<_> =
                expected.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
            assert_eq!(figures(&line(0, bins, &[(bin, 200)])), expected, "{bins}");
        }
        // 95 us in a bin of one microsecond, and 128 to 129 us in one of two.
        check(1216, 95, &[("clat_bin_mean_ns", 95e3), ("clat_p50_ns", 95e3)]);
        check(1216, 128, &[("clat_bin_mean_ns", 129e3), ("clat_p50_ns", 129e3)]);
        check(1856, 128, &[("clat_bin_mean_ns", 129.0), ("clat_p50_ns", 129.0)]);
        // Bins 128 to 131 together: 128 to 135 ns.
        check(464, 32, &[("clat_coarse_bin_mean_ns", 132.0), ("clat_coarse_p50_ns", 132.0)]);
        check(19, 2, &[("clat_coarse_bin_mean_ns", 192e3), ("clat_coarse_p50_ns", 192e3)]);
    }

    #[test]
    fn windows_of_a_direction_are_added() {
        let text = line(0, 1856, &[(64, 150)]) + &line(1, 1856, &[(70, 1)]);
        let text = text + &line(0, 1856, &[(64, 40), (127, 10)]);
        let expected = [
            ("read_clat_bin_mean_ns".to_owned(), (190.0 * 64.0 + 10.0 * 127.0) / 200.0),
            ("read_clat_p50_ns".to_owned(), 64.0),
            ("write_clat_bin_mean_ns".to_owned(), 70.0),
        ];
        assert_eq!(figures(&text), expected);
    }

    #[test]
    fn bins_begin_where_the_ones_before_end() {
        for bin in 0..NEW.0 * GROUP {
            assert!(start(bin) < start(bin + 1), "bin {bin}");
        }
        assert_eq!([start(128), start(192), start(1855)], [128, 256, 127 << 27]);
    }

    #[test]
    fn damage_is_named_with_its_line() {
        fn check(text: &str, expected: &str) {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        let good = line(0, 58, &[(1, 1)]);
        check(&(good.clone() + &line(0, 59, &[])), "line 2: `1000, 0, 4096, 0");
        check(&(good.clone() + &line(3, 58, &[])), "line 2: `1000, 3, 4096, 0");
        check(&(good.clone() + "1000, 0, 40"), "line 2: `1000, 0, 40` is not a line");
        check(&line(0, 20, &[]), "line 1:");
        check("1", "line 1:");
        check(&line(0, 58, &[]), "it contains no results of fio");
        assert!(is_histogram_log(&good));
        assert!(!is_histogram_log("1000, 48211, 0, 0, 0\n"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "[0-3, x\n]{0,80}", counts in "(, 9{1,20}){19}") {
            let _ = parse(&text);
            let _ = parse(&format!("1, 0, 0{counts}\n{text}"));
        }
    }
}
