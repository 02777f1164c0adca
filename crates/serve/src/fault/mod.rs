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
use spec::{GREATEST_FACTOR, LONGEST_STALL, SLOW_PARTS};

/// The number of a fault.
pub type FaultId = u64;

/// Maximum number of incidents kept until they are taken; further ones are only counted.
const MOST_INCIDENTS: usize = 10_000;

/// An action of a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    /// When.
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

/// Number of strikes of a fault that are logged one by one; after that each power of ten is, so
/// that a fault that always strikes does not flood the log.
const TOLD_STRIKES: u64 = 5;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) result: Result<(), CommandError>,
    /// The flush is acknowledged and never reaches the drive.
    pub(crate) lies: bool,
    stall: Span,
    slow: u64,
}

impl Plan {
    const NONE: Self = Self { result: Ok(()), lies: false, stall: Span::ZERO, slow: SLOW_PARTS };

    /// All stalls together are as long as one may be: forgotten faults must not hold a command for
    /// good.
    fn add_stall(&mut self, stall: Span) {
        self.stall = Span::from_ns(self.stall.ns().saturating_add(stall.ns())).min(LONGEST_STALL);
    }

    /// All factors together are as large as one may be.
    fn add_factor(&mut self, factor: u64) {
        let product = self.slow.saturating_mul(factor) / SLOW_PARTS;
        self.slow = product.min(GREATEST_FACTOR * SLOW_PARTS);
    }

    /// When a command that the drive has completed is answered.
    pub(crate) fn due(&self, submitted: Time, done: Time) -> Time {
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
    /// Seed of which sectors are damaged.
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
        if strikes <= TOLD_STRIKES {
            self.note(at, fault, what);
        }
        if strikes == TOLD_STRIKES {
            self.note(at, fault, "further strikes are only counted: GET /faults".to_owned());
        } else if strikes > TOLD_STRIKES && is_power_of_ten(strikes) {
            self.note(at, fault, format!("{strikes} strikes so far"));
        }
    }

    fn note(&mut self, at: Time, fault: FaultId, what: String) {
        if self.incidents.len() < MOST_INCIDENTS {
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
        let of_plan = |kind| {
            use Kind::{LyingFlush, ReadError, Slow, Stall, WriteError};
            matches!(kind, Stall | Slow | ReadError | WriteError | LyingFlush)
        };
        for (id, fault, strikes) in self.striking(op, lba, sectors, of_plan) {
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
        let misdirected = |kind| kind == Kind::Misdirected;
        for (id, fault, strikes) in self.striking(Op::Write, lba, sectors, misdirected) {
            let (first, end) = fault.within(capacity);
            // Aligned like the write, so that a page is written to the place of a page.
            let places = (end.get() - first.get()) / sectors.get().max(1);
            if places < 2 {
                continue;
            }
            let active = self.active.get_mut(&id).expect("it has just struck");
            let place = active.rng.below(places) * sectors.get();
            lands = first + Sectors::new(place);
            let what = format!("the write to {lba}+{sectors} lands at {lands}");
            self.note_strike(now, id, strikes, what);
        }
        lands
    }

    /// How many bytes of a physical sector, `sectors` long, that is being written at the power cut
    /// are new, if not all.
    pub(crate) fn torn(&mut self, now: Time, lba: Lba, sectors: Sectors) -> Option<usize> {
        let striking = self.striking(Op::Write, lba, sectors, |kind| kind == Kind::Torn);
        let (id, _, strikes) = striking.into_iter().next()?;
        let active = self.active.get_mut(&id).expect("it has just struck");
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
        let bad = |sector: &u64| {
            sector::is_struck(self.seed, *sector, self.fault.probability)
                && !self.settled.contains_key(sector)
        };
        range.filter(bad).collect()
    }

    fn heal(&mut self, lba: Lba, sectors: Sectors) {
        if matches!(self.fault.kind, Kind::LatentError | Kind::BitRot) {
            for sector in self.damaged(lba, sectors) {
                self.settled.insert(sector, Sector::Rewritten);
            }
        }
    }

    /// Flips the bit of `sector` that this fault flips; returns which.
    fn rot(&mut self, sector: u64, medium: &mut dyn Medium) -> io::Result<usize> {
        let bit = sector::bit(self.seed, sector);
        let mut bytes = [0; 512];
        medium.read(Lba::new(sector), &mut bytes)?;
        bytes[bit / 8] ^= 1 << (bit % 8);
        medium.write(Lba::new(sector), &bytes)?;
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
        assert_eq!(due, Time::ZERO + Span::from_us(100) * 1_000_000 + LONGEST_STALL);
    }
}
