//! In which order the runs of several arms were made, where their times are known.

use super::ArmRuns;

/// The order of runs, as far as their times show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Order {
    /// Too few times to say anything.
    Unknown,
    /// Block by block, each arm once: the runs of one block are pairs.
    Alternated,
    /// Otherwise, as described.
    NotAlternated(String),
}

/// The note on pairs whose times show that they are pairs.
pub(super) const ALTERNATED: &str = "The times of the runs show that the arms alternated: runs are \
                                     paired in the order of time.";

/// Puts the runs of each arm in the order of their times, and says what order of all they show.
pub(super) fn order(arms: &mut [ArmRuns]) -> Order {
    // A single run of an arm shows no order.
    let are_known = arms
        .iter()
        .all(|arm| arm.runs.len() > 1 && arm.runs.iter().all(|run| run.ended_unix_s.is_some()));
    if !are_known {
        return Order::Unknown;
    }
    for arm in arms.iter_mut() {
        arm.runs.sort_by_key(|run| run.ended_unix_s);
        for (index, run) in (1_usize..).zip(&mut arm.runs) {
            run.block = index.to_string();
        }
    }
    let times = arms
        .iter()
        .enumerate()
        .flat_map(|(arm, it)| it.runs.iter().map(move |run| (run.ended_unix_s, arm)));
    let mut sequence: Vec<(Option<u64>, usize)> = times.collect();
    sequence.sort_unstable();
    // Runs that ended in one second may be of either order.
    if sequence.windows(2).any(|two| two[0].0 == two[1].0 && two[0].1 != two[1].1) {
        return Order::Unknown;
    }
    if sequence.chunks(arms.len()).all(|block| has_each_once(block, arms.len())) {
        return Order::Alternated;
    }
    // Each arm but the first has one beginning: that is fewer changes than arms.
    let one_by_one = sequence.windows(2).filter(|two| two[0].1 != two[1].1).count() < arms.len();
    let how = if one_by_one {
        "all runs of one arm were made before those of the next"
    } else {
        "the runs of the arms do not form blocks of one run each"
    };
    Order::NotAlternated(how.to_owned())
}

/// True if a block has one run of each arm.
fn has_each_once(block: &[(Option<u64>, usize)], arms: usize) -> bool {
    let mut found: Vec<usize> = block.iter().map(|(_, arm)| *arm).collect();
    found.sort_unstable();
    found.into_iter().eq(0..arms)
}

#[cfg(test)]
mod tests {
    use super::super::RunFigures;
    use super::*;

    fn arms(times: &[&[u64]]) -> Vec<ArmRuns> {
        let run = |time: &u64| RunFigures {
            block: String::new(),
            figures: Vec::new().into(),
            ended_unix_s: Some(*time),
            simulated: None,
            work: std::sync::Arc::default(),
            flaws: Vec::new(),
            content: None,
        };
        let arm =
            |times: &&[u64]| ArmRuns { name: String::new(), runs: times.iter().map(run).collect() };
        times.iter().map(arm).collect()
    }

    #[test]
    fn the_order_follows_from_the_times() {
        let one_after_the_other =
            Order::NotAlternated("all runs of one arm were made before those of the next".into());
        let no_blocks =
            Order::NotAlternated("the runs of the arms do not form blocks of one run each".into());
        let check = |times: &[&[u64]], expected: &Order| {
            assert_eq!(&order(&mut arms(times)), expected, "{times:?}");
        };
        check(&[&[1, 3, 5], &[2, 4, 6]], &Order::Alternated);
        check(&[&[5, 1, 4], &[2, 3, 6]], &Order::Alternated);
        check(&[&[1, 2, 3], &[4, 5, 6]], &one_after_the_other);
        check(&[&[4, 5, 6], &[1, 2, 3]], &one_after_the_other);
        check(&[&[1, 2, 5, 6], &[3, 4, 7, 8]], &no_blocks);
        check(&[&[1, 3, 5], &[2, 4]], &no_blocks);
        check(&[&[7, 7], &[7, 7]], &Order::Unknown);
        check(&[&[1], &[2]], &Order::Unknown);
    }

    #[test]
    fn pairs_follow_the_times() {
        let mut arms = arms(&[&[5, 1], &[2, 6]]);
        assert_eq!(order(&mut arms), Order::Alternated);
        let blocks = |arm: &ArmRuns| arm.runs.iter().map(|it| it.ended_unix_s).collect::<Vec<_>>();
        assert_eq!(blocks(&arms[0]), [Some(1), Some(5)]);
    }
}
