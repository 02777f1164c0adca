//! A share of the points of a sweep, made one batch after another.

use std::fmt;
use std::str::FromStr;

use drivelab_core::{Invalid, Refusal, invalid};

use super::rows::{Kept, Row, Rows};
use super::{Point, Points};
use drivelab_core::control::{Control, Event};

/// Most shards.
const SHARDS_MAX: u32 = 1_000_000;

/// One of several shares of equal size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub number: u32,
    /// The number of shards.
    pub of: u32,
}

impl Shard {
    /// All points.
    pub const WHOLE: Self = Self { number: 1, of: 1 };

    /// True if a point belongs to it. Neighbours are in different shards, so that all of them take
    /// about as long.
    pub fn holds(self, point: u32) -> bool {
        point % self.of == self.number - 1
    }

    /// The file of its rows.
    pub fn file(self) -> String {
        format!("rows-{}-of-{}.jsonl", self.number, self.of)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (number, of) = text.split_once('/').unwrap_or_default();
        let [number, of] = [number, of]
            .map(|count| count.parse().ok().filter(|count: &u32| (1..=SHARDS_MAX).contains(count)));
        match (number, of) {
            (Some(number), Some(of)) if number <= of => Ok(Self { number, of }),
            _ => Err(invalid!("`{text}` is not a shard: write I/N, e.g. `2/7`")),
        }
    }
}

/// Makes the points of a shard that `kept` lacks, and adds them to it. `make` makes a batch of at
/// most `batch` of them.
pub fn carry_out<E: From<Refusal>>(
    points: &Points<'_>,
    shard: Shard,
    rows: &mut Rows,
    kept: &mut Kept,
    batch: usize,
    control: &Control<'_>,
    mut make: impl FnMut(&[Point]) -> Result<Vec<Row>, E>,
) -> Result<(), E> {
    let all: Vec<u32> = (0..points.len()).filter(|number| shard.holds(*number)).collect();
    let mut missing = all.clone();
    missing.retain(|number| !kept.rows.contains_key(number));
    let mut done = all.len() - missing.len();
    for numbers in missing.chunks(batch.max(1)) {
        // Asked again: the batch may have been interrupted half way.
        if control.stopped() {
            return Ok(());
        }
        control.report(Event::Begins { run: "points", done: done as u64 });
        let batch: Vec<Point> = numbers.iter().map(|number| points.point(*number)).collect();
        let finished = make(&batch)?;
        // A batch that was cut short is made again.
        if control.stopped() {
            return Ok(());
        }
        rows.append(&finished, control)?;
        kept.rows.extend(finished.into_iter().map(|row| (row.point, row)));
        done += numbers.len();
        let (done, of) = (done as u64, all.len() as u64);
        control.report(Event::Finished { run: "points", done, of });
    }
    Ok(())
}
