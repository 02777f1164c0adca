//! The measurement of a drive for `drive fit`: its steps, their durations and their order.

use drivelab_core::Control;
use drivelab_core::Target;
use drivelab_core::measurements::{DriveKind, FlashState, MeasuredStream, Measurements, Position};
use drivelab_core::record::Mark;
use drivelab_core::units::{Bytes, Lba, Sectors, Span};

use crate::burst::Bursts;
use crate::flush::Flushes;
use crate::load::RandomLoad;
use crate::pieces::Pieces;
use crate::rotation;
use crate::session::{ProbeError, Session};
use crate::stream::Stream;

/// The settings of a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Seed of all addresses.
    pub seed: u64,
    /// Also write and flush, which destroys the data on the drive.
    pub writes: bool,
    /// The speed of rotation, if known; otherwise it is measured.
    pub rpm: Option<f64>,
    /// True for a solid-state drive: depths are measured instead of spans and rotation.
    pub solid_state: bool,
    /// The state of a solid-state drive; sustained writes are measured only if it is known.
    pub state: Option<FlashState>,
}

/// One step: its description and duration.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The measured quantity, for messages.
    pub what: String,
    /// Its duration.
    pub takes: Span,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Stream {
        write: bool,
        position: Position,
    },
    Rotation,
    Load {
        write: bool,
        span: Option<Bytes>,
        iodepth: u32,
    },
    Flush {
        writes: u32,
    },
    /// Writes absorbed by the buffer of a solid-state drive.
    Burst,
    SustainedStream {
        state: FlashState,
    },
    SustainedLoad {
        state: FlashState,
    },
}

/// The result of a measurement.
#[derive(Debug)]
pub struct Measured {
    /// All finished steps, and the interrupted one up to that point.
    pub measurements: Measurements,
    /// True if it was stopped early.
    pub stopped: bool,
    /// Bytes read and written.
    pub bytes: u64,
    /// Requests sent.
    pub requests: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Doubts about the figures: pieces of one load that differ.
    pub marks: Vec<Mark>,
    /// Time from the first request to the last.
    pub took: Span,
}

/// Spans of the drive in which random reads are measured: the gains from a queue and from an
/// elevator differ between them, which distinguishes one firmware from another.
const SPAN_SHORT: Bytes = Bytes::new(32_000_000_000);
const SPAN_SHORTEST: Bytes = Bytes::new(1_000_000_000);

/// Minimum capacity: a smaller target has no such spans.
const CAPACITY_MIN: u64 = 64 << 20;

/// Part of the drive in which a stream stays: within it the zone hardly changes.
const STREAM_REGION: Sectors = Sectors::new(1 << 21);

/// Time until a stream has reached its steady rate, if no buffer must fill first.
const RAMP: Span = Span::from_ms(200);

/// Depths that show the parallelism of a solid-state drive, and the seconds for each: it completes
/// thousands of requests in a second, so a few seconds suffice.
const DEPTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];
const DEPTH_SECONDS: u64 = 4;

/// Number of writes in a burst, far fewer than any buffer holds.
const BURST: u32 = 64;
/// Time until the buffer of a solid-state drive is full and its sustained writes are counted: 256
/// MiB at the 100 MB/s by which a drive accepts more than it programs, with a margin.
const FILL: Span = Span::from_secs(4);
/// Writes outstanding while their sustained rate is measured.
const SUSTAINED_DEPTH: u32 = 32;

/// Returns the steps for a drive of this capacity: two minutes of reads for a disk, one for a
/// solid-state drive; one more with writes.
pub fn steps(capacity: Bytes, settings: Settings) -> Vec<Step> {
    let mut kinds: Vec<(u64, Kind)> = of_streams(false).into();
    if settings.rpm.is_none() && !settings.solid_state {
        kinds.push((1, Kind::Rotation));
    }
    // Everything twice, and the depths next to each other: a short disturbance of one piece shows
    // in the difference to the other, and a lasting one affects all depths alike.
    for _ in 0..2 {
        kinds.extend(if settings.solid_state { of_depths() } else { of_spans(capacity) });
    }
    if settings.writes && settings.solid_state {
        kinds.extend(of_writes(settings.state));
    } else if settings.writes {
        kinds.extend(of_streams(true));
        kinds.extend(
            [(16, 1), (12, 8)].map(|(seconds, iodepth)| {
                (seconds, Kind::Load { write: true, span: None, iodepth })
            }),
        );
        kinds.extend([(8, Kind::Flush { writes: 8 }), (14, Kind::Flush { writes: 64 })]);
    }
    let steps = kinds.into_iter().map(|(seconds, kind)| Step {
        what: kind.words(),
        takes: Span::from_secs(seconds),
        kind,
    });
    steps.collect()
}

/// Returns the streams at the three positions.
fn of_streams(write: bool) -> [(u64, Kind); 3] {
    [Position::Outer, Position::Middle, Position::Inner]
        .map(|position| (2, Kind::Stream { write, position }))
}

fn random_reads(seconds: u64, iodepth: u32, span: Option<Bytes>) -> (u64, Kind) {
    (seconds, Kind::Load { write: false, span, iodepth })
}

/// Returns random reads of the whole drive and of parts of it.
fn of_spans(capacity: Bytes) -> Vec<(u64, Kind)> {
    let mut kinds = vec![random_reads(10, 1, None), random_reads(8, 32, None)];
    for span in [SPAN_SHORT, SPAN_SHORTEST] {
        // A span that is nearly the whole drive shows nothing new.
        if span.get() < capacity.get() / 10 * 8 {
            kinds.extend([random_reads(7, 1, Some(span)), random_reads(8, 32, Some(span))]);
        }
    }
    kinds.push(random_reads(6, 8, None));
    kinds
}

/// Returns random reads of the whole drive at every depth.
fn of_depths() -> Vec<(u64, Kind)> {
    DEPTHS.map(|iodepth| random_reads(DEPTH_SECONDS, iodepth, None)).into()
}

/// Returns the writes of a solid-state drive; those that change its state least come first.
fn of_writes(state: Option<FlashState>) -> Vec<(u64, Kind)> {
    let mut kinds = vec![(8, Kind::Burst)];
    match state {
        None => {}
        // Sequential writes would leave the drive better than steady, and their rate on a steady
        // drive does not last.
        Some(FlashState::Steady) => {
            let load = (10, Kind::SustainedLoad { state: FlashState::Steady });
            kinds.extend([load, load]);
        }
        Some(state) => kinds.push((10, Kind::SustainedStream { state })),
    }
    kinds.extend([(4, Kind::Flush { writes: 8 }), (4, Kind::Flush { writes: 64 })]);
    kinds
}

impl Kind {
    fn words(self) -> String {
        match self {
            Self::Stream { write, position } => {
                let verb = if write { "writes" } else { "reads" };
                let words = match position {
                    Position::Outer => "at the outer edge",
                    Position::Middle => "in the middle",
                    Position::Inner => "at the inner edge",
                };
                format!("sequential {verb} {words}")
            }
            Self::Rotation => "speed of rotation".into(),
            Self::Load { write, span, iodepth } => {
                let verb = if write { "writes" } else { "reads" };
                let extent = match span {
                    None => "the whole drive".to_owned(),
                    Some(span) => format!("the first {} GB", span.get() / 1_000_000_000),
                };
                format!("random {verb} of {extent}, {iodepth} outstanding")
            }
            Self::Flush { writes } => format!("flushes after {writes} writes"),
            Self::Burst => "writes that the buffer takes over".into(),
            Self::SustainedStream { state } => format!("sustained sequential writes, {state}"),
            Self::SustainedLoad { state } => format!(
                "sustained random writes of the whole drive, {SUSTAINED_DEPTH} outstanding, {state}"
            ),
        }
    }
}

/// Measures `target`, step by step.
///
/// # Errors
/// The target is too small or breaks, does not answer, or fails more than one request in a hundred.
pub fn measure<T: Target>(
    target: &mut T,
    settings: Settings,
    control: &Control<'_>,
) -> Result<Measured, ProbeError> {
    let capacity = target.capacity();
    if capacity.get() < CAPACITY_MIN {
        return Err(ProbeError::Small { bytes: capacity.get() });
    }
    let mut measurements = Measurements::of_drive(capacity.get(), settings.rpm)?;
    measurements.kind = settings.solid_state.then_some(DriveKind::Ssd);
    let plan = steps(capacity, settings);
    // Of the plan, not of the clock: progress must not jump when a step takes longer.
    let expected = plan.iter().map(|step| step.takes).fold(Span::ZERO, |sum, one| sum + one);
    let begin = target.now();
    let mut session = Session::new(target, control, settings.seed, expected);
    let (mut before, mut pieces) = (Span::ZERO, Pieces::default());
    for step in &plan {
        if session.stop() {
            break;
        }
        session.begin(&step.what, before);
        let of = (capacity, settings.solid_state);
        carry_out(step, of, &mut session, (&mut measurements, &mut pieces))?;
        before += step.takes;
    }
    // Also after a stop: what was measured is kept.
    mean_stream(&mut measurements);
    measurements.loads = pieces.loads();
    let marks = pieces.mark().into_iter().collect();
    let took = session.now().since(begin);
    let Session { stopped, bytes, requests, failed, .. } = session;
    Ok(Measured { measurements, stopped, bytes, requests, failed, marks, took })
}

fn carry_out<T: Target>(
    step: &Step,
    (capacity, solid_state): (Bytes, bool),
    session: &mut Session<'_, T>,
    (into, pieces): (&mut Measurements, &mut Pieces),
) -> Result<(), ProbeError> {
    let sectors = Sectors::new(capacity.get() / 512);
    debug_assert!(capacity.get() >= CAPACITY_MIN, "the caller refuses smaller targets");
    let time = step.takes;
    match step.kind {
        Kind::Stream { write, position } => {
            let region = STREAM_REGION.min(Sectors::new(sectors.get() / 8));
            let from = match position {
                Position::Outer => 0,
                Position::Middle => sectors.get() / 2,
                Position::Inner => sectors.get() - region.get(),
            };
            // At a whole MiB, so that a stream crosses no physical sector.
            let from = Lba::new(from / 2048 * 2048);
            let stream = Stream { write, from, to: from + region, ramp: RAMP, time };
            if let Some(mb_per_s) = stream.run(session)? {
                let position = Some(position);
                into.streams.push(MeasuredStream { write, position, state: None, mb_per_s });
            }
        }
        Kind::Rotation => {
            // A little way in: the first tracks are the busiest of a disk in use.
            let from = Lba::new((sectors.get() / 64).min(1 << 21) / 8 * 8);
            into.rpm = rotation::rpm(session, from, into.stream_at(false, Position::Outer))?;
        }
        Kind::Load { write, span, iodepth } => {
            // Writes fill the drive's cache first, reads the queue, whose oldest wait long.
            let ramp = match (write, iodepth) {
                (true, _) => Span::from_secs(4),
                (false, 1) => Span::from_ms(500),
                (false, _) if solid_state => Span::from_secs(1),
                (false, _) => Span::from_secs(2),
            };
            let (whole, within) = (span.is_none(), span.unwrap_or(capacity).get() / 512);
            let (span, time) = (Sectors::new(within), time.saturating_sub(ramp));
            let load = RandomLoad { write, state: None, span, whole, iodepth, ramp, time };
            pieces.push(load.run(session)?);
        }
        Kind::Flush { writes } => {
            into.flushes.extend(Flushes { writes, capacity: sectors, time }.run(session)?);
        }
        Kind::Burst => {
            into.bursts.extend(Bursts { writes: BURST, capacity: sectors, time }.run(session)?);
        }
        Kind::SustainedStream { state } => {
            let (from, to) = (Lba::new(0), Lba::new(sectors.get()));
            let stream = Stream { write: true, from, to, ramp: FILL, time };
            if let Some(mb_per_s) = stream.run(session)? {
                let state = Some(state);
                into.streams.push(MeasuredStream { write: true, position: None, state, mb_per_s });
            }
        }
        Kind::SustainedLoad { state } => {
            let (state, iodepth, time) = (Some(state), SUSTAINED_DEPTH, time.saturating_sub(FILL));
            let (span, ramp) = (sectors, FILL);
            let load = RandomLoad { write: true, state, span, whole: true, iodepth, ramp, time };
            pieces.push(load.run(session)?);
        }
    }
    Ok(())
}

/// Adds the mean of the three positions, for files with a single rate.
fn mean_stream(measured: &mut Measurements) {
    for write in [false, true] {
        let rates = [Position::Outer, Position::Middle, Position::Inner]
            .map(|position| measured.stream_at(write, position));
        if let [Some(outer), Some(middle), Some(inner)] = rates {
            let mb_per_s = (outer + middle + inner) / 3.0;
            measured.streams.push(MeasuredStream { write, position: None, state: None, mb_per_s });
        }
    }
}
