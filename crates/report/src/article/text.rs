//! An article for a terminal.

use drivelab_analysis::figures;
use drivelab_core::config::Choice as _;

use super::Article;
use crate::text::{Align, BOLD, DOUBT, Look, Table};

/// Its question, its figures, and what follows from them.
pub fn text(article: &Article, look: Look) -> String {
    let mut text = format!("{}\n\n", look.paint(&look.wrap(&article.title, 0), BOLD));
    let about = [
        ("Question:", &article.question),
        ("Source:", &article.source),
        ("Method:", &article.method),
    ];
    for (lead, body) in about {
        text += &look.each(lead, BOLD, std::slice::from_ref(body));
    }
    text.push('\n');
    text += &table(article).render(look);
    text.push('\n');
    let mut reasons: Vec<String> = Vec::new();
    for figure in article.figures.iter().filter(|figure| !figure.why.is_empty()) {
        let reason = format!("{}: {}.", figure.test, figure.why);
        reasons.push(reason);
    }
    text += &look.each("Doubt:", DOUBT, &reasons);
    text += &look.each("The article concluded:", BOLD, std::slice::from_ref(&article.concluded));
    text += &look.each("May be concluded:", BOLD, &article.may);
    text += &look.each("May not be concluded:", DOUBT, &article.may_not);
    text += &look.each("Today:", BOLD, &article.today);
    text
}

fn table(article: &Article) -> Table {
    let mut columns = vec![("test", Align::Left, 0)];
    columns.extend(article.arms.iter().map(|arm| (arm.as_str(), Align::Right, 0)));
    columns.push(("", Align::Left, 0));
    columns.extend([("ratio", Align::Right, 1), ("what it is", Align::Left, 0)]);
    let mut table = Table::new(&columns);
    for figure in &article.figures {
        let ratios: Vec<String> = figure.ratios().into_iter().map(figures::times).collect();
        let labels: Vec<&str> = figure.labels.iter().map(|label| label.name()).collect();
        let mut row = vec![figure.test.clone()];
        row.extend(figure.values.iter().map(|value| figures::plain(*value)));
        row.extend([figure.unit.clone(), ratios.join(", "), labels.join(", ")]);
        table.row(row);
    }
    table
}
