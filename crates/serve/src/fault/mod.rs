//! Faults: misbehaviour of a drive on request.
//!
//! Everything that a fault does is drawn from the server's seed and the fault's own number, and is
//! logged, so that a run can be replayed with the same requests.

mod sector;
mod spec;

use std::collections::BTreeMap;
use std::fmt;
use std::io;

use drivelab_core::disk::{CommandError, Medium};
use drivelab_core::{IoError, Lba, Op, Rng, Sectors, Span, Time};

pub use spec::{Fault, FaultError, Kind, Listed};

use sector::Sector;
use spec::{FACTOR_MAX, SLOW_PARTS, STALL_MAX};

/// The number of a fault.
pub type FaultId = u64;

/// Maximum number of incidents kept until they are taken; further ones are only counted.
const INCIDENTS_MAX: usize = 10_000;

/// An action of a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    /// Time of the action.
    pub at: Time,
    /// The fault.
    pub fault: FaultId,
    /// The action.
    pub what: String,
}

impl fmt::Display for Incident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} fault {}: {}", self.at, self.fault, self.what)
    }
}

/// Number of strikes of a fault that are logged individually; after that each power of ten is, so
/// that a fault that always strikes does not flood the log.
const LOGGED_STRIKES: u64 = 5;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) result: Result<(), CommandError>,
    /// True if the flush is acknowledged and never reaches the drive.
    pub(crate) lies: bool,
    stall: Span,
    slow: u64,
}

impl Plan {
    const NONE: Self = Self { result: Ok(()), lies: false, stall: Span::ZERO, slow: SLOW_PARTS };

    /// Adds a stall; all together are at most as long as one may be, so that forgotten faults do
    /// not hold a command for ever.
    fn add_stall(&mut self, stall: Span) {
        self.stall = Span::from_ns(self.stall.ns().saturating_add(stall.ns())).min(STALL_MAX);
    }

    /// Multiplies by a factor; the product is at most the largest single factor.
    fn add_factor(&mut self, factor: u64) {
        debug_assert!(factor >= SLOW_PARTS, "no fault makes a drive faster");
        let product = self.slow.saturating_mul(factor) / SLOW_PARTS;
        self.slow = product.min(FACTOR_MAX * SLOW_PARTS);
    }

    /// Returns the time at which a command that the drive completed at `done` is answered.
    pub(crate) fn due(&self, submitted: Time, done: Time) -> Time {
        debug_assert!(submitted <= done, "a command completes after its submission");
        // In 128 bits: a day in ns times the largest factor overflows 64.
        let took = done.since(submitted);
        let slowed = u128::from(took.ns()) * u128::from(self.slow) / u128::from(SLOW_PARTS);
        let slowed = u64::try_from(slowed).unwrap_or(u64::MAX);
        submitted + Span::from_ns(slowed.max(took.ns())) + self.stall
    }
}

#[derive(Debug)]
struct Active {
    fault: Fault,
    rng: Rng,
    /// Seed of the choice of damaged sectors.
    seed: u64,
    strikes: u64,
    /// Sectors that were damaged and have been rewritten, or that are already damaged on the
    /// medium.
    settled: BTreeMap<u64, Sector>,
}

#[derive(Debug)]
pub(crate) struct Faults {
    seed: u64,
    next: FaultId,
    active: BTreeMap<FaultId, Active>,
    incidents: Vec<Incident>,
}

impl Faults {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, next: 1, active: BTreeMap::new(), incidents: Vec::new() }
    }

    pub(crate) fn add(&mut self, now: Time, fault: Fault) -> FaultId {
        // Numbers are never reused: a log line names one fault, even after it was removed.
        let id = self.next;
        self.next += 1;
        let mut rng = Rng::for_part(self.seed, id);
        let seed = rng.bits();
        self.note(now, id, format!("added {fault}"));
        let active = Active { fault, rng, seed, strikes: 0, settled: BTreeMap::new() };
        self.active.insert(id, active);
        id
    }

    pub(crate) fn remove(&mut self, now: Time, id: FaultId) -> bool {
        // Sectors that it has damaged on the medium stay damaged, as on a real drive.
        let Some(removed) = self.active.remove(&id) else { return false };
        self.note(now, id, format!("removed, {} strikes", removed.strikes));
        true
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (FaultId, &Fault, u64)> {
        self.active.iter().map(|(id, active)| (*id, &active.fault, active.strikes))
    }

    pub(crate) fn take_incidents(&mut self) -> Vec<Incident> {
        std::mem::take(&mut self.incidents)
    }

    fn note_strike(&mut self, at: Time, fault: FaultId, strikes: u64, what: String) {
        if strikes <= LOGGED_STRIKES {
            self.note(at, fault, what);
        }
        if strikes == LOGGED_STRIKES {
            self.note(at, fault, "further strikes are only counted: GET /faults".to_owned());
        } else if strikes > LOGGED_STRIKES && is_power_of_ten(strikes) {
            self.note(at, fault, format!("{strikes} strikes so far"));
        }
    }

    fn note(&mut self, at: Time, fault: FaultId, what: String) {
        if self.incidents.len() < INCIDENTS_MAX {
            self.incidents.push(Incident { at, fault, what });
        }
    }

    /// The faults of the kinds selected by `wanted` that strike this command now.
    fn striking(
        &mut self,
        op: Op,
        lba: Lba,
        sectors: Sectors,
        wanted: impl Fn(Kind) -> bool,
    ) -> Vec<(FaultId, Fault, u64)> {
        let mut striking = Vec::new();
        for (id, active) in &mut self.active {
            let fault = &active.fault;
            if wanted(fault.kind)
                && fault.concerns(op, lba, sectors)
                && active.rng.chance(fault.probability)
            {
                active.strikes += 1;
                striking.push((*id, fault.clone(), active.strikes));
            }
        }
        striking
    }

    pub(crate) fn plan(&mut self, now: Time, op: Op, lba: Lba, sectors: Sectors) -> Plan {
        let mut plan = Plan::NONE;
        if self.active.is_empty() {
            return plan;
        }
        for (id, fault, strikes) in self.striking(op, lba, sectors, Kind::changes_plan) {
            match fault.kind {
                Kind::Stall => plan.add_stall(fault.duration),
                Kind::Slow => plan.add_factor(fault.factor),
                Kind::LyingFlush => plan.lies = true,
                _ => {
                    let first = fault.range.map_or(lba, |(first, _)| first.max(lba));
                    plan.result = plan.result.and(Err(medium_error(first)));
                }
            }
            let what = format!("{} strikes {op:?} at {lba}+{sectors}", fault.kind);
            self.note_strike(now, id, strikes, what);
        }
        plan
    }

    pub(crate) fn landing(
        &mut self,
        now: Time,
        lba: Lba,
        sectors: Sectors,
        capacity: Sectors,
    ) -> Lba {
        if self.active.is_empty() {
            return lba;
        }
        let mut lands = lba;
        let strikes = self.striking(Op::Write, lba, sectors, |kind| kind == Kind::Misdirected);
        for (id, fault, strikes) in strikes {
            let (first, end) = fault.within(capacity);
            // Aligned like the write, so that a page lands on another page and not across two.
            let slots = (end.get() - first.get()) / sectors.get().max(1);
            if slots < 2 {
                continue;
            }
            let active = self.active.get_mut(&id).expect("it has just struck");
            let index = active.rng.below(slots) * sectors.get();
            lands = first + Sectors::new(index);
            let what = format!("the write to {lba}+{sectors} lands at {lands}");
            self.note_strike(now, id, strikes, what);
        }
        lands
    }

    /// Returns the number of new bytes in a physical sector of `sectors` that is being written at
    /// the power cut, if the write is torn.
    pub(crate) fn torn(&mut self, now: Time, lba: Lba, sectors: Sectors) -> Option<usize> {
        let torn = self.striking(Op::Write, lba, sectors, |kind| kind == Kind::Torn);
        let (id, _, strikes) = torn.into_iter().next()?;
        let active = self.active.get_mut(&id).expect("it has just struck");
        // At least one byte is new and one old, or it would not be torn.
        let bytes = active.rng.between(1, sectors.bytes().get() - 1);
        let what = format!("sector {lba}+{sectors} is torn after {bytes} bytes");
        self.note_strike(now, id, strikes, what);
        Some(usize::try_from(bytes).expect("within a sector"))
    }

    /// The effect of damaged sectors on a read: an error, or wrong data on the medium.
    pub(crate) fn damage(
        &mut self,
        now: Time,
        lba: Lba,
        sectors: Sectors,
        medium: &mut dyn Medium,
    ) -> io::Result<Result<(), CommandError>> {
        let mut first_bad: Option<u64> = None;
        // Logged after the loop, in which the faults are borrowed.
        let mut notes = Vec::new();
        for (id, active) in &mut self.active {
            let kind = active.fault.kind;
            if !matches!(kind, Kind::LatentError | Kind::BitRot) {
                continue;
            }
            for sector in active.damaged(lba, sectors) {
                active.strikes += 1;
                // Repeated strikes of the same sectors are not logged each time.
                let what = if kind == Kind::LatentError {
                    first_bad = Some(first_bad.map_or(sector, |first| first.min(sector)));
                    format!("sector {sector} cannot be read")
                } else {
                    let bit = active.rot(sector, medium)?;
                    format!("bit {bit} of sector {sector} has flipped")
                };
                notes.push((*id, active.strikes, what));
            }
        }
        for (id, strikes, what) in notes {
            self.note_strike(now, id, strikes, what);
        }
        Ok(first_bad.map_or(Ok(()), |sector| Err(medium_error(Lba::new(sector)))))
    }

    pub(crate) fn healed(&mut self, lba: Lba, sectors: Sectors) {
        for active in self.active.values_mut() {
            active.heal(lba, sectors);
        }
    }
}

fn medium_error(first: Lba) -> CommandError {
    CommandError { kind: IoError::Medium, lba: Some(first) }
}

fn is_power_of_ten(mut number: u64) -> bool {
    while number >= 10 && number.is_multiple_of(10) {
        number /= 10;
    }
    number == 1
}

impl Active {
    fn damaged(&self, lba: Lba, sectors: Sectors) -> Vec<u64> {
        let (first, end) = self.fault.within(Sectors::new(u64::MAX));
        let range = lba.max(first).get()..(lba + sectors).min(end).get();
        range
            .filter(|sector| sector::is_struck(self.seed, *sector, self.fault.probability))
            .filter(|sector| !self.settled.contains_key(sector))
            .collect()
    }

    fn heal(&mut self, lba: Lba, sectors: Sectors) {
        if matches!(self.fault.kind, Kind::LatentError | Kind::BitRot) {
            for sector in self.damaged(lba, sectors) {
                self.settled.insert(sector, Sector::Rewritten);
            }
        }
    }

    /// Flips the bit of `sector` that this fault flips, and returns its index.
    fn rot(&mut self, sector: u64, medium: &mut dyn Medium) -> io::Result<usize> {
        let bit = sector::bit(self.seed, sector);
        let mut bytes = [0; 512];
        medium.read(Lba::new(sector), &mut bytes)?;
        debug_assert!(bit < 512 * 8, "a bit of the sector");
        bytes[bit / 8] ^= 1 << (bit % 8);
        medium.write(Lba::new(sector), &bytes)?;
        // Only once: a second flip would repair the sector.
        self.settled.insert(sector, Sector::Rotten);
        Ok(bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_faults_hold_a_command_no_longer_than_one_may() {
        let mut faults = Faults::new(1);
        for text in
            [r#"{"kind": "slow", "factor": 1e6}"#, r#"{"kind": "stall", "duration_ms": 86400000}"#]
        {
            for _ in 0..1000 {
                faults.add(Time::ZERO, Fault::from_json(text).unwrap());
            }
        }
        let plan = faults.plan(Time::ZERO, Op::Read, Lba::ZERO, Sectors::new(8));
        let due = plan.due(Time::ZERO, Time::ZERO + Span::from_us(100));
        assert_eq!(due, Time::ZERO + Span::from_us(100) * 1_000_000 + STALL_MAX);
    }
}
