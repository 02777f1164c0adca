//! The measurement of a drive that `drive fit` takes: what, for how long, in which order.

use drivelab_core::Target;
use drivelab_core::measurements::{DriveKind, FlashState, MeasuredStream, Measurements, Place};
use drivelab_core::record::Mark;
use drivelab_core::units::{Bytes, Lba, Sectors, Span};

use crate::burst::Bursts;
use crate::flush::Flushes;
use crate::load::RandomLoad;
use crate::pieces::Pieces;
use crate::rotation;
use crate::session::{ProbeError, Session, Watch};
use crate::stream::Stream;

/// What a measurement may do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Seed of all addresses.
    pub seed: u64,
    /// Write and flush, too: destroys what the drive holds.
    pub writes: bool,
    /// The speed, where it is known; found out where not.
    pub rpm: Option<f64>,
    /// Known to have nothing that turns or seeks: depths take the place of spans and rotation.
    pub solid_state: bool,
    /// What was written to a solid-state drive before: sustained writes are measured where it is
    /// known.
    pub state: Option<FlashState>,
}

/// One step, in words, and how long it takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// What is measured.
    pub what: String,
    /// The time that it takes.
    pub takes: Span,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Stream {
        write: bool,
        place: Place,
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
    /// Of a solid-state drive.
    Burst,
    SustainedStream {
        state: FlashState,
    },
    SustainedLoad {
        state: FlashState,
    },
}

/// What a measurement left.
#[derive(Debug)]
pub struct Measured {
    /// Every step that was finished, and the one that was interrupted as far as it had come.
    pub measurements: Measurements,
    /// It was stopped before its end.
    pub stopped: bool,
    /// Bytes read and written.
    pub bytes: u64,
    /// Requests sent.
    pub requests: u64,
    /// Requests that failed.
    pub failed: u64,
    /// What casts doubt on the figures: pieces of one load that differ.
    pub marks: Vec<Mark>,
    /// Time from the first request to the last.
    pub took: Span,
}

/// Spans of the drive that random reads are measured in: what a queue gains and an elevator gains
/// differ between them, which is what tells one firmware from another.
const SHORT: Bytes = Bytes::new(32_000_000_000);
const SHORTEST: Bytes = Bytes::new(1_000_000_000);

/// A target below this has no such spans.
const SMALLEST: u64 = 64 << 20;

/// Sequential reads stay within so much of the drive, where a zone hardly changes.
const STREAM_REGION: Sectors = Sectors::new(1 << 21);

/// What a drive needs to get into its stride, where no buffer must fill first.
const STRIDE: Span = Span::from_ms(200);

/// Depths that show what runs at once in a solid-state drive, and for how long each: it answers so
/// much in a second that a few are enough.
const DEPTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];
const DEPTH_SECONDS: u64 = 4;

/// Writes of a burst: far fewer than any buffer holds.
const BURST: u32 = 64;
/// What fills the buffer of a solid-state drive before its sustained writes are counted: 256 MiB at
/// the 100 MB/s by which a drive takes over more than it programs, with room.
const FILL: Span = Span::from_secs(4);
/// Writes outstanding while their sustained rate is measured.
const SUSTAINED_DEPTH: u32 = 32;

/// The steps for a drive of this capacity: two minutes to read a disk, one for a solid-state drive;
/// one more to write.
pub fn steps(capacity: Bytes, settings: Settings) -> Vec<Step> {
    let streams = [Place::Outer, Place::Middle, Place::Inner];
    let stream = |write| streams.map(|place| (2, Kind::Stream { write, place }));
    let mut kinds: Vec<(u64, Kind)> = stream(false).into();
    if settings.rpm.is_none() && !settings.solid_state {
        kinds.push((1, Kind::Rotation));
    }
    // Twice the same, one depth beside the other: what disturbs one piece shows in the next, and
    // what lasts meets the depths alike.
    for _ in 0..2 {
        kinds.extend(if settings.solid_state { of_depths() } else { of_spans(capacity) });
    }
    if settings.writes && settings.solid_state {
        kinds.extend(of_writes(settings.state));
    } else if settings.writes {
        kinds.extend(stream(true));
        let load = |iodepth| Kind::Load { write: true, span: None, iodepth };
        kinds.extend([(16, load(1)), (12, load(8))]);
        kinds.extend([(8, Kind::Flush { writes: 8 }), (14, Kind::Flush { writes: 64 })]);
    }
    let step = |(seconds, kind): (u64, Kind)| Step {
        what: kind.words(),
        takes: Span::from_secs(seconds),
        kind,
    };
    kinds.into_iter().map(step).collect()
}

/// Random reads of the whole drive and of parts of it.
fn of_spans(capacity: Bytes) -> Vec<(u64, Kind)> {
    // A span that is nearly the whole drive shows nothing new.
    let smaller = |span: &Bytes| span.get() < capacity.get() / 10 * 8;
    let spans = [SHORT, SHORTEST].into_iter().filter(smaller).map(Some);
    let load = |iodepth, span| Kind::Load { write: false, span, iodepth };
    let mut kinds = vec![(10, load(1, None)), (8, load(32, None))];
    kinds.extend(spans.flat_map(|span| [(7, load(1, span)), (8, load(32, span))]));
    kinds.push((6, load(8, None)));
    kinds
}

/// Random reads of the whole drive at every depth.
fn of_depths() -> Vec<(u64, Kind)> {
    let load = |iodepth| (DEPTH_SECONDS, Kind::Load { write: false, span: None, iodepth });
    DEPTHS.map(load).into()
}

/// Writes of a solid-state drive, those first that change its state least.
fn of_writes(state: Option<FlashState>) -> Vec<(u64, Kind)> {
    let mut kinds = vec![(8, Kind::Burst)];
    match state {
        None => {}
        // Sequential writes would leave a drive that is better than steady; and what they reach on
        // a steady drive is no rate that lasts.
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
            Self::Stream { write, place } => {
                let verb = if write { "writes" } else { "reads" };
                let place = match place {
                    Place::Outer => "at the outer edge",
                    Place::Middle => "in the middle",
                    Place::Inner => "at the inner edge",
                };
                format!("sequential {verb} {place}")
            }
            Self::Rotation => "speed of rotation".into(),
            Self::Load { write, span, iodepth } => {
                let verb = if write { "writes" } else { "reads" };
                let place = match span {
                    None => "the whole drive".to_owned(),
                    Some(span) => format!("the first {} GB", span.get() / 1_000_000_000),
                };
                format!("random {verb} of {place}, {iodepth} outstanding")
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
    watch: &mut dyn Watch,
) -> Result<Measured, ProbeError> {
    let capacity = target.capacity();
    if capacity.get() < SMALLEST {
        return Err(ProbeError::Small { bytes: capacity.get() });
    }
    let of_drive = Measurements::of_drive(capacity.get(), settings.rpm);
    let mut measurements = of_drive.map_err(ProbeError::Drive)?;
    measurements.kind = settings.solid_state.then_some(DriveKind::Ssd);
    let steps = steps(capacity, settings);
    let expected = steps.iter().map(|step| step.takes).fold(Span::ZERO, |sum, one| sum + one);
    let begin = target.now();
    let mut session = Session::new(target, watch, settings.seed, expected);
    let (mut before, mut pieces) = (Span::ZERO, Pieces::default());
    for step in &steps {
        if session.stop() {
            break;
        }
        session.begin(&step.what, before);
        let of = (capacity, settings.solid_state);
        carry_out(step, of, &mut session, (&mut measurements, &mut pieces))?;
        before += step.takes;
    }
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
    let time = step.takes;
    match step.kind {
        Kind::Stream { write, place } => {
            let region = STREAM_REGION.min(Sectors::new(sectors.get() / 8));
            let from = match place {
                Place::Outer => 0,
                Place::Middle => sectors.get() / 2,
                Place::Inner => sectors.get() - region.get(),
            };
            let from = Lba::new(from / 2048 * 2048);
            let stream = Stream { write, from, to: from + region, ramp: STRIDE, time };
            let (place, state, rate) = (Some(place), None, stream.run(session)?);
            let made = |mb_per_s| MeasuredStream { write, place, state, mb_per_s };
            into.streams.extend(rate.map(made));
        }
        Kind::Rotation => {
            // A little way in: the first tracks are the busiest of a disk in use.
            let from = Lba::new((sectors.get() / 64).min(1 << 21) / 8 * 8);
            into.rpm = rotation::rpm(session, from, into.stream_at(false, Place::Outer))?;
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
            let (place, state, rate) = (None, Some(state), stream.run(session)?);
            let made = |mb_per_s| MeasuredStream { write: true, place, state, mb_per_s };
            into.streams.extend(rate.map(made));
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

/// Adds the mean over the three places, which stands where a file has one rate only.
fn mean_stream(measured: &mut Measurements) {
    for write in [false, true] {
        let rate = |place| measured.stream_at(write, place);
        let places = [Place::Outer, Place::Middle, Place::Inner].map(rate);
        if let [Some(outer), Some(middle), Some(inner)] = places {
            let mb_per_s = (outer + middle + inner) / 3.0;
            let (place, state) = (None, None);
            measured.streams.push(MeasuredStream { write, place, state, mb_per_s });
        }
    }
}
