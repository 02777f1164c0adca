//! What is searched for, and the profile that it makes.

use drivelab_core::Rng;

use super::Measurements;

/// The parameters that random reads at depth 1 show, each within its range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Parameters {
    /// Milliseconds to the next track.
    track: f64,
    /// Milliseconds of an average seek.
    average: f64,
    /// The share of the square root in the seek curve.
    shape: f64,
    /// Milliseconds of firmware before a seek.
    overhead: f64,
    /// The share of accesses, in percent, that need more than one try.
    retries: f64,
    /// Revolutions that such an access loses.
    revolutions: f64,
}

/// Ranges from which nobody has seen a drive depart.
const RANGES: [(f64, f64); 6] =
    [(0.2, 4.0), (2.0, 30.0), (0.0, 1.6), (0.02, 2.0), (0.0, 3.0), (1.0, 8.0)];

impl Parameters {
    /// A first guess from the mean alone.
    pub(super) fn start(measurements: &Measurements) -> Self {
        let revolution = 60_000.0 / measurements.rpm;
        let rate = measurements.figure("iops").map(|iops| 1000.0 / iops);
        let mean = measurements.figure("mean_ms").or(rate).or(measurements.figure("p50_ms"));
        let average = mean.map_or(9.0, |mean| mean - revolution / 2.0 - 0.2);
        Self::from_array([0.8, average, 0.6, 0.15, 0.2, 2.0])
    }

    fn from_array(values: [f64; 6]) -> Self {
        let mut kept = values;
        for (value, (low, high)) in kept.iter_mut().zip(RANGES) {
            *value = value.clamp(low, high);
        }
        let [track, average, shape, overhead, retries, revolutions] = kept;
        Self { track, average: average.max(track), shape, overhead, retries, revolutions }
    }

    /// Every parameter moved by a random share, up to `width`, of its range.
    pub(super) fn moved(&self, rng: &mut Rng, width: f64) -> Self {
        const STEPS: u64 = 1 << 20;
        let now =
            [self.track, self.average, self.shape, self.overhead, self.retries, self.revolutions];
        let mut moved = now;
        for (value, (low, high)) in moved.iter_mut().zip(RANGES) {
            #[expect(clippy::cast_precision_loss, reason = "below 2^20")]
            let turn = rng.below(STEPS) as f64 / STEPS as f64 * 2.0 - 1.0;
            // The cube makes small steps likely and large ones possible.
            *value += turn * turn * turn * width * (high - low);
        }
        Self::from_array(moved)
    }

    /// The profile file; `found` is the remaining error and the seed of the search.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sectors of a track, thousands; revolutions, at most eight"
    )]
    pub(super) fn profile(
        &self,
        model: &str,
        measurements: &Measurements,
        found: Option<(f64, u64)>,
    ) -> String {
        // With tracks twice as long outside as inside the mean rate is three quarters of the
        // outer; a fifteenth of the time goes to switching tracks.
        let rate = measurements.sequential_read.or(measurements.sequential_write).unwrap_or(150.0);
        let outer = rate * 1e6 / 512.0 * 60.0 / measurements.rpm / 0.75 / 0.94;
        let outer = (outer as u64).clamp(16, 60_000);
        let note = found.map_or_else(String::new, |(error, seed)| {
            format!("; root mean square error {:.1} %, seed {seed}", 100.0 * error)
        });
        let Self { track, average, shape, overhead, retries, revolutions } = self;
        let cache = if measurements.write_iops.is_some_and(|writes| {
            measurements.figure("iops").is_some_and(|reads| writes < 1.15 * reads)
        }) {
            "off"
        } else {
            "on"
        };
        format!(
            "# Fitted to measurements at depth 1{note}.\n\
             # Marks: [F] fitted, [S] from the sequential rate, [P] a prior: depth 1 cannot show it.\n\
             [drive]\nkind = \"hdd\"\nmodel = {model:?}\ncapacity_bytes = {}\n\
             source = \"drive fit: random reads at depth 1 and sequential rates\"\n\
             leaves_out = \"what happens above depth 1 is a prior, not a fit\"\n\n\
             [geometry]\nrpm = {}\nheads = 4  # [P]\n\
             sectors_per_track_outer = {outer}  # [S] with 2 to 1 from the outside in [P]\n\
             sectors_per_track_inner = {}  # [S]\nzone_count = 24  # [P]\nhead_switch = \"0.8ms\"  # [P]\n\n\
             [seek]\nseek_track = \"{track:.3}ms\"  # [F]\nseek_average = \"{average:.3}ms\"  # [F]\n\
             seek_shape = {shape:.3}  # [F] with the average, gives the full stroke\n\
             write_settle = \"1ms\"  # [P]\n\n\
             [buffer]\nread_segments = 32  # [P]\nsegment_bytes = \"1M\"  # [P]\n\
             read_ahead_bytes = \"512k\"  # [P]\nwrite_cache = \"{cache}\"  # [P] unless writes were measured\n\
             write_cache_bytes = \"32M\"  # [P]\nwrite_cache_runs = 128  # [P]\n\n\
             [queue]\nqueue_depth = 32  # [P]\n\
             guard = \"3ms\"  # [P] R(32) about 1.65, log-normal with sigma 0.20\n\n\
             [overhead]\noverhead_read_miss = \"{overhead:.3}ms\"  # [F]\n\
             overhead_read_hit = \"0.04ms\"  # [P]\noverhead_write_hit = \"0.05ms\"  # [P]\n\n\
             [tail]\nretry_share = \"{retries:.3}%\"  # [F]\nretry_revolutions = {}  # [F]\n",
            measurements.capacity_bytes,
            measurements.rpm,
            (outer / 2).max(8),
            (revolutions + 0.5) as u64,
        )
    }
}
