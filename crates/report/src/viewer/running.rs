//! The progress of running studies, as a page of the viewer that updates itself.

use drivelab_core::StageName;

use crate::page::html::{each, escape};
use crate::page::skeleton;

/// The script that asks the server for changes.
const SCRIPT: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/view/running.js"));

/// The progress of a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// Its title.
    pub title: String,
    /// Its results folder.
    pub folder: String,
    /// The stage.
    pub stage: StageName,
    /// Runs that are finished.
    pub done: usize,
    /// Runs of the plan.
    pub all: usize,
    /// `running`, `stopped` or `finished`.
    pub state: &'static str,
    /// The remaining time, in words; empty if unknown.
    pub left: String,
}

/// The contents of the page's script element.
pub fn script() -> String {
    format!("\n{SCRIPT}")
}

/// The page, of studies in `folder`.
pub fn page(running: &[Running], folder: &str) -> String {
    let body = format!(
        "<p class=\"about\">Studies in <code>{}</code>, those that run first. This page changes by \
         itself.</p>\n<div id=\"running\">\n{}</div>\n<script>{}</script>\n",
        escape(folder),
        part(running),
        script()
    );
    skeleton("view", "Running studies", &[], &body)
}

/// The part of the page that changes.
pub fn part(running: &[Running]) -> String {
    if running.is_empty() {
        return "<p>No study was begun there.</p>\n".to_owned();
    }
    each("<section>\n", running.iter().map(one), "</section>\n")
}

fn one(study: &Running) -> String {
    let Running { title, folder, stage, done, all, state, left } = study;
    let (title, folder) = (escape(title), escape(folder));
    let left = match (*state, left.as_str()) {
        ("running", "") | ("finished", _) => String::new(),
        ("running", left) => format!("<p>Left: {}.</p>\n", escape(left)),
        _ => format!(
            "<p>Continue it where it was started: the same command with <code>--resume --out \
             {folder}</code>.</p>\n"
        ),
    };
    format!(
        "<h2>{title}</h2>\n<p><b class=\"state {state}\">{state}</b> at stage {}: {done} of {all} \
         runs in <code>{folder}</code></p>\n<progress value=\"{done}\" max=\"{}\" \
         aria-label=\"finished runs of {title}\"></progress>\n{left}",
        stage,
        // The maximum of a progress element must be above 0.
        (*all).max(1),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text_and_a_stopped_study_says_how_to_continue() {
        let study = Running {
            title: "<b>".into(),
            folder: "a\"b".into(),
            stage: StageName::Hardware,
            done: 3,
            all: 12,
            state: "stopped",
            left: "about 5 min".into(),
        };
        let drawn = part(std::slice::from_ref(&study));
        assert!(drawn.contains("<h2>&lt;b&gt;</h2>"), "{drawn}");
        assert!(
            drawn.contains("3 of 12 runs") && drawn.contains("--resume --out a&quot;b"),
            "{drawn}"
        );
        let running = part(&[Running { state: "running", ..study }]);
        assert!(running.contains("Left: about 5 min."), "{running}");
    }
}
