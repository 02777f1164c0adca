//! The first screen of a page: the answer, then what else follows.

use super::html::inline;
use crate::outcome::Sentence;

/// A card of one sentence, which is HTML.
pub(crate) fn lead(sentence: &str) -> String {
    format!(
        "<section class=\"answer same\" aria-label=\"The answer\">\n<p class=\"lead\">{sentence}</p>\n\
         </section>\n"
    )
}

/// A card of sentences, the first of which leads; `class` colours it, `point` says how each of the
/// others is classed, and `more` is HTML behind them.
pub(crate) fn card(
    class: &str,
    sentences: &[Sentence],
    point: impl Fn(&Sentence) -> &'static str,
    more: &str,
) -> String {
    let Some((first, others)) = sentences.split_first() else { return String::new() };
    let item = |it: &Sentence| {
        let lead = it.lead.trim_end_matches([':', ',']);
        let (class, lead, body) = (point(it), inline(lead), inline(&it.body));
        format!("<dt class=\"{class}\">{lead}</dt><dd>{body}</dd>\n")
    };
    // What is said under one heading stands under it, and not under copies of it.
    let others: String = others
        .chunk_by(|one, other| one.lead == other.lead)
        .map(|same| {
            let (first, more) = same.split_first().expect("a group has an element");
            let more = more.iter().map(|it| format!("<dd>{}</dd>\n", inline(&it.body)));
            item(first) + &more.collect::<String>()
        })
        .collect();
    format!(
        "<section class=\"answer {class}\" aria-label=\"The answer\">\n<p class=\"lead\">\
         <strong>{}</strong> {}</p>\n<dl>\n{others}</dl>\n{more}</section>\n",
        inline(&first.lead),
        inline(&first.body),
    )
}
