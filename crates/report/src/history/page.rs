//! The list as a page, from which runs are chosen and compared.

use drivelab_analysis::history::minute;
use drivelab_analysis::metric;
use drivelab_core::record::Kept;

use super::Asked;
use crate::page::html::{each, escape, short};
use crate::page::skeleton;

/// Characters of a machine's id that are shown: those that a filter needs.
const HOST_SHOWN: usize = 8;

/// A page of kept runs, the latest first, with a form that narrows it; `damage` names those that
/// cannot be listed.
pub fn page(runs: &[Kept], damage: &[String], asked: &Asked) -> String {
    let facts = match runs.len() {
        0 => "no runs".to_owned(),
        1 => "1 run".to_owned(),
        count => format!("{count} runs, the latest first"),
    };
    let body = [asked.form("/"), left_out(damage), table(runs)].concat();
    skeleton("view", "Kept runs", &[facts, "times are UTC".to_owned()], &body)
}

/// Names what a page leaves out because it cannot be read.
pub(super) fn left_out(damage: &[String]) -> String {
    if damage.is_empty() {
        return String::new();
    }
    let lines = each("<li>", damage.iter().map(|it| text(it)), "</li>\n");
    format!(
        "<p class=\"about\">Left out, because it cannot be read (see <code>drivelab archive \
         check</code>):</p>\n<ul>\n{lines}</ul>\n"
    )
}

fn table(runs: &[Kept]) -> String {
    if runs.is_empty() {
        return "<p class=\"about\">No run matches. Runs are kept by <code>drivelab run</code>, \
                <code>study</code> and <code>drive measure</code>, and by <code>drivelab archive \
                import</code>.</p>\n"
            .to_owned();
    }
    let has_hosts = runs.iter().any(|run| run.host != runs[0].host);
    let rows = each("<tr>", runs.iter().rev().map(|run| row(run, has_hosts)), "</tr>\n");
    let host = if has_hosts { "<th scope=\"col\">host</th>" } else { "" };
    format!(
        "<form action=\"/compare\">\n<p class=\"choice\"><button class=\"first\">Compare the chosen \
         runs</button> <span>The oldest is the baseline. Runs with the same label count as runs of \
         one arm, unless all have it.</span></p>\n<table class=\"runs\"><thead><tr><th \
         scope=\"col\"><span class=\"hidden\">choose</span></th><th scope=\"col\">kept</th><th \
         scope=\"col\">label</th><th scope=\"col\">what</th>{host}<th scope=\"col\">figure</th><th \
         scope=\"col\">over time</th></tr></thead>\n<tbody>\n{rows}</tbody></table>\n</form>\n"
    )
}

fn row(run: &Kept, has_hosts: bool) -> String {
    let (id, kept) = (escape(&run.id), minute(run.time_ms));
    let label = run.label.as_deref().unwrap_or_default();
    let tags = each("<i class=\"tag\">", run.tags.iter().map(|tag| text(tag)), "</i>");
    let name = if label.is_empty() { kept.clone() } else { text(label) };
    let figure = run.figure.as_ref().map_or_else(String::new, |figure| {
        let (name, value) = metric::named(&figure.name, figure.value, &figure.unit);
        format!("{} <b>{}</b>", text(&name), text(&value))
    });
    let host = match run.host.as_deref().filter(|_| has_hosts) {
        Some(id) => {
            let begin: String = id.chars().take(HOST_SHOWN).collect();
            format!("<td class=\"host\" title=\"{}\">{}</td>", text(id), text(&begin))
        }
        None if has_hosts => "<td class=\"host\">virtual</td>".to_owned(),
        None => String::new(),
    };
    format!(
        "<td><input type=\"checkbox\" name=\"run\" value=\"{id}\" aria-label=\"choose {name}\"></td>\
         <td><a href=\"/run/{id}\">{kept}</a></td><td>{}{tags}</td><td>{}</td>{host}<td>{figure}\
         </td><td class=\"spark\" aria-hidden=\"true\">{}</td>",
        text(label),
        what(run),
        escape(&run.spark),
    )
}

/// The measured target, with the number of runs if they are parts of one.
fn what(run: &Kept) -> String {
    let suite = run.suite.as_deref().map(|suite| format!("<b>{}</b> ", text(suite)));
    let parts = match run.parts {
        0 => String::new(),
        1 => " (1 run)".to_owned(),
        parts => format!(" ({parts} runs)"),
    };
    // A line is broken between settings, not within them.
    let target = text(&run.target).replace(',', ",<wbr>");
    format!("{}{target}{parts}", suite.unwrap_or_default())
}

/// Text of other people, as far as a cell has room for it.
fn text(text: &str) -> String {
    let shown: String = text.chars().filter(|c| !c.is_control()).collect();
    escape(&short(&shown))
}
