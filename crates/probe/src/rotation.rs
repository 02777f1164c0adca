//! The speed of rotation, from reads of descending blocks.
//!
//! Read-ahead goes upwards, so a read of the block below the last one misses the cache and waits
//! for the platter: from one completion to the next takes a revolution less one block. Seeks and
//! the host's time cancel, since both ends have the same. Every other read is sent a little late:
//! only a platter absorbs that delay.

use drivelab_core::numbers::float;
use drivelab_core::units::{Lba, Span};
use drivelab_core::{Request, Target};

use crate::load::BLOCK;
use crate::session::{ProbeError, Session};

const READS: u64 = 96;
const DELAY: Span = Span::from_us(800);

/// Speeds of real drives, and the relative deviation within which a measured speed is one of them.
const SPEEDS: [f64; 8] = [3600.0, 4200.0, 5400.0, 5900.0, 7200.0, 10_000.0, 10_500.0, 15_000.0];
const SPEED_TOLERANCE: f64 = 0.004;

/// Range of the time of a revolution: 15,000 to 3600 rpm, with a margin.
const REVOLUTION_MS_MIN: f64 = 3.5;
const REVOLUTION_MS_MAX: f64 = 20.0;

/// Reads downwards from `from`, where the medium's rate is `mb_per_s`; returns the speed in rpm, or
/// `None` if the times do not repeat like those of a platter.
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
            session.pause(DELAY)?;
        }
        // From completion to completion: submission and wake-up would add the host's jitter.
        let Some((at, _)) = session.one(Request::read(0, lba, BLOCK))? else { break };
        gaps.extend(before.map(|before| at.since(before)));
        before = Some(at);
    }
    session.drain()?;
    gaps.sort_unstable();
    let Some(middle) = gaps.get(gaps.len() / 2) else { return Ok(None) };
    let middle = float(middle.ns()) / 1e6;
    // Two thirds of the gaps must be within 2 % of the median, or nothing rotates.
    let gaps_ms = gaps.iter().map(|gap| float(gap.ns()) / 1e6);
    let agree = gaps_ms.filter(|gap| (gap / middle - 1.0).abs() < 0.02).count();
    let block_ms = mb_per_s.map_or(0.0, |rate| float(BLOCK.bytes().get()) / rate / 1e3);
    let revolution_ms = middle + block_ms;
    let turns = (REVOLUTION_MS_MIN..=REVOLUTION_MS_MAX).contains(&revolution_ms);
    if !turns || gaps.len() < 32 || agree * 3 < gaps.len() * 2 {
        return Ok(None);
    }
    let measured = 60_000.0 / revolution_ms;
    let made = SPEEDS.into_iter().find(|speed| (measured / speed - 1.0).abs() < SPEED_TOLERANCE);
    Ok(Some(made.unwrap_or(libm::round(measured * 10.0) / 10.0)))
}
