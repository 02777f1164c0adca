//! How long pages take to read: kinds of page, from the scatter of single reads.

use drivelab_core::measurements::Measurements;

/// Kinds of page, each as common as the others: enough for two, three or four bits a cell.
const KINDS: usize = 4;

/// What the pages of a drive take, and how far apart they are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pages {
    /// The mean of the class, in us.
    mean_us: f64,
    /// How far each kind is from the mean, in us, where single reads were measured with quantiles.
    measured_us: Option<[f64; KINDS]>,
}

/// How far each kind is from the mean where nothing shows it, as shares of it.
const UNMEASURED: [f64; KINDS] = [-0.15, -0.05, 0.05, 0.15];
/// No kind of page is read in less of the mean.
const LEAST: f64 = 0.25;

impl Pages {
    /// Those of single reads of 4 KiB over the whole drive, around a mean of `mean_us`.
    pub(super) fn new(measurements: &Measurements, mean_us: f64) -> Self {
        let figures = measurements
            .loads
            .iter()
            .find(|load| {
                let plain = !load.write && load.span_bytes.is_none();
                plain && load.iodepth == 1 && load.block_bytes <= 4096
            })
            .map(|load| &load.figures);
        // What is rarer than one read in ten is of retries and of the host, not of a kind of page.
        let known = [("p10_ms", 0.1), ("p25_ms", 0.25), ("p50_ms", 0.5), ("p75_ms", 0.75)]
            .into_iter()
            .chain([("p90_ms", 0.9)]);
        let known: Vec<(f64, f64)> =
            known.filter_map(|(key, share)| Some((share, 1e3 * figures?.get(key)?))).collect();
        let spans = |share: f64, above: bool| {
            known.iter().any(|(at, _)| if above { *at >= share } else { *at <= share })
        };
        let has_both = spans(0.25, false) && spans(0.75, true) && known.len() >= 3;
        let measured_us = has_both.then(|| {
            let middles = [0.125, 0.375, 0.625, 0.875];
            let times = middles.map(|share| between(&known, share));
            let mean = times.iter().sum::<f64>() / 4.0;
            times.map(|time| time - mean)
        });
        Self { mean_us, measured_us }
    }

    /// Whether the scatter was measured.
    pub(super) fn are_measured(&self) -> bool {
        self.measured_us.is_some()
    }

    /// The mean at `factor` of that of the class, in us.
    pub(super) fn mean_us(&self, factor: f64) -> f64 {
        self.mean_us * factor
    }

    /// What each kind takes at `factor` times the mean of the class, in us.
    pub(super) fn times_us(&self, factor: f64) -> [f64; KINDS] {
        let mean = self.mean_us(factor);
        let time = |at: usize| match &self.measured_us {
            Some(off) => (mean + off[at]).max(LEAST * mean),
            None => mean * (1.0 + UNMEASURED[at]),
        };
        [0, 1, 2, 3].map(time)
    }
}

/// The time at `share`, on the lines between the quantiles that are known.
fn between(known: &[(f64, f64)], share: f64) -> f64 {
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
