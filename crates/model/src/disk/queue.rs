//! The firmware's choice of the next access.

use drivelab_core::{Lba, Sectors, Span, Time};

use super::geometry::{Arm, Location};
use super::mechanics::Mechanics;
use crate::tag::Tag;

/// An access that the medium could serve next: a queued command, or cached data to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) lba: Lba,
    pub(crate) sectors: Sectors,
    /// Its first sector, located once at arrival because every choice needs it.
    pub(crate) location: Location,
    pub(crate) write: bool,
    /// The command's tag; meaningless for cached data.
    pub(crate) tag: Tag,
    /// Earliest start.
    pub(crate) ready: Time,
    /// Beginning of its wait.
    pub(crate) arrived: Time,
    pub(crate) sequence: u64,
    /// The newest `sequence` of the writes merged into it.
    pub(crate) newest: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Fifo,
    ShortestPositioning {
        /// Minimum time to spare at a target. With less the target counts as missed, which costs
        /// one revolution more in the choice.
        guard: Span,
        /// Growth of the guard with the part of a seek beyond `guard_from`, in units of 2^-20:
        /// settling and flight of long seeks vary, so firmware keeps a proportional margin, from
        /// `guard` up to half a revolution.
        guard_growth: u64,
        guard_from: Span,
        /// Reduction of the cost by waiting, in units of 2^-20 of the time waited.
        ageing: u64,
        /// Age from which a candidate comes first, the oldest before all.
        age_limit: Span,
    },
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Heads {
    pub(crate) now: Time,
    pub(crate) arm: Arm,
    /// The sector under the head, directly after a transfer.
    pub(crate) next: Option<Lba>,
    /// Sectors of read-ahead up to the head: a read that begins among them continues it.
    pub(crate) ahead: Option<(Lba, Lba)>,
}

impl Heads {
    /// Returns true if `candidate` is a read that read-ahead has begun.
    #[inline]
    pub(crate) fn continue_with(&self, candidate: &Candidate) -> bool {
        let Some((from, to)) = self.ahead else { return false };
        !candidate.write && from <= candidate.lba && candidate.lba <= to
    }
}

/// The guard of [`Order::ShortestPositioning`] in plain numbers.
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
        // Half a revolution at most: with a larger guard every target would count as missed.
        let most_ns = if guard_growth == 0 { least_ns } else { least_ns.max(period.ns() / 2) };
        Self { least_ns, most_ns, growth: guard_growth, from_ns: guard_from.ns() }
    }

    /// Returns the margin, in nanoseconds, for a target whose track is reached after `reach`.
    #[inline]
    fn after(&self, reach: Span) -> u64 {
        let grown = (reach.ns().saturating_sub(self.from_ns) * self.growth) >> 20;
        (self.least_ns + grown).min(self.most_ns)
    }
}

/// Age limit of cached data, as a multiple of that of a command.
// Our choice: a hundred cached writes take about a second, and a limit near that would turn the
// sorting off.
const CACHED_PATIENCE: u64 = 5;

/// The best candidate of any number of lists.
#[derive(Debug)]
pub(crate) struct Choosing<'a> {
    /// The cost of reaching a candidate; `None` for service in order of arrival.
    positioning: Option<Positioning<'a>>,
    now: Time,
    best: Rank,
}

/// Cost in nanoseconds less the bonus for age, and the sequence, so that the older of equals wins.
type Rank = (i64, u64);

/// Ranks after every candidate.
const LAST: Rank = (i64::MAX, u64::MAX);

impl<'a> Choosing<'a> {
    pub(crate) fn new(mechanics: &'a Mechanics, order: Order, heads: Heads) -> Self {
        Self { positioning: Positioning::new(mechanics, order, heads), now: heads.now, best: LAST }
    }

    /// Returns the index of the candidate in `list` that beats all candidates so far, if any.
    #[inline]
    pub(crate) fn best_of(&mut self, list: &[Candidate]) -> Option<usize> {
        self.best_among(list, 1, None)
    }

    /// Like [`Choosing::best_of`] for acknowledged data, which may become older.
    #[inline]
    pub(crate) fn best_of_cached(&mut self, list: &[Candidate]) -> Option<usize> {
        self.best_among(list, CACHED_PATIENCE, None)
    }

    /// Like [`Choosing::best_of`] for firmware that serves uncached writes in order: only the
    /// oldest write is eligible.
    pub(crate) fn best_with_writes_in_order(&mut self, list: &[Candidate]) -> Option<usize> {
        let writes = list.iter().filter(|candidate| candidate.write);
        let oldest = writes.map(|write| write.sequence).min();
        self.best_among(list, 1, oldest)
    }

    /// Like [`Choosing::best_of`] without the writes.
    pub(crate) fn best_read_of(&mut self, list: &[Candidate]) -> Option<usize> {
        // No write has this number.
        self.best_among(list, 1, Some(u64::MAX))
    }

    /// The loop for all lists.
    ///
    /// A drive with a full queue spends its time here, and the compiler inlines `cost` only if it
    /// has a single caller.
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
            let out_of_order = only_write.is_some_and(|only| candidate.sequence != only);
            // Not an early exit: a later candidate may be older than the age limit.
            if candidate.ready > now || (out_of_order && candidate.write) {
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

/// The terms of the cost that are the same for all candidates, as plain numbers.
#[derive(Debug, Clone, Copy)]
struct Positioning<'a> {
    mechanics: &'a Mechanics,
    now_ns: u64,
    arm: Arm,
    /// The sector under the head, and the range of read-ahead; an empty range is reversed.
    next: u64,
    ahead: (u64, u64),
    angle: u64,
    ageing: u64,
    age_limit: Span,
    margin: Margin,
    /// True if the guard exceeds a revolution: no target is certain, so rotation is ignored.
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
            // No request begins at the maximum address.
            next: heads.next.map_or(u64::MAX, Lba::get),
            ahead: heads.ahead.map_or((1, 0), |(from, to)| (from.get(), to.get())),
            angle: spindle.angle_at(heads.now),
            ageing,
            age_limit,
            margin: Margin::of(order, period),
            blind: guard >= period,
        })
    }

    /// Returns the cost of serving `candidate` next, in nanoseconds less its bonus for age, or any
    /// value above `best` if it exceeds that.
    #[inline]
    fn cost(&self, candidate: &Candidate, age_limit_ns: u64, best: i64) -> i64 {
        debug_assert!(candidate.arrived.ns() <= self.now_ns, "it arrived after now");
        let waited_ns = self.now_ns.wrapping_sub(candidate.arrived.ns());
        if waited_ns > age_limit_ns {
            // Below every other cost; among candidates over the limit the sequence decides.
            return i64::MIN;
        }
        let bonus = (waited_ns.saturating_mul(self.ageing) >> 20).cast_signed();
        let (lba, (from, to)) = (candidate.lba.get(), self.ahead);
        // A sector under the head costs nothing, nor does one that read-ahead is about to pass.
        if lba == self.next || (!candidate.write && from <= lba && lba <= to) {
            return -bonus;
        }
        let reach = self.mechanics.reach(self.arm, candidate.location.arm, candidate.write);
        let least = reach.ns().cast_signed() - bonus;
        if self.blind || least > best {
            // Most candidates lose by the seek alone, which saves the search for their angle.
            return least;
        }
        let spindle = &self.mechanics.spindle;
        let arrives = self.angle.wrapping_add(spindle.turned_in(reach));
        let mut wait_ns = spindle.wait_about(arrives, candidate.location.angle);
        if wait_ns < self.margin.most_ns && wait_ns < self.margin.after(reach) {
            wait_ns += spindle.period().ns();
        }
        least + wait_ns.cast_signed()
    }
}
