//! An experiment of known truth for tests: it looks like `ahci-or-ide`, made up from a seed.

use drivelab_analysis::study::{ArmInfo, CurvePoint, Experiment, RunSample, WorkloadInfo};
use drivelab_core::StageName;
use drivelab_core::histogram::Histogram;
use drivelab_core::outline::Risk;
use drivelab_core::plan::{Design, Plan};
use drivelab_core::question::ContrastInfo;
use drivelab_core::record::{Better, Figure};
use drivelab_core::rng::Rng;
use drivelab_core::units::Span;

/// Arm, summary, settings that differ: controller, requests in flight at the drive, `nr_requests`.
const ARMS: [(&str, &str, [&str; 3]); 4] = [
    ("ide", "IDE mode: one command at a time.", ["ide", "1", "2"]),
    ("ide-elevator", "IDE mode, with a longer queue in the kernel.", ["ide", "1", "128"]),
    ("ahci-no-ncq", "AHCI mode with the drive's queue turned off.", ["ahci", "1", "128"]),
    ("ahci-ncq", "AHCI mode, 32 commands queued in the drive.", ["ahci", "32", "128"]),
];

/// Workload, summary, headline, depth, IOPS in each arm, bytes a request.
type Row = (&'static str, &'static str, &'static str, f64, [f64; 4], f64);
const WORKLOADS: [Row; 7] = [
    ("seq-read", "sequential 1M reads", "bytes_per_s", 1.0, [97.0, 97.0, 97.1, 97.3], 1e6),
    ("seq-write", "sequential 1M writes", "bytes_per_s", 1.0, [95.0, 95.0, 95.1, 99.0], 1e6),
    ("random-read-1", "random 4k reads, one at a time", "iops", 1.0, [76.0; 4], 4096.0),
    (
        "random-read-32",
        "random 4k reads, 32 outstanding",
        "iops",
        32.0,
        [76.2, 92.0, 92.3, 131.0],
        4096.0,
    ),
    ("random-write-on", "random 4k writes, drive cache on", "iops", 1.0, [140.0; 4], 4096.0),
    (
        "random-write-off",
        "random 4k writes, drive cache off",
        "iops",
        1.0,
        [68.0, 68.0, 68.0, 64.0],
        4096.0,
    ),
    (
        "mix-32",
        "half reads and half writes, 32 outstanding",
        "iops",
        32.0,
        [80.0, 99.0, 99.0, 104.0],
        4096.0,
    ),
];

/// The experiment with `blocks` blocks.
pub(crate) fn experiment(seed: u64, blocks: u32) -> Experiment {
    let plan = Plan::new(Design::Interleaved, ARMS.len(), blocks, seed);
    let mut rng = Rng::for_part(seed, 1);
    let mut runs = Vec::new();
    for step in &plan.steps {
        for workload in 0..WORKLOADS.len() {
            let place = (step.block, step.repeat, step.position);
            runs.push(run(step.arm, workload, place, &mut rng));
        }
    }
    Experiment {
        title: "Is it worth enabling AHCI?".to_owned(),
        article: None,
        scale: None,
        stage: StageName::Simulate,
        seed,
        blocks,
        design: Design::Interleaved,
        primary: "random-read-32.iops".to_owned(),
        margin: 0.03,
        arms: ARMS.iter().map(arm).collect(),
        candidate: None,
        workloads: WORKLOADS.iter().map(workload).collect(),
        contrasts: vec![
            contrast("the host elevator", 0, 1),
            contrast("the drive's own queue (NCQ)", 2, 3),
        ],
        interactions: Vec::new(),
        findings: Vec::new(),
        asks_gain: true,
        cells: None,
        runs,
        curves: curves(blocks, &mut rng),
        attached: drivelab_analysis::attachment::Question::default(),
        risks: vec![Risk {
            sentence: "the drive's write cache is on: what it has confirmed but not yet written, \
                       up to 32 MiB, is lost when power fails."
                .to_owned(),
            differs: true,
        }],
        notes: vec!["The drive is modelled (seagate-st31000333as); none was touched.".to_owned()],
        reproduce: format!("drivelab study ahci-or-ide --seed {seed} --blocks {blocks}"),
        settle: None,
    }
}

fn run(arm: usize, workload: usize, place: (u32, u32, u32), rng: &mut Rng) -> RunSample {
    let (.., depth, iops, bytes) = WORKLOADS[workload];
    let iops = iops[arm] * noise(rng, 0.01);
    let mean_ns = depth * 1e9 / iops;
    let mut latency = Histogram::new();
    let spread = if depth > 1.0 { 1.6 } else { 0.5 };
    (0..2000).for_each(|_| latency.record(span(mean_ns * skewed(rng, spread))));
    let metric = |name: &str, value, better| Figure::new(name, value, better);
    let (block, repeat, position) = place;
    let metrics = vec![
        metric("iops", iops, Better::More),
        metric("bytes_per_s", iops * bytes, Better::More),
        metric("lat_mean_ns", mean_ns, Better::Less),
        metric("lat_p99_ns", mean_ns * (1.0 + spread) * noise(rng, 0.04), Better::Less),
    ];
    RunSample {
        arm,
        workload,
        block,
        repeat,
        position,
        metrics,
        latency,
        marks: Vec::new(),
        flaws: Vec::new(),
        target: ARMS[arm].0.to_owned(),
        specimen: None,
        hosts: Vec::new(),
        start_skew: None,
    }
}

fn noise(rng: &mut Rng, size: f64) -> f64 {
    1.0 + size * (rng.unit() + rng.unit() + rng.unit() - 1.5)
}

/// Mean about one, longer to the right the larger `spread`.
fn skewed(rng: &mut Rng, spread: f64) -> f64 {
    let uniform = rng.unit();
    0.3 + 0.7 * libm::exp(spread * (uniform - 0.5) * 2.0) * 0.9
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "test data")]
fn span(ns: f64) -> Span {
    Span::from_ns(ns as u64)
}

fn curves(blocks: u32, rng: &mut Rng) -> Vec<CurvePoint> {
    let gain =
        [[1.0; 6], [1.0, 1.01, 1.08, 1.14, 1.18, 1.2], [1.0; 6], [1.0, 1.01, 1.2, 1.35, 1.5, 1.72]];
    let mut points = Vec::new();
    for block in 0..blocks {
        for (arm, gains) in gain.iter().enumerate() {
            for (exponent, gain) in (0_u32..).zip(gains) {
                let iops = 76.0 * gain * noise(rng, 0.02);
                points.push(CurvePoint { arm, block, iodepth: 1 << exponent, iops });
            }
        }
    }
    points
}

fn arm((name, summary, settings): &(&str, &str, [&str; 3])) -> ArmInfo {
    let names = ["controller", "tags", "nr_requests"];
    let mut settings: Vec<(String, String)> =
        names.iter().zip(settings).map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    settings.push(("drive".to_owned(), "seagate-st31000333as".to_owned()));
    settings.push(("write-cache".to_owned(), "on".to_owned()));
    ArmInfo {
        name: (*name).to_owned(),
        summary: (*summary).to_owned(),
        settings,
        price_usd: None,
        levels: Vec::new(),
    }
}

fn workload(it: &Row) -> WorkloadInfo {
    let (name, summary, headline, ..) = *it;
    WorkloadInfo {
        name: name.to_owned(),
        summary: summary.to_owned(),
        headline: headline.to_owned(),
    }
}

fn contrast(name: &str, from: usize, to: usize) -> ContrastInfo {
    ContrastInfo { name: name.to_owned(), from, to }
}
