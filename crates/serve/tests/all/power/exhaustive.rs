//! Two sectors and up to five commands: every order of events, every choice of the cut.
//!
//! The device is as lazy as the rules allow: it destages what a flush promises and nothing else.
//! Then what the cut can leave must be exactly what the oracle says is legal.

use std::collections::BTreeSet;
use std::rc::Rc;

use drivelab_core::disk::Data;
use drivelab_core::{Bytes, Destaged, Lba, Sectors, Time};
use drivelab_serve::medium::Memory;
use drivelab_serve::store::{Choose, Store, TrimId, Write};

use super::oracle::{Kind, Oracle, Value};
use super::rig::{stamp, value_of};

/// A command of the alphabet, on sectors 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Symbol {
    Write { first: usize, count: usize, fua: bool },
    Trim { first: usize, count: usize },
    Flush,
}

const W0: Symbol = Symbol::Write { first: 0, count: 1, fua: false };
const W1: Symbol = Symbol::Write { first: 1, count: 1, fua: false };
const BOTH: Symbol = Symbol::Write { first: 0, count: 2, fua: false };
const FUA: Symbol = Symbol::Write { first: 0, count: 2, fua: true };
const T0: Symbol = Symbol::Trim { first: 0, count: 1 };
const T: Symbol = Symbol::Trim { first: 0, count: 2 };
const F: Symbol = Symbol::Flush;

/// An event of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Submit(Symbol),
    /// The command submitted as this one is done.
    Complete(usize),
}

/// Makes the choices it is given, then the first of each; remembers how many there were.
struct Script<'a> {
    given: &'a [usize],
    options: Vec<usize>,
}

impl Choose for Script<'_> {
    fn choose(&mut self, options: usize) -> usize {
        let chosen = self.given.get(self.options.len()).copied().unwrap_or(0);
        self.options.push(options);
        chosen
    }
}

/// A command on its way through the lazy device.
enum Sent {
    Write(Rc<Write>, bool),
    Trim(TrimId),
    /// For each sector, the time of the newest write it must make durable.
    Flush([Option<Time>; 2]),
}

/// Plays `schedule`, cuts with the choices in `given`; gives the sectors after it and the number
/// of options at each choice.
fn play(schedule: &[Event], given: &[usize]) -> ([Option<Value>; 2], Vec<usize>) {
    let medium = Memory::new(Sectors::new(2), Bytes::mib(1));
    let mut store = Store::new(Box::new(medium), Sectors::new(1));
    let mut sent = Vec::new();
    let mut submitted = Vec::new();
    // The newest completed write to each sector, by time of submission.
    let mut completed: [Option<Time>; 2] = [None; 2];
    for (step, event) in (1_u64..).zip(schedule) {
        let now = Time::from_ns(step);
        match *event {
            Event::Submit(symbol) => {
                let value = sent.len() as Value + 1;
                sent.push(submit(&mut store, now, symbol, value, completed));
                submitted.push((now, symbol));
            }
            Event::Complete(index) => {
                complete(&mut store, now, &sent[index]);
                let (at, symbol) = submitted[index];
                if let Symbol::Write { first, count, .. } = symbol {
                    for newest in &mut completed[first..first + count] {
                        *newest = (*newest).max(Some(at));
                    }
                }
            }
        }
    }
    let mut script = Script { given, options: Vec::new() };
    store.cut(&mut script, |_, _| None).unwrap();
    let mut data = [0; 1024];
    store.read(Lba::ZERO, &mut data).unwrap();
    ([value_of(&data[..512]), value_of(&data[512..])], script.options)
}

fn submit(
    store: &mut Store,
    now: Time,
    symbol: Symbol,
    value: Value,
    done: [Option<Time>; 2],
) -> Sent {
    let lba = |first: usize| Lba::new(first as u64);
    match symbol {
        Symbol::Write { first, count, fua } => {
            let data = Data::Bytes(stamp(value).repeat(count).into_boxed_slice());
            Sent::Write(store.begin_write(now, lba(first), data).unwrap(), fua)
        }
        Symbol::Trim { first, count } => {
            Sent::Trim(store.begin_trim(lba(first), Sectors::new(count as u64)).unwrap())
        }
        Symbol::Flush => Sent::Flush(done),
    }
}

fn complete(store: &mut Store, now: Time, sent: &Sent) {
    match sent {
        Sent::Write(write, fua) => store.complete(write, *fua).unwrap(),
        Sent::Trim(trim) => store.complete_trim(*trim).unwrap(),
        Sent::Flush(promised) => {
            for (sector, taken) in promised.iter().enumerate() {
                let Some(taken) = *taken else { continue };
                let lba = Lba::new(sector as u64);
                let record = Destaged { lba, sectors: Sectors::new(1), taken, at: now };
                store.destaged(&record).unwrap();
            }
            // A lazy device drops cached data for no trim that is on its way: nothing else to do.
        }
    }
}

/// Every pair of sectors that some choice of the cut leaves.
fn reachable(schedule: &[Event]) -> BTreeSet<[Option<Value>; 2]> {
    let mut found = BTreeSet::new();
    let mut given = Vec::new();
    loop {
        let (sectors, options) = play(schedule, &given);
        found.insert(sectors);
        // The next combination, counted like a number whose digits have different bases.
        given.resize(options.len(), 0);
        loop {
            let Some(last) = given.pop() else { return found };
            if last + 1 < options[given.len()] {
                given.push(last + 1);
                break;
            }
        }
    }
}

/// Every pair of sectors that the oracle allows.
fn legal(schedule: &[Event]) -> BTreeSet<[Option<Value>; 2]> {
    let mut oracle = Oracle::new(2);
    let mut submitted = 0;
    for event in schedule {
        match *event {
            Event::Submit(symbol) => {
                submitted += 1;
                let (kind, sectors) = match symbol {
                    Symbol::Write { first, count, fua } => {
                        (Kind::Put { value: submitted, durable: fua }, first..first + count)
                    }
                    Symbol::Trim { first, count } => {
                        (Kind::Put { value: 0, durable: true }, first..first + count)
                    }
                    Symbol::Flush => (Kind::Flush, 0..0),
                };
                oracle.submitted(submitted, kind, sectors);
            }
            Event::Complete(index) => oracle.completed(index as u64 + 1),
        }
    }
    let second = oracle.survivors(1);
    let pairs = oracle.survivors(0).into_iter().flat_map(|zero| {
        second.iter().map(move |one| [Some(zero), Some(*one)]).collect::<Vec<_>>()
    });
    pairs.collect()
}

/// Plays every schedule of `left` more commands with at most `in_flight` on their way.
struct Search {
    alphabet: &'static [Symbol],
    in_flight: usize,
    schedules: u64,
    states: u64,
}

impl Search {
    fn run(&mut self, schedule: &mut Vec<Event>, open: &mut Vec<usize>, sent: usize, left: usize) {
        self.check(schedule);
        for place in 0..open.len() {
            let index = open.remove(place);
            schedule.push(Event::Complete(index));
            self.run(schedule, open, sent, left);
            schedule.pop();
            open.insert(place, index);
        }
        // What completes last before nothing else happens was seen above; go on with a command.
        if left == 0 || open.len() == self.in_flight {
            return;
        }
        for symbol in self.alphabet {
            schedule.push(Event::Submit(*symbol));
            open.push(sent);
            self.run(schedule, open, sent + 1, left - 1);
            open.pop();
            schedule.pop();
        }
    }

    fn check(&mut self, schedule: &[Event]) {
        let (reached, legal) = (reachable(schedule), legal(schedule));
        let illegal: Vec<_> = reached.difference(&legal).collect();
        assert!(illegal.is_empty(), "{schedule:?} leaves {illegal:?}, legal are {legal:?}");
        let missing: Vec<_> = legal.difference(&reached).collect();
        assert!(missing.is_empty(), "{schedule:?} never leaves {missing:?}");
        self.schedules += 1;
        self.states += legal.len() as u64;
    }
}

fn check(
    alphabet: &'static [Symbol],
    commands: usize,
    in_flight: usize,
    schedules: u64,
    states: u64,
) {
    let mut search = Search { alphabet, in_flight, schedules: 0, states: 0 };
    search.run(&mut Vec::new(), &mut Vec::new(), 0, commands);
    assert_eq!((search.schedules, search.states), (schedules, states));
}

#[test]
fn three_commands_of_every_kind_in_every_order_reach_all_that_is_legal() {
    check(&[W0, W1, BOTH, FUA, T0, T, F], 3, 3, 13_049, 45_134);
}

#[test]
fn four_commands_in_every_order_reach_all_that_is_legal() {
    check(&[W0, BOTH, FUA, T0, F], 4, 4, 171_061, 741_790);
}

#[test]
fn five_commands_two_at_a_time_reach_all_that_is_legal() {
    check(&[W0, BOTH, FUA, F], 5, 2, 211_129, 1_197_582);
}
