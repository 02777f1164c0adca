//! The duration of a study.

use std::collections::BTreeMap;
use std::fmt;

use drivelab_core::units::Span;

use crate::agenda::Agenda;
use crate::file::{StudyFile, Work};
use crate::stage::StoredRun;

/// The runs that are missing, and the time they take at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    runs: u64,
    whole: Span,
    shortest: Span,
    longest: Span,
    /// Some run ends after a number of requests instead.
    is_at_most: bool,
}

impl Effort {
    /// The missing runs of a study in real time; `None` where none is missing, or its time is
    /// unknown.
    pub fn left(
        study: &StudyFile,
        agenda: &Agenda,
        done: &BTreeMap<usize, StoredRun>,
    ) -> Option<Self> {
        let all = agenda.stays().flat_map(|(_, runs)| runs);
        let missing = all.filter(|(index, _)| !done.contains_key(index));
        Self::of(missing.map(|(_, task)| study.work(task)))
    }

    /// The missing runs of a study whose first `done` runs of the agenda are finished.
    pub fn after(study: &StudyFile, agenda: &Agenda, done: usize) -> Option<Self> {
        let all = agenda.stays().flat_map(|(_, runs)| runs);
        Self::of(all.skip(done).map(|(_, task)| study.work(task)))
    }

    /// The duration of runs; `None` if a time is unknown, as that of a command.
    fn of(mut runs: impl Iterator<Item = Work>) -> Option<Self> {
        let first = Self::of_one(&runs.next()?)?;
        runs.try_fold(first, |sum, next| {
            let next = Self::of_one(&next)?;
            Some(Self {
                runs: sum.runs + 1,
                whole: sum.whole + next.whole,
                shortest: sum.shortest.min(next.shortest),
                longest: sum.longest.max(next.longest),
                is_at_most: sum.is_at_most || next.is_at_most,
            })
        })
    }

    fn of_one(work: &Work) -> Option<Self> {
        let (time, is_at_most) = match work {
            Work::Load(load) => {
                // Such a run may end before its time.
                let is_at_most = load.number_ios.is_some() || load.steady.is_some();
                (load.runtime + load.ramp_time, is_at_most)
            }
            Work::Suite(suite) => (suite.time?, true),
            Work::Command(_) => return None,
        };
        Some(Self { runs: 1, whole: time, shortest: time, longest: time, is_at_most })
    }
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.is_at_most { "at most" } else { "about" };
        let runs = if self.runs == 1 { "run" } else { "runs" };
        let (whole, shortest) = (in_words(self.whole), in_words(self.shortest));
        write!(f, "{how} {whole}: {} {runs} of {shortest}", self.runs)?;
        if self.longest > self.shortest {
            write!(f, " to {}", in_words(self.longest))?;
        }
        Ok(())
    }
}

/// A length of time as people say it.
pub fn in_words(time: Span) -> String {
    let seconds = time.ns().div_ceil(1_000_000_000);
    match seconds {
        ..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => {
            let minutes = seconds.div_ceil(60);
            format!("{} h {} min", minutes / 60, minutes % 60)
        }
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::workload::{Workload, WorkloadOptions};

    use super::*;

    fn workload(runtime: u64, number_ios: Option<u64>) -> Workload {
        let runtime = Some(Span::from_secs(runtime));
        WorkloadOptions { runtime, number_ios, ..WorkloadOptions::default() }.check().unwrap()
    }

    #[test]
    fn the_time_is_said_as_people_say_it() {
        let check = |workloads: &[Workload], expected: &str| {
            let runs = workloads.iter().map(|workload| Work::Load(Box::new(workload.clone())));
            assert_eq!(Effort::of(runs).unwrap().to_string(), expected);
        };
        let five = workload(5, None);
        check(&vec![five.clone(); 20], "about 100 s: 20 runs of 5 s");
        check(&vec![five.clone(); 30], "about 3 min: 30 runs of 5 s");
        check(&vec![five.clone(); 1441], "about 2 h 1 min: 1441 runs of 5 s");
        check(&[five.clone(), workload(30, None)], "about 35 s: 2 runs of 5 s to 30 s");
        check(&[workload(5, Some(10))], "at most 5 s: 1 run of 5 s");
        assert!(Effort::of([].into_iter()).is_none());
    }
}
