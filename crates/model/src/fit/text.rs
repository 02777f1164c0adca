//! The profile that a fit makes.

use std::fmt::Write as _;

use super::Measurements;
use super::search::{Solution, TRIALS};
use crate::profile::Prior;

/// What depth 1 cannot show of the geometry: two platters, twice as many sectors outside as inside.
pub(super) const HEADS: u32 = 4;
pub(super) const ZONES: u32 = 24;
/// Firmware before a seek. Random reads show only the sum of it and the shortest seek.
pub(super) const OVERHEAD_MS: f64 = 0.15;

/// From one track to the next in sequence, as data sheets say; no random read shows it.
const TRACK_MS: f64 = 0.8;

/// The deviation of the logarithm of the margin's growth (docs/internals/drive-facts.md).
const GROWTH_SIGMA: f64 = 0.65;

/// What a drive's own figures differ by from day to day: no fit to them is nearer to the truth.
const ONE_DRIVE: f64 = 0.01;

#[derive(Debug, Clone)]
pub(super) struct Text<'a> {
    model: &'a str,
    command: &'a str,
    measurements: &'a Measurements,
    seed: u64,
    pub(super) outer: u32,
    pub(super) found: Option<Solution>,
    /// The remaining error, and the gain at depth 32.
    pub(super) outcome: Option<(f64, f64)>,
}

impl<'a> Text<'a> {
    pub(super) fn new(
        model: &'a str,
        command: &'a str,
        measurements: &'a Measurements,
        seed: u64,
    ) -> Self {
        // With tracks twice as long outside as inside the mean rate is three quarters of the
        // outer; a fifteenth of the time goes to switching tracks.
        let rate = measurements.sequential_read.or(measurements.sequential_write).unwrap_or(150.0);
        let outer = rate * 1e6 / 512.0 * 60.0 / measurements.rpm / 0.75 / 0.94;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "casts of floats saturate"
        )]
        let outer = (outer as u32).clamp(32, 60_000);
        let (found, outcome) = (None, None);
        Self { model, command, measurements, seed, outer, found, outcome }
    }

    pub(super) fn inner(&self) -> u32 {
        self.outer / 2
    }

    /// Milliseconds to pass `sectors` sectors in the middle of the drive and send them.
    pub(super) fn transfer_ms(&self, sectors: u64) -> f64 {
        let sectors = f64::from(u32::try_from(sectors).unwrap_or(u32::MAX));
        let track = f64::from(self.outer) * 0.75;
        60_000.0 / self.measurements.rpm * sectors / track + sectors * 512.0 / 600e3
    }

    pub(super) fn profile(&self) -> String {
        let Some(Solution { extremes, seeks }) = self.found else { return String::new() };
        let Measurements { capacity_bytes, rpm, .. } = self.measurements;
        let prior = Prior::of(*rpm);
        let (error, gain) = self.outcome.unwrap_or((0.0, prior.median));
        let cache = if self.without_write_cache() { "off" } else { "on" };
        let (outer, inner) = (self.outer, self.inner());
        let rate = if self.has_rate() { "[S]" } else { "[P]" };
        let head = if extremes.hits > 0.0 { "[F]" } else { "[P]" };
        let tail = if self.has_tail() { "[F]" } else { "[P]" };
        let mut text = format!(
            "# Made by {TRIALS} trials with seed {} of\n#   {}\n# Root mean square error at depth \
             1: {:.1} %. Gain at depth 32: {gain:.2}.\n# Marks: [G] given, [F] fitted, [S] from \
             the sequential rate, [P] a prior: the\n# measurements cannot show it.\n[drive]\nkind \
             = \"hdd\"\nmodel = {:?}\ncapacity_bytes = {capacity_bytes}  # [G]\n",
            self.seed,
            self.command,
            100.0 * error,
            self.model,
        );
        if let Some(bytes) = self.measurements.sector_bytes {
            let _ = writeln!(text, "sector_bytes = {bytes}  # [G]");
        }
        if !self.measurements.sources.is_empty() {
            let _ = writeln!(text, "source = {:?}", self.measurements.sources.join("; "));
        }
        let _ = write!(
            text,
            "leaves_out = \"behaviour above depth 1 is a prior, not a fit\"\n\
             fit_sigma = {:.3}       # error at depth 1, as a logarithm\n\n\
             [geometry]\nrpm = {rpm}               # [G]\nheads = {HEADS}                # [P]\n\
             sectors_per_track_outer = {outer}  # {rate} 2 to 1 from the outside in [P]\n\
             sectors_per_track_inner = {inner}  # {rate}\nzone_count = {ZONES}          # [P]\n\
             head_switch = \"0.8ms\"    # [P]\n\n\
             [seek]\nseek_track = \"{:.3}ms\"  # [P] in sequence\n\
             seek_short = \"{:.3}ms\"  # [F] settled\nseek_full = \"{:.3}ms\"  # [F]\n\
             seek_shape = {:.3}       # [F]\nwrite_settle = \"1ms\"     # [P]\n\n\
             [buffer]\nread_segments = 32       # [P]\nsegment_bytes = \"1M\"     # [P]\n\
             read_ahead_bytes = \"512k\"  # [P]\n\
             write_cache = \"{cache}\"       # [P] unless random writes were measured\n\
             write_cache_bytes = \"32M\"  # [P]\nwrite_cache_runs = 128   # [P]\n\n\
             [queue]\nqueue_depth = 32         # [P]\n\
             # [P] {}: gain at depth 32 log-normal about {}, sigma {}\n\
             guard_growth = {{ median = {}, sigma = {GROWTH_SIGMA}, max = 5, source = \"measured \
             drives of its kind\" }}\ngain_sigma = {}\n\
             uncached_writes = {{ choice = [\"fifo\", \"sptf\"], odds = [1, 1], source = \"one of \
             two measured drives serves them in order\" }}\n\n\
             [overhead]\noverhead_read_miss = \"{OVERHEAD_MS}ms\"  # [P] the rest is in the seeks\n\
             overhead_read_hit = \"0.04ms\"   # [P]\noverhead_write_hit = \"0.05ms\"  # [P]\n\n\
             [tail]\nhit_share = \"{:.3}%\"     # {head}\nretry_share = \"{:.3}%\"   # {tail}\nretry_revolutions = {}    # {tail}\n\n\
             [attachment]\ninterface = \"sata\"       # [P]\nlink = \"6\"               # [P]\n",
            error.max(ONE_DRIVE),
            seeks.short.min(TRACK_MS),
            seeks.short,
            seeks.full,
            seeks.shape,
            prior.kind,
            prior.median,
            prior.sigma,
            prior.growth,
            prior.sigma,
            100.0 * extremes.hits,
            100.0 * extremes.retries,
            extremes.revolutions,
        );
        text
    }

    /// Random writes hardly faster than reads: nothing puts them off.
    fn without_write_cache(&self) -> bool {
        let reads = 1000.0 / self.measurements.typical_ms();
        self.measurements.write_iops.is_some_and(|writes| writes < 1.15 * reads)
    }

    fn has_rate(&self) -> bool {
        self.measurements.sequential_read.or(self.measurements.sequential_write).is_some()
    }

    fn has_tail(&self) -> bool {
        self.found.is_some_and(|found| found.extremes.retries > 0.0)
    }

    pub(super) fn not_identified(&self) -> Vec<String> {
        let prior = Prior::of(self.measurements.rpm);
        let mut missing = vec![
            format!(
                "the order in the drive's queue: a guard band that grows by {} of the seek time, \
                 which gives a gain of {:.2} at depth 32; prior for {}: log-normal around {}, \
                 sigma {}",
                prior.growth,
                self.outcome.map_or(0.0, |(_, gain)| gain),
                prior.kind,
                prior.median,
                prior.sigma
            ),
            format!(
                "firmware time as distinct from the shortest seek (only their sum is visible): \
                 {OVERHEAD_MS} ms"
            ),
            "heads and the ratio of outer to inner track length: 4 heads, 2 to 1; another ratio \
             would assign the same seek times to other distances"
                .to_owned(),
            "write settle time: 1 ms".to_owned(),
        ];
        if self.has_tail() {
            missing.push(
                "revolutions per retry as distinct from the share of reads that need one: p99.5 \
                 fixes only the product"
                    .to_owned(),
            );
        } else {
            missing.push("retries, visible above p99 only: none".to_owned());
        }
        if !self.has_rate() {
            missing.push("sectors per track, without a sequential rate: 150 MB/s".to_owned());
        }
        if self.measurements.write_iops.is_none() {
            missing.push("the write cache, without random writes: on, 32 MiB, 128 runs".to_owned());
        }
        missing
    }
}
