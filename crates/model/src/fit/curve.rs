//! The seek curve that is searched for: times at a few distances, straight between them.

use drivelab_core::Rng;

/// Distances as shares of the full stroke; the first is the next track.
///
/// Random reads land in the first few percent as rarely as the first few percent of their times
/// say, so that is where a measured distribution can still move the curve.
pub(super) const SHARES: [f64; 9] = [0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0];

/// Milliseconds at [`SHARES`]; rising, and ever less steep: an arm accelerates, then coasts.
pub(super) type Times = [f64; SHARES.len()];

/// No seek of any drive that anybody measured is longer.
const LONGEST: f64 = 60.0;

/// The shortest seek against the average one: data sheets give 0.8 to 8.5 ms, 1 to 8, 2 to 12 and
/// 0.6 to 4.7. A distribution alone would allow far less, because it cannot tell the shortest seeks
/// from the few reads that a buffer answers.
const TRACK_SHARE: f64 = 0.13;

/// A common seek curve, half root and half line, whose time is `average` at a third of the stroke.
pub(super) fn usual(average: f64) -> Times {
    let track = average * TRACK_SHARE;
    let form = |x: f64| 0.6 * x.sqrt() + 0.4 * x;
    let stroke = (average - track).max(0.1) / form(0.3);
    tamed(SHARES.map(|x| track + stroke * form(x)), track)
}

/// The nearest curve below that rises from `shortest` at least and grows less steep.
pub(super) fn tamed(mut times: Times, shortest: f64) -> Times {
    times[0] = times[0].clamp(shortest, LONGEST);
    let mut slope = f64::MAX;
    for index in 1..times.len() {
        let width = SHARES[index] - SHARES[index - 1];
        slope = ((times[index].min(LONGEST) - times[index - 1]) / width).clamp(0.0, slope);
        times[index] = times[index - 1] + slope * width;
    }
    times
}

/// Moves one time, or all of them together or apart, by random factors.
pub(super) fn moved(times: &Times, shortest: f64, rng: &mut Rng, width: f64) -> Times {
    let mut moved = *times;
    match rng.below(4) {
        0 => {
            let factor = libm::exp(turn(rng) * width);
            moved = moved.map(|time| time * factor);
        }
        1 => moved = moved.map(|time| time * libm::exp(turn(rng) * width)),
        _ => {
            let index = usize::try_from(rng.below(SHARES.len() as u64)).expect("a few");
            moved[index] *= libm::exp(turn(rng) * width);
        }
    }
    tamed(moved, shortest)
}

/// From -1 to 1; the cube makes small steps likely and large ones possible.
pub(super) fn turn(rng: &mut Rng) -> f64 {
    let turn = rng.unit() * 2.0 - 1.0;
    turn * turn * turn
}

pub(super) fn at(times: &Times, share: f64) -> f64 {
    let right = SHARES.partition_point(|x| *x < share).clamp(1, SHARES.len() - 1);
    let along = (share - SHARES[right - 1]) / (SHARES[right] - SHARES[right - 1]);
    times[right - 1] + (times[right] - times[right - 1]) * along
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_curve_rises_and_grows_less_steep() {
        let mut rng = Rng::new(5);
        let mut times = usual(9.0);
        for step in 0..2_000 {
            times = moved(&times, 1.2, &mut rng, 1.0);
            assert!(times[0] >= 1.2, "step {step}: {times:?}");
            let slopes: Vec<f64> = (1..times.len())
                .map(|i| (times[i] - times[i - 1]) / (SHARES[i] - SHARES[i - 1]))
                .collect();
            assert!(slopes.iter().all(|slope| *slope >= 0.0), "step {step}: {times:?}");
            assert!(slopes.windows(2).all(|two| two[1] <= two[0] + 1e-6), "step {step}: {times:?}");
        }
    }

    #[test]
    fn between_its_points_a_curve_is_straight() {
        let times = usual(9.0);
        for (share, time) in SHARES.into_iter().zip(times) {
            assert!((at(&times, share) - time).abs() < 1e-9);
        }
        assert!((at(&times, 0.3) - f64::midpoint(times[5], times[6])).abs() < 1e-9);
    }
}
