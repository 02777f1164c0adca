//! `completions` and `man`: generated from the definition of the command line itself.

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args, Command};
use clap_complete::Shell;
use drivelab_report::text::json_text;
use drivelab_study::keep;
use serde_json::json;

use crate::commands::completion;
use crate::exit::{Exit, Outcome};
use crate::ui::{Console, Ui};
use drivelab_core::Refusal;

/// Print a completion script for a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab completions bash > ~/.local/share/bash-completion/completions/drivelab
  drivelab completions zsh > ~/.zfunc/_drivelab
  drivelab completions fish > ~/.config/fish/completions/drivelab.fish")]
pub(crate) struct CompletionsArgs {
    shell: Shell,
}

/// Print the man page, or write one page per verb to a folder.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab man | man -l -                  read it
  drivelab man --out /usr/local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write `drivelab.1`, `drivelab-study.1`, ... to this folder instead of printing the first.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Prints completions of the `whole` command line.
pub(crate) fn completions(arguments: &CompletionsArgs, mut whole: Command, ui: Ui) -> Outcome {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut whole, "drivelab", &mut text);
    let script = String::from_utf8_lossy(&text);
    let script = match arguments.shell {
        Shell::Bash => completion::for_bash(&script),
        Shell::Zsh => completion::for_zsh(&script),
        Shell::Fish => completion::for_fish(&script),
        _ => script.into_owned(),
    };
    if !ui.json {
        return ui.document(&script);
    }
    let shell = arguments.shell.to_string();
    let schema = "drivelab.completions/1";
    ui.result(&json_text(&json!({ "schema": schema, "shell": shell, "script": script })))
}

/// Prints or writes man pages of the `whole` command line.
pub(crate) fn man(arguments: &ManArgs, whole: Command, ui: Ui) -> Outcome {
    // The pages of `help` would repeat the others.
    let mut whole = whole.disable_help_subcommand(true);
    // Fills in what every verb takes.
    whole.build();
    let schema = "drivelab.man/1";
    let Some(folder) = &arguments.out else {
        let page = man_page(&whole)?;
        if !ui.json {
            return ui.document(&page);
        }
        return ui.result(&json_text(&json!({ "schema": schema, "page": page })));
    };
    keep::make_folder(folder)?;
    let mut names = Vec::new();
    write_pages(&whole, folder, ui, &mut names)?;
    if ui.json {
        ui.result(&json_text(&json!({ "schema": schema, "folder": folder, "pages": names })))?;
    }
    Ok(Exit::Done)
}

/// Writes the page of a command and those of the commands in it.
fn write_pages(
    command: &Command,
    folder: &Path,
    ui: Ui,
    names: &mut Vec<String>,
) -> Result<(), Refusal> {
    let name = format!("{}.1", command.get_display_name().unwrap_or(command.get_name()));
    let page = man_page(command)?;
    keep::write(&folder.join(&name), page.as_bytes(), &Console::new(ui).control())?;
    names.push(name);
    command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set())
        .try_for_each(|inner| write_pages(inner, folder, ui, names))
}

/// The page of one command, in the sections that man-pages(7) has.
fn man_page(command: &Command) -> Result<String, Refusal> {
    let man = clap_mangen::Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    page.extend(synopsis(command).into_bytes());
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(examples) = command.get_after_help() {
        page.extend(examples_section(&examples.to_string()).into_bytes());
    }
    Ok(with_one_preamble(&String::from_utf8_lossy(&page)))
}

/// The library begins every section with the lines that define an apostrophe.
fn with_one_preamble(page: &str) -> String {
    let mut seen = Vec::new();
    let mut kept = String::with_capacity(page.len());
    for line in page.split_inclusive('\n') {
        if line.starts_with(".ie ") || line.starts_with(".el ") {
            if seen.contains(&line) {
                continue;
            }
            seen.push(line);
        }
        kept.push_str(line);
    }
    kept
}

/// Every option with its value: `[--cuts N]`.
fn synopsis(command: &Command) -> String {
    let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let words = shown.map(|argument| {
        let values = argument.get_value_names().unwrap_or_default();
        let takes_values = argument.get_action().takes_values();
        let values = if takes_values { values.join(" ") } else { String::new() };
        let word = match (argument.get_long(), argument.get_short()) {
            (Some(long), _) => format!("\\fB\\-\\-{}\\fR \\fI{values}\\fR", roff(long)),
            (None, Some(short)) => format!("\\fB\\-{short}\\fR \\fI{values}\\fR"),
            (None, None) => format!("\\fI{values}\\fR"),
        };
        let word = word.replace(" \\fI\\fR", "");
        let more = if matches!(argument.get_action(), ArgAction::Append) { "..." } else { "" };
        if argument.is_required_set() { format!("{word}{more}") } else { format!("[{word}]{more}") }
    });
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let inner = if command.has_subcommands() { " \\fICOMMAND\\fR" } else { "" };
    let words: Vec<String> = words.collect();
    format!(".SH SYNOPSIS\n\\fB{}\\fR {}{inner}\n", roff(name), words.join(" "))
}

/// The sections after the options in the help: examples, and exit codes if it has them.
fn examples_section(after_help: &str) -> String {
    let mut section = String::new();
    for block in after_help.split("\n\n") {
        let (title, body) = match block.split_once(':') {
            Some((title, body)) if !title.contains('\n') => (title.to_uppercase(), body),
            _ => ("NOTES".to_owned(), block),
        };
        // `man 7 man-pages` gives this section another name.
        let title = if title == "EXIT CODES" { "EXIT STATUS".to_owned() } else { title };
        section += &format!(".SH {title}\n.nf\n{}\n.fi\n", roff(body.trim_matches('\n')));
    }
    section
}

/// Text as roff shows it: a backslash and a hyphen are escaped, and so is a line that looks like a
/// request.
fn roff(text: &str) -> String {
    // Backslashes first: the other escapes contain some.
    let escaped = text.replace('\\', "\\e").replace('-', "\\-");
    let lines: Vec<String> = escaped.lines().map(roff_line).collect();
    lines.join("\n")
}

fn roff_line(line: &str) -> String {
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.to_owned() }
}
