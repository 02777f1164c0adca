//! What may be on a drive: computed from submissions and completions alone.
//!
//! The rules are those of `docs/concepts/durability.md`, for one sector at a time. Of two writes to
//! a sector the one submitted later is the newer: our drives promise that even where both were in
//! flight. A trim writes zeros, and promises to be durable once it is done.

use std::collections::BTreeMap;

/// The content of a sector: the number of the write that made it, 0 for zeros.
pub(crate) type Value = u64;

/// Points in the history, counted by events.
type Step = u64;

/// What a command is to the oracle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Puts `value` into its sectors; `durable` once it is done.
    Put {
        value: Value,
        durable: bool,
    },
    Flush,
    Read,
}

#[derive(Debug, Clone)]
struct Command {
    kind: Kind,
    sectors: std::ops::Range<usize>,
    submitted: Step,
}

/// A value that was or is being put into one sector.
#[derive(Debug, Clone, Copy)]
struct Put {
    command: u64,
    value: Value,
    submitted: Step,
    completed: Option<Step>,
    durable: bool,
    promises: bool,
}

#[derive(Debug, Clone)]
struct Sector {
    /// What it may have held when the power came on; one value once that has been seen.
    initial: Vec<Value>,
    puts: Vec<Put>,
}

/// Keeps the history, and says what is illegal.
#[derive(Debug, Clone)]
pub(crate) struct Oracle {
    step: Step,
    commands: BTreeMap<u64, Command>,
    sectors: Vec<Sector>,
}

impl Oracle {
    /// A drive of `sectors` zeroed sectors.
    pub(crate) fn new(sectors: usize) -> Self {
        let blank = Sector { initial: vec![0], puts: Vec::new() };
        Self { step: 0, commands: BTreeMap::new(), sectors: vec![blank; sectors] }
    }

    fn tick(&mut self) -> Step {
        self.step += 1;
        self.step
    }

    pub(crate) fn submitted(&mut self, id: u64, kind: Kind, sectors: std::ops::Range<usize>) {
        let submitted = self.tick();
        if let Kind::Put { value, durable } = kind {
            for sector in &mut self.sectors[sectors.clone()] {
                let (completed, durable, promises) = (None, false, durable);
                let put = Put { command: id, value, submitted, completed, durable, promises };
                sector.puts.push(put);
            }
        }
        self.commands.insert(id, Command { kind, sectors, submitted });
    }

    /// A write, trim or flush completed.
    pub(crate) fn completed(&mut self, id: u64) {
        let now = self.tick();
        let command = self.commands.remove(&id).expect("it was submitted");
        match command.kind {
            Kind::Read => panic!("a read completes with what it read"),
            Kind::Put { .. } => {
                for sector in &mut self.sectors[command.sectors] {
                    for put in sector.puts.iter_mut().filter(|put| put.command == id) {
                        put.completed = Some(now);
                        put.durable |= put.promises;
                    }
                }
            }
            Kind::Flush => {
                let promised = |put: &&mut Put| {
                    put.completed.is_some_and(|completed| completed < command.submitted)
                };
                for put in self.sectors.iter_mut().flat_map(|sector| &mut sector.puts) {
                    if promised(&put) {
                        put.durable = true;
                    }
                }
            }
        }
    }

    /// A read completed and found these values; a torn sector is `None`.
    pub(crate) fn read(&mut self, id: u64, found: &[Option<Value>]) -> Result<(), String> {
        self.tick();
        let command = self.commands.remove(&id).expect("it was submitted");
        for (number, value) in command.sectors.zip(found) {
            let sector = &mut self.sectors[number];
            let legal = sector.readable(command.submitted);
            let value = value.ok_or_else(|| format!("sector {number} is a mix of values"))?;
            if !legal.contains(&value) {
                return Err(format!("sector {number} reads {value}, legal are {legal:?}"));
            }
            if sector.initial.contains(&value) && !sector.puts.iter().any(|p| p.value == value) {
                sector.initial = vec![value];
            }
        }
        Ok(())
    }

    /// What `sector` may hold after a cut at this moment, ascending.
    pub(crate) fn survivors(&self, sector: usize) -> Vec<Value> {
        let mut legal = self.sectors[sector].survivors();
        legal.sort_unstable();
        legal.dedup();
        legal
    }

    /// A write of which only a part of `group`, a physical sector, was applied: `found` holds what
    /// the sectors of the group hold after a cut at this moment.
    pub(crate) fn broken_write(
        &self,
        group: std::ops::Range<usize>,
        found: &[Value],
    ) -> Option<Value> {
        let sectors = || self.sectors[group.clone()].iter().zip(found);
        let puts = self.sectors[group.clone()].iter().flat_map(|sector| &sector.puts);
        let broken = |put: &&Put| {
            // Zeros do not tell which trim made them.
            put.value != 0
                && found.contains(&put.value)
                && sectors().any(|(sector, value)| sector.holds_older_than(put, *value))
        };
        puts.filter(broken).map(|put| put.value).next()
    }

    /// Whether trims were applied to a part of what they cover of `group`, a physical sector:
    /// `found` holds what its sectors hold after a cut at this moment.
    ///
    /// Zeros do not tell which trim made them. So every set of trims on their way is tried: one of
    /// them, applied in whole with the trims that are done, must explain what was found.
    pub(crate) fn breaks_trim(&self, group: std::ops::Range<usize>, found: &[Value]) -> bool {
        let trims = |done: bool| {
            let puts = self.sectors[group.clone()].iter().flat_map(|sector| &sector.puts);
            let mut trims: Vec<u64> = puts
                .filter(|put| put.value == 0 && put.completed.is_some() == done)
                .map(|put| put.command)
                .collect();
            trims.sort_unstable();
            trims.dedup();
            trims
        };
        let (done, open) = (trims(true), trims(false));
        let explains = |chosen: u32| {
            let is_open = |command: &u64| open.iter().position(|other| other == command);
            let applied = |put: &Put| {
                done.contains(&put.command)
                    || is_open(&put.command).is_some_and(|bit| chosen >> bit & 1 == 1)
            };
            let mut sectors = self.sectors[group.clone()].iter().zip(found);
            sectors.all(|(sector, value)| sector.agrees_with_trims(*value, applied))
        };
        !(0..1_u32 << open.len()).any(explains)
    }

    /// The power went, and the drive came back.
    pub(crate) fn cut(&mut self) {
        self.tick();
        self.commands.clear();
        for sector in &mut self.sectors {
            *sector = Sector { initial: sector.survivors(), puts: Vec::new() };
        }
    }
}

impl Sector {
    /// Whether `value` is older than `put`, which covers this sector too.
    fn holds_older_than(&self, put: &Put, value: Value) -> bool {
        let here = self.puts.iter().find(|other| other.value == value && value != 0);
        let covers = self.puts.iter().any(|other| other.command == put.command);
        let unknown = value == 0 && self.puts.iter().any(|other| other.value == 0);
        covers && !unknown && here.is_none_or(|here| here.submitted < put.submitted)
    }

    /// Whether it can hold `value` if, of all trims, those were applied that `applied` tells.
    fn agrees_with_trims(&self, value: Value, applied: impl Fn(&Put) -> bool) -> bool {
        let trims = self.puts.iter().filter(|put| put.value == 0 && applied(put));
        let newest_trim = trims.map(|put| put.submitted).max();
        if value != 0 {
            let writes = self.puts.iter().filter(|put| put.value == value);
            // What it had from the start is older than any trim.
            return newest_trim <= writes.map(|put| put.submitted).max();
        }
        let durable = self.puts.iter().filter(|put| put.value != 0 && put.durable);
        let newest_durable = durable.map(|put| put.submitted).max();
        newest_trim > newest_durable || (newest_durable.is_none() && self.initial.contains(&0))
    }

    /// What a read submitted at `step` that completes now may find: nothing that a newer write,
    /// completed before the read was submitted, has replaced.
    fn readable(&self, step: Step) -> Vec<Value> {
        self.at_or_after(|put| put.completed.is_some_and(|completed| completed < step))
    }

    fn survivors(&self) -> Vec<Value> {
        self.at_or_after(|put| put.durable)
    }

    /// The newest value that `settles`, and all that are newer.
    fn at_or_after(&self, settles: impl Fn(&Put) -> bool) -> Vec<Value> {
        let newest = self.puts.iter().filter(|put| settles(put)).map(|put| put.submitted).max();
        let newer = self.puts.iter().filter(|put| Some(put.submitted) >= newest);
        let initial = if newest.is_none() { &self.initial[..] } else { &[] };
        initial.iter().copied().chain(newer.map(|put| put.value)).collect()
    }
}
