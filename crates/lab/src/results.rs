//! Results that exist already: kept and stored runs, results folders of studies, files of other
//! tools.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use drivelab_analysis::comparison::OwnRuns;
use drivelab_analysis::cost::{self, Bill};
use drivelab_analysis::digest::{Common, CommonRun, Own, RunDigest};
use drivelab_analysis::run::Dated;
use drivelab_analysis::{kept, run};
use drivelab_archive::{
    AT_ONCE, Archive, ArchiveError, Detail, Digest, Digested, Filter, Query, RunId, Whole,
};
use drivelab_core::csv::ParseError;
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Origin, RUN_SCHEMA, RunRecord};
use drivelab_formats::paste::Paste;
use drivelab_formats::results;
use drivelab_study::{KEPT_STUDY_SCHEMA, KeptStudy};
use serde_json::Value;

use crate::archive::{Location, entries, now_ms};
use crate::fleet::Collected;
use crate::stage::{DriveKeys, suite};
use crate::{input, interrupt};
use drivelab_core::{Invalid, Refusal, invalid};

/// The content of a file, a folder or a kept run.
#[derive(Debug)]
pub enum Content {
    /// Runs of drivelab.
    Runs(Vec<Dated>),
    /// Results of another tool.
    Results(Imported),
    /// A study or a matrix, and when it was kept, in milliseconds since 1970.
    Study(Box<KeptStudy>, Option<u64>),
    /// A job file: what was printed of it, and each job's run.
    Jobs(Value, Vec<RunRecord>),
    /// A measurement for a model: the file that was written, and what was printed of it.
    Measurement(String, Value),
    /// The I/O bill of a program.
    Bill(Box<Bill>),
    /// The data collected from a host of a fleet.
    Collection(Box<Collected>),
}

/// Reads a file, or the results folder of a study; `format` names what a file holds, where its
/// text does not show it.
pub fn read(path: &Path, format: Option<&str>) -> Result<Content, Refusal> {
    if path.is_dir() {
        return folder(path).map(|study| Content::Study(Box::new(study), None));
    }
    let Paste { text: content, notes } = input::pasted(path, input::RESULTS)?;
    let parsed = match format {
        Some(format) => results::parse_as(format, &content),
        None if is_run(&content) => {
            let runs = run::parse(&content).map_err(|error| wrong(path, &error))?;
            return Ok(Content::Runs(runs.into_iter().map(Dated::from).collect()));
        }
        None => results::parse_file(&name(path, Path::file_name), &content),
    };
    let mut results = parsed.map_err(|error| wrong(path, &error))?;
    results.notes.extend(notes);
    Ok(Content::Results(results))
}

/// The same, or kept runs: `label:NAME`, `@WHEN[,key=value...]`, or the beginning of an id. A file
/// of that name comes first.
pub fn find(
    what: &Path,
    format: Option<&str>,
    (archive, detail): (&Location, Detail),
) -> Result<Vec<Content>, Refusal> {
    let typed = what.to_str().filter(|_| !what.exists()).unwrap_or_default();
    let query = Query::read(typed, now_ms())?;
    match query {
        Some(query) => find_in(&opened(archive, typed)?, typed, &query, detail),
        None => Ok(vec![read(what, format)?]),
    }
}

/// The archive, in which the digests of another version of drivelab were made again.
pub fn renewed(mut archive: Archive) -> Archive {
    // Where it cannot be written now, the records say the same, and a later reader tries again.
    let _ = archive.renew_digests(&entries::read_back);
    archive
}

/// The archive that has what was typed, which may be a misspelled file name: none is made.
fn opened(archive: &Location, typed: &str) -> Result<Archive, Refusal> {
    archive.open_existing()?.ok_or_else(|| {
        Refusal::request(format!("`{typed}` does not exist, and no run has been kept"))
            .hint("check the file name, or keep a run first: drivelab run")
    })
}

/// The content of the kept runs that the typed words name.
pub fn find_in(
    archive: &Archive,
    typed: &str,
    query: &Query,
    detail: Detail,
) -> Result<Vec<Content>, Refusal> {
    let mut found: Vec<Content> = Vec::new();
    // One after the other: the documents of all of them would be several times as large.
    query.each(archive, typed, detail, |whole| {
        let content = kept(&whole).map_err(|why| damaged(&whole, &why))?;
        match (found.last_mut(), content) {
            (Some(Content::Runs(runs)), Content::Runs(more)) => runs.extend(more),
            (_, content) => found.push(content),
        }
        Ok::<_, Refusal>(())
    })?;
    // A label means one work by the user's word; a time may mean any.
    if typed.starts_with('@')
        && let [Content::Runs(runs)] = &found[..]
    {
        refuse_mixture(typed, runs)?;
    }
    Ok(found)
}

/// Adds the runs with a label to an arm by their digests: there may be 100,000 of them. `None`
/// where `what` is no label, or has other results too.
pub fn own_runs(arm: &mut OwnRuns, what: &Path, archive: &Location) -> Result<Option<()>, Refusal> {
    let typed = what.to_str().filter(|_| !what.exists()).unwrap_or_default();
    if !typed.starts_with(LABEL) {
        return Ok(None);
    }
    match Query::read(typed, now_ms())? {
        Some(Query::Filter(filter)) => {
            labelled(arm, &renewed(opened(archive, typed)?), typed, &filter)
        }
        _ => Ok(None),
    }
}

/// Adds the runs that a filter means to an arm; `None` where it means other results too.
fn labelled(
    arm: &mut OwnRuns,
    archive: &Archive,
    typed: &str,
    filter: &Filter,
) -> Result<Option<()>, Refusal> {
    let ids = archive.ids(filter)?;
    if ids.is_empty() {
        return Err(ArchiveError::NoSuchRun(typed.to_owned()).into());
    }
    let (mut reader, mut are_all_own) = (Digests::default(), true);
    for ids in ids.chunks(AT_ONCE) {
        archive.each_digest(ids, |kept| {
            if are_all_own {
                match reader.run(&kept) {
                    Some(digest) => arm.add(digest),
                    None => are_all_own = add_record(arm, archive, kept.id)?,
                }
            }
            Ok::<_, Refusal>(())
        })?;
        // All of them are read again then, in another way.
        if !are_all_own {
            return Ok(None);
        }
    }
    Ok(Some(()))
}

/// Adds a run without a digest by its record; returns false for anything else.
fn add_record(arm: &mut OwnRuns, archive: &Archive, id: RunId) -> Result<bool, Refusal> {
    let Content::Runs(runs) = content(archive, id)? else { return Ok(false) };
    runs.into_iter().map(recorded).for_each(|run| arm.add(run));
    Ok(true)
}

/// The content of a kept run, by its record.
pub fn content(archive: &Archive, id: RunId) -> Result<Content, Refusal> {
    let whole = archive.whole(id)?;
    kept(&whole).map_err(|why| damaged(&whole, &why))
}

/// The digest of a run whose record was read.
pub fn recorded(Dated { mut record, ended_unix_s }: Dated) -> RunDigest {
    suite::complete(&mut record);
    let RunDigest { common, own } = RunDigest::of(&record);
    RunDigest { common, own: Own { ended_unix_s, ..own } }
}

/// Reads digests, and each of their shared parts once.
#[derive(Debug, Default)]
pub struct Digests {
    /// The shared parts that were read last, by their texts.
    commons: BTreeMap<Arc<str>, Option<Shared>>,
}

/// The shared part of a digest.
#[derive(Debug, Clone)]
pub enum Shared {
    /// Of a run of drivelab.
    Run(Arc<CommonRun>),
    /// Of anything else.
    Other(Arc<Common>),
}

/// Shared parts that are remembered: neighbouring runs have the same.
const COMMONS_MAX: usize = 256;

impl Digests {
    /// The shared part of a digest; `None` for one that does not read back.
    pub fn shared(&mut self, digest: &Digest) -> Option<Shared> {
        if let Some(known) = self.commons.get(&digest.common) {
            return known.clone();
        }
        if self.commons.len() == COMMONS_MAX {
            // Cleared whole: runs that follow one another share theirs.
            self.commons.clear();
        }
        let shared = Common::from_json(&digest.common).map(|common| match common {
            Common::Run(run) => Shared::Run(Arc::from(run)),
            other => Shared::Other(Arc::new(other)),
        });
        self.commons.insert(Arc::clone(&digest.common), shared.clone());
        shared
    }

    /// The digest of a run of drivelab, dated; `None` for anything else.
    pub fn run(&mut self, kept: &Digested) -> Option<RunDigest> {
        let digest = kept.digest.as_ref()?;
        let Shared::Run(common) = self.shared(digest)? else { return None };
        let own = entries::own(digest.clone())?;
        // Values are kept without names, in the order of the common figures.
        if own.values.len() != common.figures.len() {
            return None;
        }
        let known = own.ended_unix_s;
        let ended_unix_s = known.or(of_entry(common.host.is_some(), kept.origin, kept.time_ms));
        Some(RunDigest { common, own: Own { ended_unix_s, ..own } })
    }
}

fn damaged(whole: &Whole, why: &Invalid) -> Refusal {
    Refusal::machine(format!("kept run {}: {why}", whole.id))
        .hint("see what else is damaged: drivelab archive check")
}

/// Reads a whole with its parts; or says why its runs are not those that it was kept with.
pub fn read_whole(whole: &Whole) -> Result<(), Invalid> {
    kept(whole).map(drop)
}

/// Refuses to take runs of different work for one another, which only a time has named.
fn refuse_mixture(typed: &str, runs: &[Dated]) -> Result<(), Refusal> {
    let kinds = run::kinds(runs);
    if kinds.len() < 2 {
        return Ok(());
    }
    let message = format!("`{typed}` means runs of different work: {}", kinds.join("; "));
    Err(Refusal::request(message)
        .hint(format!("narrow it: {typed},label=NAME or {typed},device=TEXT")))
}

/// The kept content, by the kind that its document names.
fn kept(whole: &Whole) -> Result<Content, Invalid> {
    let mut document: Value = serde_json::from_str(&whole.document).map_err(Invalid::new)?;
    let schema = document["schema"].as_str().unwrap_or_default().to_owned();
    match schema.as_str() {
        RUN_SCHEMA => {
            let record =
                drivelab_analysis::run::from_json(&whole.document).map_err(Invalid::new)?;
            Ok(Content::Runs(vec![dated(record, whole)]))
        }
        KEPT_STUDY_SCHEMA => {
            let parts = whole.parts.iter().map(|it| (it.position.as_str(), it.document.as_str()));
            let study = KeptStudy::of_document(&whole.document, parts);
            study
                .map(|study| Content::Study(Box::new(study), Some(whole.time_ms)))
                .map_err(Invalid::new)
        }
        kept::JOBS_SCHEMA => Ok(Content::Jobs(document["printed"].take(), records(whole)?)),
        kept::COLLECTION_SCHEMA => collected(whole).map(|it| Content::Collection(Box::new(it))),
        kept::MEASUREMENT_SCHEMA => {
            let file = document["file"].as_str().unwrap_or_default().to_owned();
            Ok(Content::Measurement(file, document["printed"].take()))
        }
        cost::SCHEMA => {
            let bill = serde_json::from_value(document).map_err(Invalid::new)?;
            Ok(Content::Bill(Box::new(bill)))
        }
        kept::RESULTS_SCHEMA => kept::read_results(document).map(Content::Results),
        _ => Err(invalid!("`{schema}` is unknown to this version")),
    }
}

/// A kept run by its name and time in the archive.
fn dated(mut record: RunRecord, whole: &Whole) -> Dated {
    record.label.clone_from(&whole.label);
    let by_entry = of_entry(record.host.is_some(), whole.origin, whole.time_ms);
    let ended_unix_s = record.ended_unix_s.or(by_entry);
    Dated { record, ended_unix_s }
}

/// The time at which a run ended by that of its entry, in seconds since 1970. An import has the
/// time of its file, and virtual time none.
fn of_entry(has_host: bool, origin: Origin, time_ms: u64) -> Option<u64> {
    (has_host && origin != Origin::Import).then_some(time_ms / 1000)
}

/// The runs that are parts of what was kept.
fn records(whole: &Whole) -> Result<Vec<RunRecord>, Invalid> {
    let records = whole.parts.iter().map(|part| drivelab_analysis::run::from_json(&part.document));
    records.collect::<Result<_, serde_json::Error>>().map_err(Invalid::new)
}

/// The data collected from a host, as kept.
pub fn collected(whole: &Whole) -> Result<Collected, Invalid> {
    let document = serde_json::from_str(&whole.document).map_err(Invalid::new)?;
    Collected::read(&document, records(whole)?)
}

/// The prefix of a label that names kept runs.
const LABEL: &str = "label:";

/// The label, or the name of the file without its ending.
pub fn stem(what: &Path) -> String {
    match what.to_str() {
        Some(text) if text.starts_with('@') => text.to_owned(),
        Some(text) if text.starts_with(LABEL) => text[LABEL.len()..].to_owned(),
        Some("-") => "stdin".to_owned(),
        _ => name(what, Path::file_stem),
    }
}

/// Content as results, with the name of the file for arms that have none.
pub fn imported(path: &Path, content: Content) -> Result<Imported, Refusal> {
    let arm = stem(path);
    let mut results = match content {
        Content::Runs(mut runs) => {
            for run in &mut runs {
                suite::complete(&mut run.record);
            }
            of_runs(&arm, runs.iter().map(|run| &run.record))
        }
        Content::Results(results) => results,
        Content::Study(mut kept, _) => {
            for run in &mut kept.runs {
                suite::complete(&mut run.record);
            }
            let study = kept.study(&DriveKeys)?;
            kept.results(&study, run::metrics)?
        }
        Content::Jobs(_, records) => run::jobs_results(&arm, &records),
        Content::Collection(collected) => run::jobs_results(&arm, &collected.records()),
        Content::Measurement(..) => {
            let message = format!("`{}` is a measurement for a model, not a run", path.display());
            return Err(Refusal::request(message).hint("print its file: drivelab show RUN"));
        }
        Content::Bill(bill) => {
            let message =
                format!("`{}` is a bill of `{}`, not a run", path.display(), bill.command);
            return Err(Refusal::request(message)
                .hint("compare a new bill with it: drivelab cost --against RUN COMMAND"));
        }
    };
    for run in results.runs.iter_mut().filter(|run| run.arm.is_empty()) {
        run.arm.clone_from(&arm);
    }
    Ok(results)
}

/// Runs of ours as results, those of a suite with the settings that the format of its original
/// has columns for.
fn of_runs<'a>(arm: &str, records: impl Iterator<Item = &'a RunRecord> + Clone) -> Imported {
    let mut results = run::results(arm, records.clone());
    for (run, record) in results.runs.iter_mut().zip(records) {
        run.setup = suite::setup(record);
    }
    results
}

/// The same of all that was found, as one.
pub fn all_imported(path: &Path, found: Vec<Content>) -> Result<Imported, Refusal> {
    let mut all: Option<Imported> = None;
    for content in found {
        let results = imported(path, content)?;
        match &mut all {
            None => all = Some(results),
            Some(all) => all.add(results),
        }
    }
    Ok(all.unwrap_or_default())
}

/// Reads a file as text; binary data becomes a mark that the parsers refuse by line.
pub fn text(path: &Path) -> Result<String, Refusal> {
    input::pasted(path, input::RESULTS).map(|it| it.text)
}

/// The error for an invalid file, with its line and column.
pub fn wrong(path: &Path, error: &ParseError) -> Refusal {
    let position = match (error.line, error.column) {
        (0, _) => String::new(),
        (line, 0) => format!(":{line}"),
        (line, column) => format!(":{line}:{column}"),
    };
    Refusal::request(format!("{}{position}: {}", path.display(), error.what))
        .hint(error.hint.clone())
}

/// A part of the path as text.
pub fn name(path: &Path, part: fn(&Path) -> Option<&std::ffi::OsStr>) -> String {
    part(path).unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// JSON with a schema, which no other tool writes: its errors are those of a stored run.
fn is_run(text: &str) -> bool {
    let text_of_json = text.trim_start();
    let is_list = text_of_json.strip_prefix('[').is_some_and(|items| {
        // Other tools write `[Read]` above their figures.
        items.trim_start().starts_with(['{', ']'])
    });
    let is_json = text_of_json.starts_with('{') || is_list;
    let has_schema = text.contains("\"schema\"") && !results::is_known(text);
    // Every schema of ours begins so.
    is_json && (text.contains("\"drivelab.") || has_schema)
}

fn folder(path: &Path) -> Result<KeptStudy, Refusal> {
    let study_path = path.join("study.toml");
    let is_study = match std::fs::metadata(&study_path) {
        Ok(about) => about.is_file(),
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(Refusal::at_path("read", &study_path, error)),
    };
    if !is_study {
        let message =
            format!("the directory `{}` is not the results folder of a study", path.display());
        return Err(Refusal::request(message).hint(
            "name a folder with `study.toml` and `runs.jsonl`, or the files in it: DIR/*.json",
        ));
    }
    // Of a journal of many runs it takes a while.
    let _reading = interrupt::reading();
    KeptStudy::read(path, &DriveKeys)
}
