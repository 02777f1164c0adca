//! Read times of the kinds of page, from the scatter of single reads.

use drivelab_core::measurements::Measurements;

/// Kinds of page, equally frequent: enough for two, three or four bits per cell.
const KINDS: usize = 4;

/// Read times of a drive's pages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pages {
    /// The mean of the class, in us.
    mean_us: f64,
    /// Deviation of each kind from the mean, in us, if single reads were measured with quantiles.
    measured_us: Option<[f64; KINDS]>,
}

/// Default deviation of each kind from the mean, as shares of it.
const UNMEASURED: [f64; KINDS] = [-0.15, -0.05, 0.05, 0.15];
/// Minimum time of a kind of page, as a share of the mean.
const LEAST: f64 = 0.25;

impl Pages {
    /// Estimates the pages from single reads of 4 KiB over the whole drive, around `mean_us`.
    pub(super) fn new(measurements: &Measurements, mean_us: f64) -> Self {
        let figures = measurements
            .loads
            .iter()
            .find(|load| {
                let plain = !load.write && load.span_bytes.is_none();
                plain && load.iodepth == 1 && load.block_bytes <= 4096
            })
            .map(|load| &load.figures);
        // Effects rarer than one read in ten come from retries and the host, not from a kind of
        // page.
        let known = [("p10_ms", 0.1), ("p25_ms", 0.25), ("p50_ms", 0.5), ("p75_ms", 0.75)]
            .into_iter()
            .chain([("p90_ms", 0.9)]);
        let known: Vec<(f64, f64)> =
            known.filter_map(|(key, share)| Some((share, 1e3 * figures?.get(key)?))).collect();
        let spans_middle = known.iter().any(|(share, _)| *share <= 0.25)
            && known.iter().any(|(share, _)| *share >= 0.75);
        let has_both = spans_middle && known.len() >= 3;
        let measured_us = has_both.then(|| {
            let middles = [0.125, 0.375, 0.625, 0.875];
            let times = middles.map(|share| between(&known, share));
            // The mean comes from the rates, so only the deviations are taken from the quantiles.
            let mean = times.iter().sum::<f64>() / 4.0;
            times.map(|time| time - mean)
        });
        Self { mean_us, measured_us }
    }

    /// Returns true if the scatter was measured.
    pub(super) fn are_measured(&self) -> bool {
        self.measured_us.is_some()
    }

    /// The mean at `factor` of that of the class, in us.
    pub(super) fn mean_us(&self, factor: f64) -> f64 {
        self.mean_us * factor
    }

    /// The time of each kind at `factor` times the mean of the class, in us.
    pub(super) fn times_us(&self, factor: f64) -> [f64; KINDS] {
        let mean = self.mean_us(factor);
        match &self.measured_us {
            Some(off) => off.map(|off| (mean + off).max(LEAST * mean)),
            None => UNMEASURED.map(|off| mean * (1.0 + off)),
        }
    }
}

/// The time at `share`, interpolated linearly between the known quantiles.
fn between(known: &[(f64, f64)], share: f64) -> f64 {
    debug_assert!(!known.is_empty(), "no quantile to interpolate");
    let after = known.iter().position(|(at, _)| *at >= share).unwrap_or(known.len() - 1);
    let (low, high) = (known[after.saturating_sub(1)], known[after]);
    if high.0 <= share || high.0 <= low.0 {
        return high.1;
    }
    low.1 + (high.1 - low.1) * (share - low.0).max(0.0) / (high.0 - low.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(lines: &str) -> Pages {
        let text =
            format!("[drive]\ncapacity_bytes = 1e11\nkind = \"ssd\"\n[random_read_qd1]\n{lines}");
        Pages::new(&Measurements::read("m.toml", &text).unwrap(), 60.0)
    }

    #[test]
    fn kinds_are_as_far_apart_as_single_reads() {
        let quantiles =
            "p10_ms = 0.08\np25_ms = 0.08\np50_ms = 0.1\np75_ms = 0.12\np90_ms = 0.12\n";
        let of = pages(quantiles);
        assert!(of.are_measured());
        let times = of.times_us(1.0).map(|time| (time * 10.0).round() / 10.0);
        assert_eq!(times.to_vec(), [40.0, 50.0, 70.0, 80.0]);
        // Twice the mean, and no further apart.
        let twice = of.times_us(2.0).map(|time| (time * 10.0).round() / 10.0);
        assert_eq!(twice.to_vec(), [100.0, 110.0, 130.0, 140.0]);
        // What cannot be is cut.
        assert!(of.times_us(0.25)[0] > 3.0);
    }

    #[test]
    fn without_quantiles_the_class_stands_in() {
        let of = pages("iops = 9000\np50_ms = 0.11\n");
        assert!(!of.are_measured());
        assert_eq!(of.times_us(1.0).to_vec(), [51.0, 57.0, 63.0, 69.0]);
    }
}
