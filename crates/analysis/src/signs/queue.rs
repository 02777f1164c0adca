//! The queue of a drive, from the gain that outstanding requests bring.

use drivelab_core::measurements::{MeasuredLoad, Measurements};

use super::{Confidence, Sign, loads};

/// Reordering 32 random reads gains at least this on a disk; simulated drives of every profile,
/// with NCQ or an elevator, gain 1.5 to 3.
const GAIN_MIN: f64 = 1.4;
/// One command at a time gains nothing but noise.
const GAIN_NONE: f64 = 1.1;
/// A deeper queue that brings less than this brings nothing.
const MORE_MIN: f64 = 1.05;

/// The finding about requests that are outstanding: worked on together, or one by one.
pub(super) fn used(measured: &Measurements) -> Sign {
    let rates: Vec<(u32, f64)> = loads(measured, false).into_iter().filter_map(rate).collect();
    let (Some((1, alone)), Some((deepest, deep))) = (rates.first(), rates.last()) else {
        let words = "cannot tell whether its queue is used";
        return Sign::unknown("queue", words, "random reads at depth 1 and more are needed");
    };
    let gain = deep / alone;
    let evidence = format!("{deepest} outstanding reads are x{gain:.2} as fast as one");
    if *deepest < 8 {
        return Sign::unknown("queue", "cannot tell whether its queue is used", evidence);
    }
    if gain <= GAIN_NONE {
        let words = "one command at a time: its queue is off, or something in front of it waits";
        let both = [words.to_owned(), evidence];
        return Sign::found("queue", "one-at-a-time", Confidence::Certain, both);
    }
    if gain < GAIN_MIN {
        return Sign::unknown("queue", "cannot tell whether its queue is used", evidence);
    }
    let words = match saturation(&rates) {
        Some(depth) if depth < *deepest => {
            format!("outstanding requests are worked on together, at most {depth} at once")
        }
        _ if measured.rpm.is_some() => {
            "outstanding requests are sorted, by the drive's queue or the host's elevator"
                .to_owned()
        }
        _ => "outstanding requests are worked on together".to_owned(),
    };
    Sign::found("queue", "used", Confidence::Certain, [words, evidence])
}

fn rate(load: &MeasuredLoad) -> Option<(u32, f64)> {
    load.iops().map(|iops| (load.iodepth, iops))
}

/// The depth from which more requests bring nothing, of rates at three depths or more.
fn saturation(rates: &[(u32, f64)]) -> Option<u32> {
    if rates.len() < 4 {
        return None;
    }
    let (_, last) = rates.last()?;
    rates.iter().find(|(_, rate)| last / rate < MORE_MIN).map(|(depth, _)| *depth)
}
