//! How often `explain` finds a cause that is known, printed as Markdown: `cargo bench -p
//! drivelab-simulate --bench known_causes -- [CASES [SEED]]`; with `tune` on the drives and seeds
//! on which the rules were found, with `all` with a line for each case. Not a measurement of time.

#![expect(clippy::unwrap_used, reason = "a case that cannot be drawn is a bug of the table")]

#[path = "../tests/truth/mod.rs"]
mod truth;

use std::io::{self, Write};

use drivelab_core::numbers::float;
use drivelab_simulate::explain::Cache;
use truth::{Decided, Truth, bins, calibration_error, decide, shares};

/// Drives that are simulated for each cause, as `explain` does without options.
const SPECIMENS: u32 = 24;

/// The drives of the table; each is as it should be but for the cause.
const DRIVES: [&str; 3] = [
    "seagate-st250dm000,controller=ahci,tags=31,scheduler=deadline",
    "seagate-st2000dm006,controller=ahci,tags=31,scheduler=deadline",
    "hitachi-hts542516k9sa00,controller=ahci,tags=31,scheduler=deadline",
];
/// Those on which the rules were found, with a seed apart.
const TUNED: [&str; 2] = [
    "seagate-st31000333as,controller=ahci,tags=31,scheduler=deadline",
    "generic-5400,controller=ahci,tags=31,scheduler=deadline",
];

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| words.iter().any(|it| it == word);
    let numbers: Vec<u64> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let (drives, seed) = if has("tune") { (&TUNED[..], 41) } else { (&DRIVES[..], 90_001) };
    let cases = numbers.first().copied().unwrap_or(300);
    let seed = numbers.get(1).copied().unwrap_or(seed);
    let mut out = io::stdout().lock();
    let cache = Cache::default();
    let each = cases / drives.len() as u64;
    let all: Vec<Decided> = (0..)
        .zip(drives)
        .flat_map(|(number, drive)| decide(drive, each, seed + number, SPECIMENS, &cache))
        .collect();
    if has("all") {
        for it in &all {
            let mark = if it.right { "right" } else { "WRONG" };
            writeln!(out, "{mark} {:.2} {} {:?} -> {}", it.first, it.visible, it.truth, it.said)?;
        }
    }
    table(&all, seed, &mut out)
}

/// A kind of case, and its test.
type KindOfCase = (&'static str, fn(&Decided) -> bool);

/// The rows of the table.
const KINDS: [KindOfCase; 8] = [
    ("one cause, visible", |it| causes(it) == 1 && it.visible),
    ("of these, answered", |it| causes(it) == 1 && it.visible && it.is_answered()),
    ("two causes, visible", |it| causes(it) == 2 && it.visible),
    ("causes, not visible", |it| causes(it) > 0 && !it.visible),
    ("outside the library, visible", |it| it.truth == Truth::Outside && it.visible),
    ("outside the library, not visible", |it| it.truth == Truth::Outside && !it.visible),
    ("chance", |it| it.truth == Truth::Chance),
    ("all that are answered", Decided::is_answered),
];

fn causes(case: &Decided) -> usize {
    if let Truth::Causes(causes) = &case.truth { causes.len() } else { 0 }
}

fn table(all: &[Decided], seed: u64, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{} cases, seed {seed}, {SPECIMENS} specimens.\n", all.len())?;
    writeln!(out, "| truth | cases | first is right | expected | one of the first three |")?;
    writeln!(out, "|---|---:|---:|---:|---:|")?;
    for (name, is_kind) in KINDS {
        let of_kind: Vec<&Decided> = all.iter().filter(|it| is_kind(it)).collect();
        let (right, first) = shares(&of_kind);
        let n = of_kind.len();
        let near = of_kind.iter().filter(|it| it.near).count();
        let near = float(near as u64) / float(n.max(1) as u64);
        let [right, first, near] = [right, first, near].map(|it| 100.0 * it);
        writeln!(out, "| {name} | {n} | {right:.0} % | {first:.0} % | {near:.0} % |")?;
    }
    let every: Vec<&Decided> = all.iter().collect();
    let (right, first) = shares(&every);
    let [right, first] = [right, first].map(|it| 100.0 * it);
    writeln!(out, "| all | {} | {right:.0} % | {first:.0} % | |", all.len())?;
    writeln!(out, "\n| probability of the first | cases | first is right |\n|---:|---:|---:|")?;
    for bin in bins(&every).iter().filter(|bin| !bin.is_empty()) {
        let (right, first) = shares(bin);
        writeln!(out, "| {:.0} % | {} | {:.0} % |", 100.0 * first, bin.len(), 100.0 * right)?;
    }
    writeln!(out, "\nExpected calibration error: {:.1} %", 100.0 * calibration_error(&every))
}
