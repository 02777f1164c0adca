//! A sweep as one page that needs nothing else.

use super::{Factor, Swept, percent};
use crate::page::answer;
use crate::page::html::{escape, inline, list, scroll, section, table};
use crate::page::skeleton;
use drivelab_analysis::{figures, metric};
use drivelab_core::counted;
use drivelab_stats::{MainEffect, MainEffects};

/// The page, with the command that made the points; the same sweep, the same bytes.
pub fn page(swept: &Swept, reproduce: &str) -> String {
    let facts = [
        swept.drive.clone(),
        format!("{} design", swept.design),
        swept.missing_words().unwrap_or_else(|| counted(u64::from(swept.points), "point")),
        "in virtual time: no real device was involved".to_owned(),
    ];
    let lead = swept.effects().map(|effects| answer::lead(&inline(&swept.lead(&effects))));
    let lead = lead.unwrap_or_default();
    let body =
        [lead, matters(swept), levels(swept), best(swept), repeat(swept, reproduce)].concat();
    skeleton("sweep", &swept.title, &facts, &body)
}

fn matters(swept: &Swept) -> String {
    let Some(effects) = swept.effects() else {
        let why = format!("<p>{}</p>\n", inline(&swept.why_no_shares()));
        return section("What matters", "", &why);
    };
    let about = "The share of a factor is what it explains by itself of the variance of the \
                 logarithm of the figure; the interval is at 95 %. What several factors do \
                 only together, and what chance decides, is the last line.";
    section("What matters", about, &scroll("Shares of the variance", &shares(swept, &effects)))
}

/// A bar for each factor, with its interval.
fn shares(swept: &Swept, effects: &MainEffects) -> String {
    let row = |name: &str, effect: MainEffect| {
        let [low, high] = effect.ci95;
        // An interval may reach below 0, where no bar can be.
        let [left, width] = [100.0 * low.max(0.0), 100.0 * (high - low.max(0.0))];
        format!(
            "<tr><th scope=\"row\">{name}</th><td class=\"part\"><i \
             style=\"width:{:.1}%\"></i><b style=\"left:{left:.1}%;width:{width:.1}%\"></b></td>\
             <td>{}</td><td>{} to {}</td></tr>\n",
            100.0 * effect.share.clamp(0.0, 1.0),
            percent(effect.share),
            percent(low),
            percent(high),
        )
    };
    let mut rows = String::new();
    for (factor, effect) in swept.ranked(effects) {
        let open = if factor.is_unknown { " (left open by the profile)" } else { "" };
        rows += &row(&format!("<code>{}</code>{open}", escape(&factor.name)), effect);
    }
    rows += &row("several together, and chance", effects.rest);
    format!(
        "<table class=\"parts\">\n<thead><tr><th scope=\"col\">factor</th><th scope=\"col\"></th>\
         <th scope=\"col\">share</th><th scope=\"col\">95 % interval</th></tr></thead>\n<tbody>\n\
         {rows}</tbody></table>\n"
    )
}

/// The average figure at each value of each listed factor.
fn levels(swept: &Swept) -> String {
    let factors = swept.factors.iter().filter(|factor| !factor.is_unknown);
    let tables: String = factors.filter_map(|factor| level(swept, factor)).collect();
    if tables.is_empty() {
        return tables;
    }
    let about =
        "Geometric means over all points that share a value, regardless of the other factors.";
    section("Value by value", about, &tables)
}

fn level(swept: &Swept, factor: &Factor) -> Option<String> {
    let levels = swept.levels(factor)?;
    let rows = levels.into_iter().map(|level| {
        vec![escape(&level.word), level.n.to_string(), metric::show(swept.figure, level.mean)]
    });
    let name = escape(&factor.name);
    let figure = metric::label(swept.figure);
    let heads = ["value", "points", &figure];
    Some(format!("<h3><code>{name}</code></h3>\n{}", scroll(&name, &table(&heads, rows))))
}

fn best(swept: &Swept) -> String {
    let mut heads = vec!["point", swept.figure];
    heads.extend(swept.factors.iter().map(|factor| factor.name.as_str()));
    let rows = swept.best().into_iter().map(|index| {
        let (point, value) = swept.made[index];
        let mut cells = vec![point.to_string(), metric::show(swept.figure, value)];
        cells.extend(swept.factors.iter().map(|factor| escape(&short(&factor.words[index]))));
        cells
    });
    let about = "Single runs, the best of many: part of what makes them best is chance. Compare \
                 them in a study before you act.";
    let table = scroll("The best points", &table(&heads, rows));
    section(
        "The best points",
        about,
        &(table + &list("Left out of the ranking", "warnings", &swept.flaws())),
    )
}

/// A drawn number with the digits that anyone compares; a setting as it is.
fn short(word: &str) -> String {
    match word.parse::<f64>() {
        Ok(value) if word.contains('.') && value.is_finite() => figures::significant(value),
        _ => word.to_owned(),
    }
}

fn repeat(swept: &Swept, reproduce: &str) -> String {
    let about =
        format!("Rows: sha256 <code>{}</code>, whichever shards made them.", swept.rows_sha256);
    section("How to repeat it", &about, &format!("<pre><code>{}</code></pre>\n", escape(reproduce)))
}
