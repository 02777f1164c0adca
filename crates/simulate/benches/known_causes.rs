//! How often `explain` finds a cause that is known, printed as Markdown: `cargo bench -p
//! drivelab-simulate --bench known_causes -- [CASES [SEED]]`; with `tune` on the drives and seeds
//! on which the rules were found, with `all` with a line for each case. Not a measurement of time.

#![expect(clippy::unwrap_used, reason = "a case that cannot be drawn is a bug of the table")]

#[path = "../tests/truth/mod.rs"]
mod truth;

use std::io::{self, Write};

use drivelab_analysis::explanation::Kind;
use drivelab_core::numbers::float;
use drivelab_simulate::explain::Cache;
use truth::{Decided, bins, calibration_error, decide, shares};

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

/// A row of the table: cases of a kind, or of all kinds, among some of all cases.
struct Row {
    name: &'static str,
    kind: Option<Kind>,
    among: fn(&Decided) -> bool,
}

/// The rows of the table.
const ROWS: [Row; 9] = [
    Row { name: "one cause, visible", kind: Some(Kind::Cause), among: is_visible },
    Row { name: "of these, answered", kind: Some(Kind::Cause), among: is_answered },
    Row { name: "one cause, not visible", kind: Some(Kind::Cause), among: is_hidden },
    Row { name: "two causes, visible", kind: Some(Kind::Two), among: is_visible },
    Row { name: "outside the library, visible", kind: Some(Kind::NoneOfThese), among: is_visible },
    Row { name: "of these, answered", kind: Some(Kind::NoneOfThese), among: is_answered },
    Row {
        name: "outside the library, not visible",
        kind: Some(Kind::NoneOfThese),
        among: is_hidden,
    },
    Row { name: "chance", kind: Some(Kind::Chance), among: |_| true },
    Row { name: "all that are answered", kind: None, among: Decided::is_answered },
];

fn is_visible(case: &Decided) -> bool {
    case.visible
}

fn is_hidden(case: &Decided) -> bool {
    !case.visible
}

fn is_answered(case: &Decided) -> bool {
    case.visible && case.is_answered()
}

/// The share of cases of a kind that would be right if all probabilities were exact: what the
/// confusion of causes leaves.
fn bound(cases: &[&Decided], kind: Option<Kind>) -> f64 {
    let is_of = |it: Kind| kind.is_none_or(|kind| kind == it);
    let all = cases.iter().flat_map(|case| &case.ranking).filter(|(it, _)| is_of(*it));
    let first = cases.iter().map(|case| case.ranking[0]).filter(|(it, _)| is_of(*it));
    let first: f64 = first.map(|(_, probability)| probability).sum();
    let all = kind.map_or(float(cases.len() as u64), |_| all.map(|(_, it)| it).sum());
    // The sum of none is a negative zero.
    (first / all.max(f64::MIN_POSITIVE)).max(0.0)
}

fn table(all: &[Decided], seed: u64, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{} cases, seed {seed}, {SPECIMENS} specimens.\n", all.len())?;
    writeln!(out, "| truth | cases | first is right | bound | one of the first three |")?;
    writeln!(out, "|---|---:|---:|---:|---:|")?;
    for Row { name, kind, among } in ROWS {
        let among: Vec<&Decided> = all.iter().filter(|it| among(it)).collect();
        let is_of = |it: &&Decided| kind.is_none_or(|kind| it.kind() == kind);
        let of_kind: Vec<&Decided> = among.iter().copied().filter(is_of).collect();
        let (right, _) = shares(&of_kind);
        let n = of_kind.len();
        let near = of_kind.iter().filter(|it| it.near).count();
        let near = float(near as u64) / float(n.max(1) as u64);
        let [right, bound, near] = [right, bound(&among, kind), near].map(|it| 100.0 * it);
        writeln!(out, "| {name} | {n} | {right:.0} % | {bound:.0} % | {near:.0} % |")?;
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
