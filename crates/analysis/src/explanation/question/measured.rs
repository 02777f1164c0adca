//! Figures of runs: of drivelab, and of other tools whose files state the load.

use drivelab_core::foreign::ImportedRun;
use drivelab_core::measurements::{MeasuredLoad, Measurements};
use drivelab_core::record::{MarkId, NOT_SET, Nature, Phase, RunRecord, Work};
use drivelab_core::workload::WorkloadOptions;
use drivelab_core::{Invalid, JobSchedule, Refusal, invalid};
use drivelab_stats::numbers::{float, mean, standard_deviation};

use super::{Asked, FIGURES_MAX, Load, Question, Rate, is_a_ratio, recipe};
use crate::run::Dated;
use crate::signs::{self, Sign};

/// One of the two sets of results.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Set {
    /// The name of the arm.
    pub name: String,
    /// Runs of drivelab.
    pub runs: Vec<Dated>,
    /// Runs of other tools.
    pub imported: Vec<ImportedRun>,
    /// Measurements of the drive, as `drive measure` takes them.
    pub measurements: Vec<Measurements>,
}

/// The rates of a set, and what has none, with the reason.
#[derive(Debug, Default)]
struct Content {
    rates: Vec<Rate>,
    left_out: Vec<(String, String)>,
}

/// The figures of two sets of results: the rate of each load that both have.
///
/// # Errors
/// No load of the drive is in both sets.
pub fn of_sets(sets: &[Set; 2]) -> Result<Question, Refusal> {
    let mut question = Question {
        arms: sets.each_ref().map(|set| set.name.clone()),
        targets: sets.each_ref().map(target),
        drives: drives(sets),
        signs: sets.each_ref().map(signs),
        ..Question::default()
    };
    let [a, b] = sets.each_ref().map(content);
    for (name, why) in a.left_out.into_iter().chain(b.left_out) {
        if !question.left_out.iter().any(|(known, _)| *known == name) {
            question.left_out.push((name, why));
        }
    }
    for load in loads([&a.rates, &b.rates]) {
        let name = words(&load);
        let [a, b] = [&a.rates, &b.rates].map(|rates| logarithms(rates, &load));
        if a.is_empty() || b.is_empty() {
            let only = &sets[usize::from(a.is_empty())].name;
            question.left_out.push((name, format!("only `{only}` has this load")));
        } else if question.figures.len() == FIGURES_MAX {
            question.left_out.push((name, format!("only {FIGURES_MAX} figures are used")));
        } else {
            match asked(name.clone(), load, &a, &b) {
                Some(asked) => question.figures.push(asked),
                None => question.left_out.push((name, "a factor of a million is no effect".into())),
            }
        }
    }
    if question.figures.is_empty() {
        return Err(nothing_asked(&question));
    }
    Ok(question)
}

/// Loads whose reason stands in a refusal.
const REASONS_MAX: usize = 4;

fn nothing_asked(question: &Question) -> Refusal {
    let mut message = "no load of the drive is in both sets of results".to_owned();
    let reasons = question.left_out.iter().take(REASONS_MAX);
    let reasons: Vec<String> = reasons.map(|(name, why)| format!("{name}: {why}")).collect();
    if !reasons.is_empty() {
        message += &format!(": {}", reasons.join("; "));
    }
    Refusal::request(message)
        .hint("run the same load in both: drivelab run TARGET --json > before.json")
        .hint("or write the figures and their loads to a file: docs/guides/explain.md has one")
}

/// The target of all runs of a set.
fn target(set: &Set) -> Option<String> {
    let first = &set.runs.first()?.record.target;
    set.runs.iter().all(|run| run.record.target == *first).then(|| first.clone())
}

/// The modelled drives of all runs, each once.
fn drives(sets: &[Set; 2]) -> Vec<String> {
    let mut drives: Vec<String> = Vec::new();
    for run in sets.iter().flat_map(|set| &set.runs) {
        let target = &run.record.target;
        if is_modelled(&run.record) && !drives.contains(target) {
            drives.push(target.clone());
        }
    }
    drives
}

fn is_modelled(record: &RunRecord) -> bool {
    record.config.ioengine == "virtual"
}

fn content(set: &Set) -> Content {
    let mut content = Content::default();
    for run in &set.runs {
        own(&run.record, &mut content);
    }
    for run in &set.imported {
        foreign(run, &mut content);
    }
    for measurements in &set.measurements {
        content.rates.extend(measurements.loads.iter().filter_map(measured));
    }
    content
}

/// The signs of the last measurement that shows each.
fn signs(set: &Set) -> Vec<Sign> {
    let mut signs: Vec<Sign> = Vec::new();
    for sign in set.measurements.iter().flat_map(signs::of).filter(|sign| sign.value.is_some()) {
        signs.retain(|known| known.id != sign.id);
        signs.push(sign);
    }
    signs
}

/// The rate of a load of a measurement.
fn measured(load: &MeasuredLoad) -> Option<Rate> {
    let per_s = load.iops().filter(|iops| *iops > 0.0)?;
    let mut options = WorkloadOptions::default();
    let rw = if load.write { "randwrite" } else { "randread" };
    let (bs, iodepth) = (load.block_bytes.to_string(), load.iodepth.to_string());
    let size = load.span_bytes.map(|bytes| bytes.to_string());
    let given = [("rw", rw.to_owned()), ("bs", bs), ("iodepth", iodepth)];
    for (name, value) in given.into_iter().chain(size.map(|size| ("size", size))) {
        options.set(name, &value).ok()?;
    }
    let (workload, schedule) = (options.check().ok()?, JobSchedule::default());
    Some(Rate { load: Load { workload, numjobs: 1, schedule }, per_s })
}

/// Adds a run of drivelab.
fn own(record: &RunRecord, into: &mut Content) {
    if let Some(tests) = recipe::rates(record) {
        for test in tests {
            match test {
                Ok(rate) => into.rates.push(rate),
                Err(left_out) => into.left_out.push(left_out),
            }
        }
        return;
    }
    let (Some(workload), Some(total)) = (record.config.workload.clone(), record.total.as_ref())
    else {
        let name = record.config.suite.as_ref().map_or("a command", |suite| &suite.name);
        let why = "its record does not state the requests that it made";
        into.left_out.push((name.to_owned(), why.to_owned()));
        return;
    };
    let (numjobs, schedule) = (record.config.numjobs, record.config.conduct);
    let load = Load { workload, numjobs, schedule };
    let doubt = record.marks.iter().find(|mark| DOUBTS.contains(&mark.id));
    match doubt {
        Some(mark) => into.left_out.push((words(&load), mark.message.clone())),
        None if total.iops > 0.0 => into.rates.push(Rate { load, per_s: total.iops }),
        None => into.left_out.push((words(&load), "no request completed".to_owned())),
    }
}

/// Marks of a run whose rate is not that of the drive.
const DOUBTS: [MarkId; 9] = [
    MarkId::PageCache,
    MarkId::CpuBound,
    MarkId::GeneratorBound,
    MarkId::NotDisk,
    MarkId::Errors,
    MarkId::Failed,
    MarkId::Void,
    MarkId::Unanswered,
    MarkId::Interrupted,
];

/// Adds a run of another tool.
fn foreign(run: &ImportedRun, into: &mut Content) {
    let stated: Vec<&Phase> = run.phases.iter().filter(|phase| rate(phase).is_some()).collect();
    // Sections that run at once are one load of the drive, which none of them states.
    let together = stated.iter().filter(|phase| !is_alone(run, phase)).count();
    for phase in stated {
        let name = [run.arm.as_str(), phase.name.as_str()].join(" ").trim().to_owned();
        let found = if together > 1 && !is_alone(run, phase) {
            Err(invalid!("it ran at the same time as other sections of its call"))
        } else {
            load(run, phase)
        };
        match (found, rate(phase)) {
            (Ok(load), Some(per_s)) => into.rates.push(Rate { load, per_s }),
            (Err(Invalid(why)), _) => into.left_out.push((name, why)),
            (Ok(_), None) => {}
        }
    }
}

/// True if a section waits for those before it.
fn is_alone(run: &ImportedRun, phase: &Phase) -> bool {
    run.work.get(&key(phase, "stonewall")).is_some()
}

/// The key of a phase's work.
fn key(phase: &Phase, name: &str) -> String {
    if phase.name.is_empty() { name.to_owned() } else { format!("{}.{name}", phase.name) }
}

/// Requests a second, of all kinds.
fn rate(phase: &Phase) -> Option<f64> {
    let all = sum(phase, |name| name == "iops");
    let all = if all > 0.0 { all } else { sum(phase, |name| name.ends_with("_iops")) };
    (all > 0.0 && all.is_finite()).then_some(all)
}

/// The sum of the figures with such names.
fn sum(phase: &Phase, is_name: impl Fn(&str) -> bool) -> f64 {
    phase.figures.iter().filter(|it| is_name(&it.name)).map(|it| it.value).sum()
}

/// Options that make a load what it is, where a tool states them under fio's names.
const LOAD: [&str; 16] = [
    "rw",
    "rwmixread",
    "bs",
    "bssplit",
    "iodepth",
    "runtime",
    "ramp_time",
    "size",
    "offset",
    "rate_iops",
    "random_distribution",
    "percentage_random",
    "fsync",
    "fdatasync",
    "sync",
    "number_ios",
];

/// Engines that wait for each request.
const SYNCHRONOUS: [&str; 6] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"];

/// The load of a phase.
fn load(run: &ImportedRun, phase: &Phase) -> Result<Load, Invalid> {
    if phase.nature != Nature::Disk && phase.nature != Nature::JournalSync {
        let why = phase.remarks.first().map_or("it is not the drive's figure", |it| &it.why);
        return Err(invalid!("{why}"));
    }
    if stated(run, phase, "rw").is_none() {
        return Err(invalid!("the file does not state its load"));
    }
    let mut options = WorkloadOptions::default();
    for name in LOAD {
        let value = stated(run, phase, name).filter(|it| matters(name, it, &run.work));
        let Some(value) = value else { continue };
        options.set(name, spelled(name, value))?;
    }
    if stated(run, phase, "ioengine").is_some_and(|engine| SYNCHRONOUS.contains(&engine)) {
        options.iodepth = Some(1);
    }
    let workload = options.check().map_err(|wrong| invalid!("{wrong}"))?;
    let numjobs = stated(run, phase, "numjobs").map_or(Ok(1), str::parse);
    let numjobs = numjobs.map_err(|_| invalid!("`numjobs` is not a number"))?;
    if !(1..=256).contains(&numjobs) {
        return Err(invalid!("{numjobs} jobs: at most 256 are modelled"));
    }
    Ok(Load { workload, numjobs, schedule: JobSchedule::default() })
}

/// The value of an option that is given.
fn stated<'a>(run: &'a ImportedRun, phase: &Phase, name: &str) -> Option<&'a str> {
    run.work.get(&key(phase, name)).filter(|it| *it != NOT_SET)
}

/// False for a value that has the meaning of none, and that some loads do not take.
fn matters(name: &str, value: &str, work: &Work) -> bool {
    match name {
        "rwmixread" => work.iter().any(|(key, rw)| {
            key.rsplit('.').next() == Some("rw") && (rw.ends_with("rw") || rw == "readwrite")
        }),
        "percentage_random" => value != "100",
        "random_distribution" => value != "random",
        // The whole of the target.
        "size" => value != "100%",
        _ => value != "0" && value != "0s",
    }
}

/// A value as options of this program spell it.
fn spelled<'a>(name: &str, value: &'a str) -> &'a str {
    match (name, value) {
        ("rw", "readwrite") => "rw",
        ("sync", "1" | "sync" | "dsync") => "true",
        _ => value,
    }
}

/// The different loads of two sets, in order.
fn loads(sets: [&Vec<Rate>; 2]) -> Vec<Load> {
    let mut loads: Vec<Load> = Vec::new();
    for rate in sets.into_iter().flatten() {
        if !loads.contains(&rate.load) {
            loads.push(rate.load.clone());
        }
    }
    loads
}

fn logarithms(rates: &[Rate], load: &Load) -> Vec<f64> {
    let same = rates.iter().filter(|rate| rate.load == *load);
    same.map(|rate| libm::log(rate.per_s)).collect()
}

fn asked(name: String, load: Load, a: &[f64], b: &[f64]) -> Option<Asked> {
    let freedom = a.len() + b.len() - 2;
    let squares = [a, b].into_iter().map(|logs| {
        let sd = standard_deviation(logs);
        sd * sd * float(logs.len() - 1)
    });
    let pooled = (squares.sum::<f64>() / float(freedom.max(1))).sqrt();
    let [runs, others] = [a, b].map(|logs| u32::try_from(logs.len()).unwrap_or(u32::MAX));
    let ratio = libm::exp(mean(b) - mean(a));
    let run_sd = (freedom > 0).then(|| (pooled, u32::try_from(freedom).unwrap_or(u32::MAX)));
    is_a_ratio(ratio).then_some(Asked { name, load, ratio, runs: [runs, others], run_sd })
}

/// A load in a few words.
fn words(load: &Load) -> String {
    let Load { workload, numjobs, .. } = load;
    let mut words = format!("{} {}", workload.rw, workload.blocks);
    words += &format!(", depth {}", workload.pace.iodepth());
    if *numjobs > 1 {
        words += &format!(", {numjobs} jobs");
    }
    if workload.sync {
        words += ", synchronous";
    }
    if workload.fsync > 0 {
        words += &format!(", a flush every {}", workload.fsync);
    }
    words
}

#[cfg(test)]
mod tests {
    use drivelab_core::record::{Better, Figure};

    use super::*;

    fn imported(work: &[(&str, &str)], iops: f64) -> ImportedRun {
        let figures = vec![Figure::new("iops", iops, Better::More)];
        let (points, remarks) = (Vec::new(), Vec::new());
        let name = String::new();
        let phase = Phase { name, nature: Nature::Disk, figures, lat_ns: None, points, remarks };
        let mut run = ImportedRun { phases: vec![phase], ..ImportedRun::default() };
        for (key, value) in work {
            run.work.set(key, value);
        }
        run
    }

    fn set(name: &str, work: &[(&str, &str)], rates: &[f64]) -> Set {
        let imported = rates.iter().map(|iops| imported(work, *iops)).collect();
        Set { name: name.into(), imported, ..Set::default() }
    }

    /// As fio states a job: every option, with its default where it is not given.
    const FIO: &[(&str, &str)] = &[
        ("rw", "randwrite"),
        ("bs", "4KiB"),
        ("iodepth", "32"),
        ("ioengine", "libaio"),
        ("rwmixread", "50"),
        ("random_distribution", "random"),
        ("percentage_random", "100"),
        ("sync", "0"),
        ("fsync", "1"),
        ("size", "1GiB"),
        ("runtime", "30s"),
        ("ramp_time", "0s"),
        ("rate_iops", "none"),
    ];

    #[test]
    fn runs_of_another_tool_are_figures_of_their_load() {
        let sets = [set("a", FIO, &[100.0, 104.0, 96.0]), set("b", FIO, &[200.0])];
        let question = of_sets(&sets).unwrap();
        let [asked] = &question.figures[..] else { panic!("{question:?}") };
        assert_eq!(asked.name, "randwrite 4k, depth 32, a flush every 1");
        assert!((asked.ratio - 2.0).abs() < 0.01, "{asked:?}");
        assert_eq!((asked.runs, asked.run_sd.unwrap().1), ([3, 1], 2));
        assert_eq!(asked.load.workload.size.map(drivelab_core::Bytes::get), Some(1 << 30));
    }

    #[test]
    fn a_size_of_all_of_the_target_is_none() {
        let mut work = FIO.to_vec();
        work[9] = ("size", "100%");
        let question = of_sets(&[set("a", &work, &[1.0]), set("b", &work, &[2.0])]).unwrap();
        assert_eq!(question.figures[0].load.workload.size, None);
    }

    #[test]
    fn an_engine_that_waits_has_one_request_outstanding() {
        let mut work = FIO.to_vec();
        work[3] = ("ioengine", "psync");
        let question = of_sets(&[set("a", &work, &[1.0]), set("b", &work, &[2.0])]).unwrap();
        assert_eq!(question.figures[0].load.workload.pace.iodepth(), 1);
    }

    #[test]
    fn what_states_no_load_of_the_drive_is_left_out_with_the_reason() {
        let refused = |one: Set, why: &str| {
            let other = Set { name: "b".into(), ..one.clone() };
            let error = of_sets(&[one, other]).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        };
        refused(set("a", &[], &[1.0]), "does not state its load");
        let mut cached = set("a", FIO, &[1.0]);
        cached.imported[0].phases[0].nature = Nature::PageCache;
        refused(cached, "not the drive's figure");
        refused(Set::default(), "no load of the drive");
        refused(set("a", &[("rw", "randread"), ("bs", "three")], &[1.0]), "three");
        refused(set("a", &[("rw", "randread"), ("numjobs", "many")], &[1.0]), "not a number");
        let other = set("b", &[("rw", "read")], &[1.0]);
        let error = of_sets(&[set("a", &[("rw", "write")], &[1.0]), other]).unwrap_err();
        for only in ["write 4k, depth 1: only `a` has", "read 4k, depth 1: only `b` has"] {
            assert!(error.to_string().contains(only), "{error}");
        }
    }
}
