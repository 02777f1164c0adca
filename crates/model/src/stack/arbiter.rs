//! Arbitration between the submission queues of a controller.

use crate::controller::{Priority, QueuePairs};

/// Arbitration between submission queues (NVM Express 1.3, section 4.11): urgent queues first, then
/// the other classes by weight, and within a class one queue after another, up to a burst of
/// commands from each.
///
/// Plain round robin is the special case of a single class.
#[derive(Debug)]
pub(super) struct Arbiter {
    /// Queues that hold commands, one bit each.
    waiting: u64,
    /// The queues of each class.
    members: [u64; CLASSES],
    turns: [Turn; CLASSES],
    burst: u32,
    /// Commands left to each class in this round; a new round begins with `weights`.
    credits: [u32; CLASSES],
    weights: [u32; CLASSES],
}

const CLASSES: usize = 4;
const URGENT: usize = 0;

/// The queue whose turn it is within a class.
#[derive(Debug, Clone, Copy)]
struct Turn {
    queue: u32,
    /// Commands left of its burst.
    left: u32,
}

impl Arbiter {
    pub(super) fn new(pairs: Option<&QueuePairs>) -> Self {
        // Plain round robin has a single class of weight 1, whose credit never delays a command.
        let (mut members, mut weights) = ([0; CLASSES], [1; CLASSES]);
        let count = pairs.map_or(1, |pairs| pairs.count);
        assert!(
            (1..=u64::BITS as usize).contains(&count),
            "{count} queues do not fit the bit masks"
        );
        for queue in 0..count {
            let weighted = pairs.and_then(|pairs| pairs.weighted);
            // Without weights all queues share one class: plain round robin.
            let class = weighted.map_or(Priority::Medium, |it| it.priorities.of(queue));
            members[class as usize] |= 1 << queue;
            if let Some(weighted) = weighted {
                weights = weighted.weights.by_class();
            }
        }
        let burst = pairs.map_or(1, |pairs| pairs.burst.commands());
        // The last queue's turn is over, so that queue 0 comes first.
        let turns = [Turn { queue: u64::BITS - 1, left: 0 }; CLASSES];
        Self { waiting: 0, members, turns, burst, credits: weights, weights }
    }

    /// Marks `queue` as non-empty.
    #[inline]
    pub(super) fn filled(&mut self, queue: usize) {
        self.waiting |= 1 << queue;
    }

    /// Marks `queue` as empty: its turn is over, even with commands left of its burst.
    #[inline]
    pub(super) fn emptied(&mut self, queue: usize) {
        self.waiting &= !(1 << queue);
        // An emptied queue must not resume an old burst when it fills again.
        for turn in &mut self.turns {
            if turn.queue as usize == queue {
                turn.left = 0;
            }
        }
    }

    /// Returns the queue of the next command.
    #[inline]
    pub(super) fn next(&mut self) -> Option<usize> {
        if self.waiting == 0 {
            return None;
        }
        let class = self.next_class();
        Some(self.queue_of(class))
    }

    #[inline]
    fn is_ready(&self, class: usize) -> bool {
        self.waiting & self.members[class] != 0
    }

    #[inline]
    fn next_class(&mut self) -> usize {
        if self.is_ready(URGENT) {
            return URGENT;
        }
        let mut weighted = URGENT + 1..CLASSES;
        let with_credit =
            weighted.clone().find(|class| self.is_ready(*class) && self.credits[*class] > 0);
        let class = if let Some(class) = with_credit {
            class
        } else {
            // A round ends once no class with waiting commands has any credit left.
            self.credits = self.weights;
            weighted.find(|class| self.is_ready(*class)).expect("a queue is waiting")
        };
        debug_assert!(self.credits[class] > 0, "every weight is at least 1");
        self.credits[class] -= 1;
        class
    }

    #[inline]
    fn queue_of(&mut self, class: usize) -> usize {
        let ready = self.waiting & self.members[class];
        let turn = &mut self.turns[class];
        let continues = turn.left > 0 && ready >> turn.queue & 1 == 1;
        if !continues {
            // The ready queues with a higher number; none left means a wrap to the lowest.
            let above = ready & !(u64::MAX >> (u64::BITS - 1 - turn.queue));
            let next = if above == 0 { ready } else { above };
            *turn = Turn { queue: next.trailing_zeros(), left: self.burst };
        }
        turn.left -= 1;
        turn.queue as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::{Burst, Priorities, Weighted, Weights};
    use drivelab_core::config::Value;

    fn pairs(count: usize, burst: &str, weighted: Option<(&str, &str)>) -> QueuePairs {
        let weighted = weighted.map(|(priorities, weights)| Weighted {
            priorities: Priorities::read(priorities).unwrap(),
            weights: Weights::read(weights).unwrap(),
        });
        QueuePairs { count, commands_at_once: 1, burst: Burst::read(burst).unwrap(), weighted }
    }

    /// The queues that the next `count` commands come from, where each queue holds so many.
    fn order(pairs: &QueuePairs, held: &[usize], count: usize) -> String {
        let (mut arbiter, mut held) = (Arbiter::new(Some(pairs)), held.to_vec());
        (0..held.len()).filter(|queue| held[*queue] > 0).for_each(|queue| arbiter.filled(queue));
        let mut order = String::new();
        for _ in 0..count {
            let Some(queue) = arbiter.next() else { break };
            order.push_str(&queue.to_string());
            held[queue] -= 1;
            if held[queue] == 0 {
                arbiter.emptied(queue);
            }
        }
        order
    }

    #[test]
    fn queues_take_turns_a_burst_at_a_time() {
        assert_eq!(order(&pairs(3, "1", None), &[9, 9, 9], 7), "0120120");
        assert_eq!(order(&pairs(3, "2", None), &[9, 3, 9], 12), "001122001220");
        assert_eq!(order(&pairs(2, "unlimited", None), &[3, 2], 9), "00011");
    }

    #[test]
    fn a_queue_that_ran_empty_has_lost_its_turn() {
        let mut arbiter = Arbiter::new(Some(&pairs(2, "4", None)));
        arbiter.filled(0);
        assert_eq!(arbiter.next(), Some(0));
        arbiter.emptied(0);
        arbiter.filled(0);
        arbiter.filled(1);
        assert_eq!(arbiter.next(), Some(1));
    }

    #[test]
    fn the_highest_of_64_queues_is_followed_by_the_lowest() {
        let mut arbiter = Arbiter::new(Some(&pairs(64, "1", None)));
        for queue in [0, 62, 63] {
            arbiter.filled(queue);
        }
        let found: Vec<_> = (0..4).map(|_| arbiter.next()).collect();
        assert_eq!(found, [Some(0), Some(62), Some(63), Some(0)]);
    }

    #[test]
    fn classes_share_by_weight_and_urgent_queues_go_first() {
        let pairs = pairs(4, "1", Some(("low/high/urgent/medium", "3/2/1")));
        assert_eq!(order(&pairs, &[99, 99, 2, 99], 14), "22111330111330");
        // What a class leaves is the others'.
        assert_eq!(order(&pairs, &[99, 2, 0, 0], 6), "110000");
    }

    /// However long each queue is: of those that wait, none is passed over by more than a burst of
    /// each other.
    #[test]
    fn no_queue_waits_longer_than_a_burst_of_each_other() {
        for burst in [1, 2, 8] {
            let pairs = pairs(5, &burst.to_string(), None);
            let order = order(&pairs, &[1000, 1, 1000, 40, 1000], 500);
            for queue in ["0", "2", "4"] {
                let longest = order.split(queue).map(str::len).max().unwrap();
                assert!(longest <= 4 * burst, "{burst} {queue}: {order}");
            }
        }
    }
}
