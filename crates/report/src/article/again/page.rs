//! The articles as one page with pictures.

use super::{Again, Checked, Counts, Repeated, picture, together};
use crate::page::html::{each, escape, inline, list, scroll, section, table};
use crate::page::skeleton;

/// The page: the same articles, the same bytes.
pub fn html(again: &Again) -> String {
    let overview = section("Overview", "", &scroll("Overview", &overview(again)));
    let articles: String = again.articles.iter().map(article).collect();
    let facts = [format!("{} articles", again.articles.len())];
    let title = "Five published comparisons, run again";
    skeleton("articles", title, &facts, &format!("{overview}{articles}"))
}

fn overview(again: &Again) -> String {
    let row = |one: &Repeated| {
        let Counts { holds, does_not_hold, cannot_tell } = one.counts;
        let counts = [holds, does_not_hold, cannot_tell].map(|count| count.to_string());
        let mut cells = vec![one.number.to_string(), escape(&one.article.title)];
        cells.extend(counts);
        cells
    };
    let heads = ["", "article", "holds", "does not hold", "cannot tell"];
    table(&heads, again.articles.iter().map(row))
}

fn article(one: &Repeated) -> String {
    let about = &one.article;
    let title = format!("Article {}: {}", one.number, escape(&about.title));
    let lead = format!(
        "{} {}. The author concluded: {} Run again as <code>drivelab study {}</code>, stage {}, {} \
         blocks.",
        inline(&about.question),
        inline(&about.source),
        inline(&about.concluded),
        escape(&one.study),
        escape(&one.stage),
        one.blocks
    );
    let items = each("<li>", one.findings.iter().map(finding), "</li>\n");
    let together = one.interaction.as_ref().map(|it| format!("<p>{}</p>\n", inline(&together(it))));
    let body = [
        picture::ratios(&one.findings),
        format!("<ul class=\"findings\">\n{items}</ul>\n"),
        together.unwrap_or_default(),
        list("What the article missed", "notes", &about.may_not),
        list("About this repetition", "notes", &one.notes),
        list("What to do today", "notes", &about.today),
    ];
    section(&title, &lead, &body.concat())
}

fn finding(one: &Checked) -> String {
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
        "{}: published {}; here {}{against}{why}. [{}]",
        one.name,
        one.published,
        one.ours(),
        one.source
    );
    format!(
        "<span class=\"badge {class}\"><span aria-hidden=\"true\">{sign}</span> {}</span> {}",
        one.answer(),
        inline(&words)
    )
}
