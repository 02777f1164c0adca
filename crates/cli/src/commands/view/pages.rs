//! The pages of the viewer, from the archive and the same code as the verbs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use drivelab_archive::{Filter, Query, RunId, since};
use drivelab_core::record::{Kept, Origin};
use drivelab_core::units::Ratio;
use drivelab_core::{Refusal, RefusalKind};
use drivelab_report::history::{self, Asked, Past};
use drivelab_report::publish::Format;
use drivelab_report::viewer::running::Running;
use drivelab_report::viewer::{notice, outline};
use drivelab_report::{comparison, kept, run};
use drivelab_study::{Standing, State};
use drivelab_view::{Chosen, Pages};

use crate::commands::archive::history::listed;
use crate::commands::archive::keep::{ArchiveArgs, now_ms};
use crate::commands::arms::ArmFiles;
use crate::commands::fleet;
use crate::commands::inspect;
use crate::commands::report::{self, ReportArgs};
use crate::commands::results::{self, Content};
use crate::failure::{Exit, Failure};
use crate::stage::{DriveKeys, suite};

/// Runs that a list shows where no number is asked for.
const LISTED: u64 = 100;
/// Runs of a course where no number is asked for: as many as are examined for changes.
const DRAWN: u64 = drivelab_stats::CHANGE_VALUES_MAX as u64;
/// Runs of a course, at most: the record of each is read.
const DRAWN_MAX: u64 = 1000;

/// Studies that are looked at for their progress.
const FOLDERS: usize = 20;

/// The pages of one archive.
pub(super) struct Archived {
    pub(super) archive: ArchiveArgs,
    /// Where results folders are.
    pub(super) results: PathBuf,
}

impl Pages for Archived {
    fn list(&self, asked: &Asked) -> Result<String, Refusal> {
        let list = || -> Result<String, Failure> {
            let runs = listed(&self.archive.open()?, &filter(asked, LISTED)?)?;
            Ok(history::page(&runs, asked))
        };
        list().map_err(refusal)
    }

    fn course(&self, asked: &Asked) -> Result<String, Refusal> {
        self.courses(asked).map_err(refusal)
    }

    fn fleet(&self, asked: &Asked) -> Result<String, Refusal> {
        let page = || -> Result<String, Failure> {
            // A metric of the runs, which are parts of what is kept of a host.
            let filter = Filter { metric: None, ..filter(asked, 0)? };
            let archive = self.archive.open()?;
            fleet::page(&archive, &filter, asked.get("metric"), &asked.form("/fleet"))
        };
        page().map_err(refusal)
    }

    fn run(&self, id: &str) -> Result<String, Refusal> {
        let id: RunId = id.parse().map_err(|_| {
            Refusal::request(format!("`{id}` is not the id of a run"))
                .hint("the list of runs has links to all of them")
        })?;
        self.one(id).map_err(refusal)
    }

    fn compare(&self, chosen: &Chosen) -> Result<String, Refusal> {
        self.compared(chosen).map_err(refusal)
    }

    fn studies(&self) -> String {
        self.results.display().to_string()
    }

    fn running(&self) -> Result<Vec<Running>, Refusal> {
        let mut folders = match self.results.read_dir() {
            Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
            Err(_) => Vec::new(),
        };
        let changed = |folder: &PathBuf| {
            folder.join("runs.jsonl").metadata().and_then(|about| about.modified()).ok()
        };
        // The latest first.
        folders.sort_by_cached_key(|folder| std::cmp::Reverse(changed(folder)));
        let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
        let studies = folders.iter().take(FOLDERS);
        // A folder that is none of a study, or damaged, is not shown.
        let found = studies.filter_map(|folder| {
            let standing = Standing::of(folder, &locks, &DriveKeys).ok()??;
            Some(running(folder, standing))
        });
        let mut found: Vec<Running> = found.collect();
        found.sort_by_key(|study| study.state != "running");
        Ok(found)
    }

    fn inspection(&self) -> Result<String, Refusal> {
        let lines = inspect::of_this_machine().map_err(refusal)?;
        Ok(outline("How disks are attached", &lines))
    }
}

impl Archived {
    fn courses(&self, asked: &Asked) -> Result<String, Failure> {
        let archive = self.archive.open()?;
        let mut filter = filter(asked, DRAWN)?;
        filter.latest = filter.latest.map_or(Some(DRAWN_MAX), |last| Some(last.min(DRAWN_MAX)));
        if filter.metric.is_none() {
            // The first figure of the latest run, of all runs that have it.
            let latest = archive.list(&Filter { latest: Some(1), ..filter.clone() })?;
            filter.metric = latest.into_iter().find_map(|run| run.figure).map(|it| it.name);
        }
        let listed = listed(&archive, &filter)?;
        let runs = listed.iter().filter(|kept| may_be_run(kept)).map(|kept| kept.id.as_str());
        let heads = archive.heads(&runs.collect::<Vec<_>>())?;
        let kept = listed.into_iter().map(|kept| {
            let past = heads.get(&kept.id).map(|head| past(head)).unwrap_or_default();
            (kept, past)
        });
        Ok(history::course_page(&history::courses(kept), asked))
    }

    fn one(&self, id: RunId) -> Result<String, Failure> {
        let found = self.found(&id.to_string())?;
        match &found[..] {
            [(_, Content::Measurement(file, _))] => {
                Ok(notice("A measurement for a model", &[], file))
            }
            [(_, Content::Collection(collected))] if collected.runs.is_empty() => {
                Ok(outline(&collected.host, &drivelab_host::outline(&collected.inspection)))
            }
            found => report::shown(found, Format::Html),
        }
    }

    /// What one chosen name means: the id of a run or `label:NAME`, never a file.
    fn found(&self, typed: &str) -> Result<Vec<(PathBuf, Content)>, Failure> {
        let is_name = typed.starts_with("label:") || typed.parse::<RunId>().is_ok();
        let query = Query::read(typed, now_ms()).ok().flatten().filter(|_| is_name);
        let query = query.ok_or_else(|| {
            Failure::bad_words(format!("`{typed}` is neither the id of a run nor label:NAME"))
                .hint("choose runs in the list")
        })?;
        let found = results::find_kept(typed, &query, &self.archive)?;
        Ok(found.into_iter().map(|content| (PathBuf::from(typed), content)).collect())
    }

    fn compared(&self, chosen: &Chosen) -> Result<String, Failure> {
        let margin = chosen.margin.as_deref().unwrap_or("3%");
        let margin: Ratio = margin.parse().map_err(Failure::bad_words)?;
        let mut arms: Vec<(String, Vec<(PathBuf, Content)>)> = Vec::new();
        for (name, runs) in self.arms(chosen)? {
            let mut found = Vec::new();
            for run in runs {
                found.extend(self.found(&run)?);
            }
            arms.push((name, found));
        }
        let files: Vec<Vec<PathBuf>> = arms
            .iter()
            .map(|(_, found)| found.iter().map(|(path, _)| path.clone()).collect())
            .collect();
        let named: Vec<ArmFiles> = arms
            .iter()
            .zip(&files)
            .map(|((name, _), files)| ArmFiles {
                name: name.clone(),
                files: files.iter().map(PathBuf::as_path).collect::<Vec<&Path>>(),
            })
            .collect();
        let found = arms.into_iter().map(|(_, found)| found).collect();
        let asked = ReportArgs::of_arms(&files, chosen.primary.clone(), margin, &self.archive);
        let compared = report::compared(&asked, &named, found)?;
        let form = comparison::form(&compared.result, &chosen.runs, &margin.to_string());
        compared.render(Format::Html, &form)
    }

    /// The arms by name: chosen runs with the same label are one, unless all have it.
    fn arms(&self, chosen: &Chosen) -> Result<Vec<(String, Vec<String>)>, Failure> {
        let mut runs = chosen.runs.clone();
        if runs.iter().all(|run| run.parse::<RunId>().is_ok()) {
            // Ids sort by time: the oldest is the baseline.
            runs.sort_unstable();
            runs.dedup();
        }
        let archive = self.archive.open()?;
        let label = |run: &String| -> Result<Option<String>, Failure> {
            match (run.strip_prefix("label:"), run.parse::<RunId>()) {
                (Some(label), _) => Ok(Some(label.to_owned())),
                (None, Ok(id)) => Ok(archive.whole(id)?.label),
                (None, Err(_)) => Ok(None),
            }
        };
        let labels = runs.iter().map(label).collect::<Result<Vec<_>, _>>()?;
        let is_one = labels.iter().all(|label| label == &labels[0]);
        let mut arms: Vec<(String, Vec<String>)> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for (run, label) in runs.into_iter().zip(labels) {
            let name = label.filter(|_| !is_one).unwrap_or_else(|| run.clone());
            let place = *places.entry(name.clone()).or_insert(arms.len());
            match arms.get_mut(place) {
                Some((_, runs)) => runs.push(run),
                None => arms.push((name, vec![run])),
            }
        }
        Ok(arms)
    }
}

/// What the beginning of a kept document says of what was done.
fn past(head: &str) -> Past {
    if let Some(mut record) = run::parse_head(head) {
        suite::complete(&mut record);
        return Past::from(record);
    }
    let work = kept::work_of_results(head).unwrap_or_default();
    Past { work, ..Past::default() }
}

fn running(folder: &Path, standing: Standing) -> Running {
    Running {
        title: standing.title,
        folder: folder.display().to_string(),
        stage: standing.stage,
        done: standing.done,
        all: standing.all,
        state: match standing.state {
            State::Running => "running",
            State::Finished => "finished",
            State::Stopped => "stopped",
        },
        left: standing.left.map(|left| left.to_string()).unwrap_or_default(),
    }
}

/// Whether the document of a kept run may be a record; what was imported may be a run of drivelab,
/// too.
fn may_be_run(kept: &Kept) -> bool {
    matches!(kept.origin, Origin::Run | Origin::Suite | Origin::Import)
}

/// The filter that was typed into a form.
fn filter(asked: &Asked, latest: u64) -> Result<Filter, Failure> {
    let text = |key: &str| asked.get(key).map(str::to_owned);
    let when = |key: &str| {
        let read = |text: &str| since(text, now_ms()).map_err(Failure::bad_words);
        asked.get(key).map(read).transpose()
    };
    let latest = match asked.get("last") {
        None => latest,
        Some(text) => text.parse().map_err(|_| {
            Failure::bad_words(format!("`{text}` is not a number of runs"))
                .hint("give a number; 0 shows all")
        })?,
    };
    Ok(Filter {
        origin: None,
        host: text("host"),
        target: text("device"),
        drive: text("drive"),
        suite: text("suite"),
        label: text("label"),
        commit: None,
        parts_of: None,
        metric: text("metric"),
        since_ms: when("since")?,
        until_ms: when("until")?,
        latest: Some(latest).filter(|latest| *latest > 0),
    })
}

/// A failure of a verb, for a page.
fn refusal(failure: Failure) -> Refusal {
    let kind = match failure.exit {
        Exit::BadRequest => RefusalKind::Request,
        Exit::Bug => RefusalKind::Bug,
        _ => RefusalKind::Machine,
    };
    let causes: Vec<String> = failure.error.chain().map(ToString::to_string).collect();
    Refusal { kind, message: causes.join(": "), hints: failure.hints, source: None }
}
