//! Estimates the remaining time from the time of the finished work.

use drivelab_stats::remaining;

/// Seconds that are observed as one, at least: a shorter stretch says more about the scheduler of
/// the processor than about the work.
const STRETCH_S: f64 = 1.0;
/// Stretches without which nothing is said: the first ones are no sample of the others.
const STRETCHES_MIN: usize = 3;
/// Stretches that are remembered; more are joined in pairs.
const STRETCHES_MAX: usize = 64;

/// Part by which time that passes may differ from the clock and still be taken for its time.
const CLOCK_TOLERANCE: f64 = 0.1;

/// Observations of work whose amount is known.
#[derive(Debug, Default)]
pub(super) struct Estimate {
    /// The start of the observed stretch, in units of work and in seconds.
    since: Option<(f64, f64)>,
    /// The units of work of each stretch, and its seconds.
    stretches: Vec<[f64; 2]>,
    /// Seconds that a stretch has, at least.
    stretch_s: f64,
    /// Units of work that are a round, which is not divided: its parts differ, rounds do not.
    round: f64,
    /// The work is time that passes: where it passes as on the clock, the rest is known.
    is_time: bool,
    /// The start of the work and its last moment, in units of work and in seconds.
    moments: Option<[(f64, f64); 2]>,
}

impl Estimate {
    /// Of work whose parts differ, but of which each `round` units are like the others.
    pub(super) fn of_rounds(round: f64) -> Self {
        Self { stretch_s: STRETCH_S, round, ..Self::default() }
    }

    /// Of time that passes, in seconds.
    pub(super) fn of_time() -> Self {
        Self { stretch_s: STRETCH_S, is_time: true, ..Self::default() }
    }

    /// Learns that `done` units are done after `elapsed_s`.
    pub(super) fn observe(&mut self, done: f64, elapsed_s: f64) {
        let Some((begin, began_s)) = self.since else {
            self.since = Some((done, elapsed_s));
            return;
        };
        // What is before the first unit is preparation.
        if done <= begin && self.stretches.is_empty() {
            self.since = Some((done, elapsed_s));
            return;
        }
        let first = self.moments.map_or((begin, began_s), |[first, _]| first);
        self.moments = Some([first, (done, elapsed_s)]);
        let [work, took_s] = [done - begin, elapsed_s - began_s];
        // Counts are whole, in floating point: a remainder below 0.5 is none.
        let is_whole = self.round <= 0.0 || done % self.round < 0.5;
        if work <= 0.0 || took_s < self.stretch_s || !is_whole {
            return;
        }
        self.stretches.push([work, took_s]);
        self.since = Some((done, elapsed_s));
        if self.stretches.len() > STRETCHES_MAX {
            let joined = self.stretches.chunks(2).map(|pair| {
                pair.iter().fold([0.0; 2], |[work, took_s], one| [work + one[0], took_s + one[1]])
            });
            self.stretches = joined.collect();
            // All stretches must weigh alike, so the next ones are as long as the joined ones.
            self.stretch_s *= 2.0;
        }
    }

    /// The seconds that the rest of `all` units takes: in 19 of 20 cases between these two, if it
    /// is like what is done. `None` while too little of that is known.
    pub(super) fn left_s(&self, done: f64, all: f64) -> Option<[f64; 2]> {
        let rest = (all - done).max(0.0);
        if self.is_time && self.keeps_the_clock() {
            return Some([rest, rest]);
        }
        if self.stretches.len() < STRETCHES_MIN {
            return None;
        }
        remaining(&self.stretches, rest)
    }

    /// The seconds that the rest takes if it goes on as so far; known from the first round on.
    pub(super) fn rough_s(&self, done: f64, all: f64) -> Option<f64> {
        let [(begin, began_s), (_, now_s)] = self.moments?;
        let [work, took_s] = [done - begin, now_s - began_s];
        let is_known = work > 0.0 && work >= self.round && took_s >= STRETCH_S;
        (is_known && !self.keeps_the_clock()).then(|| (all - done).max(0.0) * took_s / work)
    }

    /// True if time passes as on the clock; in virtual time it does not.
    fn keeps_the_clock(&self) -> bool {
        let Some([(begin, began_s), (done, elapsed_s)]) = self.moments else { return false };
        let [passed, took_s] = [done - begin, elapsed_s - began_s];
        took_s >= STRETCH_S && (passed - took_s).abs() <= CLOCK_TOLERANCE * took_s
    }
}

/// An interval of seconds in words, as precise as it is.
pub(super) fn in_words([least, most]: [f64; 2]) -> String {
    let (unit, seconds) = match most {
        most if most < 90.0 => ("s", 1.0),
        most if most < 5400.0 => ("min", 60.0),
        _ => ("h", 3600.0),
    };
    // Bounds are rounded outwards, so that the interval still holds.
    let round = |value: f64, up: bool| {
        let value = value / seconds;
        let value = if up { value.ceil() } else { value.floor() };
        format!("{value:.0}")
    };
    let (least, most) = (round(least, false), round(most, true));
    match least.as_str() {
        least if least == most => format!("{most} {unit} left"),
        "0" => format!("at most {most} {unit} left"),
        least => format!("{least} to {most} {unit} left"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(round: f64, moments: &[(f64, f64)]) -> Estimate {
        let mut estimate = Estimate::of_rounds(round);
        for (done, elapsed_s) in moments {
            estimate.observe(*done, *elapsed_s);
        }
        estimate
    }

    #[test]
    fn a_steady_pace_is_extrapolated_and_the_first_step_is_not() {
        let moments: Vec<(f64, f64)> =
            (0..=3).map(|n| (f64::from(n), 2.0 * f64::from(n))).collect();
        assert_eq!(observed(0.0, &moments[..3]).left_s(2.0, 10.0), None);
        let left = observed(0.0, &moments).left_s(3.0, 10.0).unwrap();
        assert!((left[0] - 14.0).abs() < 1e-9 && (left[1] - 14.0).abs() < 1e-9, "{left:?}");
    }

    #[test]
    fn an_uneven_pace_has_a_wide_interval_that_holds_the_mean() {
        let uneven = [(0.0, 0.0), (1.0, 1.0), (2.0, 6.0), (3.0, 7.5), (4.0, 12.0)];
        let [least, most] = observed(0.0, &uneven).left_s(4.0, 8.0).unwrap();
        assert!(least < 12.0 && most > 12.0 && most - least > 10.0, "{least} to {most}");
    }

    #[test]
    fn rounds_are_not_divided_and_preparation_is_not_counted() {
        // Parts of 1 s and 9 s in turn: after the first of a round nothing is learned.
        let mut moments = vec![(0.0, 0.0), (0.0, 60.0)];
        for round in 0..3 {
            let begin = f64::from(round);
            moments.push((2.0 * begin + 1.0, 61.0 + 10.0 * begin));
            moments.push((2.0 * begin + 2.0, 70.0 + 10.0 * begin));
        }
        let left = observed(2.0, &moments).left_s(6.0, 10.0).unwrap();
        assert!((left[0] - 20.0).abs() < 1e-9 && (left[1] - 20.0).abs() < 1e-9, "{left:?}");
    }

    #[test]
    fn time_that_passes_as_on_the_clock_is_known_at_once() {
        let mut estimate = Estimate::of_time();
        for (done, elapsed_s) in [(0.0, 0.0), (0.0, 5.0), (0.5, 5.5), (1.2, 6.2)] {
            estimate.observe(done, elapsed_s);
        }
        assert_eq!(estimate.left_s(1.2, 30.0), Some([28.8, 28.8]));
        let mut estimate = Estimate::of_time();
        for (done, elapsed_s) in [(0.0, 0.0), (100.0, 1.0), (200.0, 2.5)] {
            estimate.observe(done, elapsed_s);
        }
        assert_eq!(estimate.left_s(200.0, 3000.0), None, "virtual time");
    }

    #[test]
    fn work_that_was_done_before_is_not_counted() {
        let resumed = [(100.0, 0.0), (101.0, 1.0), (102.0, 2.0), (103.0, 3.0)];
        let left = observed(0.0, &resumed).left_s(103.0, 200.0).unwrap();
        assert!((left[1] - 97.0).abs() < 1e-9, "{left:?}");
    }

    #[test]
    fn memory_is_bounded_and_joined_stretches_say_the_same() {
        let moments: Vec<(f64, f64)> = (0..10_000).map(|n| (f64::from(n), f64::from(n))).collect();
        let estimate = observed(0.0, &moments);
        assert!(estimate.stretches.len() <= STRETCHES_MAX);
        let [least, most] = estimate.left_s(9_999.0, 10_099.0).unwrap();
        assert!((least - 100.0).abs() < 1e-6 && (most - 100.0).abs() < 1e-6, "{least} to {most}");
    }

    #[test]
    fn the_first_round_says_roughly_how_long_the_rest_takes() {
        let in_round = [(0.0, 0.0), (0.0, 60.0), (1.0, 61.0)];
        assert_eq!(observed(2.0, &in_round).rough_s(1.0, 10.0), None);
        let round = [(0.0, 0.0), (0.0, 60.0), (1.0, 61.0), (2.0, 70.0)];
        assert_eq!(observed(2.0, &round).rough_s(2.0, 10.0), Some(40.0));
        let mut on_the_clock = Estimate::of_time();
        on_the_clock.observe(0.0, 0.0);
        on_the_clock.observe(2.0, 2.0);
        assert_eq!(on_the_clock.rough_s(2.0, 30.0), None, "the user said how long it takes");
        let mut virtual_time = Estimate::of_time();
        virtual_time.observe(0.0, 0.0);
        virtual_time.observe(100.0, 2.0);
        assert_eq!(virtual_time.rough_s(100.0, 3600.0), Some(70.0));
    }

    #[test]
    fn an_interval_is_said_as_precisely_as_it_is_known() {
        assert_eq!(in_words([13.2, 14.0]), "13 to 14 s left");
        assert_eq!(in_words([14.0, 14.0]), "14 s left");
        assert_eq!(in_words([0.4, 8.1]), "at most 9 s left");
        assert_eq!(in_words([119.0, 240.0]), "1 to 4 min left");
        assert_eq!(in_words([7000.0, 14000.0]), "1 to 4 h left");
    }
}
