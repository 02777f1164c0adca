//! Options of the program itself: they control what is done and shown, not the measurement.

use std::path::PathBuf;

use drivelab_core::config::Choice;
use drivelab_core::units::Span;
use drivelab_core::{Refusal, choice_as_text};

use super::super::number::time;

/// A form of fio's results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// Text for people.
    Normal,
    /// JSON.
    Json,
    /// JSON with every bucket of the latencies.
    JsonPlus,
    /// One line with semicolons for each job.
    Terse,
}

impl Choice for OutputFormat {
    const WHAT: &'static str = "output format";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("normal", Self::Normal),
        ("json", Self::Json),
        ("json+", Self::JsonPlus),
        ("terse", Self::Terse),
        ("minimal", Self::Terse),
    ];
}
choice_as_text!(OutputFormat);

/// Progress during a run (`--eta`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Eta {
    /// It is shown on a terminal.
    #[default]
    Auto,
    /// It is shown elsewhere, too.
    Always,
    /// It is not shown.
    Never,
}

impl Choice for Eta {
    const WHAT: &'static str = "time at which progress is shown";
    const NAMES: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("always", Self::Always), ("never", Self::Never)];
}
choice_as_text!(Eta);

/// Requests of a command line to the program itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own, as in fio")]
pub struct Program {
    /// `--version`.
    pub version: bool,
    /// `--help`.
    pub help: bool,
    /// `--parse-only`: nothing is run.
    pub parse_only: bool,
    /// `--showcmd`: the jobs are shown as a command line.
    pub showcmd: bool,
    /// `--readonly`.
    pub readonly: bool,
    /// `--output`.
    pub output: Option<PathBuf>,
    /// `--output-format`, in the order given.
    pub formats: Vec<OutputFormat>,
    /// `--section`: the only ones that are run, unless there are none.
    pub sections: Vec<String>,
    /// `--ignore`, which only drivelab has: options that are waived.
    pub ignore: Vec<String>,
    /// `--overwrite` without a value, which only drivelab has: foreign files may be written.
    pub overwrite: bool,
    /// `--allow-destructive`, which only drivelab has.
    pub allow_destructive: Vec<PathBuf>,
    /// `--no-archive`, which only drivelab has.
    pub no_archive: bool,
    /// `--eta`.
    pub eta: Eta,
    /// `--eta-newline`: a line of progress in each such interval.
    pub eta_newline: Option<Span>,
    /// `--status-interval`: a whole report of the results so far in each such interval.
    pub status_interval: Option<Span>,
    /// The version of terse lines, if one is named.
    pub terse_version: u8,
    /// Accepted options without effect here, each with the reason.
    pub notes: Vec<String>,
}

/// Options that take no value.
const FLAGS: &[&str] = &[
    "version",
    "help",
    "parse-only",
    "showcmd",
    "readonly",
    "minimal",
    "append-terse",
    "warnings-fatal",
    "bandwidth-log",
    "merge-blktrace-only",
    "cpuclock-test",
    "overwrite",
    "no-archive",
    "v",
    "h",
];

/// Options without effect, with the reason.
const WITHOUT_EFFECT: &[(&[&str], &str)] = &[
    (&["eta-interval"], "progress is shown once a second, or as `--eta-newline` says"),
    (&["bandwidth-log"], "the result contains every second"),
    (&["warnings-fatal", "debug"], "every doubtful value is an error or noted"),
    (&["max-jobs", "alloc-size"], "no memory is reserved for jobs"),
    (&["idle-prof"], "processor time is in the result"),
    (&["aux-path"], "no state is written"),
];

/// Options that are refused, with the reason.
const REFUSED: &[(&[&str], &str)] = &[
    (
        &["client", "server", "remote-config", "daemonize"],
        "a run uses this machine only; for several hosts use `drivelab fleet` or drivelab-mpi",
    ),
    (&["trigger-file", "trigger-timeout", "trigger", "trigger-remote"], "no command is started"),
    (&["cmdhelp", "enghelp"], "see docs/reference/job-files.md"),
    (&["crctest", "cpuclock-test"], "drivelab has no such test"),
    (&["inflate-log", "merge-blktrace-only"], "use `drivelab replay TRACE`"),
    (&["terse-version"], "terse lines have version 3, 4 or 5"),
];

/// True if the option takes no value.
pub(super) fn is_flag(key: &str) -> bool {
    FLAGS.contains(&key)
}

fn why(table: &[(&[&str], &'static str)], key: &str) -> Option<&'static str> {
    table.iter().find(|(keys, _)| keys.contains(&key)).map(|(_, why)| *why)
}

/// The time between two lines; as in fio, 0 is none.
fn interval(key: &str, value: Option<&str>) -> Result<Option<Span>, Refusal> {
    let every = time(key, value.unwrap_or_default(), "s")?;
    Ok(Some(every).filter(|every| *every > Span::ZERO))
}

impl Program {
    /// Sets an option; `None` if it is one of a job.
    pub(super) fn set(&mut self, key: &str, value: Option<&str>) -> Option<Result<(), Refusal>> {
        match key {
            "version" | "v" => self.version = true,
            "help" | "h" => self.help = true,
            "parse-only" => self.parse_only = true,
            "showcmd" => self.showcmd = true,
            "readonly" => self.readonly = true,
            "no-archive" => self.no_archive = true,
            // With a value it is fio's, which says how a file is laid out.
            "overwrite" if value.is_none() => self.overwrite = true,
            "minimal" => self.formats = vec![OutputFormat::Terse],
            "append-terse" => self.append(OutputFormat::Terse),
            "eta" => {
                let eta = Eta::from_name(value.unwrap_or_default()).map_err(Refusal::request);
                return Some(eta.map(|eta| self.eta = eta));
            }
            "eta-newline" => match interval(key, value) {
                Ok(every) => self.eta_newline = every,
                Err(refusal) => return Some(Err(refusal)),
            },
            "status-interval" => match interval(key, value) {
                Ok(every) => self.status_interval = every,
                Err(refusal) => return Some(Err(refusal)),
            },
            "output-format" => return Some(self.set_formats(value.unwrap_or_default())),
            "terse-version" if matches!(value, Some("3" | "4" | "5")) => {
                self.terse_version = value.and_then(|it| it.parse().ok()).unwrap_or_default();
            }
            "output" | "section" | "ignore" | "allow-destructive" => match value {
                Some(value) if !value.is_empty() => self.set_text(key, value),
                _ => {
                    return Some(Err(Refusal::request(format!("`--{key}` needs a value"))));
                }
            },
            _ => {
                if let Some(why) = why(REFUSED, key) {
                    let wrong = format!("`--{key}` is an option that drivelab does not have");
                    return Some(Err(Refusal::request(wrong).hint(why)));
                }
                let note = format!("`--{key}`: {}", why(WITHOUT_EFFECT, key)?);
                if !self.notes.contains(&note) {
                    self.notes.push(note);
                }
            }
        }
        Some(Ok(()))
    }

    fn set_text(&mut self, key: &str, value: &str) {
        match key {
            "output" => self.output = Some(value.into()),
            "section" => self.sections.push(value.to_owned()),
            "allow-destructive" => self.allow_destructive.push(value.into()),
            _ => self.ignore.extend(value.split(',').map(|key| key.trim().to_owned())),
        }
    }

    fn append(&mut self, format: OutputFormat) {
        if self.formats.is_empty() {
            self.formats.push(OutputFormat::Normal);
        }
        if !self.formats.contains(&format) {
            self.formats.push(format);
        }
    }

    fn set_formats(&mut self, value: &str) -> Result<(), Refusal> {
        let formats: Result<Vec<_>, _> =
            value.split(',').map(|name| OutputFormat::from_name(name.trim())).collect();
        self.formats = formats.map_err(Refusal::request)?;
        Ok(())
    }
}
