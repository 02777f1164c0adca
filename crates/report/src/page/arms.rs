//! What each arm is.

use super::html::{escape, swatch};
use crate::study::{ArmInfo, StudyResult};

/// The settings side by side: those that differ first, the common ones folded away.
pub(super) fn section(result: &StudyResult) -> String {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in result.arms.iter().flat_map(|arm| &arm.settings) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let (common, differing): (Vec<&str>, Vec<&str>) =
        names.into_iter().partition(|name| is_common(&result.arms, name));
    let heads = result.arms.iter().enumerate().map(|(place, arm)| {
        let role = match place {
            0 => " <span class=\"primary\">baseline</span>",
            _ if place == result.candidate => " <span class=\"primary\">candidate</span>",
            _ => "",
        };
        format!("<th scope=\"col\">{}{}{role}</th>", swatch(place), escape(&arm.name))
    });
    let summaries = result.arms.iter().map(|arm| format!("<td>{}</td>", escape(&arm.summary)));
    let rows = differing.iter().map(|name| row(&result.arms, name));
    format!(
        "<section>\n<h2>What each arm is</h2>\n<div class=\"scroll\" tabindex=\"0\" \
         role=\"region\" aria-label=\"Settings of the arms\"><table class=\"settings\">\n\
         <thead><tr><th scope=\"col\">setting</th>{}</tr></thead>\n<tbody>\n<tr class=\"summary\">\
         <th scope=\"row\">in words</th>{}</tr>\n{}</tbody></table></div>\n{}</section>\n",
        heads.collect::<String>(),
        summaries.collect::<String>(),
        rows.collect::<String>(),
        shared(&result.arms, &common),
    )
}

fn setting<'a>(arm: &'a ArmInfo, name: &str) -> Option<&'a str> {
    arm.settings.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

fn is_common(arms: &[ArmInfo], name: &str) -> bool {
    arms.iter().all(|arm| setting(arm, name) == setting(&arms[0], name))
}

/// One setting; where it is not the baseline's, it is marked.
fn row(arms: &[ArmInfo], name: &str) -> String {
    let baseline = setting(&arms[0], name);
    let cells = arms.iter().map(|arm| {
        let value = setting(arm, name);
        let shown = value.map_or("\u{2013}".to_owned(), escape);
        if value == baseline {
            format!("<td>{shown}</td>")
        } else {
            format!("<td class=\"differs\"><mark>{shown}</mark></td>")
        }
    });
    format!("<tr><th scope=\"row\">{}</th>{}</tr>\n", escape(name), cells.collect::<String>())
}

fn shared(arms: &[ArmInfo], names: &[&str]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let items = names.iter().map(|name| {
        let value = setting(&arms[0], name).unwrap_or_default();
        format!("<dt>{}</dt><dd>{}</dd>", escape(name), escape(value))
    });
    format!(
        "<details><summary>The same in every arm ({})</summary><dl class=\"shared\">{}</dl>\
         </details>\n",
        names.len(),
        items.collect::<String>()
    )
}
