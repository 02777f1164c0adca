//! An article for scripts: schema `drivelab.show/1`.

use serde::Serialize;

use super::{Article, Published};
use crate::outcome::document;

/// The schema that this version writes.
pub const SHOW_SCHEMA: &str = "drivelab.show/1";

#[derive(Serialize)]
struct ShowJson<'a> {
    schema: &'static str,
    title: &'a str,
    question: &'a str,
    source: &'a str,
    method: &'a str,
    arms: &'a [String],
    figures: Vec<FigureJson<'a>>,
    concluded: &'a str,
    may_conclude: &'a [String],
    may_not_conclude: &'a [String],
    today: &'a [String],
}

#[derive(Serialize)]
struct FigureJson<'a> {
    #[serde(flatten)]
    published: &'a Published,
    /// Against the first arm; above 1 is better.
    ratios: Vec<f64>,
}

/// The article as one JSON document.
pub fn json(article: &Article) -> String {
    document(&ShowJson {
        schema: SHOW_SCHEMA,
        title: &article.title,
        question: &article.question,
        source: &article.source,
        method: &article.method,
        arms: &article.arms,
        figures: article
            .figures
            .iter()
            .map(|published| FigureJson { published, ratios: Published::ratios(published) })
            .collect(),
        concluded: &article.concluded,
        may_conclude: &article.may,
        may_not_conclude: &article.may_not,
        today: &article.today,
    })
}
