//! The speed of rotation, by reads that each come round one block earlier.
//!
//! Read-ahead goes upwards, so that a read of the block below the last one finds no cache and waits
//! for the platter: from one completion to the next it is a revolution less one block. Neither
//! seeks nor the time of the host enter, for both are the same at each end. Every other read is
//! sent a little late: a platter makes up for that, and nothing else does.

use drivelab_core::units::{Lba, Span};
use drivelab_core::{Request, Target};

use crate::load::{BLOCK, float};
use crate::session::{ProbeError, Session};

const READS: u64 = 96;
const LATE: Span = Span::from_us(800);

/// Speeds at which drives are made; a measured one that is this near is that.
const SPEEDS: [f64; 8] = [3600.0, 4200.0, 5400.0, 5900.0, 7200.0, 10_000.0, 10_500.0, 15_000.0];
const NEAR: f64 = 0.004;

/// Revolutions that some drive takes: 15,000 to 3600 rpm, with room.
const SHORTEST_MS: f64 = 3.5;
const LONGEST_MS: f64 = 20.0;

/// Reads downwards from `from`, where the medium passes `mb_per_s`: the speed in rpm, or nothing
/// where the times do not repeat as those of a platter do.
pub(crate) fn rpm<T: Target>(
    session: &mut Session<'_, T>,
    from: Lba,
    mb_per_s: Option<f64>,
) -> Result<Option<f64>, ProbeError> {
    let mut gaps: Vec<Span> = Vec::new();
    let mut before = None;
    for index in 0..READS.min(from.get() / BLOCK.get()) {
        let lba = Lba::new(from.get() - index * BLOCK.get());
        if index % 2 == 1 {
            session.pause(LATE)?;
        }
        let Some((at, _)) = session.one(Request::read(0, lba, BLOCK))? else { break };
        gaps.extend(before.map(|before| at.since(before)));
        before = Some(at);
    }
    session.drain()?;
    gaps.sort_unstable();
    let Some(middle) = gaps.get(gaps.len() / 2) else { return Ok(None) };
    let middle = float(middle.ns()) / 1e6;
    let near = |gap: &&Span| (float(gap.ns()) / 1e6 / middle - 1.0).abs() < 0.02;
    let agree = gaps.iter().filter(near).count();
    let block_ms = mb_per_s.map_or(0.0, |rate| float(BLOCK.bytes().get()) / rate / 1e3);
    let revolution_ms = middle + block_ms;
    let turns = (SHORTEST_MS..=LONGEST_MS).contains(&revolution_ms);
    if !turns || gaps.len() < 32 || agree * 3 < gaps.len() * 2 {
        return Ok(None);
    }
    let measured = 60_000.0 / revolution_ms;
    let made = SPEEDS.into_iter().find(|speed| (measured / speed - 1.0).abs() < NEAR);
    Ok(Some(made.unwrap_or(libm::round(measured * 10.0) / 10.0)))
}
