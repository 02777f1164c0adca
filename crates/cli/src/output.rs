//! Files that are written next to a measurement: results, reports, ledgers, profiles.
//!
//! Never a block device, and never over a file that the same verb did not write: a wrong
//! name must not cost a disk, nor a file.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use drivelab_files::{Folder, NewFile, Target};
use drivelab_report::publish::{Format, Subject};

use crate::ui::Ui;
use drivelab_core::{AtPath as _, Refusal};
use drivelab_lab::archive::now_ms;
use drivelab_lab::{interrupt, paths};

/// A kind of file, recognized by its first or its last bytes.
#[derive(Debug)]
pub(crate) struct Kind {
    what: &'static str,
    option: &'static str,
    /// True if the last bytes identify the file, not the first.
    by_end: bool,
    is_ours: fn(&[u8]) -> bool,
}

/// The times of a replay.
pub(crate) const TIMES: Kind = Kind {
    what: "list of times of `replay`",
    option: "--times",
    by_end: false,
    is_ours: is_list_of_times,
};
/// The page of a replay.
pub(crate) const PAGE: Kind =
    Kind { what: "page of `replay`", option: "--report", by_end: false, is_ours: is_page };
/// A report of a result.
pub(crate) const REPORT: Kind = Kind {
    what: "report of drivelab",
    option: "--out or --report",
    by_end: false,
    is_ours: is_report,
};
/// The picture of a replay.
pub(crate) const PICTURE: Kind =
    Kind { what: "picture of `replay`", option: "--report", by_end: false, is_ours: is_picture };
/// The rows of a sweep.
pub(crate) const TABLE: Kind =
    Kind { what: "table of drivelab", option: "--out", by_end: true, is_ours: is_table };
/// The trace of a guest, or its console output.
pub(crate) const GUEST: Kind = Kind {
    what: "trace or console of `run --in kernel`",
    option: "--trace or --console",
    by_end: false,
    is_ours: is_of_guest,
};
/// A fitted profile.
pub(crate) const PROFILE: Kind = Kind {
    what: "profile of `drive fit` or `drive random`",
    option: "--out",
    by_end: false,
    is_ours: is_profile,
};
/// The measurements of a drive.
pub(crate) const MEASUREMENTS: Kind = Kind {
    what: "measurement of `drive measure`",
    option: "--out",
    by_end: false,
    is_ours: is_measurement,
};
/// The captured files of an inspection.
pub(crate) const CAPTURE: Kind =
    Kind { what: "capture of `inspect`", option: "--capture", by_end: false, is_ours: is_capture };

/// Results in a form of fio's.
pub(crate) const FIO: Kind =
    Kind { what: "result of fio", option: "--output", by_end: false, is_ours: is_of_fio };

/// The bytes of a file that are examined: a page names its kind after its style sheet.
const HEAD_BYTES: u64 = 64 << 10;

/// Begins the file at `path`, which replaces an earlier one of its kind when it is finished.
pub(crate) fn create(path: &Path, kind: &Kind) -> Result<NewFile, Refusal> {
    judged(path, kind)?.create().at_path("write", path)
}

/// Replaces the file at `path` by `bytes`, or leaves it as it was.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>, kind: &Kind) -> Result<(), Refusal> {
    let target = judged(path, kind)?;
    // Ctrl-C must not end the process before the file is renamed.
    let _whole = interrupt::shield();
    target.replace(bytes.as_ref()).at_path("write", path)
}

/// As [`write`], of a file in an open folder.
pub(crate) fn write_in(
    folder: &Folder,
    name: &str,
    bytes: impl AsRef<[u8]>,
    kind: &Kind,
) -> Result<(), Refusal> {
    let path = folder.path().join(name);
    let target = Target::within(folder, name).at_path("write", &path)?;
    refuse_contents(&target, &path, kind)?;
    let _whole = interrupt::shield();
    target.replace(bytes.as_ref()).at_path("write", &path)
}

/// Refuses a block device, and a file of any other kind, before the work is done.
pub(crate) fn refuse_other(path: &Path, kind: &Kind) -> Result<(), Refusal> {
    judged(path, kind).map(drop)
}

/// The file at `path`, which may be replaced. It is looked up once: what was judged is replaced.
fn judged(path: &Path, kind: &Kind) -> Result<Target, Refusal> {
    paths::refuse_device(path)?;
    let target = Target::find(path).at_path("write", path)?;
    refuse_contents(&target, path, kind)?;
    Ok(target)
}

fn refuse_contents(target: &Target, path: &Path, kind: &Kind) -> Result<(), Refusal> {
    // Pipes and terminals hold nothing, and neither does an empty file.
    let Some(mut file) = target.existing().at_path("write", path)? else { return Ok(()) };
    let len = file.metadata().at_path("read", path)?.len();
    if len == 0 {
        return Ok(());
    }
    let mut head = Vec::new();
    if kind.by_end {
        // The footer of Parquet is at the end of the file.
        let from = SeekFrom::Start(len.saturating_sub(HEAD_BYTES));
        file.seek(from).at_path("read", path)?;
    }
    file.take(HEAD_BYTES).read_to_end(&mut head).at_path("read", path)?;
    if (kind.is_ours)(&head) {
        return Ok(());
    }
    let message = format!("`{}` exists and is not a {}", path.display(), kind.what);
    Err(Refusal::request(message)
        .hint(format!("name another file with {}, or remove this one", kind.option)))
}

/// Milliseconds with six decimals, one a line; an interrupted replay, or the end of what is looked
/// at, breaks off anywhere in the last one.
fn is_list_of_times(head: &[u8]) -> bool {
    let mut lines: Vec<&[u8]> = head.split(|b| *b == b'\n').collect();
    let rest = lines.pop().unwrap_or_default();
    let is_begun = rest.iter().all(|b| b.is_ascii_digit() || *b == b'.');
    !lines.is_empty() && is_begun && lines.into_iter().all(is_time)
}

/// True for a number with six decimals.
fn is_time(line: &[u8]) -> bool {
    let point = line.iter().position(|b| *b == b'.').unwrap_or(0);
    let (whole, part) = line.split_at(point);
    is_number(whole) && part.len() == 7 && is_number(&part[1..])
}

fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

/// Six numbers a line, or the first line of UML.
fn is_of_guest(head: &[u8]) -> bool {
    let first = head.split(|b| *b == b'\n').next().unwrap_or_default();
    let numbers: Vec<&[u8]> = first.split(|b| *b == b' ').collect();
    numbers.len() == 6 && numbers.iter().all(|text| is_number(text))
        || holds(head, "Linux version ")
}

/// Text, JSON or a terse line, which each begin with the version.
fn is_of_fio(head: &[u8]) -> bool {
    let begins = ["fio-", "{\n  \"fio version\"", "3;fio-"];
    begins.iter().any(|begin| head.starts_with(begin.as_bytes())) || holds(head, ": (g=0): rw=")
}

fn is_page(head: &[u8]) -> bool {
    holds(head, "<meta name=\"generator\" content=\"drivelab ")
        && holds(head, ">drivelab replay</p>")
}

fn is_picture(head: &[u8]) -> bool {
    head.starts_with(b"<svg ") && holds(head, ": measured solid, modelled dashed</text>")
}

/// Writes the page that is asked for.
pub(crate) fn page(path: Option<&Path>, subject: &Subject<'_>, ui: Ui) -> Result<(), Refusal> {
    let Some(path) = path else { return Ok(()) };
    let page = subject.render(Format::Html, &made_now(subject))?;
    write(path, &page, &REPORT)?;
    ui.note(&format!("report: {}", path.display()));
    Ok(())
}

/// The date of a run that has just ended, for its page; in virtual time there is none.
pub(crate) fn made_now(subject: &Subject<'_>) -> Vec<String> {
    let is_real = match subject {
        Subject::Run(record) => record.host.is_some(),
        Subject::Runs(records) => records.iter().any(|record| record.host.is_some()),
        _ => false,
    };
    if is_real { vec![drivelab_analysis::run::minute(now_ms())] } else { Vec::new() }
}

/// A page or a picture, Markdown, or the heads of our columns; JSON and text are as other verbs
/// print them, and are not written over.
fn is_report(head: &[u8]) -> bool {
    let columns = [
        "run,metric,value,",
        "metric,arm,baseline,",
        "block,cell,",
        "arm,metric,value,",
        "sweep_point,",
        "fleet_host,",
    ];
    holds(head, "<meta name=\"generator\" content=\"drivelab ")
        || head.starts_with(b"<!-- drivelab report -->")
        || (head.starts_with(b"<svg ") && holds(head, "<desc>drivelab report</desc>"))
        || columns.iter().any(|begin| head.starts_with(begin.as_bytes()))
}

/// A Parquet file whose footer names us as its maker.
fn is_table(end: &[u8]) -> bool {
    end.ends_with(b"PAR1") && holds(end, drivelab_formats::export::table::MAKER)
}

fn is_profile(head: &[u8]) -> bool {
    let first = head.split(|b| *b == b'\n').next().unwrap_or_default();
    first.starts_with(b"# Made by ")
        && (holds(first, " trials with seed ") || holds(first, "`drivelab drive random "))
}

fn is_measurement(head: &[u8]) -> bool {
    head.starts_with(b"# Measured by `drivelab drive measure ")
}

/// An archive whose first entry is of a captured tree.
fn is_capture(head: &[u8]) -> bool {
    // `ustar` stands at byte 257 of a header (POSIX, pax).
    let is_archive = head.get(257..262) == Some(b"ustar".as_slice());
    let of_tree = ["sys/", "proc/", "dmesg\0"];
    is_archive && of_tree.iter().any(|start| head.starts_with(start.as_bytes()))
}

fn holds(head: &[u8], words: &str) -> bool {
    head.windows(words.len()).any(|window| window == words.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_that_cannot_be_written_leaves_the_earlier_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.html");
        let page = "<meta name=\"generator\" content=\"drivelab 1\">";
        write(&path, page, &REPORT).unwrap();
        let mut begun = create(&path, &REPORT).unwrap();
        std::io::Write::write_all(&mut begun, b"half of").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), page);
        drop(begun);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), page);
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    }

    #[test]
    fn a_list_of_times_is_told_from_other_numbers() {
        let check =
            |text: &str, ours| assert_eq!(is_list_of_times(text.as_bytes()), ours, "{text}");
        check("21.649335\n0.375470\n", true);
        check("21.649335\n0.37", true);
        check("21.649335\n", true);
        check("21.6\n", false);
        check("21.649335", false);
        check("-1.649335\n", false);
        check("21.649335,1\n", false);
        check("21.649335\n\n", false);
        check("21.649335\nrest", false);
        check("12\n", false);
        check(".649335\n", false);
    }
}
