//! The articles as one page with pictures.

use super::answer::answer;
use super::{Again, Answered, Counts, Repeated, answers, notes_head, picture, runs};
use crate::page::html::{each, escape, inline, list, scroll, section, table};
use crate::page::skeleton;

/// A guide to the pictures, above the first of them.
const LEGEND: &str = "Each claim holds or does not; or its published figure is consistent with the \
    interval for one such drive, which leaves the claim undecided; or it is no evidence, as two \
    runs of one arm differ by as much; or nothing can be concluded. In the pictures a dot is the \
    ratio found here, the thick line its 95 % interval, the thin line the interval for one more \
    such drive, and the grey area the bounds that the claim is held against.";

/// The page: the same articles, the same bytes.
pub fn html(again: &Again) -> String {
    let score = format!("<p><strong>{}</strong></p>\n", escape(&again.scored()));
    let table = scroll("Overview", &overview(again));
    let sentences = again.by_number().map(|stages| {
        format!("<strong>Article {}.</strong> {}", stages[0].number, escape(&answer(stages)))
    });
    let sentences = format!("<ul class=\"notes\">\n{}</ul>\n", each("<li>", sentences, "</li>\n"));
    let overview = section("Overview", LEGEND, &format!("{score}{sentences}{table}"));
    let articles: String = again.by_number().map(article).collect();
    let facts = [format!("{} articles", again.by_number().count())];
    let title = "Five published comparisons, run again";
    skeleton("articles", title, &facts, &format!("{overview}{articles}"))
}

fn overview(again: &Again) -> String {
    let heads = [
        "",
        "article",
        "stage",
        "holds",
        "consistent",
        "does not hold",
        "no evidence",
        "cannot tell",
    ];
    let rows = again.articles.iter().map(|one| {
        let Counts { holds, consistent, does_not_hold, no_evidence, cannot_tell } = one.counts;
        let counts = [holds, consistent, does_not_hold, no_evidence, cannot_tell];
        let counts = counts.map(|count| count.to_string());
        let title = format!("<span class=\"words\">{}</span>", escape(&one.article.title));
        let mut cells = vec![one.number.to_string(), title, one.stage.to_string()];
        cells.extend(counts);
        cells
    });
    table(&heads, rows)
}

fn article(stages: &[Repeated]) -> String {
    let one = &stages[0];
    let about = &one.article;
    let title = format!("Article {}: {}", one.number, escape(&about.title));
    let lead = format!(
        "{} {}. The author concluded: {} Run again as <code>drivelab study {}</code>: {}.",
        inline(&about.question),
        inline(&about.source),
        inline(&about.concluded),
        escape(&one.study),
        escape(&runs(stages))
    );
    let items = each("<li>", answers(stages).iter().map(finding), "</li>\n");
    let together = stages.iter().filter_map(|one| one.interaction.as_ref());
    let together = together.map(|it| format!("<p>{}</p>\n", inline(&super::together(it))));
    let body = [
        stages.iter().map(pictured).collect(),
        format!("<ul class=\"findings\">\n{items}</ul>\n"),
        together.collect(),
        list("What the article missed", "notes", &about.may_not),
        stages.iter().map(|one| list(&notes_head(stages, one), "notes", &one.notes)).collect(),
        list("What to do today", "notes", &about.today),
    ];
    section(&title, &lead, &body.concat())
}

/// The ratios of one stage.
fn pictured(one: &Repeated) -> String {
    match picture::ratios(&one.findings) {
        none if none.is_empty() => none,
        svg => format!("<p>Stage {}:</p>\n{svg}", one.stage),
    }
}

fn finding(answer: &Answered<'_>) -> String {
    let one = answer.finding;
    let (class, sign) = match one.verdict.as_str() {
        "holds" => ("faster", "\u{2713}"),
        "does-not-hold" => ("slower", "\u{2717}"),
        _ => ("open", "?"),
    };
    let bounds = one.bounds();
    let against =
        if bounds.is_empty() { String::new() } else { format!("; held against {bounds}") };
    let why = one.why.as_ref().map(|why| format!("; {why}")).unwrap_or_default();
    let words = format!(
        "{}: published {}; here, stage {}, {}{against}{why}. [{}]",
        one.name,
        one.published,
        answer.stages.join(" and "),
        one.ours(),
        one.source
    );
    format!(
        "<span class=\"badge {class}\"><span aria-hidden=\"true\">{sign}</span> {}</span> {}",
        one.answer(),
        inline(&words)
    )
}
