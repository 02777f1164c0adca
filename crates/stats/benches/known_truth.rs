//! The full known-truth grid, printed as Markdown: `cargo bench -p drivelab-stats --bench
//! known_truth`. Not a measurement of time.

#[expect(dead_code, reason = "simulated drives have a table of their own")]
#[path = "../tests/truth/mod.rs"]
mod truth;

use std::io::{self, Write};
use std::process::ExitCode;

use truth::boots::{Boots, Reboots};
use truth::drift::Drift;
use truth::experiment::{Cell, MARGIN, RUN_SD, randomised_blocks};
use truth::family::{self, FamilyRates, Metrics};
use truth::noise::Noise;
use truth::rates::{Rates, judge, measure, rates_of, violations};

/// Experiments per cell: a share of 5 % is then known to 1.5 points (three standard errors).
const EXPERIMENTS: u32 = 2_000;
/// Families of 98 metrics: 5 % is then known to 2.1 points.
const FAMILIES: u32 = 1_000;
/// Experiments with reboots: 5 % is then known to 0.5 points.
const BOOTED: u32 = 20_000;
const SEED: u64 = 20_250;
/// True effects: none, half the minimum effect, the minimum effect, twice that, and large.
const EFFECTS: [f64; 5] = [0.0, 0.5 * MARGIN, MARGIN, 2.0 * MARGIN, 0.10];
/// Numbers of blocks.
const BLOCKS: [usize; 4] = [6, 10, 20, 40];

fn main() -> io::Result<ExitCode> {
    let mut out = io::stdout().lock();
    let mut broken = Vec::new();
    // `-- --short` leaves the grid out, which takes most of the time.
    let short = std::env::args().any(|argument| argument == "--short");
    if !short {
        broken.extend(grid(&mut out)?);
    }
    broken.extend(families(&mut out)?);
    broken.extend(at_the_margin(&mut out)?);
    broken.extend(reboots(&mut out)?);
    writeln!(out, "## Limits\n\nCells beyond a limit: {}.\n", broken.len())?;
    for line in &broken {
        writeln!(out, "- {line}")?;
    }
    Ok(if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the limits that cells of the grid break.
fn grid(out: &mut impl Write) -> io::Result<Vec<String>> {
    let mut broken = Vec::new();
    let mut results = Vec::new();
    for (seed, cell) in (SEED..).zip(cells()) {
        let rates = measure(&cell, EXPERIMENTS, seed, randomised_blocks, judge);
        broken.extend(violations(&cell, &rates));
        results.push((cell, rates));
    }
    broken.extend(pooled_coverage(&results));
    let count = results.len();
    writeln!(out, "{count} cells of {EXPERIMENTS} experiments, seeds from {SEED}.\n")?;
    errors(out, &results)?;
    power(out, &results)?;
    Ok(broken)
}

/// Returns all 1,200 cells.
fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for noise in Noise::ALL {
        for drift in Drift::ALL {
            for unequal in [false, true] {
                for blocks in BLOCKS {
                    for effect in EFFECTS {
                        cells.push(Cell { effect, noise, drift, unequal, blocks, run_sd: RUN_SD });
                    }
                }
            }
        }
    }
    cells
}

type Results = [(Cell, Rates)];

/// One line per circumstances: the errors at every number of blocks.
fn errors(out: &mut impl Write, results: &Results) -> io::Result<()> {
    writeln!(out, "## Errors\n")?;
    writeln!(out, "Shares in percent at 6 / 10 / 20 / 40 blocks.\n")?;
    writeln!(
        out,
        "| noise | drift | spread of B | difference claimed at 0 | material at the margin | \
         equivalent at the margin | interval covers truth (all effects) |\n\
         |---|---|---|---|---|---|---|"
    )?;
    for group in results.chunks(BLOCKS.len() * EFFECTS.len()) {
        let cell = group[0].0;
        let at = |effect: f64, count: fn(&Rates) -> u32| {
            columns(group, |c| (c.effect - effect).abs() < 1e-9, count)
        };
        writeln!(
            out,
            "| {:?} | {:?} | {} | {} | {} | {} | {} |",
            cell.noise,
            cell.drift,
            if cell.unequal { "double" } else { "same" },
            at(EFFECTS[0], |r| r.difference),
            at(EFFECTS[2], |r| r.material),
            at(EFFECTS[2], |r| r.equivalent),
            columns(group, |_| true, |r| r.covered),
        )?;
    }
    writeln!(out)
}

/// Any false alarm among twelve correlated metrics.
fn families(out: &mut impl Write) -> io::Result<Option<String>> {
    let share = |adjust| family::any_false_alarm(EXPERIMENTS, adjust);
    let (none, holm, max_t) =
        (share(family::unadjusted), share(family::holm), share(family::max_t));
    writeln!(out, "## Families\n")?;
    writeln!(
        out,
        "Twelve correlated metrics, ten blocks, no difference: share of families with any"
    )?;
    writeln!(out, "p of at most 5 %.\n")?;
    writeln!(out, "| unadjusted | Holm | max-T |\n|---|---|---|")?;
    writeln!(out, "| {none:.1} | {holm:.1} | {max_t:.1} |\n")?;
    // 5 % and three standard errors at 2,000 families.
    let broken = holm.max(max_t) > 6.5;
    Ok(broken.then(|| "any false alarm in a family above 5 %".to_owned()))
}

/// Everything wrong among 98 metrics whose true effect is the margin.
fn at_the_margin(out: &mut impl Write) -> io::Result<Vec<String>> {
    writeln!(out, "## Families at the margin\n")?;
    writeln!(out, "98 metrics, each with a true effect of exactly the margin, judged together:")?;
    writeln!(out, "share in percent of {FAMILIES} families with anything wrong.\n")?;
    writeln!(
        out,
        "| blocks | correlation | any \"faster\" | any \"no practical difference\" | any interval \
         of the family misses | faster at twice the margin, share of metrics |\n\
         |---|---|---|---|---|---|"
    )?;
    let mut broken = Vec::new();
    // 5 % and three standard errors.
    let limit = 5.0 + 300.0 * (0.05 * 0.95 / f64::from(FAMILIES)).sqrt();
    for blocks in [6, 10, 20] {
        for correlation in [0.0, 0.5, 0.9] {
            let it = Metrics {
                count: 98,
                blocks,
                truth: libm::log1p(MARGIN),
                correlation,
                sd: 0.01,
                more_blocks: 0,
            };
            let rates = it.measure(FAMILIES, SEED);
            let twice = Metrics { truth: libm::log1p(2.0 * MARGIN), ..it }.measure(100, SEED).found;
            let FamilyRates { faster, equivalent, missed, .. } = rates;
            writeln!(
                out,
                "| {blocks} | {correlation} | {faster:.1} | {equivalent:.1} | {missed:.1} \
                 | {twice:.0} |"
            )?;
            if faster.max(equivalent).max(missed) > limit {
                broken.push(format!("{rates:?}: {it:?}"));
            }
        }
    }
    writeln!(out)?;
    Ok(broken)
}

/// Arms that take a reboot, without a true difference.
fn reboots(out: &mut impl Write) -> io::Result<Vec<String>> {
    writeln!(out, "## Reboots\n")?;
    writeln!(out, "Six blocks, laid out A B, B A, ..., run-to-run deviation 1 %, no difference:")?;
    writeln!(
        out,
        "share in percent of {BOOTED} experiments. Shared boots are the layout that fails.\n"
    )?;
    writeln!(
        out,
        "| boots | boot-to-boot deviation, % | difference claimed | beyond the margin | interval \
         covers |\n|---|---|---|---|---|"
    )?;
    let mut broken = Vec::new();
    for boots in [Boots::Own, Boots::Shared] {
        for boot_sd in [0.01, 0.03, 0.10] {
            let it = Reboots { boots, blocks: 6, repeats: 1, boot_sd, run_sd: 0.01, truth: 0.0 };
            let rates = rates_of(BOOTED, SEED, it.truth, |random| it.experiment(random));
            let percent = |count| rates.percent(count);
            writeln!(
                out,
                "| {boots:?} | {:.0} | {:.1} | {:.1} | {:.1} |",
                100.0 * boot_sd,
                percent(rates.difference),
                percent(rates.material),
                percent(rates.covered)
            )?;
            if boots == Boots::Own && rates.has_false_alarms() {
                broken.push(format!("{rates:?}: {it:?}"));
            }
        }
    }
    writeln!(out)?;
    Ok(broken)
}

/// Coverage does not depend on the effect: all effects together make the margin small enough to
/// hold the limits of 93 to 97 % without one.
fn pooled_coverage(results: &Results) -> Vec<String> {
    let mut broken = Vec::new();
    for group in results.chunks(EFFECTS.len()) {
        let (covered, all) =
            group.iter().fold((0, 0), |(c, n), (_, r)| (c + r.covered, n + r.experiments));
        let percent = 100.0 * f64::from(covered) / f64::from(all);
        if !(93.0..=97.0).contains(&percent) {
            broken.push(format!("interval covers {percent:.1} %: {:?}, all effects", group[0].0));
        }
    }
    broken
}

/// Returns a share for each number of blocks, over the cells chosen.
fn columns(results: &Results, choose: impl Fn(&Cell) -> bool, count: fn(&Rates) -> u32) -> String {
    let share = |blocks: usize| {
        let chosen = results.iter().filter(|(c, _)| c.blocks == blocks && choose(c));
        let (hits, all) = chosen.fold((0, 0), |(h, n), (_, r)| (h + count(r), n + r.experiments));
        format!("{:.1}", 100.0 * f64::from(hits) / f64::from(all))
    };
    BLOCKS.map(share).join(" / ")
}

/// One line per noise and effect, without drift and with equal spread.
fn power(out: &mut impl Write, results: &Results) -> io::Result<()> {
    writeln!(out, "## Power\n")?;
    writeln!(out, "Run-to-run deviation 3 %, minimum effect 3 %, no drift, equal spread.\n")?;
    writeln!(
        out,
        "| noise | true effect, % | difference claimed | faster claimed | equivalence claimed |\n\
         |---|---|---|---|---|"
    )?;
    for noise in Noise::ALL {
        for effect in EFFECTS {
            let chosen = |c: &Cell| {
                c.noise == noise
                    && c.drift == Drift::None
                    && !c.unequal
                    && (c.effect - effect).abs() < 1e-9
            };
            writeln!(
                out,
                "| {noise:?} | {:.1} | {} | {} | {} |",
                100.0 * effect,
                columns(results, chosen, |r| r.difference),
                columns(results, chosen, |r| r.material),
                columns(results, chosen, |r| r.equivalent),
            )?;
        }
    }
    writeln!(out)
}
