//! Runs that are too short for the metric that decides: known from the file, or from the first run
//! of an arm, and not only once all are made.

use drivelab_analysis::metric::{Needed, needed};
use drivelab_analysis::run::metrics;
use drivelab_core::Refusal;
use drivelab_core::record::{Figure, JobRecord};
use drivelab_core::units::Span;
use drivelab_core::workload::Workload;
use drivelab_study::{StoredRun, StudyFile, Task, in_words};

/// Refuses a study of whose primary metric the file says that no run can have it.
pub fn refuse(study: &StudyFile) -> Result<(), Refusal> {
    let mut tasks = (0..study.workloads.len()).map(Task::Workload);
    let Some(Primary { metric, load, needs }) = tasks.find_map(|task| primary(study, task)) else {
        return Ok(());
    };
    match load.number_ios {
        Some(most) if most < needs.requests => {
            let Needed { requests, kind } = needs;
            let message = format!(
                "no run can have the primary metric `{}`: it takes {requests} {kind}, and \
                 `number_ios` ends a run at {most}",
                study.primary
            );
            Err(Refusal::request(message)
                .hint(format!("set `number_ios = {requests}` or more, or use `runtime` instead"))
                .hint(format!("or decide by another metric than `{metric}`, such as its mean")))
        }
        _ => Ok(()),
    }
}

/// The primary metric of the workload of a task, with what it takes.
struct Primary<'a> {
    metric: String,
    load: &'a Workload,
    needs: Needed,
}

fn primary(study: &StudyFile, task: Task) -> Option<Primary<'_>> {
    let Task::Workload(number) = task else { return None };
    let named = &study.workloads[number];
    let metric = study.primary.strip_prefix(&named.name)?.strip_prefix('.')?.to_owned();
    let needs = needed(&metric)?;
    Some(Primary { load: named.work.load()?, metric, needs })
}

/// Refuses a first run of an arm that is too short for the primary metric.
pub fn too_short(study: &StudyFile, run: &StoredRun) -> Option<Refusal> {
    let Primary { metric, load, needs: Needed { requests, kind } } = primary(study, run.task)?;
    let total = run.record.total.as_ref()?;
    let figures = metrics(&run.record);
    if run.step.block > 0 || total.ios == 0 || figures.iter().any(|own| own.name == metric) {
        return None;
    }
    let arm = &study.arms[run.step.arm].name;
    let made = completed(total, kind);
    let message = format!(
        "runs of arm `{arm}` are too short for the primary metric `{}`: it takes {requests} {kind}, \
         and the first run completed {made}",
        study.primary
    );
    let refusal = Refusal::request(message);
    // A longer run does not help where the number of requests is fixed.
    let enough = longer(total, requests, made).filter(|_| load.number_ios.is_none());
    let refusal = match enough {
        Some(time) => refusal.hint(format!(
            "set `runtime = \"{time}\"` (now {}) or more, which is {} for each run",
            load.runtime,
            in_words(time)
        )),
        None => refusal.hint(format!("let the workload make at least {requests} {kind}")),
    };
    let other = possible(&figures, &metric);
    Some(
        match other {
            Some(other) => {
                let workload = study.primary.trim_end_matches(&metric);
                refusal.hint(format!(
                    "or decide by what such runs have: primary = \"{workload}{other}\""
                ))
            }
            None => refusal,
        }
        .hint("then start again; nothing of this study can be used for its verdict"),
    )
}

/// The number of requests of a kind that a run completed.
fn completed(total: &JobRecord, kind: &str) -> u64 {
    let of_kind = match kind {
        "reads" => &total.read,
        "writes" => &total.write,
        "flushes" => &total.flush,
        _ => return total.ios,
    };
    of_kind.as_ref().map_or(0, |own| own.ios)
}

/// The time after which a run like this one would have completed enough, with a fifth to spare.
fn longer(total: &JobRecord, requests: u64, made: u64) -> Option<Span> {
    let ns = u128::from(total.elapsed_ns) * u128::from(requests) / u128::from(made.max(1));
    let seconds = u64::try_from(ns * 6 / 5 / 1_000_000_000).ok()? + 1;
    (made > 0).then(|| Span::from_secs(seconds))
}

/// The furthest quantile of the same requests that such runs have, or their mean.
fn possible(figures: &[Figure], metric: &str) -> Option<String> {
    let (kind, _) = metric.split_once("lat_")?;
    let quantile = format!("{kind}lat_p");
    let names = || figures.iter().map(|figure| figure.name.as_str());
    let furthest = names().rfind(|name| name.starts_with(&quantile));
    let mean = format!("{kind}lat_mean_ns");
    furthest.or_else(|| names().find(|name| *name == mean)).map(str::to_owned)
}
