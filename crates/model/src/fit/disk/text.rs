//! The text of a fitted profile.

use std::fmt::Write as _;

use drivelab_core::measurements::{MeasuredLoad, Measurements, Position};

use super::extremes::{Extremes, RETRY_REVOLUTIONS};
use super::unknowns::WRITE_SETTLE;
use crate::fit::heading::Heading;
use crate::fit::unknown::Unknown;

/// Heads, which random reads cannot show: two platters.
pub(super) const HEADS: u32 = 4;
const ZONES: u32 = 24;
/// Firmware time before a seek. Random reads show only its sum with the shortest seek.
pub(super) const OVERHEAD_MS: f64 = 0.15;

/// From one track to the next in sequence, from data sheets; no random read shows it.
const TRACK_MS: f64 = 0.8;

/// Transfer rate assumed when none was measured, in MB/s.
const RATE: f64 = 150.0;

/// Two requests gain as much, at least, where the firmware chooses between them: about 1.1 with the
/// usual margin. Where it does not they gain nothing (docs/internals/drive-facts.md).
const GAIN_OF_TWO: f64 = 1.05;

/// The moment of the firmware's choice, as far as the measurements show it.
#[derive(Debug, Clone, Copy)]
enum Commit {
    Early,
    Late,
    Unknown,
}

impl Commit {
    fn line(self) -> String {
        match self {
            Self::Early => "commit = \"early\"  # [F]".to_owned(),
            Self::Late => "commit = \"late\"  # [F]".to_owned(),
            Self::Unknown => "commit = { choice = [\"early\", \"late\"], odds = [2, 1], source = \
                              \"docs/internals/drive-facts.md\" }  # [P]"
                .to_owned(),
        }
    }
}

/// The properties of the drive outside the search.
#[derive(Debug, Clone)]
pub(super) struct Text<'a> {
    measurements: &'a Measurements,
    rpm: f64,
    outer: u32,
    inner: u32,
    pub(super) extremes: Extremes,
}

impl<'a> Text<'a> {
    pub(super) fn new(measurements: &'a Measurements, rpm: f64) -> Self {
        let [outer, inner] = [Position::Outer, Position::Inner].map(|zone| {
            measurements.stream_at(false, zone).or_else(|| measurements.stream_at(true, zone))
        });
        // The inner rate is only usable together with an outer one from the same measurement.
        let (outer, inner) = match (outer, inner) {
            (Some(outer), Some(inner)) if inner < outer => {
                (sectors_per_track(outer, rpm), sectors_per_track(inner, rpm))
            }
            // If outer tracks are twice as long as inner ones, the mean rate over all addresses is
            // 7/9 of the outer rate, since long tracks hold more addresses.
            _ => {
                let rate = measurements.stream(false).or_else(|| measurements.stream(true));
                let outer = sectors_per_track(rate.unwrap_or(RATE) * 9.0 / 7.0, rpm);
                (outer, outer / 2)
            }
        };
        Self { measurements, rpm, outer, inner, extremes: Extremes::default() }
    }

    /// The profile of one drive, for a simulation: a number for each of the unknowns.
    pub(super) fn trial(&self, unknowns: &[Unknown], values: &[f64]) -> String {
        let mut text = String::new();
        self.drive(&mut text, "fit");
        self.rest(&mut text);
        text += &track(unknowns, values);
        for (unknown, value) in unknowns.iter().zip(values) {
            let _ = writeln!(text, "{}", line(unknown, *value));
        }
        if let Commit::Late = self.commit() {
            text += "commit = \"late\"\n";
        }
        text
    }

    /// The moment of the firmware's choice, which two requests at once show.
    fn commit(&self) -> Commit {
        let rate = |depth| self.measurements.whole(false, depth).and_then(MeasuredLoad::iops);
        match rate(1).zip(rate(2)) {
            Some((one, two)) if two > GAIN_OF_TWO * one => Commit::Late,
            Some(_) => Commit::Early,
            // Of a drive whose gain at other depths is known, those fix the margin instead.
            None if self.has_depth() => Commit::Early,
            None => Commit::Unknown,
        }
    }

    /// Returns true if reads at more than one depth were measured.
    fn has_depth(&self) -> bool {
        self.measurements.loads.iter().any(|load| !load.write && load.iodepth > 1)
    }

    /// The finished profile: the number of each unknown in the median drive, and draws of all.
    pub(super) fn fitted(
        &self,
        heading: Heading<'_>,
        unknowns: &[Unknown],
        middle: &[f64],
        draws: &[Vec<f64>],
    ) -> String {
        let Heading { model, command, seed, simulations, error, gain, notes } = heading;
        let mut text = format!(
            "# Made by {simulations} trials with seed {seed} of\n#   {command}\n# Root mean square \
             error of the median drive: {:.1} %. Its gain at depth 32: {gain:.2}.\n# Marks: [G] \
             given, [F] fitted, with what is left open in `[posterior]`, [S] from the sequential\n\
             # rates, [P] a prior: the measurements cannot show it.\n",
            100.0 * error,
        );
        for note in notes {
            let _ = writeln!(text, "# Note: {}.", note.replace('\n', " "));
        }
        self.drive(&mut text, model);
        self.rest(&mut text);
        let (queue, seeks): (Vec<_>, Vec<_>) =
            unknowns.iter().zip(middle).partition(|(unknown, _)| unknown.key == "guard_growth");
        let _ = write!(text, "\n[seek]\n{}", track(unknowns, middle));
        for (unknown, value) in seeks {
            let _ = writeln!(text, "{}  # [F]", line(unknown, *value));
        }
        if unknowns.iter().all(|unknown| unknown.key != "write_settle") {
            let _ = writeln!(text, "{WRITE_SETTLE}  # [P]");
        }
        let _ = writeln!(
            text,
            "\n[queue]\nqueue_depth = 32  # [P]\nuncached_writes = {{ choice = [\"fifo\", \
             \"sptf\"], odds = [1, 1], source = \"docs/internals/drive-facts.md\" }}  # [P]\n{}",
            self.commit().line(),
        );
        for (unknown, value) in queue {
            let _ = writeln!(text, "{}  # [F]", line(unknown, *value));
        }
        posterior(&mut text, unknowns, draws, command);
        text
    }

    fn drive(&self, text: &mut String, model: &str) {
        let Measurements { capacity_bytes, sector_bytes, sources, .. } = self.measurements;
        let _ = write!(
            text,
            "[drive]\nkind = \"hdd\"\nmodel = {model:?}\ncapacity_bytes = {capacity_bytes}  # [G]\n"
        );
        if let Some(bytes) = sector_bytes {
            let _ = writeln!(text, "sector_bytes = {bytes}  # [G]");
        }
        if !sources.is_empty() {
            let _ = writeln!(text, "source = {:?}", sources.join("; "));
        }
    }

    fn rest(&self, text: &mut String) {
        let Self { rpm, outer, inner, extremes, .. } = self;
        let cache = if self.without_write_cache() { "off" } else { "on" };
        let rate = if self.has_rate() { "[S]" } else { "[P]" };
        let [hits_mark, retries_mark] =
            [extremes.hits, extremes.retries].map(|share| if share > 0.0 { "[F]" } else { "[P]" });
        let _ = write!(
            text,
            "\n[geometry]\nrpm = {rpm}  # [G]\nheads = {HEADS}  # [P]\n\
             sectors_per_track_outer = {outer}  # {rate}\n\
             sectors_per_track_inner = {inner}  # {rate}\nzone_count = {ZONES}  # [P]\n\
             head_switch = \"{TRACK_MS}ms\"  # [P]\n\n\
             [buffer]\nread_segments = 32  # [P]\nsegment_bytes = \"1M\"  # [P]\n\
             read_ahead_bytes = \"512k\"  # [P]\n\
             write_cache = \"{cache}\"  # [P] unless random writes were measured\n\
             write_cache_bytes = \"32M\"  # [P]\nwrite_cache_runs = 128  # [P]\n\n\
             [overhead]\noverhead_read_miss = \"{OVERHEAD_MS}ms\"  # [P] the rest is in the seeks\n\
             overhead_read_hit = \"0.04ms\"  # [P]\noverhead_write_hit = \"0.05ms\"  # [P]\n\n\
             [tail]\nhit_share = \"{:.3}%\"  # {}\nretry_share = \"{:.3}%\"  # {}\n\
             retry_revolutions = {RETRY_REVOLUTIONS}  # [P]\n\n\
             [attachment]\ninterface = \"sata\"  # [P]\nlink = \"6\"  # [P]\n",
            100.0 * extremes.hits,
            hits_mark,
            100.0 * extremes.retries,
            retries_mark,
        );
    }

    /// Returns true if random writes are hardly faster than reads, so that no cache delays them.
    fn without_write_cache(&self) -> bool {
        let [writes, reads] = [true, false]
            .map(|write| self.measurements.whole(write, 1).and_then(MeasuredLoad::iops));
        writes.zip(reads).is_some_and(|(writes, reads)| writes < 1.15 * reads)
    }

    fn has_rate(&self) -> bool {
        !self.measurements.streams.is_empty()
    }

    pub(super) fn not_identified(&self) -> Vec<String> {
        let mut missing = vec![
            format!(
                "firmware time as distinct from the shortest seek (only their sum is visible): \
                 {OVERHEAD_MS} ms"
            ),
            "heads: 4".to_owned(),
        ];
        if !self.has_depth() {
            missing.push(
                "the moment of the firmware's choice: before the host can send another request \
                 (two of three drives), or after; random reads at `iodepth = 2` show it"
                    .to_owned(),
            );
            missing.push(
                "the order in the drive's queue: the growth of the margin with the seek keeps its \
                 prior; random reads at `iodepth = 32` show it"
                    .to_owned(),
            );
        }
        if self.measurements.stream_at(false, Position::Inner).is_none() {
            missing.push(
                "the ratio of outer to inner track length: 2 to 1; another ratio would assign the \
                 same seek times to other distances"
                    .to_owned(),
            );
        }
        if self.extremes.retries <= 0.0 {
            missing.push("retries, visible above p99 only: none".to_owned());
        }
        if !self.has_rate() {
            missing.push("sectors per track, without a sequential rate: 150 MB/s".to_owned());
        }
        if self.measurements.loads.iter().all(|load| !load.write) {
            missing.push("the write cache, without random writes: on, 32 MiB, 128 runs".to_owned());
            missing.push("the order of uncached writes: either, with equal odds".to_owned());
        }
        missing
    }
}

/// Sectors of a track at a sequential rate, a part of whose time goes to switching tracks.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casts of floats saturate"
)]
fn sectors_per_track(mb_per_s: f64, rpm: f64) -> u32 {
    let revolution = 60_000.0 / rpm;
    let per_track = mb_per_s * 1e6 / 512.0 * (revolution + TRACK_MS) / 1000.0;
    ((per_track + 0.5) as u32).clamp(32, 60_000)
}

/// The number of an unknown in the syntax of a profile.
fn word(unknown: &Unknown, value: f64) -> String {
    match unknown.unit {
        "" => format!("{value:.4}"),
        unit => format!("\"{value:.4}{unit}\""),
    }
}

/// The step to the next track in sequence, which is no longer than a settled seek.
fn track(unknowns: &[Unknown], values: &[f64]) -> String {
    let short = unknowns.iter().position(|unknown| unknown.key == "seek_short");
    let most = short.map_or(TRACK_MS, |index| values[index]);
    format!("seek_track = \"{:.4}ms\"  # [P] in sequence\n", most.min(TRACK_MS))
}

fn line(unknown: &Unknown, value: f64) -> String {
    format!("{} = {}", unknown.key, word(unknown, value))
}

fn posterior(text: &mut String, unknowns: &[Unknown], draws: &[Vec<f64>], command: &str) {
    let names: Vec<String> = unknowns.iter().map(|one| format!("\"{}\"", one.key)).collect();
    let source =
        format!("the measurements and priors of docs/internals/drive-facts.md, by {command}");
    let _ = write!(
        text,
        "\n[posterior]\nsource = {source:?}\nunknowns = [{}]\ndraws = [\n",
        names.join(", ")
    );
    for draw in draws {
        let values = unknowns.iter().zip(draw).map(|(one, value)| word(one, *value));
        let _ = writeln!(text, "  [{}],", values.collect::<Vec<_>>().join(", "));
    }
    *text += "]\n";
}
