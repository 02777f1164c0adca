//! The only module that prints: results to stdout, everything else to stderr.
#![expect(clippy::print_stderr, reason = "this module is where printing lives")]
#![expect(clippy::exit, reason = "a second Ctrl-C ends the process at once")]

mod console;
mod estimate;
mod progress;
pub(crate) mod signals;

pub(crate) use console::Console;
pub(crate) use progress::{Progress, Show, show};

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};

use drivelab_core::{Refusal, shown, shown_json};
use drivelab_report::text::{Look, for_terminal};

use crate::exit::{Exit, Outcome};
use drivelab_lab::interrupt;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// The output settings of this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ui {
    /// Results are one JSON document.
    pub(crate) json: bool,
    /// Results are a step of a larger one, and are not printed.
    is_step: bool,
}

#[expect(clippy::unused_self, reason = "whoever holds it may talk to the user")]
impl Ui {
    /// A user interface that prints JSON or text.
    pub(crate) fn new(json: bool) -> Self {
        Self { json, is_step: false }
    }

    /// The same for a step whose result is kept in files.
    pub(crate) fn without_results(self) -> Self {
        Self { is_step: true, ..self }
    }

    /// The look of results on the terminal they go to.
    pub(crate) fn look(self) -> Look {
        let colour = AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
        let terminal = terminal_size::terminal_size_of(std::io::stdout());
        let terminal = terminal.map(|(width, _)| usize::from(width.0));
        let columns = std::env::var("COLUMNS").ok();
        Look { width: width(terminal, columns.as_deref()), colour }
    }

    /// Prints a result: text in the look of [`Self::look`], or a JSON document.
    pub(crate) fn result(self, text: &str) -> Outcome {
        if self.is_step {
            return Ok(Exit::Done);
        }
        let printed = if self.json {
            shown_json(text)
        } else {
            for_terminal(text, self.look().colour).into()
        };
        print_lines(&printed)
    }

    /// Prints a result in a format that other programs read: as it is, unless a terminal reads it.
    pub(crate) fn document(self, text: &str) -> Outcome {
        if std::io::stdout().is_terminal() {
            // The CR of a format with CRLF lines would be shown as an escape.
            return print_lines(&shown(&text.replace("\r\n", "\n")));
        }
        print_lines(text)
    }

    /// Prints a part of a result; [`Ui::result`] prints the last one.
    pub(crate) fn part(self, text: &str) -> Result<(), Refusal> {
        if !self.is_step {
            print(&[text.as_bytes()])?;
        }
        Ok(())
    }

    /// Writes a result that is not text, to a file or another program.
    pub(crate) fn binary(self, bytes: &[u8]) -> Outcome {
        if std::io::stdout().is_terminal() {
            return Err(Refusal::request("this format is not text, and the output is a terminal")
                .hint("redirect it: `>FILE`"));
        }
        print(&[bytes])
    }

    /// Tells the user something that is no result.
    pub(crate) fn note(self, text: &str) {
        // A closed stderr must not end the work.
        let _ = writeln!(anstream::stderr(), "{}", as_message(text));
    }

    /// Warns the user.
    pub(crate) fn warn(self, text: &str) {
        let _ = writeln!(anstream::stderr(), "{WARNING}warning:{WARNING:#} {}", as_message(text));
    }
}

/// Asks a question that is answered with yes or no; returns `None` if no one can answer.
pub(crate) fn confirm(question: &str) -> Option<bool> {
    // A script would wait for an answer for ever.
    if !std::io::stdin().is_terminal() {
        return None;
    }
    let _ = write!(anstream::stderr(), "{} [y/N] ", shown(question));
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).ok()?;
    Some(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Columns of a line: those of the terminal, else those that the caller's pager has, else a page of
/// text.
fn width(terminal: Option<usize>, columns: Option<&str>) -> usize {
    let width = terminal.or_else(|| columns.and_then(|columns| columns.trim().parse().ok()));
    width.filter(|width| *width > 0).unwrap_or(100).clamp(40, 160)
}

fn print_lines(text: &str) -> Outcome {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    print(&[text.as_bytes(), end.as_bytes()])
}

/// Writes a result whole, unless it cannot be written.
fn print(parts: &[&[u8]]) -> Outcome {
    let _whole = interrupt::shield();
    let mut out = std::io::stdout().lock();
    // An error of the buffer at exit would go unnoticed.
    let written = parts.iter().try_for_each(|part| out.write_all(part)).and_then(|()| out.flush());
    written.map_err(|error| {
        let refusal = Refusal::machine("cannot write to standard output").because(error);
        refusal.hint("free space there, or redirect it: `>FILE`")
    })?;
    Ok(Exit::Done)
}

/// Shows an error and its hints.
pub(crate) fn show_failure(failure: &Refusal) -> Exit {
    let mut err = anstream::stderr().lock();
    let mut causes = failure.chain();
    let first = causes.next().map(ToString::to_string).unwrap_or_default();
    let _ = writeln!(err, "{ERROR}error:{ERROR:#} {}", as_message(&first));
    for cause in causes {
        let _ = writeln!(err, "  because: {}", as_message(&cause.to_string()));
    }
    for hint in &failure.hints {
        let _ = writeln!(err, "{HINT}hint:{HINT:#} {}", as_message(hint));
    }
    failure.into()
}

/// Shows what is wrong with the command line, or the help that was asked for.
pub(crate) fn show_usage(error: &clap::Error) -> ExitCode {
    let plain = error.to_string();
    let short = as_message(&plain);
    // The library prints in colour; it does so where nothing had to be cut or escaped.
    if short == plain || !error.use_stderr() {
        error.exit();
    }
    eprintln!("{}", short.trim_end());
    Exit::BadRequest.into()
}

/// Longest word of a message that is shown whole: longer ones are values, which their first
/// characters identify.
const WORD_CHARS_MAX: usize = 200;

/// A message as it is printed: what others wrote in it is harmless, and long words are cut, as a
/// value of kilobytes hides what is said of it.
fn as_message(text: &str) -> String {
    cut(&shown(text))
}

fn cut(text: &str) -> String {
    text.split_inclusive(char::is_whitespace).map(cut_word).collect()
}

/// A word with the white space that follows it, cut if it is long.
fn cut_word(word: &str) -> String {
    let count = word.chars().count();
    if count <= WORD_CHARS_MAX {
        return word.to_owned();
    }
    let kept: String = word.chars().take(WORD_CHARS_MAX / 2).collect();
    // The cut must not open a quotation that nothing closes.
    let close = if kept.matches('`').count() % 2 == 1 { "`" } else { "" };
    format!("{kept}...{close} ({count} characters){}", &word[word.trim_end().len()..])
}

/// Prints panics as the standard library does, but for characters on which a terminal acts.
pub(crate) fn show_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("<unnamed>");
        let _ = writeln!(std::io::stderr(), "\nthread '{name}' {}", shown(&panic.to_string()));
        let trace = std::backtrace::Backtrace::capture();
        if trace.status() == std::backtrace::BacktraceStatus::Captured {
            let _ = writeln!(std::io::stderr(), "{trace}");
        }
    }));
}

/// Says that a panic was a bug of ours.
pub(crate) fn show_bug() -> Exit {
    eprintln!("error: this is a bug in drivelab");
    eprintln!("hint: please report the message above together with the command you typed");
    Exit::Bug
}

/// Says what a signal does.
fn interrupted(what: &str) {
    let _ = writeln!(anstream::stderr(), "{WARNING}warning:{WARNING:#} interrupted: {what}");
}

/// Ends the process at once.
fn exit_now(exit: Exit) -> ! {
    std::process::exit(exit as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_is_that_of_what_shows_it() {
        let check = |terminal, columns, expected| {
            assert_eq!(width(terminal, columns), expected, "{terminal:?} {columns:?}");
        };
        check(Some(120), None, 120);
        check(Some(120), Some("60"), 120);
        check(None, Some("60"), 60);
        check(None, Some("1000"), 160);
        check(None, Some("0"), 100);
        check(None, Some("wide"), 100);
        check(None, None, 100);
    }

    #[test]
    fn messages_do_nothing_to_a_terminal() {
        assert_eq!(as_message("a \u{1b}[2J\u{202e}b"), "a \\u{1b}[2J\\u{202e}b");
        let long = format!("`{}`", "\u{1b}".repeat(300));
        assert!(as_message(&long).ends_with("characters)"));
    }
}
