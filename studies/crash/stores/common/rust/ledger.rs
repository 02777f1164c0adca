//! The ledger that every store of the crash table keeps, as in `../c/ledger.c`: numbered
//! transactions, whose bytes follow from their numbers, so that a check knows what must be there.

use std::fmt::Display;
use std::io::Write as _;
use std::path::Path;
use std::process::exit;
use std::time::Duration;
use std::{env, fs, panic, thread};

/// Exit codes of a check, as `drivelab crash` reads them.
const LOST: i32 = 1;
const CORRUPT: i32 = 2;
const USAGE: i32 = 64;
/// Transactions after which the writer closes the store and opens it again, as services do.
const SESSION: u32 = 75;
const PAUSE: Duration = Duration::from_millis(20);
const SLOTS: u32 = 8;
const VALUE_MAX: u64 = 3072;

/// How a store is used.
#[derive(Debug)]
pub struct Mode {
    /// Its name.
    pub name: &'static str,
    /// Nothing waits for the drive, so that virtual time passes only where the writer sleeps.
    pub sleeps: bool,
}

/// A key and its value.
pub type Put = (String, Vec<u8>);

/// A store; transactions are atomic, and none survives without those before it.
pub trait Store: Sized {
    /// The name of its crate.
    const NAME: &'static str;
    /// How it is used.
    const MODES: &'static [Mode];

    /// Opens the store, and makes it where there is none.
    fn open(folder: &Path, mode: &'static Mode) -> Self;
    /// Returns when the transaction is as durable as the mode makes it.
    fn commit(&mut self, puts: &[Put]);
    /// The value of a key.
    fn get(&self, key: &str) -> Option<Vec<u8>>;
    /// The store's own check.
    fn verify(&mut self) {}
}

/// What a store says, or the end of the program where it failed.
pub trait Must<T> {
    /// The value.
    fn must(self, what: &str) -> T;
}

impl<T, E: Display> Must<T> for Result<T, E> {
    fn must(self, what: &str) -> T {
        self.unwrap_or_else(|error| corrupt(&format!("{what}: {error}")))
    }
}

/// Ends the program: the store is unusable or damaged.
pub fn corrupt(reason: &str) -> ! {
    say(CORRUPT, reason)
}

fn say(code: i32, reason: &str) -> ! {
    println!("{}", reason.replace('\n', " "));
    exit(code)
}

/// xorshift64*: the same bytes for the same number, none of them compressible.
fn value_of(n: u32) -> Vec<u8> {
    let mut state = (u64::from(n) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut draw = || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    };
    let size = 64 + (draw() >> 32) % (VALUE_MAX - 64);
    let mut value = Vec::new();
    while (value.len() as u64) < size {
        value.extend(draw().to_le_bytes());
    }
    value.truncate(usize::try_from(size).expect("it is small"));
    value
}

fn record(n: u32) -> String {
    format!("record-{n:06}")
}

fn slot(n: u32) -> String {
    format!("slot-{}", n % SLOTS)
}

fn commit(store: &mut impl Store, n: u32) {
    let value = value_of(n);
    let newest = n.to_string().into_bytes();
    store.commit(&[(record(n), value.clone()), (slot(n), value), ("newest".into(), newest)]);
}

fn insert<S: Store>(mode: &'static Mode, folder: &Path, count: u32) {
    let mut store = S::open(folder, mode);
    for n in 1..=count {
        commit(&mut store, n);
        let mut out = std::io::stdout().lock();
        writeln!(out, "{n}").and_then(|()| out.flush()).must("print");
        if mode.sleeps {
            thread::sleep(PAUSE);
        }
        if n % SESSION == 0 && n < count {
            drop(store);
            store = S::open(folder, mode);
        }
    }
}

fn holds(store: &impl Store, key: &str, n: u32) -> bool {
    store.get(key) == Some(value_of(n))
}

fn check<S: Store>(mode: &'static Mode, folder: &Path, count: u32) {
    let lines = fs::read_to_string("/acknowledged").must("/acknowledged");
    let promised: u32 = lines.lines().filter_map(|line| line.parse().ok()).next_back().unwrap_or(0);
    let mut store = S::open(folder, mode);
    let is_there = |n: &u32| store.get(&record(*n)).is_some();
    let there: Vec<u32> = (1..=count).filter(is_there).collect();
    let newest = there.last().copied().unwrap_or(0);
    if let Some(n) = there.iter().find(|n| !holds(&store, &record(**n), **n)) {
        corrupt(&format!("record {n} is there with other bytes"));
    }
    if let Some(n) = (1..newest).find(|n| there.binary_search(n).is_err()) {
        corrupt(&format!("record {n} is missing, and {newest} is there"));
    }
    let slots = newest.saturating_sub(SLOTS - 1).max(1)..=newest;
    if let Some(n) = slots.into_iter().find(|n| !holds(&store, &slot(*n), *n)) {
        corrupt(&format!("slot {} does not hold transaction {n}", n % SLOTS));
    }
    let noted = store.get("newest").unwrap_or_else(|| b"0".to_vec());
    if noted != newest.to_string().into_bytes() {
        let noted = String::from_utf8_lossy(&noted);
        corrupt(&format!("transaction {newest} is the newest, and {noted} is noted"));
    }
    if newest < promised {
        say(LOST, &format!("{promised} was acknowledged, and {newest} is the newest"));
    }
    store.verify();
    // A store that can only be read is not whole.
    commit(&mut store, newest + 1);
    drop(store);
    if !holds(&S::open(folder, mode), &record(newest + 1), newest + 1) {
        corrupt("a new transaction is not kept");
    }
}

/// The version of a crate that is built in.
fn version(name: &str) -> &'static str {
    let lock = include_str!("../../Cargo.lock");
    let after = lock.split(&format!("name = \"{name}\"\nversion = \"")).nth(1);
    after.and_then(|rest| rest.split('"').next()).expect("the crate is a dependency")
}

/// The one program: VERB MODE FOLDER COUNT.
pub fn main<S: Store>() {
    panic::set_hook(Box::new(|panic| {
        let said = panic.payload_as_str().unwrap_or("without a word");
        corrupt(&format!("the library panicked: {said}"));
    }));
    let words: Vec<String> = env::args().collect();
    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let mode = |name: &str| S::MODES.iter().find(|mode| mode.name == name);
    match words[..] {
        ["version"] => println!("{} {}", S::NAME, version(S::NAME)),
        [verb, name, folder, count] if mode(name).is_some() && count.parse::<u32>().is_ok() => {
            let (mode, folder) = (mode(name).expect("it was found"), Path::new(folder));
            let count = count.parse().expect("it was read");
            match verb {
                "create" => drop(S::open(folder, mode)),
                "insert" => insert::<S>(mode, folder, count),
                "check" => check::<S>(mode, folder, count),
                _ => exit(USAGE),
            }
        }
        _ => {
            eprintln!("usage: create|insert|check MODE FOLDER COUNT");
            exit(USAGE);
        }
    }
}
