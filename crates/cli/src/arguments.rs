//! The command line as it is typed.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use drivelab_core::{Refusal, shown_in_line};

use crate::commands;
use crate::exit::Exit;
use crate::ui::Show;

/// A laboratory for disks: measure, compare and model storage.
#[derive(Debug, Parser)]
#[command(name = "drivelab", version = env!("DRIVELAB_VERSION"))]
#[command(max_term_width = 100, after_help = after_help())]
pub(crate) struct Arguments {
    /// Print one JSON document instead of text.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,

    /// Progress on stderr: `bar` (on a terminal only), `lines`, `json` or `none`.
    #[arg(long, value_name = "HOW", global = true, default_value = "bar", help_heading = GLOBAL)]
    #[arg(hide_possible_values = true)]
    pub(crate) progress: Show,

    #[command(subcommand)]
    pub(crate) command: Verb,
}

const EXAMPLES: &str = "\
Examples:
  drivelab study ahci-or-ide                         is it worth enabling AHCI? (virtual time)
  drivelab study buffered-or-direct --target FILE    the same method on a real file
  drivelab run FILE --rw randread --bs 4k --iodepth 32 --runtime 5s
  drivelab run drive:seagate-st31000333as,controller=ide --iodepth 32
  drivelab fio --name=a --rw=randread --size=1g      fio's command line as it is
  drivelab compare before.json after.json            a verdict from stored runs
  drivelab explain article:1                         which cause made the difference?
  drivelab report label:before label:after --out verdict.html    a page of kept runs
  drivelab view                                      the archive in a browser
  drivelab import bonnie.csv                         another tool's results, and what they are
  drivelab serve seagate-st31000333as --nbd unix:/tmp/drive.sock    a slow disk for any program
  drivelab durability FILE                           does the drive keep acknowledged writes?
  drivelab crash FILE.toml                           does a program keep what it promised?
  drivelab cost COMMAND                              what a program asks of a disk, exactly
  drivelab drive list                                the modelled drives
  drivelab inspect                                   how this machine's disks are attached
  drivelab advise                                    what would mislead a benchmark here
  drivelab articles                                  five published comparisons, run again
  drivelab sweep sweep.toml                          which of many settings matters
  drivelab fleet outliers                            disks that differ from their peers";

/// The heading of what every verb takes.
const GLOBAL: &str = "Global options";

/// The verbs in groups, by what a user wants; any other verb is listed behind them.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Measure", &["run", "fio", "inspect", "advise", "cost", "sweep", "fleet"]),
    ("Conclude", &["study", "compare", "explain", "articles", "import", "show"]),
    ("Model", &["drive", "replay", "guest"]),
    ("Break", &["serve", "durability", "crash"]),
    ("Keep", &["history", "label", "delete", "archive", "report", "export", "view"]),
];

fn after_help() -> String {
    let exits = Exit::ALL.map(|(exit, meaning)| format!("  {:<4} {meaning}", exit as u8));
    format!("{EXAMPLES}\n\nExit codes:\n{}", exits.join("\n"))
}

/// The whole command line, whose help lists the verbs in groups.
pub(crate) fn whole() -> Command {
    let command = Arguments::command();
    let list = verbs_in_groups(&command);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{GLOBAL}:\n{{options}}\n\n\
         {{after-help}}"
    ))
}

/// Reads a command line, whose first word is the program.
pub(crate) fn parse(words: impl Iterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    Arguments::from_arg_matches(&whole().try_get_matches_from(words)?)
}

fn verbs_in_groups(command: &Command) -> String {
    let all: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().copied()).collect();
    let mut others = all.clone();
    others.retain(|name| !grouped.contains(name));
    let mut list = String::new();
    for (title, verbs) in GROUPS.into_iter().chain([("Other", others.as_slice())]) {
        list.push_str(&format!("{title}:\n"));
        for name in verbs.iter().filter(|name| all.contains(name)) {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            list.push_str(&format!("  {name:<12} {about}\n"));
        }
        list.push('\n');
    }
    list
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Study(commands::study::StudyArgs),
    Run(Box<commands::run::RunArgs>),
    Fio(commands::run::fio::FioArgs),
    Compare(commands::compare::CompareArgs),
    Explain(commands::study::explain::ExplainArgs),
    Import(commands::import::ImportArgs),
    Export(commands::import::ExportArgs),
    Show(commands::show::ShowArgs),
    Report(commands::report::ReportArgs),
    Serve(commands::serve::ServeArgs),
    Durability(commands::durability::DurabilityArgs),
    Crash(commands::crash::CrashArgs),
    Cost(Box<commands::cost::CostArgs>),
    Drive(commands::drive::DriveArgs),
    Inspect(commands::inspect::InspectArgs),
    Advise(commands::inspect::advise::AdviseArgs),
    Articles(commands::study::articles::ArticlesArgs),
    Replay(commands::replay::ReplayArgs),
    Sweep(commands::sweep::SweepArgs),
    Fleet(commands::fleet::FleetArgs),
    Guest(commands::guest::GuestArgs),
    History(commands::archive::history::HistoryArgs),
    Label(commands::archive::label::LabelArgs),
    Delete(commands::archive::delete::DeleteArgs),
    Archive(commands::archive::ArchiveVerbArgs),
    View(commands::view::ViewArgs),
    Completions(commands::generate::CompletionsArgs),
    Man(commands::generate::ManArgs),
}

/// The error for a negative number, which the parser takes for an option.
pub(crate) fn negative(
    error: &clap::Error,
    typed: impl Iterator<Item = OsString>,
) -> Option<Refusal> {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let is_number = |text: &str| {
        text.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    if error.kind() != ErrorKind::UnknownArgument || !is_number(unknown) {
        return None;
    }
    let typed: Vec<String> = typed.map(|word| word.to_string_lossy().into_owned()).collect();
    // The parser names only the first digit of `-4k`.
    let index = typed.iter().position(|word| is_number(word) && word.starts_with(unknown))?;
    let (value, before) = (&typed[index], index.checked_sub(1).map(|before| &typed[before]));
    let failure = match before.filter(|before| before.starts_with("--")) {
        Some(option) => Refusal::request(format!("`{option}` cannot be negative: `{value}`")),
        None => Refusal::request(format!("`{value}` is neither an option nor a target")),
    };
    Some(failure.hint("give a number that is not negative; to name a file, write `./-1`"))
}

/// The error where `run` was given fio's command line.
pub(crate) fn of_fio(
    error: &clap::Error,
    typed: impl Iterator<Item = OsString>,
) -> Option<Refusal> {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let words = typed.skip(1).map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.collect();
    let is_run = words.first().is_some_and(|verb| verb == "run");
    let unknown = unknown.trim_start_matches('-');
    if error.kind() != ErrorKind::UnknownArgument || !is_run {
        return None;
    }
    drivelab_formats::fio::job::names().find(|name| *name == unknown)?;
    let is_short = words.iter().flat_map(|word| word.chars()).all(is_plain);
    let again = if is_short { words[1..].join(" ") } else { "OPTIONS...".to_owned() };
    let failure = Refusal::request(format!("`{unknown}` is an option of fio, not of `run`"));
    Some(failure.hint(format!("for fio's command line as it is: drivelab fio {again}")))
}

/// True for a character that no shell acts on.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_=./:,%+@".contains(c)
}

/// The error where a verb was typed that stands below another one: `list` is `drive list`.
pub(crate) fn inner_verb(error: &clap::Error) -> Option<Refusal> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let whole = Arguments::command();
    // A hidden verb is for drivelab itself and must not be suggested.
    let groups = whole.get_subcommands().filter(|group| {
        group.get_subcommands().any(|inner| inner.get_name() == typed && !inner.is_hide_set())
    });
    let meant: Vec<String> =
        groups.map(|group| format!("`drivelab {} {typed}`", group.get_name())).collect();
    if meant.is_empty() {
        return None;
    }
    let failure = Refusal::request(format!("`{typed}` is not a verb of its own"));
    Some(failure.hint(format!("write {}", meant.join(" or "))))
}

/// The messages of Rust's number parsers, and the same in plain words.
const PLAINLY: [(&str, &str); 3] = [
    ("number would be zero for non-zero type", "at least 1 is needed"),
    ("invalid digit found in string", "it is not a whole number"),
    ("number too large to fit in target type", "the number is too large"),
];

/// The error for a wrong value of an option, in the form of every other error.
pub(crate) fn wrong_value(error: &clap::Error) -> Option<Refusal> {
    if error.kind() != ErrorKind::ValueValidation {
        return None;
    }
    let text = error.to_string();
    let message = text.strip_prefix("error: ").unwrap_or(&text);
    // The hint below replaces what the library says about `--help`.
    let message = message.split("\n\nFor more information").next().unwrap_or(message).trim_end();
    let plainly =
        |message: String, (library, plain): &(&str, &str)| message.replace(library, plain);
    let message = PLAINLY.iter().fold(message.to_owned(), plainly);
    let hint = "add `--help` to the command to see what each option takes";
    Some(Refusal::request(message).hint(hint))
}

/// The same error with what a terminal would act on escaped in what was typed: a line break in a
/// value would begin a message of its own.
pub(crate) fn shown_plainly(
    error: clap::Error,
    typed: impl Iterator<Item = OsString>,
) -> clap::Error {
    let plainly = typed.map(|word| match word.to_str() {
        Some(text) => shown_in_line(text).into_owned().into(),
        None => word,
    });
    // Escaping may turn a wrong value into a valid one: then the first error stands.
    parse(plainly).err().unwrap_or(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(typed: &str, expected: Option<&str>) {
        let words = || typed.split(' ').map(OsString::from);
        let error = Arguments::try_parse_from(words()).unwrap_err();
        let message = negative(&error, words()).map(|failure| failure.to_string());
        assert_eq!(message.as_deref(), expected, "{typed}");
    }

    #[test]
    fn a_wrong_value_is_an_error_with_a_hint() {
        let typed = ["drivelab", "drive", "predict", "a", "--specimens", "0"];
        let failure = wrong_value(&Arguments::try_parse_from(typed).unwrap_err()).unwrap();
        let message = failure.to_string();
        assert!(message.ends_with("'--specimens <SPECIMENS>': 0 is not in 1..=10000"), "{message}");
        assert_eq!(failure.hints.len(), 1);
        for (value, expected) in [
            ("0", "at least 1 is needed"),
            ("1e30", "it is not a whole number"),
            ("99999999999999999999", "the number is too large"),
        ] {
            let typed = ["drivelab", "crash", "a.toml", "--cuts", value];
            let failure = wrong_value(&Arguments::try_parse_from(typed).unwrap_err()).unwrap();
            let message = failure.to_string();
            assert!(message.ends_with(&format!("'--cuts <N>': {expected}")), "{message}");
        }
        assert!(wrong_value(&Arguments::try_parse_from(["drivelab", "-x"]).unwrap_err()).is_none());
    }

    #[test]
    fn a_command_line_of_fio_is_sent_to_its_verb() {
        let hint = |typed: &str| {
            let words = || typed.split(' ').map(OsString::from);
            let error = Arguments::try_parse_from(words()).unwrap_err();
            of_fio(&error, words()).map(|failure| failure.hints.concat())
        };
        let again = "for fio's command line as it is: drivelab fio --name=a --rw=read";
        assert_eq!(hint("drivelab run --name=a --rw=read").as_deref(), Some(again));
        assert_eq!(hint("drivelab run --nosuch=a"), None);
        assert_eq!(hint("drivelab serve --name=a"), None);
    }

    #[test]
    fn a_verb_of_a_group_is_found() {
        let hint = |typed: &str| {
            let error = Arguments::try_parse_from(["drivelab", typed]).unwrap_err();
            inner_verb(&error).map(|failure| failure.hints.concat())
        };
        assert_eq!(hint("list").as_deref(), Some("write `drivelab drive list`"));
        assert_eq!(hint("predict").as_deref(), Some("write `drivelab drive predict`"));
        assert_eq!(hint("studdy"), None);
    }

    #[test]
    fn negative_numbers_are_named_with_their_option() {
        let message = Some("`--iodepth` cannot be negative: `-1`");
        check("drivelab run data --iodepth -1", message);
        check("drivelab run data --iodepth -1 --bs 4k", message);
        check("drivelab run data --bs -4k", Some("`--bs` cannot be negative: `-4k`"));
        check("drivelab run -1", Some("`-1` is neither an option nor a target"));
        check("drivelab run data --iodpeth 4", None);
        check("drivelab run data -x", None);
    }
}
