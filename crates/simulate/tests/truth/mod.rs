//! Cases whose cause is known: drawn by the prior that `explain` assumes, on drives, addresses and
//! runs that it does not simulate.

use drivelab_analysis::explanation::{Asked, Explanation, Kind, Load, Question, Strength};
use drivelab_core::numbers::float;
use drivelab_core::rng::Rng;
use drivelab_core::workload::WorkloadOptions;
use drivelab_core::{Control, JobSchedule};
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::Profile;
use drivelab_simulate::explain::library::{self, Cause, Change, Modelled};
use drivelab_simulate::explain::{Cache, Wanted, explain, measure};
use drivelab_simulate::{Embedded, Source as _};
use drivelab_stats::numbers::{mean, standard_deviation};

/// The loads whose figures may be given.
const LOADS: [&[(&str, &str)]; 9] = [
    &[("rw", "randread"), ("iodepth", "1")],
    &[("rw", "randread"), ("iodepth", "32")],
    &[("rw", "randwrite"), ("iodepth", "1")],
    &[("rw", "randwrite"), ("iodepth", "32")],
    &[("rw", "randwrite"), ("iodepth", "1"), ("fsync", "1")],
    &[("rw", "randwrite"), ("iodepth", "8"), ("sync", "true")],
    &[("rw", "randrw"), ("bs", "16k"), ("iodepth", "8")],
    &[("rw", "read"), ("bs", "1m"), ("iodepth", "4")],
    &[("rw", "write"), ("bs", "1m"), ("iodepth", "4")],
];

/// An effect below this is one that no figure shows.
const SHOWN_MIN: f64 = 0.01;
/// The deviation of two sets of runs between which nothing was changed.
const SETS_SD: f64 = 0.01;

/// The truth of a case, as far as its figures show it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Truth {
    /// Nothing differs that the figures show.
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
    /// True if some figure, without its noise, differs by more than two sets of runs of one arm do.
    /// That the model is off by so much is no noise: the drive of the case is as it is.
    pub(crate) visible: bool,
    /// The probability of the first hypothesis.
    pub(crate) first: f64,
    /// The kinds of the first hypotheses, with their probabilities.
    pub(crate) ranking: Vec<(Kind, f64)>,
    /// The lead of the first hypothesis.
    pub(crate) strength: Strength,
    /// True if the first hypothesis is the truth.
    pub(crate) right: bool,
    /// True if the truth is one of the first three hypotheses.
    pub(crate) near: bool,
    /// The first hypothesis, in a few words.
    pub(crate) said: String,
}

impl Decided {
    /// The kind of the hypothesis that is the truth.
    pub(crate) fn kind(&self) -> Kind {
        match &self.truth {
            Truth::Chance => Kind::Chance,
            Truth::Outside => Kind::NoneOfThese,
            Truth::Causes(causes) if causes.len() > 1 => Kind::Two,
            Truth::Causes(_) => Kind::Cause,
        }
    }

    /// True if the first hypothesis is three times as probable as any other: an answer.
    pub(crate) fn is_answered(&self) -> bool {
        self.strength != Strength::Undecided
    }
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
        let spec = Embedded.spec(name).unwrap();
        let profile = Embedded.profile(&spec).unwrap();
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

    /// True if two causes, each on an arm, can be together.
    fn are_together(&self, one: (usize, usize), other: (usize, usize)) -> bool {
        let excludes = self.causes[one.0].1.excludes(&self.causes[other.0].1);
        one.0 != other.0 && !(one.1 == other.1 && excludes)
    }

    /// The causes of each arm, and whether the library has them.
    fn acting(&self, rng: &mut Rng) -> ([Vec<usize>; 2], bool) {
        let kind = rng.unit();
        let mut acting = [Vec::new(), Vec::new()];
        if kind < 0.2 {
            return (acting, true);
        }
        let on_an_arm = |rng: &mut Rng| (self.draw(rng), usize::from(rng.unit() < 0.5));
        let (mut first, mut second) = (on_an_arm(rng), on_an_arm(rng));
        if (0.3..0.45).contains(&kind) {
            while !self.are_together(first, second) {
                (first, second) = (on_an_arm(rng), on_an_arm(rng));
            }
            acting[second.1].push(second.0);
        }
        acting[first.1].push(first.0);
        (acting, kind >= 0.3)
    }
}

/// The largest effect of a cause on any figure of its case.
#[derive(Debug, Clone, Copy, Default)]
struct Effect {
    /// With the other causes of its arm acting.
    added: f64,
    /// Without them.
    alone: f64,
}

/// The figures of a case: what was measured, and what the drive's own effects are.
struct Case {
    question: Question,
    /// The largest effect of each cause of `acting`, in their order.
    effects: Vec<Effect>,
    visible: bool,
}

impl Case {
    fn draw(subject: &Subject, acting: &[Vec<usize>; 2], rng: &mut Rng) -> Self {
        let mut loads: Vec<usize> = (0..LOADS.len()).collect();
        rng.shuffle(&mut loads);
        loads.truncate(usize::try_from(rng.between(2, 5)).unwrap());
        let drive = subject.profile.drawn(u32::try_from(rng.below(1 << 20)).unwrap(), rng.bits());
        let [any, elevator] = subject.profile.lacks();
        // How far the model is off: a part that all figures share, and a part of each.
        let (share, shared) = (rng.unit(), normal(rng));
        let runs = [1, 1, 3, 6][usize::try_from(rng.below(4)).unwrap()];
        // Runs of quiet machines and of busy ones.
        let run_sd = 0.01 * (rng.unit() * 6.0_f64.ln()).exp();
        let all: Vec<usize> = acting.iter().flatten().copied().collect();
        let (mut figures, mut visible) = (Vec::new(), false);
        let mut effects = vec![Effect::default(); all.len()];
        for index in loads {
            let load = load(LOADS[index]);
            let rate = |set: &[usize], seed: u64| {
                let changes: Vec<&Modelled> = set.iter().map(|it| &subject.causes[*it].1).collect();
                let of_drive = (&subject.spec, &drive);
                measure(of_drive, &changes, &load, seed, &Control::unattended()).unwrap().ln()
            };
            // With the same addresses: others have another rate without a cause, too.
            let addresses = [rng.bits(), rng.bits(), rng.bits(), rng.bits()];
            let size = |set: &[usize], rest: &[usize]| {
                mean(&addresses.map(|seed| rate(set, seed) - rate(rest, seed))).abs()
            };
            for (effect, cause) in effects.iter_mut().zip(&all) {
                // What another cause hides is not in the figures.
                let set = acting.iter().find(|set| set.contains(cause)).unwrap();
                let rest: Vec<usize> = set.iter().copied().filter(|it| it != cause).collect();
                effect.added = effect.added.max(size(set, &rest));
                let is_only = rest.is_empty();
                let alone = if is_only { effect.added } else { size(&[*cause], &[]) };
                effect.alone = effect.alone.max(alone);
            }
            let mut made =
                |arm: usize| (0..runs).map(|_| rate(&acting[arm], rng.bits())).collect::<Vec<_>>();
            let [a, b] = [made(0), made(1)];
            let true_effect = mean(&b) - mean(&a);
            let sigma = ((any.max(elevator)) * std::f64::consts::SQRT_2).min(true_effect.abs());
            let common = share.sqrt() * shared.copysign(shared * true_effect.signum());
            let error = sigma * (common + (1.0 - share).sqrt() * normal(rng));
            let mut noisy = |runs: &[f64]| {
                let set = SETS_SD / std::f64::consts::SQRT_2 * normal(rng);
                runs.iter().map(|it| it + set + run_sd * normal(rng)).collect::<Vec<f64>>()
            };
            let [a, b] = [noisy(&a), noisy(&b)];
            let freedom = a.len() + b.len() - 2;
            let squares = [&a, &b].map(|runs| standard_deviation(runs).powi(2));
            let pooled = f64::midpoint(squares[0], squares[1]);
            let log_ratio = mean(&b) - mean(&a) + error;
            let chance = (2.0 * run_sd * run_sd / f64::from(runs) + SETS_SD * SETS_SD).sqrt();
            // What differs on this drive, if nothing varied from run to run.
            visible |= (true_effect + error).abs() > 0.05_f64.max(2.0 * chance);
            figures.push(Asked {
                name: format!("{:?}", LOADS[index]),
                load,
                ratio: log_ratio.exp(),
                runs: [runs, runs],
                run_sd: (freedom > 0).then(|| (pooled.sqrt(), u32::try_from(freedom).unwrap())),
            });
        }
        let arms = ["a", "b"].map(str::to_owned);
        let question = Question { arms, figures, ..Question::default() };
        Self { question, effects, visible }
    }
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
        let (acting, is_inside) = subject.acting(&mut rng);
        let case = Case::draw(&subject, &acting, &mut rng);
        let outside = acting.iter().flatten().next().filter(|_| !is_inside);
        let causes = subject.causes.iter().enumerate().filter(|(it, _)| Some(it) != outside);
        let causes: Vec<Cause> = causes.map(|(_, (cause, _))| cause.clone()).collect();
        let wanted = Wanted {
            question: &case.question,
            spec: &subject.spec,
            profile: &subject.profile,
            causes: &causes,
            specimens,
            seed: 1,
            cache,
            chooses_next: false,
        };
        let answer = explain(&wanted, &Control::unattended()).unwrap().unwrap();
        let explanation = &answer.explanation;
        let truth = truth(&subject, &acting, is_inside, (&case, explanation));
        let is = |rank: usize| is_right(explanation, rank, &truth);
        Decided {
            visible: case.visible,
            first: explanation.ranking[0].probability,
            ranking: explanation.ranking.iter().map(|it| (it.kind, it.probability)).collect(),
            strength: explanation.strength,
            right: is(0),
            near: (0..3.min(explanation.ranking.len())).any(is),
            said: said(explanation),
            truth,
        }
    });
    cases.collect()
}

/// The truth that the figures show: a cause that changes none of them is not in it.
fn truth(
    subject: &Subject,
    acting: &[Vec<usize>; 2],
    is_inside: bool,
    (case, explanation): (&Case, &Explanation),
) -> Truth {
    let all = acting.iter().enumerate().flat_map(|(arm, set)| set.iter().map(move |it| (*it, arm)));
    let mut all: Vec<((usize, usize), Effect)> = all.zip(case.effects.iter().copied()).collect();
    all.sort_by_key(|(cause, _)| *cause);
    // Of two causes that do the same, the first is in the figures.
    if all.iter().all(|(_, effect)| effect.added < SHOWN_MIN) {
        all.truncate(1);
        for (_, effect) in &mut all {
            effect.added = effect.alone;
        }
    }
    let shown = all.into_iter().filter(|((cause, _), effect)| {
        let id = &subject.causes[*cause].0.id;
        let is_unseen = explanation.unseen.iter().any(|it| it.cause.id == *id);
        !is_unseen && effect.added >= SHOWN_MIN
    });
    let mut causes: Vec<(String, usize)> =
        shown.map(|((cause, arm), _)| (subject.causes[cause].0.id.clone(), arm)).collect();
    causes.sort();
    match (causes.is_empty(), is_inside) {
        (true, _) => Truth::Chance,
        (false, false) => Truth::Outside,
        (false, true) => Truth::Causes(causes),
    }
}

fn is_right(explanation: &Explanation, rank: usize, truth: &Truth) -> bool {
    let hypothesis = &explanation.ranking[rank];
    match truth {
        Truth::Chance => hypothesis.kind == Kind::Chance,
        Truth::Outside => hypothesis.kind == Kind::NoneOfThese,
        Truth::Causes(causes) => {
            let mut said: Vec<(String, usize)> =
                hypothesis.causes.iter().map(|it| (it.id.clone(), it.arm.unwrap())).collect();
            said.sort();
            said == *causes
        }
    }
}

fn said(explanation: &Explanation) -> String {
    let first = &explanation.ranking[0];
    let causes: Vec<String> =
        first.causes.iter().map(|it| format!("{}@{:?}", it.id, it.arm)).collect();
    format!("{:?} {}", first.kind, causes.join(" "))
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
    let edges = [0.0, 0.3, 0.5, 0.7, 0.9, 1.01];
    let bin = |ends: &[f64]| {
        cases.iter().copied().filter(|it| it.first >= ends[0] && it.first < ends[1]).collect()
    };
    edges.windows(2).map(bin).collect()
}
