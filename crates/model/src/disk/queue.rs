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
    /// What reaching a candidate costs; all cost the same where they are served as they come.
    positioning: Option<Positioning<'a>>,
    now: Time,
    best: Rank,
}

/// What a candidate costs, in nanoseconds less its bonus for age; among equals the older is first.
type Rank = (i64, u64);

/// Behind every candidate.
const LAST: Rank = (i64::MAX, u64::MAX);

impl<'a> Choosing<'a> {
    pub(crate) fn new(mechanics: &'a Mechanics, order: Order, heads: Heads) -> Self {
        Self { positioning: Positioning::new(mechanics, order, heads), now: heads.now, best: LAST }
    }

    /// The index of the candidate in `list` that beats all seen before, if one does.
    #[inline]
    pub(crate) fn best_of(&mut self, list: &[Candidate]) -> Option<usize> {
        self.best_among(list, 1, None)
    }

    /// The same for data that nobody waits for, so that it may become older.
    #[inline]
    pub(crate) fn best_of_cached(&mut self, list: &[Candidate]) -> Option<usize> {
        self.best_among(list, CACHED_PATIENCE, None)
    }

    /// The same for commands of which only the oldest write may go: the firmware serves writes that
    /// go past the cache in order.
    pub(crate) fn best_with_writes_in_order(&mut self, list: &[Candidate]) -> Option<usize> {
        let writes = list.iter().filter(|candidate| candidate.write);
        let oldest = writes.map(|write| write.sequence).min();
        self.best_among(list, 1, oldest)
    }

    /// One loop for all lists: it is where a drive with a full queue spends its time, and what it
    /// calls is compiled into it only where it is called once.
    fn best_among(
        &mut self,
        list: &[Candidate],
        patience: u64,
        only_write: Option<u64>,
    ) -> Option<usize> {
        let (mut found, mut best, now) = (None, self.best, self.now);
        let positioning = self.positioning.as_ref();
        let age_limit_ns = positioning.map_or(0, |it| (it.age_limit * patience).ns());
        for (index, candidate) in list.iter().enumerate() {
            let barred = only_write.is_some_and(|only| candidate.sequence != only);
            if candidate.ready > now || (barred && candidate.write) {
                continue;
            }
            let cost = positioning.map_or(0, |it| it.cost(candidate, age_limit_ns, best.0));
            let rank = (cost, candidate.sequence);
            if rank < best {
                (best, found) = (rank, Some(index));
            }
        }
        self.best = best;
        found
    }
}

/// What it costs to reach a candidate: everything that is the same for all of them, as plain
/// numbers.
#[derive(Debug, Clone, Copy)]
struct Positioning<'a> {
    mechanics: &'a Mechanics,
    now_ns: u64,
    arm: Arm,
    /// The sector that comes under the head, and those that read-ahead holds; none where reversed.
    next: u64,
    ahead: (u64, u64),
    angle: u64,
    ageing: u64,
    age_limit: Span,
    margin: Margin,
    /// The platter's position tells nothing: no target can be trusted to be met.
    blind: bool,
}

impl<'a> Positioning<'a> {
    fn new(mechanics: &'a Mechanics, order: Order, heads: Heads) -> Option<Self> {
        let Order::ShortestPositioning { guard, ageing, age_limit, .. } = order else {
            return None;
        };
        let (spindle, period) = (&mechanics.spindle, mechanics.spindle.period());
        Some(Self {
            mechanics,
            now_ns: heads.now.ns(),
            arm: heads.arm,
            // No request begins there.
            next: heads.next.map_or(u64::MAX, Lba::get),
            ahead: heads.ahead.map_or((1, 0), |(from, to)| (from.get(), to.get())),
            angle: spindle.angle_at(heads.now),
            ageing,
            age_limit,
            margin: Margin::of(order, period),
            blind: guard >= period,
        })
    }

    /// What it costs to serve `candidate` next, in nanoseconds less its bonus for age; or anything
    /// above `best`, where it is more than that.
    ///
    /// Most are beaten by the time to reach their track, before the platter is looked at.
    #[inline]
    fn cost(&self, candidate: &Candidate, age_limit_ns: u64, best: i64) -> i64 {
        debug_assert!(candidate.arrived.ns() <= self.now_ns, "it came after now");
        let waited_ns = self.now_ns.wrapping_sub(candidate.arrived.ns());
        if waited_ns > age_limit_ns {
            // Below every other cost; among those that are over it the sequence decides.
            return i64::MIN;
        }
        let bonus = (waited_ns.saturating_mul(self.ageing) >> 20).cast_signed();
        let (lba, (from, to)) = (candidate.lba.get(), self.ahead);
        if lba == self.next || (!candidate.write && from <= lba && lba <= to) {
            return -bonus;
        }
        let reach = self.mechanics.reach(self.arm, candidate.place.arm, candidate.write);
        let least = reach.ns().cast_signed() - bonus;
        if self.blind || least > best {
            return least;
        }
        let spindle = &self.mechanics.spindle;
        let arrives = self.angle.wrapping_add(spindle.turned_in(reach));
        let mut wait_ns = spindle.wait_about(arrives, candidate.place.angle);
        if wait_ns < self.margin.most_ns && wait_ns < self.margin.after(reach) {
            wait_ns += spindle.period().ns();
        }
        least + wait_ns.cast_signed()
    }
}
