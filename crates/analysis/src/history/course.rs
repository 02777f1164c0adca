//! Kept runs of the same work, in the order of time.

use std::sync::Arc;

use drivelab_core::record::{Flaw, Kept, Work};

use crate::digest::{CommonRun, RunDigest};
use crate::{figures, metric, run, validity};

/// A run in a course.
#[derive(Debug, Clone, PartialEq)]
pub struct Moment {
    /// Its id in the archive.
    pub id: String,
    /// Time at which it was kept, in milliseconds since 1970.
    pub time_ms: u64,
    /// The user's name for it.
    pub label: Option<String>,
    /// The commit of the thing that was tested.
    pub commit: Option<String>,
    /// The command that makes the run again, where one does.
    pub command: Option<String>,
    /// The value of the metric.
    pub value: f64,
}

/// The work of a kept entry, as far as that is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Past {
    /// Of a run of drivelab its digest.
    pub run: Option<Arc<CommonRun>>,
    /// Why its figures are not what they claim to be.
    pub flaws: Vec<Flaw>,
    /// The work as keys and values.
    pub work: Work,
}

impl From<RunDigest> for Past {
    fn from(run: RunDigest) -> Self {
        Self { work: run.common.work.clone(), flaws: run.own.flaws, run: Some(run.common) }
    }
}

/// Runs of the same work on the same machine, the oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// The work, in words.
    pub what: String,
    /// The work, and what it was done on.
    pub work: Work,
    target: String,
    /// The machine; `None` in virtual time.
    pub host: Option<String>,
    /// The metric.
    pub metric: String,
    /// Its unit; empty if the name contains it.
    pub unit: String,
    /// The runs.
    pub moments: Vec<Moment>,
    /// Runs whose figures are not what they claim to be, in none of the moments.
    pub left_out: usize,
}

/// Courses of kept runs, in the order in which they were kept. Runs of one course did the same work
/// on the same target and machine, and have one unit. Those with the most runs come first.
pub fn courses(kept: impl Iterator<Item = (Kept, Past)>) -> Vec<Course> {
    let mut all: Vec<Course> = Vec::new();
    for (kept, Past { run, flaws, work }) in kept {
        let figure = kept.figure.filter(|figure| figure.value.is_finite());
        let Some(figure) = figure else { continue };
        let what = match &run {
            Some(run) => run.title.clone(),
            None => [kept.suite.as_deref().unwrap_or_default(), &kept.target].join(" "),
        };
        let moment = Moment {
            id: kept.id,
            time_ms: kept.time_ms,
            label: kept.label,
            commit: kept.commit,
            command: run.and_then(|run| run.command.clone()),
            value: figure.value,
        };
        let index = all
            .iter()
            .position(|it| {
                (&it.what, &it.work, &it.target) == (&what, &work, &kept.target)
                    && (&it.host, &it.metric, &it.unit) == (&kept.host, &figure.name, &figure.unit)
            })
            .unwrap_or(all.len());
        if index == all.len() {
            let (metric, unit) = (figure.name, figure.unit);
            let (host, target, moments) = (kept.host, kept.target, Vec::new());
            all.push(Course { what, work, target, host, metric, unit, moments, left_out: 0 });
        }
        // An invalid run still opens its course, so that the course can count it.
        if validity::counts(&flaws) {
            all[index].moments.push(moment);
        } else {
            all[index].left_out += 1;
        }
    }
    // Before names are made distinct: a course without moments is not shown, so it needs no name.
    all.retain(|course| !course.moments.is_empty());
    let works: Vec<(&str, &Work)> = all.iter().map(|it| (it.what.as_str(), &it.work)).collect();
    let named = run::distinct(&works);
    for (course, what) in all.iter_mut().zip(named) {
        course.what = what;
    }
    // A stable sort: courses of one length keep the order of their first runs.
    all.sort_by_key(|course| std::cmp::Reverse(course.moments.len()));
    all
}

impl Course {
    /// A value of the metric with its unit.
    pub fn show(&self, value: f64) -> String {
        match self.unit.as_str() {
            "" => metric::show(&self.metric, value),
            unit => format!("{} {unit}", figures::count(value)),
        }
    }
}
