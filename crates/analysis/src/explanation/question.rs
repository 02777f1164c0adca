//! The figures whose difference is to be explained.

use drivelab_core::config::{ConfigError, Section};
use drivelab_core::record::RunRecord;
use drivelab_core::workload::{Workload, WorkloadOptions};
use drivelab_core::{JobSchedule, Refusal};
use drivelab_stats::numbers::{float, mean, standard_deviation};

use crate::run::Dated;

/// Two sets of figures of the same loads.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The names of the two arms.
    pub arms: [String; 2],
    /// The drive, where a file or the runs name it.
    pub drive: Option<String>,
    /// The figures that a modelled drive can give.
    pub figures: Vec<Asked>,
    /// The others, each with the reason.
    pub left_out: Vec<(String, String)>,
}

/// One figure of both arms.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// Its name.
    pub name: String,
    /// The load that it measures.
    pub load: Load,
    /// How much faster the second arm is: above 1 it is better.
    pub ratio: f64,
    /// Runs of each arm.
    pub runs: [u32; 2],
    /// The standard deviation of the logarithm of one run, where runs were repeated.
    pub run_sd: Option<f64>,
}

/// A load as a run applies it.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// What each job does.
    pub workload: Workload,
    /// Jobs that run together.
    pub numjobs: u32,
    /// The way in which they begin and end.
    pub schedule: JobSchedule,
}

/// Figures in one file.
const FIGURES_MAX: usize = 24;

/// The figures of the articles that are included, by number.
const ARTICLES: [(u32, &str); 2] = [
    (1, include_str!("../../../../causes/figures/article-1.toml")),
    (2, include_str!("../../../../causes/figures/article-2.toml")),
];

/// The published figures of an article.
///
/// # Errors
/// No figures of this article are included.
pub fn of_article(number: u32) -> Result<Question, Refusal> {
    let found = ARTICLES.iter().find(|(known, _)| *known == number);
    let (_, text) = found.ok_or_else(|| {
        Refusal::request(format!("the figures of article {number} are not included"))
            .hint("explain article:1 or article:2, or write the figures of two arms to a file")
    })?;
    Ok(parse(&format!("causes/figures/article-{number}.toml"), text)?)
}

/// The figures of a text.
///
/// # Errors
/// A key is missing, unknown, or has a value that cannot be read.
pub fn parse(file: &str, text: &str) -> Result<Question, ConfigError> {
    let mut top = Section::parse(file, text)?;
    let arms: Vec<String> = top.list("arms")?.unwrap_or_else(|| vec!["A".into(), "B".into()]);
    let drive = top.take("drive")?;
    // Named for the reader of the file alone.
    top.take::<String>("source")?;
    top.at_most("figure", FIGURES_MAX)?;
    let arms: [String; 2] =
        arms.try_into().map_err(|_| top.error("`arms` names the two sets of results"))?;
    let mut question = Question { arms, drive, figures: Vec::new(), left_out: Vec::new() };
    for section in top.sections("figure")? {
        figure(section, &mut question)?;
    }
    if question.figures.is_empty() {
        return Err(top.error("no `[[figure]]` that a modelled drive can give"));
    }
    top.finish()?;
    Ok(question)
}

fn figure(mut section: Section, into: &mut Question) -> Result<(), ConfigError> {
    let name: String = section.require("name")?;
    let measured: Vec<f64> = section.list("measured")?.unwrap_or_default();
    let [a, b] = measured[..] else {
        return Err(section.error("`measured` has one number for each of the two arms"));
    };
    if !(a > 0.0 && b > 0.0) {
        return Err(section.error("`measured`: both numbers are above 0"));
    }
    let better = section.take_with("better", |text| match text {
        "more" => Ok(true),
        "less" => Ok(false),
        _ => Err(drivelab_core::invalid!("`{text}` is neither `more` nor `less`")),
    })?;
    let left_out: Option<String> = section.take("left_out")?;
    let runs: Vec<u32> = section.list("runs")?.unwrap_or_else(|| vec![1, 1]);
    let run_sd: Option<f64> = section.take("run_sd")?;
    let options = WorkloadOptions::read(&mut section)?;
    let numjobs: u32 = section.take("numjobs")?.unwrap_or(1);
    let runs: [u32; 2] = runs
        .try_into()
        .ok()
        .filter(|runs: &[u32; 2]| runs.iter().all(|it| (1..=100_000).contains(it)))
        .ok_or_else(|| section.error("`runs` is the number of runs of each arm, from 1"))?;
    if run_sd.is_some_and(|sd| !(sd > 0.0 && sd < 3.0)) || !(1..=256).contains(&numjobs) {
        return Err(section.error("`run_sd` is above 0 and below 3, `numjobs` from 1 to 256"));
    }
    if let Some(why) = left_out {
        section.finish()?;
        into.left_out.push((name, why));
        return Ok(());
    }
    let workload = options.check().map_err(|wrong| section.error(wrong))?;
    section.finish()?;
    let ratio = if better.unwrap_or(true) { b / a } else { a / b };
    let load = Load { workload, numjobs, schedule: JobSchedule::default() };
    into.figures.push(Asked { name, load, ratio, runs, run_sd });
    Ok(())
}

/// The figures of runs of two arms: the rate of each load that both have.
///
/// # Errors
/// No load is in both arms.
pub fn of_runs(arms: [(String, Vec<Dated>); 2]) -> Result<Question, Refusal> {
    let [(first, a), (second, b)] = arms;
    let modelled = |run: &Dated| {
        let target = &run.record.target;
        target.starts_with("drive:").then(|| target.clone())
    };
    let drive = a.iter().find_map(modelled);
    let mut question =
        Question { arms: [first, second], drive, figures: Vec::new(), left_out: Vec::new() };
    for load in loads(&a) {
        let name = words(&load);
        let of_arm = |arm: &[Dated]| -> Vec<f64> {
            let same = arm.iter().filter(|run| load_of(&run.record).as_ref() == Some(&load));
            let rates = same.filter_map(|run| run.record.total.as_ref()).map(|total| total.iops);
            rates.filter(|rate| *rate > 0.0).map(libm::log).collect()
        };
        let [a, b] = [of_arm(&a), of_arm(&b)];
        if a.is_empty() || b.is_empty() {
            question.left_out.push((name, "only one arm has it, or nothing completed".into()));
            continue;
        }
        question.figures.push(asked(name, load, &a, &b));
    }
    if question.figures.is_empty() {
        return Err(Refusal::request("no load is in both arms")
            .hint("run the same load in both: drivelab run TARGET --json > before.json")
            .hint("or write the figures to a file: drivelab explain FIGURES.toml"));
    }
    Ok(question)
}

fn asked(name: String, load: Load, a: &[f64], b: &[f64]) -> Asked {
    let freedom = a.len() + b.len() - 2;
    let squares = [a, b].into_iter().map(|logs| {
        let sd = standard_deviation(logs);
        sd * sd * float(logs.len() - 1)
    });
    let pooled = (squares.sum::<f64>() / float(freedom.max(1))).sqrt();
    let count = |logs: &[f64]| u32::try_from(logs.len()).unwrap_or(u32::MAX);
    Asked {
        name,
        load,
        ratio: libm::exp(mean(b) - mean(a)),
        runs: [count(a), count(b)],
        run_sd: (freedom >= REPEATED).then_some(pooled),
    }
}

/// Degrees of freedom from which the variation of the runs themselves is used.
const REPEATED: usize = 4;

/// The different loads of runs, in order.
fn loads(runs: &[Dated]) -> Vec<Load> {
    let mut loads = Vec::new();
    for load in runs.iter().filter_map(|run| load_of(&run.record)) {
        if !loads.contains(&load) && loads.len() < FIGURES_MAX {
            loads.push(load);
        }
    }
    loads
}

fn load_of(record: &RunRecord) -> Option<Load> {
    let workload = record.config.workload.clone()?;
    let (numjobs, schedule) = (record.config.numjobs, record.config.conduct);
    Some(Load { workload, numjobs, schedule })
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
