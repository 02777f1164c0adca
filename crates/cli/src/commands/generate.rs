//! `completions` and `man`: generated from the definition of the command line itself.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;
use drivelab_study::keep;

use crate::commands::completion;
use crate::failure::{AtPath as _, Exit, Outcome};
use crate::ui::Ui;

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
    ui.result(&match arguments.shell {
        Shell::Bash => completion::for_bash(&script),
        Shell::Zsh => completion::for_zsh(&script),
        Shell::Fish => completion::for_fish(&script),
        _ => script.into_owned(),
    })
}

/// Prints or writes man pages of the `whole` command line.
pub(crate) fn man(arguments: &ManArgs, whole: Command, ui: Ui) -> Outcome {
    let Some(folder) = &arguments.out else {
        let mut page = Vec::new();
        clap_mangen::Man::new(whole).render(&mut page)?;
        return ui.result(&String::from_utf8_lossy(&page));
    };
    keep::make_folder(folder)?;
    clap_mangen::generate_to(whole, folder).at_path("write man pages to", folder)?;
    Ok(Exit::Done)
}
