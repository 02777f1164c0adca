//! Results that exist already: kept and stored runs, results folders of studies, files of other
//! tools.

use std::path::Path;

use drivelab_core::csv::ParseError;
use drivelab_core::foreign::Imported;
use drivelab_core::record::RunRecord;
use drivelab_formats::results;
use drivelab_report::run;
use drivelab_study::{KeptText, StudyFile, kept_results};

use crate::commands::archive::keep::ArchiveArgs;
use crate::failure::Failure;
use crate::input;
use crate::stage::DriveKeys;

/// What one file or folder holds.
pub(crate) enum Content {
    /// Runs of drivelab.
    Runs(Vec<RunRecord>),
    /// Results of another tool, or of a study of drivelab.
    Results(Imported),
}

/// Reads a file, or the results folder of a study; `format` names what a file holds, where its
/// text does not show it.
pub(crate) fn read(path: &Path, format: Option<&str>) -> Result<Content, Failure> {
    if path.is_dir() {
        return folder(path).map(Content::Results);
    }
    let text = text(path)?;
    let parsed = match format {
        Some(format) => results::parse_as(format, &text),
        None if is_run(&text) => {
            let runs = run::parse(&text).map_err(|error| wrong(path, &error))?;
            return Ok(Content::Runs(runs));
        }
        None => results::parse_file(&name(path, Path::file_name), &text),
    };
    parsed.map(Content::Results).map_err(|error| wrong(path, &error))
}

/// The same, or runs of the archive: `label:NAME`, or the beginning of an id. A file of that name
/// comes first.
pub(crate) fn find(
    what: &Path,
    format: Option<&str>,
    archive: &ArchiveArgs,
) -> Result<Content, Failure> {
    match kept(what).filter(|_| !what.exists()) {
        Some(name) => Ok(Content::Runs(archive.open()?.records(name)?)),
        None => read(what, format),
    }
}

/// What names runs of the archive. Ids begin with `0` until the year 3084.
fn kept(what: &Path) -> Option<&str> {
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_id = |text: &str| text.starts_with('0') && is_plain(text);
    what.to_str().filter(|text| text.starts_with(LABEL) || is_id(text))
}

/// What stands before the label of kept runs.
const LABEL: &str = "label:";

/// The label, or the name of the file without its ending.
pub(crate) fn stem(what: &Path) -> String {
    match what.to_str().and_then(|text| text.strip_prefix(LABEL)) {
        Some(label) => label.to_owned(),
        None => name(what, Path::file_stem),
    }
}

/// Content as results, with the name of the file for arms that have none.
pub(crate) fn imported(path: &Path, content: Content) -> Imported {
    let stem = stem(path);
    let mut results = match content {
        Content::Runs(runs) => run::results(&stem, &runs),
        Content::Results(results) => results,
    };
    for run in results.runs.iter_mut().filter(|run| run.arm.is_empty()) {
        run.arm.clone_from(&stem);
    }
    results
}

/// Reads a file as text; bytes that are none become a mark that the parsers refuse by line.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    input::lossy(path, input::RESULTS)
}

/// What is wrong with a file, and where.
pub(crate) fn wrong(path: &Path, error: &ParseError) -> Failure {
    let place = match (error.line, error.column) {
        (0, _) => String::new(),
        (line, 0) => format!(":{line}"),
        (line, column) => format!(":{line}:{column}"),
    };
    Failure::bad_words(format!("{}{place}: {}", path.display(), error.what))
        .hint(error.hint.clone())
}

/// A part of the path as text.
pub(crate) fn name(path: &Path, part: fn(&Path) -> Option<&std::ffi::OsStr>) -> String {
    part(path).unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// JSON that no other tool writes: its errors are those of a stored run.
fn is_run(text: &str) -> bool {
    let is_json = text.trim_start().starts_with(['{', '[']);
    is_json && (text.contains("\"drivelab.") || !results::is_known(text))
}

fn folder(path: &Path) -> Result<Imported, Failure> {
    let study_path = path.join("study.toml");
    if !study_path.is_file() {
        let message =
            format!("the directory `{}` is not the results folder of a study", path.display());
        return Err(Failure::bad_words(message).hint(
            "name a folder with `study.toml` and `runs.jsonl`, or the files in it: DIR/*.json",
        ));
    }
    let study = input::text(&study_path, input::STUDY)?;
    let study = StudyFile::parse("study.toml", &study, &DriveKeys)?;
    let plan = input::text(&path.join("plan.json"), input::PLAN)?;
    let journal = input::lossy(&path.join("runs.jsonl"), input::JOURNAL)?;
    let kept = KeptText { plan: &plan, journal: &journal };
    kept_results(study, kept, run::metrics)
        .map_err(|error| Failure::bad_request(error).hint(format!("in `{}`", path.display())))
}
