//! Reads a file of measurements.

use super::{
    DriveInterface, DriveKind, Figures, FlashState, MeasuredBurst, MeasuredFlush, MeasuredLoad,
    MeasuredStream, Measurements, Position,
};
use crate::config::{ConfigError, Section, Value};
use crate::record::{Mark, MarkId};
use crate::units::Bytes;
use crate::{Invalid, invalid};

/// Tables of one depth over the whole drive, which are easier to write by hand than `iodepth`.
const READS: [(&str, u32); 7] = [
    ("random_read_qd1", 1),
    ("random_read_qd2", 2),
    ("random_read_qd4", 4),
    ("random_read_qd8", 8),
    ("random_read_qd16", 16),
    ("random_read_qd32", 32),
    ("random_read_qd64", 64),
];
const WRITES: [(&str, u32); 1] = [("random_write_qd1", 1)];

/// Keys of `[sequential]`: for writes or reads, and the position.
const STREAMS: [(&str, bool, Option<Position>); 8] = [
    ("read_mb_per_s", false, None),
    ("read_outer_mb_per_s", false, Some(Position::Outer)),
    ("read_middle_mb_per_s", false, Some(Position::Middle)),
    ("read_inner_mb_per_s", false, Some(Position::Inner)),
    ("write_mb_per_s", true, None),
    ("write_outer_mb_per_s", true, Some(Position::Outer)),
    ("write_middle_mb_per_s", true, Some(Position::Middle)),
    ("write_inner_mb_per_s", true, Some(Position::Inner)),
];

/// More tables of one kind than any measurement has; limits what is allocated.
const MAX_TABLES: usize = 1000;

pub(super) fn stream_key(wanted: &MeasuredStream) -> &'static str {
    let (key, ..) = STREAMS
        .iter()
        .find(|(_, write, position)| (*write, *position) == (wanted.write, wanted.position))
        .expect("every stream has a key");
    key
}

impl Measurements {
    /// Reads the measurements `text` of `file`.
    ///
    /// # Errors
    /// Unknown keys, values that no drive has, contradictory figures, and missing keys, with file
    /// and line.
    pub fn read(file: &str, text: &str) -> Result<Self, ConfigError> {
        let mut whole = Section::parse(file, text)?;
        let mut measured = drive(&mut whole)?;
        for (tables, write) in [(&READS[..], false), (&WRITES[..], true)] {
            for (key, iodepth) in tables {
                let Some(section) = whole.section(key)? else { continue };
                measured.loads.push(load(section, MeasuredLoad::new(write, None, *iodepth))?);
            }
        }
        for (key, write) in [("random_read", false), ("random_write", true)] {
            whole.at_most(key, MAX_TABLES)?;
            for mut section in whole.sections(key)? {
                let span = section.take::<Number>("span_bytes")?.map(|span| span.0);
                let iodepth = section.take::<u32>("iodepth")?.unwrap_or(1);
                if !(1..=1024).contains(&iodepth) {
                    return Err(section.error(format!("`iodepth` is 1 to 1024, not {iodepth}")));
                }
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a positive number; the casts of floats saturate"
                )]
                let span = span.map(|span| span as u64);
                let span = span.filter(|span| *span < measured.capacity_bytes);
                measured.loads.push(load(section, MeasuredLoad::new(write, span, iodepth))?);
            }
        }
        if let Some(mut section) = whole.section("sequential")? {
            // The block size of streams has no influence on a fit; the key is for readers of the
            // file.
            section.take::<Bytes>("bs")?;
            let written = section.take::<FlashState>("write_state")?;
            for (key, write, position) in STREAMS {
                let Some(Number(mb_per_s)) = section.take(key)? else { continue };
                let state = written.filter(|_| write);
                measured.streams.push(MeasuredStream { write, position, state, mb_per_s });
            }
            section.finish()?;
        }
        whole.at_most("flush", MAX_TABLES)?;
        for mut section in whole.sections("flush")? {
            let writes = section.require::<u32>("writes")?;
            let mean_ms = section.require::<Number>("mean_ms")?.0;
            let mean_error = section.take::<Number>("error_percent")?.map(|error| error.0 / 100.0);
            // Accepted and not used: a fit weighs a figure by its error.
            section.take::<u64>("n")?;
            section.finish()?;
            measured.flushes.push(MeasuredFlush { writes, mean_ms, mean_error });
        }
        whole.at_most("cached_write", MAX_TABLES)?;
        for mut section in whole.sections("cached_write")? {
            let writes = section.require::<u32>("writes")?;
            let p50_ms = section.require::<Number>("p50_ms")?.0;
            let error = section.take::<Number>("error_percent")?.map(|error| error.0 / 100.0);
            section.take::<u64>("n")?;
            section.finish()?;
            measured.bursts.push(MeasuredBurst { writes, p50_ms, error });
        }
        whole.at_most("mark", MAX_TABLES)?;
        for mut section in whole.sections("mark")? {
            let id = section.require::<MarkId>("id")?;
            let message = section.take("message")?.unwrap_or_else(|| id.meaning().to_owned());
            section.finish()?;
            measured.marks.push(Mark { id, message });
        }
        whole.finish()?;
        Ok(measured)
    }
}

fn drive(whole: &mut Section) -> Result<Measurements, ConfigError> {
    let Some(mut drive) = whole.section("drive")? else {
        let missing = whole.error("the table `[drive]` is missing: capacity_bytes and rpm");
        let hint = "`drivelab drive measure TARGET --out FILE` writes such a file; `drivelab drive \
                    fit --help` shows one";
        return Err(ConfigError { hint: Some(hint.to_owned()), ..missing });
    };
    let capacity = drive.require::<Number>("capacity_bytes")?.0;
    let rpm = drive.take::<Number>("rpm")?.map(|rpm| rpm.0);
    let kind = drive.take::<DriveKind>("kind")?;
    let interface = drive.take::<DriveInterface>("interface")?;
    let link = drive.take::<String>("link")?;
    let sector_bytes = drive.take::<u32>("sector_bytes")?;
    if let Some(bytes) = sector_bytes.filter(|bytes| ![512, 4096].contains(bytes)) {
        return Err(drive.error(format!("`sector_bytes` is 512 or 4096, not {bytes}")));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive number; the casts of floats saturate"
    )]
    let known = Measurements::of_drive(capacity as u64, rpm);
    let mut measured = known.map_err(|message| drive.error(message))?;
    measured.sector_bytes = sector_bytes;
    (measured.kind, measured.interface, measured.link) = (kind, interface, link);
    measured.sources.extend(drive.take::<String>("source")?);
    drive.finish()?;
    Ok(measured)
}

fn load(mut section: Section, mut load: MeasuredLoad) -> Result<MeasuredLoad, ConfigError> {
    load.block_bytes = section.take::<Bytes>("bs")?.map_or(4096, Bytes::get);
    load.requests = section.take::<u64>("n")?;
    if load.write {
        load.state = section.take::<FlashState>("state")?;
    }
    load.rate_error = section.take::<Number>("error_percent")?.map(|error| error.0 / 100.0);
    for key in Figures::keys() {
        if let Some(Number(value)) = section.take(key)? {
            load.figures.push(key, value);
        }
    }
    load.agree().map_err(|message| section.error(message))?;
    section.finish()?;
    Ok(load)
}

impl Value for MarkId {
    fn read(text: &str) -> Result<Self, Invalid> {
        text.parse().map_err(|_| invalid!("`{text}` is not a mark: `drive measure` writes them"))
    }
}

/// A number above zero; underscores may group digits.
#[derive(Debug, Clone, Copy)]
struct Number(f64);

impl Value for Number {
    fn read(text: &str) -> Result<Self, Invalid> {
        let number = text.replace('_', "").parse::<f64>().ok();
        number
            .filter(|number| *number > 0.0 && number.is_finite())
            .map(Self)
            .ok_or_else(|| invalid!("`{text}` is not a number above zero"))
    }
}
