//! The pages of the viewer, from the archive and the same code as the verbs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use drivelab_analysis::digest::{Common, Own};
use drivelab_analysis::history::Past;
use drivelab_archive::{Archive, Detail, Digested, Filter, Listed, Query, RunId, since};
use drivelab_core::record::{Kept, Origin};
use drivelab_core::units::Ratio;
use drivelab_core::{Bytes, Invalid, Refusal, RefusalKind, invalid};
use drivelab_report::comparison;
use drivelab_report::history::{self, Asked};
use drivelab_report::publish::Format;
use drivelab_report::viewer::running::Running;
use drivelab_report::viewer::{notice, outline};
use drivelab_study::{Standing, State};
use drivelab_view::{Chosen, Client, Lab, Pages, RUNS_MAX, too_many};

use crate::commands::archive::history::listed;
use crate::commands::archive::keep::ArchiveArgs;
use crate::commands::arms::{ArmFiles, told_apart};
use crate::commands::fleet;
use crate::commands::inspect;
use crate::commands::report::{self, ReportArgs};
use drivelab_lab::archive::entries;
use drivelab_lab::archive::now_ms;
use drivelab_lab::interrupt;
use drivelab_lab::results::{self, Content, Digests, Shared};
use drivelab_lab::stage::DriveKeys;

/// Runs that a list shows where no number is asked for.
const LISTED: u64 = 100;
/// Runs of a course where no number is asked for: as many as are examined for changes.
const DRAWN: u64 = drivelab_stats::CHANGE_VALUES_MAX as u64;
/// Runs of any page, at most; more are listed by `drivelab history --last 0`.
const SHOWN_MAX: u64 = 1000;
/// Bytes of the records that a page compares, at most: in memory they are some times as large.
const COMPARED_MAX: u64 = 16 << 20;

/// Studies that are looked at for their progress.
const FOLDERS: usize = 20;

/// The pages of one archive.
pub(super) struct Archived {
    pub(super) archive: ArchiveArgs,
    /// The folder that contains the results folders.
    pub(super) results: PathBuf,
    /// The laboratory in a browser, where its page is installed.
    pub(super) lab: Option<Lab>,
}

impl Pages for Archived {
    fn list(&self, asked: &Asked, client: &Client) -> Result<String, Refusal> {
        let Listed { runs, damage } = listed(&self.open(client)?, &filter(asked, LISTED)?)?;
        Ok(history::page(&runs, &damage, asked))
    }

    fn course(&self, asked: &Asked, client: &Client) -> Result<String, Refusal> {
        self.courses(asked, client)
    }

    fn fleet(&self, asked: &Asked, client: &Client) -> Result<String, Refusal> {
        // A metric of the runs, which are parts of what is kept of a host.
        let filter = Filter { metric: None, ..filter(asked, 0)? };
        let archive = self.open(client)?;
        fleet::page(&archive, &filter, asked.get("metric"), &asked.form("/fleet"))
    }

    fn run(&self, id: &str, client: &Client) -> Result<String, Refusal> {
        let id: RunId = id.parse().map_err(|_| {
            Refusal::request(format!("`{id}` is not the id of a run"))
                .hint("the list of runs has links to all of them")
        })?;
        self.one(id, client)
    }

    fn compare(&self, chosen: &Chosen, client: &Client) -> Result<String, Refusal> {
        self.compared(chosen, client)
    }

    fn studies(&self) -> String {
        self.results.display().to_string()
    }

    fn running(&self) -> Result<Vec<Running>, Refusal> {
        let mut folders: Vec<PathBuf> = match self.results.read_dir() {
            Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
            Err(_) => Vec::new(),
        };
        // The latest first.
        folders.sort_by_cached_key(|folder| {
            let written = folder.join("runs.jsonl").metadata().and_then(|about| about.modified());
            std::cmp::Reverse(written.ok())
        });
        let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
        let studies = folders.iter().take(FOLDERS);
        // A folder that is none of a study, or damaged, is not shown.
        let found = studies.filter_map(|folder| {
            let standing = Standing::of(folder, &locks, &DriveKeys).ok()??;
            Some(running(folder, standing))
        });
        let mut found: Vec<Running> = found.collect();
        // A stable sort: the latest stays first among equals.
        found.sort_by_key(|study| study.state != "running");
        Ok(found)
    }

    fn lab(&self) -> Option<&Lab> {
        self.lab.as_ref()
    }

    fn inspection(&self) -> Result<String, Refusal> {
        let lines = inspect::of_this_machine()?;
        Ok(outline("How disks are attached", &lines))
    }
}

impl Archived {
    /// The archive, read for as long as the client waits.
    fn open(&self, client: &Client) -> Result<Archive, Refusal> {
        let (mut archive, client) = (self.archive.open()?, client.clone());
        archive.stop_when(Arc::new(move || client.has_gone() || interrupt::requested()))?;
        Ok(archive)
    }

    fn courses(&self, asked: &Asked, client: &Client) -> Result<String, Refusal> {
        let archive = self.open(client)?;
        let mut filter = filter(asked, DRAWN)?;
        if filter.metric.is_none() {
            // The first figure of the latest run, of all runs that have it.
            let latest = archive.list(&Filter { latest: Some(1), ..filter.clone() })?;
            filter.metric = latest.runs.into_iter().find_map(|run| run.figure).map(|it| it.name);
        }
        let Listed { runs, mut damage } = listed(&archive, &filter)?;
        let ids: Vec<String> = runs.iter().map(|kept| kept.id.clone()).collect();
        let (mut reader, mut pasts) = (Digests::default(), BTreeMap::new());
        archive.each_digest(&ids, |kept| {
            let found = past(&mut reader, &archive, &kept)?;
            let found = found.unwrap_or_else(|why| {
                damage.push(format!("run {}: {why}", kept.id));
                Past::default()
            });
            pasts.insert(kept.id.to_string(), found);
            Ok::<_, Refusal>(())
        })?;
        let found = runs.into_iter().map(|kept| {
            let past = pasts.remove(&kept.id).unwrap_or_default();
            (kept, past)
        });
        Ok(history::course_page(&drivelab_analysis::history::courses(found), &damage, asked))
    }

    fn one(&self, id: RunId, client: &Client) -> Result<String, Refusal> {
        let contents = found(&self.open(client)?, &id.to_string())?;
        match &contents[..] {
            [(_, Content::Measurement(file, _))] => {
                Ok(notice("A measurement for a model", &[], file))
            }
            [(_, Content::Collection(collected))] if collected.runs.is_empty() => {
                Ok(outline(&collected.host, &drivelab_host::outline(&collected.inspection)))
            }
            found => report::shown(found, Format::Html),
        }
    }

    fn compared(&self, chosen: &Chosen, client: &Client) -> Result<String, Refusal> {
        let margin = chosen.margin.as_deref().unwrap_or("3%");
        let margin: Ratio = margin.parse().map_err(Refusal::request)?;
        let archive = self.open(client)?;
        let mut arms: Vec<(String, Vec<(PathBuf, Content)>)> = Vec::new();
        for (name, runs) in chosen_arms(&archive, &chosen.runs)? {
            let mut of_arm = Vec::new();
            for run in runs {
                of_arm.extend(found(&archive, &run)?);
            }
            arms.push((name, of_arm));
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
        let factor = chosen.factor.as_deref().unwrap_or_default();
        let factors = factor.split(',').map(str::trim).filter(|name| !name.is_empty());
        let factors = factors.map(str::to_owned).collect();
        let asked = (chosen.primary.clone(), margin, factors);
        let asked = ReportArgs::of_arms(&files, asked, &self.archive);
        let compared = report::compared(&asked, &named, found)?;
        let form = comparison::form(&compared.result, &chosen.runs, &margin.to_string(), factor);
        compared.render(Format::Html, &form)
    }
}

/// The query for a chosen run: its id or `label:NAME`, never a file.
fn query(typed: &str) -> Result<Query, Refusal> {
    let is_name = typed.starts_with("label:") || typed.parse::<RunId>().is_ok();
    let query = Query::read(typed, now_ms()).ok().flatten().filter(|_| is_name);
    query.ok_or_else(|| {
        Refusal::request(format!("`{typed}` is neither the id of a run nor label:NAME"))
            .hint("choose runs in the list")
    })
}

/// The content that a chosen name refers to.
fn found(archive: &Archive, typed: &str) -> Result<Vec<(PathBuf, Content)>, Refusal> {
    let found = results::find_in(archive, typed, &query(typed)?, Detail::All)?;
    Ok(found.into_iter().map(|content| (PathBuf::from(typed), content)).collect())
}

/// The chosen names without those of runs that another one means as well. Runs are counted before
/// any of them is read: a label may be that of thousands.
fn distinct(archive: &Archive, chosen: &[String]) -> Result<Vec<String>, Refusal> {
    let (mut runs, mut labelled) = (chosen.to_vec(), BTreeSet::new());
    if runs.iter().all(|run| run.parse::<RunId>().is_ok()) {
        // Ids sort by time: the oldest is the baseline.
        runs.sort_unstable();
    }
    for typed in runs.iter().filter(|typed| typed.starts_with("label:")) {
        labelled.extend(query(typed)?.ids(archive, typed)?);
    }
    runs.retain(|typed| typed.parse().map_or(true, |id: RunId| !labelled.contains(&id)));
    let mut all: Vec<String> = labelled.iter().map(ToString::to_string).collect();
    all.extend(runs.iter().filter(|typed| typed.parse::<RunId>().is_ok()).cloned());
    if all.len() > RUNS_MAX {
        return Err(too_many(all.len()));
    }
    let bytes = archive.bytes_of(&all)?;
    if bytes > COMPARED_MAX {
        let message = format!("the records of these runs have {}", Bytes::new(bytes));
        return Err(Refusal::request(message)
            .hint(format!("choose fewer, of at most {}", Bytes::new(COMPARED_MAX)))
            .hint("or compare them on the command line: drivelab compare"));
    }
    Ok(runs)
}

/// The kept run that a chosen word names by its id; `None` for a label, which may name many.
fn kept_run(archive: &Archive, run: &str) -> Result<Option<Kept>, Refusal> {
    if run.starts_with("label:") {
        return Ok(None);
    }
    let listed = archive.listed(&Filter::default(), &[run.to_owned()])?;
    Ok(listed.runs.into_iter().next())
}

/// The arms by name: chosen runs with the same label are one, unless all have it.
fn chosen_arms(
    archive: &Archive,
    chosen: &[String],
) -> Result<Vec<(String, Vec<String>)>, Refusal> {
    let runs = distinct(archive, chosen)?;
    let kept = runs.iter().map(|run| kept_run(archive, run));
    let kept = kept.collect::<Result<Vec<_>, _>>()?;
    let labels = runs.iter().zip(&kept).map(|(run, kept)| match run.strip_prefix("label:") {
        Some(label) => Some(label.to_owned()),
        None => kept.as_ref().and_then(|kept| kept.label.clone()),
    });
    let labels: Vec<Option<String>> = labels.collect();
    let is_one = labels.iter().all(|label| label == &labels[0]);
    let mut arms: Vec<(String, Option<Kept>, Vec<String>)> = Vec::new();
    for ((run, label), kept) in runs.into_iter().zip(labels).zip(kept) {
        let label = label.filter(|_| !is_one);
        // What has a label is called by it, and what has none by date or target.
        let kept = kept.filter(|_| label.is_none()).map(|kept| Kept { label: None, ..kept });
        let name = label.unwrap_or_else(|| run.clone());
        match arms.iter_mut().find(|(known, ..)| *known == name) {
            Some((_, _, runs)) => runs.push(run),
            None => arms.push((name, kept, vec![run])),
        }
    }
    let names: Vec<String> = arms.iter().map(|(name, ..)| name.clone()).collect();
    let kept: Vec<Option<Kept>> = arms.iter_mut().map(|(_, kept, _)| kept.take()).collect();
    let names = told_apart(&names, &kept);
    Ok(names.into_iter().zip(arms).map(|(name, (_, _, runs))| (name, runs)).collect())
}

/// The work of a kept entry, by its digest or else by its record; or why that does not read back.
fn past(
    reader: &mut Digests,
    archive: &Archive,
    kept: &Digested,
) -> Result<Result<Past, Invalid>, Refusal> {
    if let Some(run) = reader.run(kept) {
        return Ok(Ok(Past::from(run)));
    }
    let own = kept.digest.clone().and_then(entries::own);
    let shared = kept.digest.as_ref().and_then(|digest| reader.shared(digest));
    match (own, shared) {
        (Some(Own { flaws, .. }), Some(Shared::Other(common))) => Ok(Ok(match &*common {
            Common::Results { work } => Past { work: work.clone(), flaws, run: None },
            _ => Past::default(),
        })),
        _ => recorded(archive, kept),
    }
}

/// The same by the record.
fn recorded(archive: &Archive, kept: &Digested) -> Result<Result<Past, Invalid>, Refusal> {
    // Anything else has no digest, and no work of its own.
    if !matches!(kept.origin, Origin::Run | Origin::Suite | Origin::Import) {
        return Ok(Ok(Past::default()));
    }
    match results::content(archive, kept.id) {
        Ok(Content::Runs(mut runs)) => {
            Ok(Ok(runs.pop().map(|run| Past::from(results::recorded(run))).unwrap_or_default()))
        }
        Ok(Content::Results(mut results)) => {
            let run = results.runs.pop();
            let past = run.map(|it| Past { work: it.work, flaws: it.flaws, run: None });
            Ok(Ok(past.unwrap_or_default()))
        }
        Ok(_) => Ok(Ok(Past::default())),
        Err(refusal) if refusal.kind == RefusalKind::Interrupted => Err(refusal),
        Err(refusal) => Ok(Err(invalid!("{refusal:#}"))),
    }
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

/// The filter that was typed into a form.
fn filter(asked: &Asked, latest: u64) -> Result<Filter, Refusal> {
    let text = |key: &str| asked.get(key).map(str::to_owned);
    let when = |key: &str| {
        let read = |text: &str| since(text, now_ms()).map_err(Refusal::request);
        asked.get(key).map(read).transpose()
    };
    let latest = match asked.get("last") {
        None => latest,
        Some(text) => text.parse().map_err(|_| {
            Refusal::request(format!("`{text}` is not a number of runs"))
                .hint(format!("give a number up to {SHOWN_MAX}"))
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
        // Pages have a limit, the command line has none.
        latest: Some(latest.min(SHOWN_MAX)).map(|it| if it == 0 { SHOWN_MAX } else { it }),
    })
}

#[cfg(test)]
mod tests {
    use drivelab_archive::Digest;
    use drivelab_core::record::RunRecord;

    use super::*;

    #[test]
    fn the_course_of_a_run_without_a_digest_is_that_of_its_record() {
        let folder = tempfile::tempdir().unwrap();
        let mut archive = Archive::open(
            &folder.path().join("runs.db"),
            drivelab_archive::Patience::same(|_| false),
        )
        .unwrap();
        let record: RunRecord =
            serde_json::from_str(include_str!("../../../../core/tests/records/today.json"))
                .unwrap();
        let entry = entries::of_record(&record, Origin::Run, 1_000);
        let (id, digest) = (entry.id, entry.digest.clone());
        archive.keep(&[entry]).unwrap();
        let past_of = |digest| {
            let origin = Origin::Run;
            let kept = Digested { id, time_ms: 1_000, origin, whole: None, digest };
            past(&mut Digests::default(), &archive, &kept).unwrap()
        };
        let known = past_of(digest.clone()).unwrap();
        assert!(known.run.is_some());
        assert_eq!(past_of(None), Ok(known.clone()));
        let damaged = digest.map(|digest| Digest { flaws: Some("[".to_owned()), ..digest });
        assert_eq!(past_of(damaged), Ok(known));
    }

    #[test]
    fn a_page_shows_a_limited_number_of_runs() {
        let latest = |typed: &str| {
            let asked = Asked::read([("last", typed)].into_iter()).unwrap();
            filter(&asked, LISTED).unwrap().latest
        };
        assert_eq!(latest(""), Some(LISTED));
        assert_eq!(latest("7"), Some(7));
        for many in ["0", "1001", "18446744073709551615"] {
            assert_eq!(latest(many), Some(SHOWN_MAX), "{many}");
        }
    }
}
