//! The engine beside fio on the same file, in interleaved rounds.
//!
//! `cargo bench -p drivelab-engine --bench against_fio -- FILE [fio [CASE]]`; the file is laid
//! out with 1 GiB where it does not exist. For each case the medians over the rounds, and the
//! ratio of drivelab to fio within rounds, median and range: on a shared machine only that says
//! anything.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use drivelab_core::record::Stamp;
use drivelab_core::units::{Bytes, Span};
use drivelab_core::workload::{Rw, WorkloadOptions};
use drivelab_engine::{Control, IoEngine, RunPlan, run};

const ROUNDS: usize = 7;
const SECONDS: u64 = 3;
const SIZE: Bytes = Bytes::gib(1);

struct Case {
    name: &'static str,
    ioengine: IoEngine,
    direct: bool,
    bs: u64,
    iodepth: u32,
    /// Of the file; a small part is all in the page cache once the ramp is over.
    region: Bytes,
}

/// Long enough to read the region of a page cache case into it.
const RAMP_SECONDS: u64 = 1;

const CASES: [Case; 6] = [
    Case::new("disk 4k depth 1", IoEngine::IoUring, true, 4096, 1),
    Case::new("disk 4k depth 32", IoEngine::IoUring, true, 4096, 32),
    Case::new("disk 4k depth 128", IoEngine::IoUring, true, 4096, 128),
    Case::new("page cache 4k depth 1", IoEngine::IoUring, false, 4096, 1),
    Case::new("page cache 4k depth 128", IoEngine::IoUring, false, 4096, 128),
    Case::new("page cache 512 psync", IoEngine::Psync, false, 512, 1),
];

impl Case {
    const fn new(
        name: &'static str,
        ioengine: IoEngine,
        direct: bool,
        bs: u64,
        iodepth: u32,
    ) -> Self {
        let region = if direct { SIZE } else { Bytes::mib(16) };
        Self { name, ioengine, direct, bs, iodepth, region }
    }
}

/// One measurement of either.
#[derive(Clone, Copy)]
struct Figures {
    iops: f64,
    /// Mean latency from handing a request over to its completion.
    latency_us: f64,
    cpu_us: f64,
}

impl Figures {
    fn columns(self) -> [f64; 3] {
        [self.iops, self.latency_us, self.cpu_us]
    }
}

fn drivelab(case: &Case, file: &Path, seed: u64) -> Figures {
    let options = WorkloadOptions {
        rw: Some(Rw::RandRead),
        bs: Some(Bytes::new(case.bs)),
        iodepth: Some(case.iodepth),
        size: Some(case.region),
        runtime: Some(Span::from_secs(SECONDS)),
        ramp_time: Some(Span::from_secs(RAMP_SECONDS)),
        ..Default::default()
    };
    let plan = RunPlan {
        path: file.into(),
        workload: options.check().expect("the options are complete"),
        numjobs: 1,
        seed,
        ioengine: Some(case.ioengine),
        direct: case.direct,
        allow_overwrite: false,
        allow_destructive: Vec::new(),
        stamp: Stamp::Io,
        verify_state: None,
    };
    let stop = AtomicBool::new(false);
    let control = Control { stop: &stop, progress: &|_| {} };
    let outcome = run(&plan, &control).unwrap_or_else(|error| panic!("{error}"));
    let record = outcome.total.record();
    let nanoseconds = u32::try_from(record.service_ns.mean).expect("a mean below four seconds");
    Figures {
        iops: record.iops,
        latency_us: f64::from(nanoseconds) / 1e3,
        cpu_us: record.cpu_ns_per_io.expect("a real run has processor time") / 1e3,
    }
}

fn fio(program: &str, case: &Case, file: &Path, seed: u64) -> Figures {
    let output = Command::new(program)
        .args(["--name=x", "--rw=randread", "--time_based", "--minimal", "--terse-version=3"])
        .arg(format!("--filename={}", file.display()))
        .arg(format!("--ioengine={}", case.ioengine))
        // By default fio empties the cache anew each time it has read the region once.
        .arg(format!("--invalidate={}", u8::from(case.direct)))
        .arg(format!("--direct={}", u8::from(case.direct)))
        .arg(format!("--bs={}", case.bs))
        .arg(format!("--iodepth={}", case.iodepth))
        .arg(format!("--size={}", case.region.get()))
        .arg(format!("--ramp_time={RAMP_SECONDS}"))
        .arg(format!("--runtime={SECONDS}"))
        .arg(format!("--randseed={seed}"))
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let fields: Vec<&str> = text.trim().split(';').collect();
    let number = |index: usize| -> f64 {
        fields[index].trim_end_matches('%').parse().expect("a number in fio's terse output")
    };
    // Fields of terse version 3 in fio's HOWTO, "Terse output", counted from 0: 7 read IOPS, 39
    // mean total latency in us, 87 and 88 user and system processor share.
    let iops = number(7);
    Figures { iops, latency_us: number(39), cpu_us: (number(87) + number(88)) * 1e4 / iops }
}

fn median(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [values[values.len() / 2], values[0], values[values.len() - 1]]
}

fn compare(case: &Case, program: &str, file: &Path) -> String {
    let rounds: Vec<(Figures, Figures)> = (1..=ROUNDS as u64)
        .map(|seed| {
            // Who goes first changes from round to round.
            if seed.is_multiple_of(2) {
                let ours = drivelab(case, file, seed);
                (ours, fio(program, case, file, seed))
            } else {
                let theirs = fio(program, case, file, seed);
                (drivelab(case, file, seed), theirs)
            }
        })
        .collect();
    let mut lines = vec![case.name.to_owned()];
    for (column, name) in ["IOPS", "mean latency us", "CPU us per I/O"].iter().enumerate() {
        let figure = |figures: &Figures| figures.columns()[column];
        let [ours, ..] = median(rounds.iter().map(|(ours, _)| figure(ours)).collect());
        let [theirs, ..] = median(rounds.iter().map(|(_, theirs)| figure(theirs)).collect());
        let ratios = rounds.iter().map(|(ours, theirs)| figure(ours) / figure(theirs)).collect();
        let [ratio, least, most] = median(ratios);
        lines.push(format!(
            "  {name:<16} drivelab {ours:>10.2}  fio {theirs:>10.2}  ratio {ratio:.3} \
             ({least:.3} to {most:.3})"
        ));
    }
    lines.join("\n")
}

fn main() {
    let given: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let mut out = std::io::stdout();
    let Some(file) = given.first() else {
        writeln!(out, "give a file: cargo bench --bench against_fio -- FILE [fio [CASE]]")
            .expect("standard output takes a line");
        return;
    };
    let program = given.get(1).map_or("fio", String::as_str);
    let wanted = given.get(2).map_or("", String::as_str);
    for case in CASES.iter().filter(|case| case.name.contains(wanted)) {
        writeln!(out, "{}", compare(case, program, Path::new(file)))
            .expect("standard output takes a line");
    }
}
