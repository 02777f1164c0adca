//! What somebody measured at depth 1: from a file of figures, or from the records of runs.

use drivelab_core::config::{ConfigError, Section, Value};
use drivelab_core::record::{JobRecord, RunRecord};
use drivelab_core::workload::{Pace, Rw};
use drivelab_core::{Bytes, Ratio, Span};

/// Named figures of random reads, times in ms.
pub(super) type Figures = Vec<(&'static str, f64)>;

/// What was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurements {
    /// Addressable bytes.
    pub capacity_bytes: u64,
    /// Bytes of a physical sector, 512 or 4096, where known. Addresses count 512-byte sectors
    /// whatever the medium's are.
    pub sector_bytes: Option<u32>,
    /// Revolutions per minute.
    pub rpm: f64,
    /// Bytes of one random read.
    pub read_bytes: u64,
    /// MB/s of sequential reads.
    pub sequential_read: Option<f64>,
    /// MB/s of sequential writes.
    pub sequential_write: Option<f64>,
    /// Random writes a second.
    pub write_iops: Option<f64>,
    /// Where the figures are from.
    pub sources: Vec<String>,
    random_read: Figures,
}

/// The quantiles that may be given, rising.
pub(super) const QUANTILES: [(&str, f64); 11] = [
    ("p1_ms", 0.01),
    ("p5_ms", 0.05),
    ("p10_ms", 0.10),
    ("p25_ms", 0.25),
    ("p50_ms", 0.50),
    ("p75_ms", 0.75),
    ("p90_ms", 0.90),
    ("p95_ms", 0.95),
    ("p99_ms", 0.99),
    ("p99_5_ms", 0.995),
    ("p99_9_ms", 0.999),
];

/// Speeds that a profile may have.
const RPM: std::ops::RangeInclusive<f64> = 100.0..=100_000.0;
/// Rounding of measured figures is far below this; beyond it they are not of one measurement.
const DISAGREEMENT: f64 = 0.1;

impl Measurements {
    /// A drive of which nothing but capacity and speed is known.
    ///
    /// # Errors
    /// No drive turns at such a speed.
    pub fn of_drive(capacity_bytes: u64, rpm: f64) -> Result<Self, String> {
        if !RPM.contains(&rpm) {
            return Err(format!("{rpm} rpm: expected 100 to 100000"));
        }
        if !((1 << 20)..=(1 << 46)).contains(&capacity_bytes) {
            return Err(format!("{capacity_bytes} bytes: expected 1 MiB to 64 TiB"));
        }
        Ok(Self {
            capacity_bytes: capacity_bytes / 512 * 512,
            sector_bytes: None,
            rpm,
            read_bytes: 4096,
            sequential_read: None,
            sequential_write: None,
            write_iops: None,
            sources: Vec::new(),
            random_read: Vec::new(),
        })
    }

    /// Reads the measurements `text` of `file`.
    ///
    /// # Errors
    /// Unknown keys, values that no drive has, figures that contradict each other, and what is
    /// missing, with file and line.
    pub fn read(file: &str, text: &str) -> Result<Self, ConfigError> {
        let mut whole = Section::parse(file, text)?;
        let missing = whole.error("the table `[drive]` is missing: capacity_bytes and rpm");
        let mut drive = whole.section("drive")?.ok_or(missing)?;
        let capacity = drive.require::<Number>("capacity_bytes")?.0;
        let rpm = drive.require::<Number>("rpm")?.0;
        let sector_bytes = drive.take::<u32>("sector_bytes")?;
        if let Some(bytes) = sector_bytes.filter(|bytes| ![512, 4096].contains(bytes)) {
            return Err(drive.error(format!("`sector_bytes` is 512 or 4096, not {bytes}")));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a positive number; the casts of floats saturate"
        )]
        let known = Self::of_drive(capacity as u64, rpm);
        let mut measured = known.map_err(|message| drive.error(message))?;
        measured.sector_bytes = sector_bytes;
        measured.sources.extend(drive.take::<String>("source")?);
        drive.finish()?;
        if let Some(mut section) = whole.section("random_read_qd1")? {
            measured.read_bytes = section.take::<Bytes>("bs")?.map_or(4096, Bytes::get);
            for key in ["iops", "mean_ms"].into_iter().chain(QUANTILES.map(|(key, _)| key)) {
                if let Some(Number(value)) = section.take(key)? {
                    measured.random_read.push((key, value));
                }
            }
            measured.agree().map_err(|message| section.error(message))?;
            section.finish()?;
        }
        if let Some(mut section) = whole.section("sequential")? {
            section.take::<Bytes>("bs")?;
            measured.sequential_read = section.take::<Number>("read_mb_per_s")?.map(|rate| rate.0);
            measured.sequential_write =
                section.take::<Number>("write_mb_per_s")?.map(|rate| rate.0);
            section.finish()?;
        }
        if let Some(mut section) = whole.section("random_write_qd1")? {
            section.take::<Bytes>("bs")?;
            measured.write_iops = section.take::<Number>("iops")?.map(|rate| rate.0);
            for key in ["mean_ms"].into_iter().chain(QUANTILES.map(|(key, _)| key)) {
                section.take::<Number>(key)?;
            }
            section.finish()?;
        }
        whole.finish()?;
        Ok(measured)
    }

    /// Adds what a run measured: random reads or writes at depth 1, or a sequential rate.
    ///
    /// # Errors
    /// The run is none of these.
    pub fn add_run(&mut self, name: &str, run: &RunRecord) -> Result<(), String> {
        let (Some(workload), Some(total)) = (&run.config.workload, &run.total) else {
            return Err(format!("`{name}` is no load: a fit takes random and sequential runs"));
        };
        let rate = total.bytes_per_s / 1e6;
        let alone = run.config.numjobs == 1
            && matches!(workload.pace, Pace::Closed { iodepth: 1, think_time: Span::ZERO });
        match workload.rw {
            Rw::Read => self.sequential_read = Some(rate),
            Rw::Write => self.sequential_write = Some(rate),
            Rw::RandRead if alone => {
                self.read_bytes = workload.blocks.mean().get();
                self.random_read = figures_of(total);
            }
            Rw::RandWrite if alone => self.write_iops = Some(total.iops),
            other => {
                return Err(format!(
                    "`{name}` is a run of {other}: a fit uses random reads and writes of one job \
                     at iodepth 1 without think time, and sequential runs"
                ));
            }
        }
        self.sources.push(format!("run of {}: {name}", run.target));
        self.agree()
    }

    /// Quantiles rise, the mean is not too small for them, and one request at a time is
    /// `1 / mean` a second.
    fn agree(&self) -> Result<(), String> {
        let given = QUANTILES.map(|(key, _)| self.figure(key).map(|value| (key, value)));
        let given: Vec<(&str, f64)> = given.into_iter().flatten().collect();
        for pair in given.windows(2) {
            let ((low, at_low), (high, at_high)) = (pair[0], pair[1]);
            if at_low > at_high {
                return Err(format!(
                    "`{low} = {at_low}` is above `{high} = {at_high}`, but quantiles rise: check \
                     for swapped values"
                ));
            }
        }
        let (iops, mean) = (self.figure("iops"), self.figure("mean_ms"));
        if let (Some(iops), Some(mean)) = (iops, mean)
            && (iops * mean / 1000.0 - 1.0).abs() > DISAGREEMENT
        {
            return Err(format!(
                "`iops = {iops}` and `mean_ms = {mean}` contradict each other: at depth 1, {mean} \
                 ms give {:.1} per second; check the depth",
                1000.0 / mean
            ));
        }
        // At least the slowest (1 - share) of all reads take a quantile or longer.
        for (key, share) in QUANTILES {
            let (Some(mean), Some(value)) = (mean, self.figure(key)) else { continue };
            if (1.0 - share) * value > mean {
                return Err(format!(
                    "`mean_ms = {mean}` is too small for `{key} = {value}`: check that both come \
                     from one run"
                ));
            }
        }
        Ok(())
    }

    pub(super) fn figures(&self) -> Figures {
        self.random_read.clone()
    }

    pub(super) fn figure(&self, name: &str) -> Option<f64> {
        self.random_read.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// The mean time of a random read, or what is nearest to it.
    pub(super) fn typical_ms(&self) -> f64 {
        let rate = self.figure("iops").map(|iops| 1000.0 / iops);
        let mean = self.figure("mean_ms").or(rate).or(self.figure("p50_ms"));
        mean.or(self.random_read.first().map(|(_, value)| *value)).unwrap_or(0.0)
    }
}

#[expect(clippy::cast_precision_loss, reason = "times far below 2^52 ns")]
fn figures_of(total: &JobRecord) -> Figures {
    let ms = |span: Span| span.ns() as f64 / 1e6;
    let times = &total.lat_histogram;
    let mean = times.mean().map(|mean| ("mean_ms", ms(mean)));
    // A quantile that ten reads decide is an accident.
    let enough = |share: f64| (1.0 - share).min(share) * times.n() as f64 >= 10.0;
    let quantile = |(key, share): (&'static str, f64)| {
        let parts = libm::round(share * 1e9);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 10^9")]
        let ratio = Ratio::from_billionths(parts as u64);
        times.quantile(ratio).filter(|_| enough(share)).map(|time| (key, ms(time)))
    };
    mean.into_iter().chain(QUANTILES.into_iter().filter_map(quantile)).collect()
}

/// The figures of simulated reads: their sorted times in ms, and the mean.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "an index into a small sample"
)]
pub(super) fn of_times(sorted: &[f64], mean: f64) -> Figures {
    let quantile = |share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize];
    let ends = [("iops", 1000.0 / mean), ("mean_ms", mean)];
    let quantiles = QUANTILES.map(|(key, share)| (key, quantile(share)));
    ends.into_iter().chain(quantiles).collect()
}

/// A number above zero; underscores may group digits.
#[derive(Debug, Clone, Copy)]
struct Number(f64);

impl Value for Number {
    fn read(text: &str) -> Result<Self, String> {
        let number = text.replace('_', "").parse::<f64>().ok();
        number
            .filter(|number| *number > 0.0 && number.is_finite())
            .map(Self)
            .ok_or_else(|| format!("`{text}` is not a number above zero"))
    }
}
