//! The choice of cuts.

use drivelab_core::crash::{Cut, Outcome};
use drivelab_core::{Rng, Span, Time};

use super::file::{CrashFile, CutPoint};
use super::moments::Moments;

/// The cuts of a test, in order of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The cuts.
    pub cuts: Vec<Cut>,
    /// The number of cuts that the file asks for and that are left out.
    pub left_out: u64,
}

const TICK: Span = Span::from_ns(1);
/// Parts of the seed.
const INSTANTS: u64 = 1;
const OUTCOMES: u64 = 2;

/// Chooses at most `cuts` cuts.
pub fn plan(file: &CrashFile, moments: &Moments, cuts: usize) -> Plan {
    if file.points.contains(&CutPoint::Exhaustive) {
        return exhaustive(moments, cuts);
    }
    let outcomes = file.outcomes.min(cuts);
    let mut rng = Rng::for_part(file.seed, OUTCOMES);
    let mut planned = Vec::with_capacity(cuts);
    for at in instants(file, moments, cuts.div_ceil(outcomes)) {
        let outcomes = (0..outcomes).map(|number| outcome(number, outcomes, &mut rng));
        planned.extend(outcomes.map(|outcome| Cut { at, outcome }));
    }
    planned.truncate(cuts);
    Plan { cuts: planned, left_out: 0 }
}

/// The outcomes of an instant: the two extremes where there is room for them, else random ones.
fn outcome(number: usize, of: usize, rng: &mut Rng) -> Outcome {
    match number {
        0 if of > 1 => Outcome::Nothing,
        1 if of > 2 => Outcome::Everything,
        _ => {
            // 0 and 1 stand for the extremes.
            let seed = rng.between(2, u64::from(u32::MAX));
            Outcome::Drawn(u32::try_from(seed).expect("it was drawn below"))
        }
    }
}

/// Every change with every outcome, the earliest first.
fn exhaustive(moments: &Moments, cuts: usize) -> Plan {
    let all = moments.changes.iter().fold(0_u64, |sum, (_, ways)| sum.saturating_add(*ways));
    let mut planned: Vec<Cut> = Vec::new();
    for (at, ways) in &moments.changes {
        let numbers = 0..(*ways).min((cuts - planned.len()) as u64);
        planned.extend(numbers.map(|number| Cut {
            // Right after the change: at its instant it has not happened yet.
            at: *at + TICK,
            outcome: Outcome::Numbered(number),
        }));
    }
    debug_assert!(planned.len() <= cuts);
    Plan { left_out: all - planned.len() as u64, cuts: planned }
}

/// `wanted` instants, as many of each kind as there are, and random ones for the rest.
fn instants(file: &CrashFile, moments: &Moments, wanted: usize) -> Vec<Time> {
    let (begin, end) = moments.window;
    let mut lists: Vec<Vec<Time>> = Vec::with_capacity(file.points.len());
    for point in file.points.iter().filter(|point| **point != CutPoint::Random) {
        let mut candidates = candidates(*point, file.every, moments);
        candidates.retain(|at| begin < *at && *at <= end);
        lists.push(candidates);
    }
    let shares = file.points.len();
    let mut chosen: Vec<Time> = Vec::with_capacity(wanted);
    for (number, candidates) in lists.iter().enumerate() {
        // Differences of rounded sums, so that the shares add up to `wanted`.
        let share = wanted * (number + 1) / shares - wanted * number / shares;
        chosen.extend(spread(candidates, share));
    }
    let mut rng = Rng::for_part(file.seed, INSTANTS);
    let length = end.since(begin).ns();
    // Some may be drawn twice where a workload is short.
    let mut tries = 4 * wanted;
    loop {
        chosen.sort_unstable();
        chosen.dedup();
        if chosen.len() >= wanted || tries == 0 || length == 0 {
            return chosen;
        }
        tries = tries.saturating_sub(wanted - chosen.len());
        let missing = wanted - chosen.len();
        chosen.extend((0..missing).map(|_| begin + Span::from_ns(rng.between(1, length))));
    }
}

fn candidates(point: CutPoint, every: usize, moments: &Moments) -> Vec<Time> {
    match point {
        CutPoint::Writes => {
            let every = moments.writes.iter().skip(every - 1).step_by(every);
            every.map(|at| *at + TICK).collect()
        }
        CutPoint::Flushes => {
            let mut instants = Vec::with_capacity(3 * moments.flushes.len());
            for (begun, done) in &moments.flushes {
                // After its begin even if it takes no time.
                let during = *begun + Span::from_ns(done.since(*begun).ns() / 2).max(TICK);
                instants.extend([*begun, during, *done + TICK]);
            }
            instants
        }
        CutPoint::Lines => moments.lines.iter().map(|at| *at + TICK).collect(),
        CutPoint::Random | CutPoint::Exhaustive => Vec::new(),
    }
}

/// `count` of them, evenly spaced, each from the middle of its part: a few cuts are not all early
/// ones, after which less can be wrong. All where there are no more.
fn spread(candidates: &[Time], count: usize) -> Vec<Time> {
    if candidates.len() <= count {
        return candidates.to_vec();
    }
    // Midpoints of equal parts, in integers.
    let middles = (0..count).map(|number| candidates.len() * (2 * number + 1) / (2 * count));
    middles.map(|index| candidates[index]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(more: &str) -> CrashFile {
        let text = format!("title = \"t\"\ndrive = \"d\"\nworkload = \"w\"\ncheck = \"c\"\n{more}");
        CrashFile::parse("f", &text).unwrap()
    }

    fn moments() -> Moments {
        let time = |ms: u64| Time::ZERO + Span::from_ms(ms);
        Moments {
            window: (time(100), time(1100)),
            writes: (0..120).map(|number| time(50 + 10 * number)).collect(),
            flushes: (0..20)
                .map(|number| (time(105 + 50 * number), time(110 + 50 * number)))
                .collect(),
            lines: vec![time(300), time(700)],
            changes: vec![(time(200), 2), (time(400), 6)],
        }
    }

    #[test]
    fn there_are_as_many_cuts_as_asked_for_and_all_within_the_workload() {
        for places in
            ["\"writes\"", "\"flushes\"", "\"lines\"", "\"random\"", "\"lines\", \"writes\""]
        {
            for (cuts, outcomes) in [(1, 4), (7, 1), (100, 4), (101, 3), (1000, 2)] {
                let file = file(&format!("at = [{places}]\noutcomes = {outcomes}"));
                let moments = moments();
                let cuts_made = plan(&file, &moments, cuts).cuts;
                assert_eq!(cuts_made.len(), cuts, "{places}, {outcomes} outcomes");
                assert!(cuts_made.is_sorted_by_key(|cut| cut.at));
                let (begin, end) = moments.window;
                assert!(cuts_made.iter().all(|cut| begin < cut.at && cut.at <= end));
                assert_eq!(plan(&file, &moments, cuts).cuts, cuts_made, "the same seed");
            }
        }
    }

    #[test]
    fn each_instant_has_the_extremes_and_dice() {
        let cuts = plan(&file("at = [\"lines\"]"), &moments(), 8).cuts;
        let at = |ms: u64| Time::ZERO + Span::from_ms(ms) + TICK;
        assert_eq!((cuts[0].at, cuts[4].at), (at(300), at(700)));
        assert_eq!((cuts[0].outcome, cuts[1].outcome), (Outcome::Nothing, Outcome::Everything));
        assert!(matches!(cuts[2].outcome, Outcome::Drawn(2..)));
        assert_ne!(cuts[2].outcome, cuts[3].outcome);
        let single = plan(&file("outcomes = 1"), &moments(), 5).cuts;
        assert!(single.iter().all(|cut| matches!(cut.outcome, Outcome::Drawn(_))));
    }

    #[test]
    fn a_flush_is_cut_before_while_and_after() {
        let file = file("at = [\"flushes\"]\noutcomes = 1");
        let cuts = plan(&file, &moments(), 60).cuts;
        let at = |ns: u64| Time::from_ns(ns);
        let first: Vec<Time> = cuts[..3].iter().map(|cut| cut.at).collect();
        assert_eq!(first, [at(105_000_000), at(107_500_000), at(110_000_001)]);
    }

    #[test]
    fn every_kth_write_and_no_other() {
        let file = file("at = [\"writes\"]\nevery = 40\noutcomes = 1");
        let cuts = plan(&file, &moments(), 2).cuts;
        let at = |ms: u64| Time::ZERO + Span::from_ms(ms) + TICK;
        assert_eq!(cuts.iter().map(|cut| cut.at).collect::<Vec<_>>(), [at(440), at(840)]);
    }

    #[test]
    fn few_cuts_are_as_early_as_late() {
        let check = |count, expected_ms: &[u64]| {
            let lines: Vec<Time> =
                (1..=12).map(|number| Time::ZERO + Span::from_ms(number)).collect();
            let expected: Vec<Time> =
                expected_ms.iter().map(|ms| Time::ZERO + Span::from_ms(*ms)).collect();
            assert_eq!(spread(&lines, count), expected);
        };
        check(0, &[]);
        check(1, &[7]);
        check(2, &[4, 10]);
        check(3, &[3, 7, 11]);
        check(12, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        check(13, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    }

    #[test]
    fn small_cases_are_tried_out_and_what_is_left_out_is_counted() {
        let file = file("at = [\"exhaustive\"]");
        let all = plan(&file, &moments(), 100);
        assert_eq!((all.cuts.len(), all.left_out), (8, 0));
        assert_eq!(all.cuts[7].outcome, Outcome::Numbered(5));
        let some = plan(&file, &moments(), 3);
        assert_eq!((some.cuts.len(), some.left_out), (3, 5));
    }

    #[test]
    fn a_workload_that_takes_no_time_has_few_instants() {
        let moments =
            Moments { window: (Time::from_ns(5), Time::from_ns(7)), ..Moments::default() };
        let cuts = plan(&file("outcomes = 1"), &moments, 100).cuts;
        assert_eq!(cuts.len(), 2);
        let none = Moments { window: (Time::ZERO, Time::ZERO), ..Moments::default() };
        assert!(plan(&file(""), &none, 100).cuts.is_empty());
    }
}
