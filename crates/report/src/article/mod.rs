//! Published comparisons: their figures, and what may and may not be concluded from them.

pub mod again;
mod json;
mod page;
mod text;

pub use json::{SHOW_SCHEMA, json};
pub use page::{list_page, page};
pub use text::text;

use drivelab_core::Refusal;
use serde::{Deserialize, Serialize};

/// By number, as `show article:N` names them.
const ARTICLES: [&str; 5] = [
    include_str!("data/0.json"),
    include_str!("data/1.json"),
    include_str!("data/2.json"),
    include_str!("data/3.json"),
    include_str!("data/4.json"),
];

/// One article.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Article {
    title: String,
    question: String,
    source: String,
    /// The number and order of its measurements.
    method: String,
    arms: Vec<String>,
    figures: Vec<Published>,
    /// The article's conclusion.
    concluded: String,
    may: Vec<String>,
    may_not: Vec<String>,
    /// The mechanism behind what was found.
    cause: String,
    /// Advice to a reader of today.
    today: Vec<String>,
}

/// One row of its figures, with a value an arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    test: String,
    unit: String,
    better: drivelab_core::record::Better,
    values: Vec<f64>,
    labels: Vec<drivelab_core::record::Label>,
    /// The reason for the labels.
    why: String,
}

/// Article `number`, from 0.
///
/// # Errors
/// There is none of this number.
pub fn article(number: &str) -> Result<Article, Refusal> {
    let text = number.parse().ok().and_then(|number: usize| ARTICLES.get(number));
    let Some(text) = text else {
        let last = ARTICLES.len() - 1;
        return Err(Refusal::request(format!("there is no article `{number}`"))
            .hint(format!("name one of article:0 to article:{last}")));
    };
    Ok(serde_json::from_str(text).expect("a test reads every article"))
}

impl Published {
    /// The factors by which each other arm is better than the first.
    fn ratios(&self) -> Vec<f64> {
        self.values[1..]
            .iter()
            .map(|value| match self.better {
                drivelab_core::record::Better::Less => self.values[0] / value,
                _ => value / self.values[0],
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Look;

    #[test]
    fn every_article_is_read_and_has_a_value_an_arm() {
        for number in 0..ARTICLES.len() {
            let article = article(&number.to_string()).unwrap();
            assert!(!article.may.is_empty() && !article.may_not.is_empty());
            assert!(!article.today.is_empty());
            for figure in &article.figures {
                assert_eq!(figure.values.len(), article.arms.len(), "{}", figure.test);
                assert_eq!(figure.labels.is_empty(), figure.why.is_empty(), "{}", figure.test);
            }
        }
        assert!(article("5").unwrap_err().to_string().starts_with("there is no article `5`"));
    }

    #[test]
    fn ratios_are_above_one_where_an_arm_is_better() {
        let ratios = article("1").unwrap().figures[0].ratios();
        assert!((ratios[1] - 3.06).abs() < 0.01, "{ratios:?}");
    }

    #[test]
    fn figures_of_memory_are_named_as_such() {
        let text = text(&article("1").unwrap(), Look { width: 120, colour: false });
        let row = text.lines().find(|line| line.contains("random read")).unwrap();
        assert!(row.contains("1303.47") && row.contains("page-cache, not-disk"), "{row}");
        assert!(text.contains("May not be concluded:"), "{text}");
    }
}
