//! Published comparisons as pages.

use drivelab_analysis::figures;
use drivelab_core::config::Choice as _;

use super::{ARTICLES, Article, article};
use crate::page::html::{each, escape, inline, list, scroll, section, table};
use crate::page::skeleton;

/// A page that lists all of them, with the commands that run them again.
pub fn list_page() -> String {
    let one = |number: usize| {
        let listed = article(&number.to_string()).expect("the number of an article");
        let lead = inline(&listed.question);
        format!(
            "<section>\n<h2><a href=\"/articles/{number}\">{}</a></h2>\n<p class=\"about\">{lead}</p>\n\
             </section>\n",
            escape(&listed.title)
        )
    };
    let articles: String = (0..ARTICLES.len()).map(one).collect();
    let again = "<pre><code>drivelab articles</code></pre>\n";
    let about = "In virtual time, in a minute: it says which of their claims hold.";
    let body = articles + &section("Run them again", about, again);
    skeleton("view", "Published comparisons", &[], &body)
}

/// A page of one: its figures, and what follows from them.
pub fn page(article: &Article) -> String {
    let reasons = article.figures.iter().filter(|figure| !figure.why.is_empty());
    let reasons: Vec<String> =
        reasons.map(|figure| format!("{}: {}.", figure.test, figure.why)).collect();
    let lists = [
        list("May be concluded", "notes", &article.may),
        list("May not be concluded", "warnings", &article.may_not),
        list("Doubt", "warnings", &reasons),
        list("Today", "notes", &article.today),
    ];
    let about = [
        ("Question", &article.question),
        ("Source", &article.source),
        ("Method", &article.method),
        ("The article concluded", &article.concluded),
    ];
    let about = about.map(|(name, text)| format!("<dt>{name}</dt><dd>{}</dd>\n", inline(text)));
    let body =
        section("What it did", "", &format!("<dl class=\"shared\">{}</dl>\n", about.concat()))
            + &section("Figures", "", &scroll("Figures", &figures(article)))
            + &section("What follows", "", &lists.concat());
    skeleton("article", &article.title, &[], &body)
}

fn figures(article: &Article) -> String {
    let mut heads = vec!["test", "unit"];
    heads.extend(article.arms.iter().map(String::as_str));
    heads.extend(["ratio", "what it is"]);
    let rows = article.figures.iter().map(|figure| {
        let ratios = figure.ratios().into_iter().map(figures::times);
        let labels = figure.labels.iter().map(|label| label.name().to_owned());
        let mut cells = vec![escape(&figure.test), escape(&figure.unit)];
        cells.extend(figure.values.iter().map(|value| figures::plain(*value)));
        cells.push(ratios.collect::<Vec<_>>().join(", "));
        cells.push(escape(each("", labels, ", ").trim_end_matches(", ")));
        cells
    });
    table(&heads, rows)
}
