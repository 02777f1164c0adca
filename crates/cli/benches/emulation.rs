//! The emulation error: a modelled drive in virtual time, and the same served and read in real
//! time.
//!
//! `cargo bench -p drivelab --bench emulation -- [SECONDS [SPIN [DRIVE]]]`: seconds for each
//! arm and depth. The arms and the load loop are those of the conformance tests, and all arms make
//! the same requests, so that no error comes from other addresses. The first line says how late
//! this host wakes a sleeper; an arm whose server was later than its bound is marked void.
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on has failed")]

#[path = "../tests/conformance/mod.rs"]
#[expect(dead_code, reason = "the tests use the rest")]
mod conformance;

use std::io::Write as _;

use conformance::{Arm as _, Client, Kind, Mounted, Served, VirtualTime, random_reads};
use drivelab_core::record::Tally;
use drivelab_core::workload::Workload;
use drivelab_core::{Bytes, Ratio, Span};
use drivelab_serve::server::{Spin, Summary, least_answer_time};

const DISK: &str = "seagate-st31000333as";
/// Of a drive that has as much.
const REGION: Bytes = Bytes::gib(900);
/// Requests in virtual time that show how many a second are to be asked for.
const PROBE: u64 = 2_000;
const SEED: u64 = 5;

/// Other seeds, in virtual time: how far two runs of so many requests lie apart by chance.
const OTHERS: u64 = 20;

/// What is compared.
#[derive(Debug, Clone, Copy)]
struct Figures {
    iops: f64,
    p50_us: f64,
    p99_us: f64,
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn figures(tally: &Tally) -> Figures {
    let quantile = |percent| {
        let found = tally.lat().quantile(Ratio::percent(percent)).expect("there were requests");
        found.ns() as f64 / 1e3
    };
    let iops = tally.ios() as f64 * 1e9 / tally.elapsed.ns() as f64;
    Figures { iops, p50_us: quantile(50), p99_us: quantile(99) }
}

fn say(words: &str) {
    writeln!(std::io::stdout(), "{words}").expect("somebody reads it");
}

fn line(arm: &str, it: Figures, model: Option<Figures>, summary: Option<&Summary>) {
    let Figures { iops, p50_us, p99_us } = it;
    let mut text = format!("{arm:22} {iops:9.2} {p50_us:10.0} {p99_us:10.0}");
    if let Some(model) = model {
        for (is, was) in [(iops, model.iops), (p50_us, model.p50_us), (p99_us, model.p99_us)] {
            text.push_str(&format!(" {:+7.2}%", (is / was - 1.0) * 100.0));
        }
    }
    if let Some(summary) = summary {
        let lateness = summary.stats.served.lateness_ns;
        let us = |ns: Option<u64>| ns.unwrap_or(0) / 1000;
        text.push_str(&format!(" {:6} {:6}", us(lateness.p50), us(lateness.p99)));
        text.push_str(if summary.stats.served.valid { "" } else { "  VOID" });
        text.push_str(if summary.stats.served.scheduling == "fifo" {
            ""
        } else {
            "  (no SCHED_FIFO)"
        });
    }
    say(&text);
}

/// Twice the standard deviation of each figure over other seeds, in per cent.
fn chance(kind: &Kind, workload: &Workload, of: Figures) -> String {
    let others: Vec<Figures> = (0..OTHERS)
        .map(|other| figures(&VirtualTime::new(kind.build(1)).load(workload, SEED + 1 + other)))
        .collect();
    let spread = |pick: fn(&Figures) -> f64| {
        let n = f64::from(u32::try_from(OTHERS).expect("a few"));
        let mean = others.iter().map(pick).sum::<f64>() / n;
        let square = others.iter().map(|it| (pick(it) - mean).powi(2)).sum::<f64>() / (n - 1.0);
        200.0 * square.sqrt() / pick(&of)
    };
    let (iops, p50, p99) = (spread(|it| it.iops), spread(|it| it.p50_us), spread(|it| it.p99_us));
    format!("{:22} {:31}  +-{iops:5.2}% +-{p50:5.2}% +-{p99:5.2}%", "  other addresses", "")
}

fn drive(kind: &Kind, depth: u32, seconds: u64, spin: Spin) {
    let region = REGION.min(kind.device(1).capacity().bytes());
    let in_virtual_time = |number| {
        let workload = random_reads(depth, region, number);
        let tally = VirtualTime::new(kind.build(1)).load(&workload, SEED);
        (workload, tally)
    };
    let (_, probe) = in_virtual_time(PROBE);
    let (workload, tally) =
        in_virtual_time(PROBE * seconds * 1_000_000_000 / probe.elapsed.ns().max(1));
    let model = figures(&tally);
    line(&format!("depth {depth}, virtual time"), model, None, None);
    let served = Served::start(kind, 1, Some(spin));
    let tally = Client::connect(served.nbd()).load(&workload, SEED);
    line(&format!("depth {depth}, NBD"), figures(&tally), Some(model), Some(&served.stop()));
    if Mounted::is_possible().is_ok() {
        let mut mounted = Mounted::start_with(kind, 1, Some(spin));
        let tally = mounted.load(&workload, SEED);
        line(&format!("depth {depth}, FUSE"), figures(&tally), Some(model), Some(&mounted.stop()));
    }
    say(&chance(kind, &workload, model));
}

/// What the way to the drive takes: a drive that takes no time, and one that takes 10 ms.
fn transport(depth: u32, seconds: u64, spin: Spin) {
    for (name, kind, number) in [
        ("null", Kind::Null, seconds * 1000),
        ("10 ms", Kind::fixed("10ms"), seconds * 90 * u64::from(depth)),
    ] {
        let served = Served::start(&kind, 1, Some(spin));
        let workload = random_reads(depth, Bytes::mib(512), number);
        let tally = Client::connect(served.nbd()).load(&workload, SEED);
        let summary = served.stop();
        line(&format!("depth {depth}, {name}, NBD"), figures(&tally), None, Some(&summary));
        if Mounted::is_possible().is_ok() {
            let mut mounted = Mounted::start_with(&kind, 1, Some(spin));
            let tally = mounted.load(&workload, SEED);
            let summary = mounted.stop();
            line(&format!("depth {depth}, {name}, FUSE"), figures(&tally), None, Some(&summary));
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|it| it != "--bench").collect();
    let seconds = arguments.first().map_or(30, |text| text.parse().expect("SECONDS"));
    let spin = arguments.get(1).map_or(Spin::Auto, |text| text.parse().expect("auto or a SPAN"));
    let wanted = arguments.get(2).map_or(DISK, String::as_str);
    let names = drivelab_model::profile::names();
    let name = names.into_iter().find(|name| *name == wanted).expect("a drive of `drive list`");
    let floor: Span = least_answer_time(Spin::Auto, Span::ZERO).expect("the host has timers");
    say(&format!("nine wake-ups of ten are later than their moment by at most {floor}"));
    let head = "     IOPS     p50 us     p99 us     IOPS      p50      p99   late us: p50, p99";
    say(&format!("{:22} {head}", "arm"));
    for depth in [1, 32] {
        drive(&Kind::Named(name), depth, seconds, spin);
        transport(depth, (seconds / 4).max(1), spin);
    }
}
