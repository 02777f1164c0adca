//! The description of each arm.

use drivelab_analysis::study::{ArmInfo, StudyResult};

use super::html::{self, each, escape, fold, scroll, swatch};

/// The settings side by side: those that differ first, the common ones folded away.
pub(super) fn section(result: &StudyResult) -> String {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in result.experiment.arms.iter().flat_map(|arm| &arm.settings) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let (common, differing): (Vec<&str>, Vec<&str>) =
        names.into_iter().partition(|name| is_common(&result.experiment.arms, name));
    let roles: Vec<&str> = (0..result.experiment.arms.len())
        .map(|index| match index {
            0 => "baseline",
            _ if index == result.candidate => "candidate",
            _ => "",
        })
        .collect();
    let summaries: Vec<Option<&str>> =
        result.experiment.arms.iter().map(|arm| Some(arm.summary.as_str())).collect();
    let mut rows = String::new();
    if result.experiment.arms.iter().any(|arm| !arm.summary.is_empty()) {
        rows += &settings_row("in words", &result.names(), &summaries);
    }
    for name in differing {
        let values: Vec<Option<&str>> =
            result.experiment.arms.iter().map(|arm| setting(arm, name)).collect();
        rows += &settings_row(&escape(name), &result.names(), &values);
    }
    let table = settings_table("Settings of the arms", &result.names(), &roles, &rows);
    html::section("What each arm is", "", &(table + &shared(&result.experiment.arms, &common)))
}

/// A table with a column for each arm; on a phone a row becomes a line for each arm.
pub(super) fn settings_table(name: &str, arms: &[&str], roles: &[&str], rows: &str) -> String {
    let heads = arms.iter().enumerate().map(|(index, arm)| {
        let role = match roles.get(index) {
            Some(role) if !role.is_empty() => format!(" <span class=\"primary\">{role}</span>"),
            _ => String::new(),
        };
        format!("<th scope=\"col\">{}{}{role}</th>", swatch(index), escape(arm))
    });
    let table = format!(
        "<table class=\"settings\">\n<thead><tr><th scope=\"col\">setting</th>{}</tr></thead>\n\
         <tbody>\n{rows}</tbody></table>",
        heads.collect::<String>(),
    );
    scroll(name, &table)
}

/// One setting, its name as HTML; where it is not the baseline's, it is marked.
pub(super) fn settings_row(name: &str, arms: &[&str], values: &[Option<&str>]) -> String {
    debug_assert_eq!(arms.len(), values.len(), "one value for each arm");
    let is_prose = name == "in words";
    let cells = arms.iter().zip(values).map(|(arm, value)| {
        let shown = value.map_or("\u{2013}".to_owned(), escape);
        // Values that differ from the baseline's are marked, but not sentences.
        let is_plain = is_prose || *value == values[0];
        let shown = if is_plain { shown } else { format!("<mark>{shown}</mark>") };
        format!("<td data-arm=\"{}\">{shown}</td>", escape(arm))
    });
    format!("<tr><th scope=\"row\">{name}</th>{}</tr>\n", cells.collect::<String>())
}

fn setting<'a>(arm: &'a ArmInfo, name: &str) -> Option<&'a str> {
    arm.settings.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

fn is_common(arms: &[ArmInfo], name: &str) -> bool {
    arms.iter().all(|arm| setting(arm, name) == setting(&arms[0], name))
}

fn shared(arms: &[ArmInfo], names: &[&str]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let items = names.iter().map(|name| {
        let value = setting(&arms[0], name).unwrap_or_default();
        format!("{}</dt><dd>{}", escape(name), escape(value))
    });
    let items = each("<dt>", items, "</dd>");
    let title = format!("The same in every arm ({})", names.len());
    fold(&title, &format!("<dl class=\"shared\">{items}</dl>"))
}
