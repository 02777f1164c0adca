//! How often `explain` finds a cause that is known, printed as Markdown: `cargo bench -p
//! drivelab-lab --bench known_causes -- [CASES [SEED]]`. Not a measurement of time.

#[path = "../tests/truth/mod.rs"]
mod truth;

use std::io::{self, Write};

use drivelab_lab::explain::Cache;
use truth::{DRIVES, Decided, Truth, bins, calibration_error, decide, shares};

/// Drives that are simulated for each cause, as `explain` does without options.
const SPECIMENS: u32 = 24;

fn main() -> io::Result<()> {
    let numbers = std::env::args().filter_map(|word| word.parse::<u64>().ok()).collect::<Vec<_>>();
    let cases = numbers.first().copied().unwrap_or(300);
    let seed = numbers.get(1).copied().unwrap_or(777);
    let mut out = io::stdout().lock();
    let cache = Cache::default();
    let each = cases / DRIVES.len() as u64;
    let all: Vec<Decided> = (0..)
        .zip(DRIVES)
        .flat_map(|(number, drive)| decide(drive, each, seed + number, SPECIMENS, &cache))
        .collect();
    writeln!(out, "{} cases, seed {seed}, {SPECIMENS} specimens.\n", all.len())?;
    writeln!(
        out,
        "| truth | cases | first is right | probability of the first |\n|---|---|---|---|"
    )?;
    let is_pair = |it: &Decided| matches!(&it.truth, Truth::Causes(causes) if causes.len() > 1);
    let is_one = |it: &Decided| matches!(&it.truth, Truth::Causes(causes) if causes.len() == 1);
    let kinds: [(&str, &dyn Fn(&Decided) -> bool); 5] = [
        ("one cause, visible", &|it| is_one(it) && it.visible),
        ("two causes, visible", &|it| is_pair(it) && it.visible),
        ("causes that no figure shows", &|it| (is_one(it) || is_pair(it)) && !it.visible),
        ("outside the library, visible", &|it| it.truth == Truth::Outside && it.visible),
        ("chance", &|it| it.truth == Truth::Chance),
    ];
    for (name, is_kind) in kinds {
        let of_kind: Vec<&Decided> = all.iter().filter(|it| is_kind(it)).collect();
        let (right, first) = shares(&of_kind);
        let n = of_kind.len();
        writeln!(out, "| {name} | {n} | {:.0} % | {:.0} % |", 100.0 * right, 100.0 * first)?;
    }
    writeln!(out, "\n| probability of the first | cases | first is right |\n|---|---|---|")?;
    // What no figure shows cannot be found, and is not among the hypotheses.
    let seen: Vec<&Decided> =
        all.iter().filter(|it| it.visible || it.truth == Truth::Chance).collect();
    for bin in bins(&seen).iter().filter(|bin| !bin.is_empty()) {
        let (right, first) = shares(bin);
        writeln!(out, "| {:.0} % | {} | {:.0} % |", 100.0 * first, bin.len(), 100.0 * right)?;
    }
    writeln!(out, "\nExpected calibration error: {:.1} %", 100.0 * calibration_error(&seen))
}
