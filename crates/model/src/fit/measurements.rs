//! The measurements file: what somebody measured at depth 1.

use drivelab_core::Bytes;
use drivelab_core::config::{ConfigError, Section};

/// What was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurements {
    /// Addressable bytes.
    pub capacity_bytes: u64,
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
    random_read: Vec<(&'static str, f64)>,
}

/// The quantiles a file may give.
const QUANTILES: [(&str, f64); 11] = [
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

impl Measurements {
    /// Reads the measurements `text` of `file`.
    ///
    /// # Errors
    /// Unknown keys, values that no drive has, and what is missing, with file and line.
    pub fn read(file: &str, text: &str) -> Result<Self, ConfigError> {
        let mut whole = Section::parse(file, text)?;
        let missing = whole.error("the table `[drive]` is missing: capacity_bytes and rpm");
        let mut drive = whole.section("drive")?.ok_or(missing)?;
        let capacity_bytes = drive.require::<Number>("capacity_bytes")?.0;
        let rpm = drive.require::<Number>("rpm")?.0;
        // Addresses count 512-byte sectors whatever the medium's are.
        drive.take::<Number>("sector_bytes")?;
        if !(100.0..=100_000.0).contains(&rpm) {
            return Err(drive.error(format!("`rpm = {rpm}`: expected 100 to 100000")));
        }
        drive.finish()?;
        let (mut random_read, mut read_bytes) = (Vec::new(), 4096);
        if let Some(mut section) = whole.section("random_read_qd1")? {
            read_bytes = section.take::<Bytes>("bs")?.map_or(4096, Bytes::get);
            for key in ["iops", "mean_ms"].into_iter().chain(QUANTILES.map(|(key, _)| key)) {
                if let Some(Number(value)) = section.take(key)? {
                    random_read.push((key, value));
                }
            }
            section.finish()?;
        }
        let (mut sequential_read, mut sequential_write) = (None, None);
        if let Some(mut section) = whole.section("sequential")? {
            section.take::<Bytes>("bs")?;
            sequential_read = section.take::<Number>("read_mb_per_s")?.map(|rate| rate.0);
            sequential_write = section.take::<Number>("write_mb_per_s")?.map(|rate| rate.0);
            section.finish()?;
        }
        let mut write_iops = None;
        if let Some(mut section) = whole.section("random_write_qd1")? {
            section.take::<Bytes>("bs")?;
            write_iops = section.take::<Number>("iops")?.map(|rate| rate.0);
            for key in ["mean_ms"].into_iter().chain(QUANTILES.map(|(key, _)| key)) {
                section.take::<Number>(key)?;
            }
            section.finish()?;
        }
        whole.finish()?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a positive number; the profile checks its limits"
        )]
        let capacity_bytes = capacity_bytes as u64 / 512 * 512;
        Ok(Self {
            capacity_bytes,
            rpm,
            read_bytes,
            sequential_read,
            sequential_write,
            write_iops,
            random_read,
        })
    }

    /// The figures of random reads at depth 1.
    pub(super) fn figures(&self) -> Vec<(&'static str, f64)> {
        self.random_read.clone()
    }

    /// One of them.
    pub(super) fn figure(&self, name: &str) -> Option<f64> {
        self.random_read.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}

/// The figures of simulated reads: their sorted times in ms, and the mean.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "an index into a small sample"
)]
pub(super) fn of_times(sorted: &[f64], mean: f64) -> Vec<(&'static str, f64)> {
    let quantile = |share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize];
    let ends = [("iops", 1000.0 / mean), ("mean_ms", mean)];
    let quantiles = QUANTILES.map(|(key, share)| (key, quantile(share)));
    ends.into_iter().chain(quantiles).collect()
}

/// A number above zero; underscores may group digits.
#[derive(Debug, Clone, Copy)]
struct Number(f64);

impl drivelab_core::config::Value for Number {
    fn read(text: &str) -> Result<Self, String> {
        let number = text.replace('_', "").parse::<f64>().ok();
        number
            .filter(|number| *number > 0.0 && number.is_finite())
            .map(Self)
            .ok_or_else(|| format!("`{text}` is not a number above zero"))
    }
}
