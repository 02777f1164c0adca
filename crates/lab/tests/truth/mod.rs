//! Cases whose cause is known: drawn by the prior that `explain` assumes, on drives, addresses and
//! runs that it does not simulate.

use drivelab_analysis::explanation::{Asked, Explanation, Kind, Load, Question};
use drivelab_core::numbers::float;
use drivelab_core::rng::Rng;
use drivelab_core::workload::WorkloadOptions;
use drivelab_core::{Control, JobSchedule};
use drivelab_lab::explain::library::{self, Cause, Change, Modelled};
use drivelab_lab::explain::{Cache, Wanted, explain, measure};
use drivelab_lab::target;
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::Profile;

/// The drives; each is as it should be but for the cause.
pub(crate) const DRIVES: [&str; 2] = [
    "seagate-st31000333as,controller=ahci,tags=31,scheduler=deadline",
    "generic-5400,controller=ahci,tags=31,scheduler=deadline",
];

/// The loads whose figures may be given.
const LOADS: [&[(&str, &str)]; 7] = [
    &[("rw", "randread"), ("iodepth", "1")],
    &[("rw", "randread"), ("iodepth", "32")],
    &[("rw", "randwrite"), ("iodepth", "1")],
    &[("rw", "randwrite"), ("iodepth", "32")],
    &[("rw", "randwrite"), ("iodepth", "1"), ("fsync", "1")],
    &[("rw", "read"), ("bs", "1m"), ("iodepth", "4")],
    &[("rw", "write"), ("bs", "1m"), ("iodepth", "4")],
];

/// The error of the model that every effect has here: `[lacks]` of the drives says 5 to 10 %.
const MODEL_SIGMA: f64 = 0.07;

/// What a case is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Truth {
    /// Nothing differs.
    Chance,
    /// A cause that was taken out of the library.
    Outside,
    /// Causes and their arms, in the order of the library.
    Causes(Vec<(String, usize)>),
}

/// A case that was decided.
#[derive(Debug, Clone)]
pub(crate) struct Decided {
    pub(crate) truth: Truth,
    /// True if a figure differs by more than two runs of one arm do.
    pub(crate) visible: bool,
    /// The probability of the first hypothesis.
    pub(crate) first: f64,
    /// True if the first hypothesis is the truth.
    pub(crate) right: bool,
}

/// A normal deviate: twelve uniform ones have the variance 1.
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
}

fn load(options: &[(&str, &str)]) -> Load {
    let mut all = WorkloadOptions::default();
    for (name, value) in [("ramp_time", "3s"), ("runtime", "10s")].iter().chain(options) {
        assert!(all.set(name, value).unwrap(), "{name}");
    }
    Load { workload: all.check().unwrap(), numjobs: 1, schedule: JobSchedule::default() }
}

/// A drive with the causes that it can have.
struct Subject {
    spec: DriveSpec,
    profile: Profile,
    causes: Vec<(Cause, Modelled)>,
}

impl Subject {
    fn new(name: &str) -> Self {
        let spec = target::drive_spec(name).unwrap();
        let profile = target::profile(&spec).unwrap();
        let causes = library::embedded().into_iter().filter_map(|cause| match &cause.change {
            Change::Modelled(change) => {
                let options = spec.options.overlaid_with(&change.drive);
                let can_be = drivelab_model::build(&profile.median(), &options, 0).is_ok();
                let differs = options != spec.options || change.drive == Modelled::default().drive;
                let change = (**change).clone();
                (can_be && differs).then_some((cause, change))
            }
            Change::Missing(_) => None,
        });
        Self { causes: causes.collect(), spec, profile }
    }

    /// A cause by the weights of the library.
    fn draw(&self, rng: &mut Rng) -> usize {
        let total: f64 = self.causes.iter().map(|(cause, _)| cause.prior).sum();
        let mut left = rng.unit() * total;
        let found = self.causes.iter().position(|(cause, _)| {
            left -= cause.prior;
            left < 0.0
        });
        found.unwrap_or(self.causes.len() - 1)
    }

    /// The causes of each arm, and the truth.
    fn acting(&self, rng: &mut Rng) -> ([Vec<usize>; 2], Truth) {
        let kind = rng.unit();
        let mut acting = [Vec::new(), Vec::new()];
        if kind < 0.2 {
            return (acting, Truth::Chance);
        }
        let mut first = self.draw(rng);
        let arm = |rng: &mut Rng| usize::from(rng.unit() < 0.5);
        acting[arm(rng)].push(first);
        if kind < 0.3 {
            return (acting, Truth::Outside);
        }
        if kind < 0.45 {
            let mut second = self.draw(rng);
            while second == first || self.causes[first].1.excludes(&self.causes[second].1) {
                (first, second) = (self.draw(rng), self.draw(rng));
            }
            acting = [Vec::new(), Vec::new()];
            acting[arm(rng)].push(first);
            acting[arm(rng)].push(second);
        }
        let mut causes: Vec<(String, usize)> = Vec::new();
        for (arm, set) in acting.iter().enumerate() {
            causes.extend(set.iter().map(|it| (self.causes[*it].0.id.clone(), arm)));
        }
        causes.sort();
        (acting, Truth::Causes(causes))
    }
}

/// The figures of a case, and whether one of them shows more than chance.
fn question(subject: &Subject, acting: &[Vec<usize>; 2], rng: &mut Rng) -> (Question, bool) {
    let mut loads: Vec<usize> = (0..LOADS.len()).collect();
    rng.shuffle(&mut loads);
    loads.truncate(usize::try_from(rng.between(2, 5)).unwrap());
    let drive = subject.profile.drawn(u32::try_from(rng.below(1 << 20)).unwrap(), rng.bits());
    let (mut figures, mut visible) = (Vec::new(), false);
    for index in loads {
        let load = load(LOADS[index]);
        let rates: Vec<f64> = acting
            .iter()
            .map(|set| {
                let changes: Vec<&Modelled> = set.iter().map(|it| &subject.causes[*it].1).collect();
                let of_drive = (&subject.spec, &drive);
                measure(of_drive, &changes, &load, rng.bits(), &Control::unattended()).unwrap()
            })
            .collect();
        let effect = (rates[1] / rates[0]).ln();
        let runs = [1, 3, 10][usize::try_from(rng.below(3)).unwrap()];
        let run_sd = 0.02 + 0.02 * rng.unit();
        let deviation = run_sd * (2.0 / f64::from(runs)).sqrt();
        let error = (MODEL_SIGMA * 2.0_f64.sqrt()).min(effect.abs());
        visible |= effect.abs() > 0.06_f64.max(2.0 * deviation);
        let log_ratio = effect + error * normal(rng) + deviation * normal(rng);
        figures.push(Asked {
            name: format!("{:?}", LOADS[index]),
            load,
            ratio: log_ratio.exp(),
            runs: [runs, runs],
            run_sd: (runs >= 3).then_some(run_sd),
        });
    }
    let arms = ["a", "b"].map(str::to_owned);
    (Question { arms, drive: None, figures, left_out: Vec::new() }, visible)
}

/// Decides `count` cases of one drive.
pub(crate) fn decide(
    drive: &str,
    count: u64,
    seed: u64,
    specimens: u32,
    cache: &Cache,
) -> Vec<Decided> {
    let subject = Subject::new(drive);
    let cases = (0..count).map(|case| {
        let mut rng = Rng::for_part(seed, case);
        let (acting, truth) = subject.acting(&mut rng);
        let (question, visible) = question(&subject, &acting, &mut rng);
        let outside = acting.iter().flatten().next().filter(|_| truth == Truth::Outside);
        let causes = subject.causes.iter().enumerate().filter(|(it, _)| Some(it) != outside);
        let causes: Vec<Cause> = causes.map(|(_, (cause, _))| cause.clone()).collect();
        let wanted = Wanted {
            question: &question,
            spec: &subject.spec,
            causes: &causes,
            specimens,
            seed: 1,
            cache,
            chooses_next: false,
        };
        let answer = explain(&wanted, &Control::unattended()).unwrap().unwrap();
        let first = answer.explanation.ranking[0].probability;
        let right = is_right(&answer.explanation, &truth);
        Decided { truth, visible, first, right }
    });
    cases.collect()
}

fn is_right(explanation: &Explanation, truth: &Truth) -> bool {
    let first = &explanation.ranking[0];
    match truth {
        Truth::Chance => first.kind == Kind::Chance,
        Truth::Outside => first.kind == Kind::NoneOfThese,
        Truth::Causes(causes) => {
            let mut said: Vec<(String, usize)> =
                first.causes.iter().map(|it| (it.id.clone(), it.arm.unwrap())).collect();
            said.sort();
            said == *causes
        }
    }
}

/// The share of cases that are right, and the mean probability of what was first.
pub(crate) fn shares(cases: &[&Decided]) -> (f64, f64) {
    let n = float(cases.len() as u64).max(1.0);
    let right = cases.iter().filter(|it| it.right).count();
    (float(right as u64) / n, cases.iter().map(|it| it.first).sum::<f64>() / n)
}

/// The mean distance between the probability of the first and the share that is right, in bins of
/// a fifth.
pub(crate) fn calibration_error(cases: &[&Decided]) -> f64 {
    let all = float(cases.len() as u64);
    bins(cases)
        .iter()
        .map(|bin| {
            let (right, first) = shares(bin);
            float(bin.len() as u64) / all * (right - first).abs()
        })
        .sum()
}

/// Cases by the probability of what was first.
pub(crate) fn bins<'a>(cases: &[&'a Decided]) -> Vec<Vec<&'a Decided>> {
    let edges = [0.0, 0.2, 0.4, 0.6, 0.8, 0.95, 1.01];
    let bin = |ends: &[f64]| {
        cases.iter().copied().filter(|it| it.first >= ends[0] && it.first < ends[1]).collect()
    };
    edges.windows(2).map(bin).collect()
}
