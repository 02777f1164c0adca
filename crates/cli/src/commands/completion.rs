//! The completions of free-text arguments: names of studies, drives and choices.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};
use drivelab_core::config::Choice;
use drivelab_core::recipe::embedded::RECIPES;
use drivelab_model::profile;
use drivelab_study::embedded::STUDIES;
use drivelab_suites::SUITES;

/// Takes any text; completions offer these names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer(pub(crate) fn() -> Vec<String>);

impl TypedValueParser for Offer {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}

/// A choice by its name.
pub(crate) fn choice<T: Choice + Send + Sync>() -> impl TypedValueParser<Value = T> {
    Offer(choices::<T>).try_map(|name| T::from_name(&name))
}

/// The names of a choice.
pub(crate) fn choices<T: Choice>() -> Vec<String> {
    T::NAMES.iter().map(|(name, _)| (*name).to_owned()).collect()
}

/// The studies included in drivelab.
pub(crate) fn studies() -> Vec<String> {
    STUDIES.iter().map(|(name, _)| (*name).to_owned()).collect()
}

/// The recipes that come along, and the suites of files.
pub(crate) fn suites() -> Vec<String> {
    let recipes = RECIPES.iter().map(|(name, _)| *name);
    recipes.chain(SUITES.iter().map(|suite| suite.name)).map(str::to_owned).collect()
}

/// The modelled drives.
pub(crate) fn drives() -> Vec<String> {
    profile::names().into_iter().map(str::to_owned).collect()
}

/// The modelled drives as targets.
pub(crate) fn targets() -> Vec<String> {
    drives().into_iter().map(|name| format!("drive:{name}")).collect()
}

/// Names that stand where a path may stand too.
fn beside_paths() -> [Vec<String>; 3] {
    [studies(), drives(), targets()]
}

/// The script for bash with `drive:NAME` as one word, which bash splits at the colon.
pub(crate) fn for_bash(script: &str) -> String {
    // The script defines `_drivelab`; bash must call our wrapper around it instead.
    let joined = script.replace("complete -F _drivelab ", "complete -F _drivelab_joined ");
    format!("{joined}\n{}", include_str!("completion.bash"))
}

/// The script for zsh, completing files too where it has names only.
pub(crate) fn for_zsh(script: &str) -> String {
    beside_paths().into_iter().fold(script.to_owned(), |script, names| {
        // A colon separates the parts of a specification (`man 1 zshcompsys`, `_arguments`).
        let names = names.join(" ").replace(':', "\\:");
        let both = format!(
            ":{{_alternative \"names\\:name\\:({})\" \"files\\:file\\:_files\"}}",
            names.replace('\\', "\\\\\\")
        );
        script.replace(&format!(":({names})"), &both)
    })
}

/// The script for fish with the names that stand where a path may stand too.
pub(crate) fn for_fish(script: &str) -> String {
    let offers = [
        ("study", studies()),
        ("run", targets()),
        ("durability", targets()),
        ("serve", drives()),
        ("drive; and __fish_seen_subcommand_from show predict", drives()),
    ];
    offers.into_iter().fold(script.to_owned(), |script, (verb, names)| {
        let names = names.join(" ");
        let asked = format!("__fish_drivelab_using_subcommand {verb}");
        format!("{script}complete -c drivelab -n \"{asked}\" -a \"{names}\"\n")
    })
}
