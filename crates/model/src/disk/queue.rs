//! The firmware's choice: which of the waiting accesses comes next.

use drivelab_core::{Lba, Sectors, Span, Time};

use super::geometry::{Arm, Place};
use super::mechanics::Mechanics;
use crate::stack::Tag;

/// One access that the medium could serve next: a queued command, or cached data to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) lba: Lba,
    pub(crate) sectors: Sectors,
    /// Where it begins, worked out once when its command arrived.
    pub(crate) place: Place,
    pub(crate) write: bool,
    /// The command's tag; meaningless for cached data.
    pub(crate) tag: Tag,
    /// When it could start at the earliest.
    pub(crate) ready: Time,
    /// Since when it has been waiting.
    pub(crate) arrived: Time,
    pub(crate) sequence: u64,
    /// The newest of the writes that were joined to it; its own place while it is alone.
    pub(crate) newest: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Fifo,
    ShortestPositioning {
        /// A target that would be reached with less time to spare than this is counted as missed:
        /// it costs one revolution more in the choice.
        guard: Span,
        /// By how much the guard grows with what a seek takes beyond `guard_from`, in units of
        /// 2^-20: settling and flight of long seeks vary, so that firmware keeps a margin in
        /// proportion. It grows to half a revolution at most, and never below `guard`.
        guard_growth: u64,
        guard_from: Span,
        /// By how much waiting lowers the cost, in units of 2^-20 of the time waited.
        ageing: u64,
        /// What has waited longer than this comes first, the oldest before all.
        age_limit: Span,
    },
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Heads {
    pub(crate) now: Time,
    pub(crate) arm: Arm,
    /// The sector that comes under the head right now, if a transfer has just ended.
    pub(crate) next: Option<Lba>,
    /// What read-ahead holds, up to where the head is: a read that begins there goes on from it.
    pub(crate) ahead: Option<(Lba, Lba)>,
}

impl Heads {
    /// Whether `candidate` goes on where the head is, without any positioning.
    #[inline]
    pub(crate) fn continues_with(&self, candidate: &Candidate) -> bool {
        self.next == Some(candidate.lba) || self.reads_on_with(candidate)
    }

    /// Whether `candidate` is a read that read-ahead has begun.
    #[inline]
    pub(crate) fn reads_on_with(&self, candidate: &Candidate) -> bool {
        let within = |(from, to): (Lba, Lba)| from <= candidate.lba && candidate.lba <= to;
        !candidate.write && self.ahead.is_some_and(within)
    }
}

/// With how much less time to spare a target counts as missed.
#[derive(Debug, Clone, Copy, Default)]
struct Margin {
    least_ns: u64,
    most_ns: u64,
    growth: u64,
    from_ns: u64,
}

impl Margin {
    fn of(order: Order, period: Span) -> Self {
        let Order::ShortestPositioning { guard, guard_growth, guard_from, .. } = order else {
            return Self::default();
        };
        let least_ns = guard.ns();
        let most_ns = if guard_growth == 0 { least_ns } else { least_ns.max(period.ns() / 2) };
        Self { least_ns, most_ns, growth: guard_growth, from_ns: guard_from.ns() }
    }

    /// The margin, in nanoseconds, for a target whose track is reached after `reach`.
    #[inline]
    fn after(&self, reach: Span) -> u64 {
        let grown = (reach.ns().saturating_sub(self.from_ns) * self.growth) >> 20;
        (self.least_ns + grown).min(self.most_ns)
    }
}

/// How many times older than a command cached data may become. Our choice: a hundred cached writes
/// take about a second, and a limit near that would turn the sorting off.
const CACHED_PATIENCE: u64 = 5;

/// The best candidate so far: feed it any number of lists, ask at the end.
#[derive(Debug)]
pub(crate) struct Choosing<'a> {
    mechanics: &'a Mechanics,
    order: Order,
    heads: Heads,
    angle: u64,
    margin: Margin,
    best: Option<(i64, u64)>,
}

impl<'a> Choosing<'a> {
    pub(crate) fn new(mechanics: &'a Mechanics, order: Order, heads: Heads) -> Self {
        let angle = mechanics.spindle.angle_at(heads.now);
        let margin = Margin::of(order, mechanics.spindle.period());
        Self { mechanics, order, heads, angle, margin, best: None }
    }

    /// The index of the candidate in `list` that beats all seen before, if one does.
    #[inline]
    pub(crate) fn best_of(&mut self, list: &[Candidate]) -> Option<usize> {
        self.best_with_patience(list, 1)
    }

    /// The same for data that nobody waits for, so that it may become older.
    #[inline]
    pub(crate) fn best_of_cached(&mut self, list: &[Candidate]) -> Option<usize> {
        self.best_with_patience(list, CACHED_PATIENCE)
    }

    /// The same for commands of which only the oldest write may go: the firmware serves writes that
    /// go past the cache in order.
    pub(crate) fn best_with_writes_in_order(&mut self, list: &[Candidate]) -> Option<usize> {
        let writes = list.iter().filter(|candidate| candidate.write);
        let oldest = writes.map(|write| write.sequence).min();
        let barred = |candidate: &Candidate| candidate.write && Some(candidate.sequence) != oldest;
        self.best_of_those(list, 1, |candidate| !barred(candidate))
    }

    #[inline]
    fn best_with_patience(&mut self, list: &[Candidate], patience: u64) -> Option<usize> {
        self.best_of_those(list, patience, |_| true)
    }

    #[inline]
    fn best_of_those(
        &mut self,
        list: &[Candidate],
        patience: u64,
        may_go: impl Fn(&Candidate) -> bool,
    ) -> Option<usize> {
        let mut found = None;
        for (index, candidate) in list.iter().enumerate().filter(|(_, one)| may_go(one)) {
            if candidate.ready > self.heads.now {
                continue;
            }
            let rank = (self.cost(candidate, patience), candidate.sequence);
            if self.best.is_none_or(|best| rank < best) {
                self.best = Some(rank);
                found = Some(index);
            }
        }
        found
    }

    /// What it costs to serve `candidate` next, in nanoseconds less its bonus for age.
    #[inline]
    fn cost(&self, candidate: &Candidate, patience: u64) -> i64 {
        let Order::ShortestPositioning { guard, ageing, age_limit, .. } = self.order else {
            return 0;
        };
        let waited = self.heads.now.since(candidate.arrived);
        if waited > age_limit * patience {
            // Below every other cost; among those that are over it the sequence decides.
            return i64::MIN;
        }
        let bonus = signed(waited.ns().saturating_mul(ageing) >> 20);
        if self.heads.continues_with(candidate) {
            return -bonus;
        }
        let spindle = &self.mechanics.spindle;
        let period = spindle.period();
        let reach = self.mechanics.reach(self.heads.arm, candidate.place.arm, candidate.write);
        if guard >= period {
            // No target can be trusted to be met: the platter's position tells nothing.
            return signed(reach.ns()) - bonus;
        }
        let arrives = self.angle.wrapping_add(spindle.turned_in(reach));
        let mut wait = spindle.wait_about(arrives, candidate.place.angle);
        let margin = &self.margin;
        if wait < margin.most_ns && wait < margin.after(reach) {
            wait += period.ns();
        }
        signed(reach.ns() + wait) - bonus
    }
}

/// Costs and bonuses are far below 2^62 ns, which is 146 years.
#[inline]
fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX / 2)
}
