//! Signs of what a drive is and how it is set, from the measurement that `drive measure` takes.
//!
//! Each rule states its bound and the physics behind it. Where a figure lies between two bounds, or
//! was not measured, the sign says so, and what would show it.

mod queue;
mod writes;

#[cfg(test)]
mod tests;

use drivelab_core::measurements::{DriveKind, MeasuredLoad, Measurements, Position};
use serde::Serialize;

/// A property of a drive, as far as a measurement shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sign {
    /// The property, for scripts: `rotation`.
    pub id: &'static str,
    /// Its value, for scripts: `rotates`; absent where it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<&'static str>,
    /// The finding in a sentence.
    pub words: String,
    /// The figures behind it, or what would show it.
    pub evidence: String,
    /// The degree of certainty.
    pub confidence: Confidence,
}

/// The certainty of a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// Unknown.
    CannotTell,
    /// The usual reason for such figures; another one is named.
    Likely,
    /// No drive of the other kind gives such figures.
    Certain,
}

/// Every sign that a measurement can give, with its values.
const VALUES: [(&str, &[&str]); 6] = [
    ("rotation", &["rotates", "solid-state"]),
    ("zones", &["zoned", "level"]),
    ("limit", &["limited"]),
    ("queue", &["used", "one-at-a-time"]),
    ("write-cache", &["acknowledges-early", "waits"]),
    ("flush", &["waits", "free", "not-carried-out"]),
];

/// True if a measurement can give the sign called `id` this value.
pub fn is_known(id: &str, value: &str) -> bool {
    VALUES.iter().any(|(known, values)| *known == id && values.contains(&value))
}

impl Sign {
    fn found(
        id: &'static str,
        value: &'static str,
        confidence: Confidence,
        [words, evidence]: [String; 2],
    ) -> Self {
        debug_assert!(is_known(id, value), "{id} = {value} is in the table of signs");
        Self { id, value: Some(value), words, evidence, confidence }
    }

    fn unknown(id: &'static str, words: &str, evidence: impl Into<String>) -> Self {
        let (words, evidence) = (words.to_owned(), evidence.into());
        Self { id, value: None, words, evidence, confidence: Confidence::CannotTell }
    }
}

/// A rotating drive has no mean random read below this: half a revolution of 15,000 rpm alone takes
/// 2 ms, and a drive whose cache answers half of them is no rarity in small spans.
const READ_MS_OF_DISKS: f64 = 1.0;
/// Zones make the outer tracks of every disk of the last decades 1.6 to 2.3 times as fast as the
/// inner ones; 1.25 is beyond noise.
const ZONED_MIN: f64 = 1.25;
/// Rates at two positions that are limited by something else than the medium are this near.
const LEVEL_MAX: f64 = 1.03;

/// All signs of a measurement, in the order in which they are shown.
pub fn of(measured: &Measurements) -> Vec<Sign> {
    let mut signs = vec![rotation(measured), zones(measured)];
    signs.extend(limit(measured));
    signs.push(queue::used(measured));
    signs.extend(writes::all(measured));
    signs.extend(unmeasured(measured));
    signs
}

/// The loads of 4 KiB reads or writes over the whole drive, by depth.
fn loads(measured: &Measurements, write: bool) -> Vec<&MeasuredLoad> {
    let mut loads: Vec<&MeasuredLoad> = measured
        .loads
        .iter()
        .filter(|it| it.write == write && it.span_bytes.is_none() && it.block_bytes == 4096)
        .collect();
    loads.sort_by_key(|it| it.iodepth);
    loads
}

/// The mean time of one request at a time.
fn alone_ms(measured: &Measurements, write: bool) -> Option<f64> {
    let load = loads(measured, write).into_iter().find(|it| it.iodepth == 1)?;
    load.figures.get(drivelab_core::measurements::MEAN_MS)
}

/// The time of a revolution.
fn revolution_ms(measured: &Measurements) -> Option<f64> {
    measured.rpm.map(|rpm| 60_000.0 / rpm)
}

fn rotation(measured: &Measurements) -> Sign {
    let read = alone_ms(measured, false);
    match (measured.rpm, read) {
        (Some(rpm), _) if measured.kind != Some(DriveKind::Ssd) => {
            let words = format!("it rotates at {rpm:.0} rpm");
            let evidence = match read {
                Some(ms) => format!("a random read takes {ms:.1} ms"),
                None => "reads that go downwards wait for whole revolutions".to_owned(),
            };
            Sign::found("rotation", "rotates", Confidence::Certain, [words, evidence])
        }
        (_, Some(ms)) if ms < READ_MS_OF_DISKS => {
            let evidence = format!("a random read takes {ms:.3} ms, less than any seek");
            let words = "it does not rotate: solid state".to_owned();
            Sign::found("rotation", "solid-state", Confidence::Certain, [words, evidence])
        }
        _ => {
            Sign::unknown("rotation", "cannot tell whether it rotates", "give --rpm or --kind ssd")
        }
    }
}

fn zones(measured: &Measurements) -> Sign {
    let [outer, inner] = [Position::Outer, Position::Inner].map(|it| measured.stream_at(false, it));
    let (Some(outer), Some(inner)) = (outer, inner) else {
        return Sign::unknown("zones", "cannot tell whether it has zones", "no sequential reads");
    };
    let evidence = format!("{outer:.0} MB/s at its beginning, {inner:.0} MB/s at its end");
    let ratio = outer / inner;
    if measured.rpm.is_some() && ratio >= ZONED_MIN {
        let words = format!("its tracks are in zones: its beginning is x{ratio:.2} its end");
        return Sign::found("zones", "zoned", Confidence::Certain, [words, evidence]);
    }
    if (1.0 / LEVEL_MAX..=LEVEL_MAX).contains(&ratio) {
        let words =
            "it is equally fast everywhere: no zones, or a limit in front of them".to_owned();
        return Sign::found("zones", "level", Confidence::Likely, [words, evidence]);
    }
    Sign::unknown("zones", "cannot tell whether it has zones", evidence)
}

/// A limit in front of the medium of a disk: its outer half is level, its inner half is not.
fn limit(measured: &Measurements) -> Option<Sign> {
    measured.rpm?;
    let [outer, middle, inner] = [Position::Outer, Position::Middle, Position::Inner]
        .map(|it| measured.stream_at(false, it));
    let (outer, middle, inner) = (outer?, middle?, inner?);
    // Between half way and the end the rate of every zoned disk falls by a quarter.
    let is_level = outer / middle < LEVEL_MAX;
    (is_level && middle / inner > 1.0 / LEVEL_MAX).then(|| {
        let words = format!("something in front of the medium limits it to {outer:.0} MB/s");
        let evidence = format!(
            "{outer:.0} MB/s at its beginning and {middle:.0} half way: its link, its controller \
             or their bus (`drivelab inspect`)"
        );
        Sign::found("limit", "limited", Confidence::Likely, [words, evidence])
    })
}

/// The properties that this measurement cannot show, with what would.
fn unmeasured(measured: &Measurements) -> Vec<Sign> {
    let is_flash = measured.kind == Some(DriveKind::Ssd);
    let mut signs = vec![
        Sign::unknown(
            "cache-size",
            "cannot tell the size of its cache",
            "`drivelab run TARGET --rw randread --size N`, N doubled from 1m until the rate falls",
        ),
        Sign::unknown(
            "read-ahead",
            "cannot tell how far it reads ahead",
            "`drivelab run TARGET --rw read --bs 4k --stride N`, with N doubled from 8k",
        ),
    ];
    signs.push(if is_flash {
        Sign::unknown(
            "slc",
            "cannot tell whether it has a cache of SLC cells",
            "`drivelab run TARGET --rw write --bs 1m --runtime 300s`: the rate falls, and stays",
        )
    } else {
        Sign::unknown(
            "smr",
            "cannot tell whether it is shingled (SMR)",
            "`drivelab run TARGET --rw randwrite --runtime 1800s`: the rate falls to a tenth once \
             its media cache is full",
        )
    });
    signs
}
