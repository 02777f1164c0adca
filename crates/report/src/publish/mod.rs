//! One result in any format that is published: page, Markdown, CSV, picture, JSON, text.
//!
//! Everything here arranges what the results' own modules render.

mod picture;
mod sheet;
mod subject;

pub(crate) use sheet::{plain, quoted};
pub use subject::Subject;

use drivelab_core::config::Choice;
use drivelab_core::record::RunRecord;
use drivelab_core::{Refusal, choice_as_text, shown};

use crate::text::{Look, for_terminal, json_text};
use crate::{cells, comparison, imported, page, run, study};

/// A format that is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// One page that needs nothing else.
    #[default]
    Html,
    /// Markdown.
    Md,
    /// Comma-separated values, one number a line.
    Csv,
    /// A picture.
    Svg,
    /// The document that the verb itself prints with `--json`.
    Json,
    /// The text that the verb itself prints.
    Txt,
}

impl Choice for Format {
    const WHAT: &'static str = "format of a report";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("html", Self::Html),
        ("md", Self::Md),
        ("csv", Self::Csv),
        ("svg", Self::Svg),
        ("json", Self::Json),
        ("txt", Self::Txt),
    ];
}
choice_as_text!(Format);

/// The look of text that is not shown on a terminal.
const LOOK: Look = Look::PLAIN;

impl Subject<'_> {
    /// The result in a format; `more` is what else is known of when and where it was made, for its
    /// page. The same result, the same bytes.
    ///
    /// # Errors
    /// The result has no such form.
    pub fn render(&self, format: Format, more: &[String]) -> Result<String, Refusal> {
        Ok(match format {
            Format::Html => self.page(more),
            Format::Md => shown(&sheet::of(self).markdown()).into_owned(),
            Format::Csv => sheet::of(self).csv(),
            Format::Svg => picture::svg(self)?,
            Format::Json => self.json()?,
            Format::Txt => for_terminal(&self.text(), false),
        })
    }

    fn page(&self, more: &[String]) -> String {
        match self {
            Self::Run(record) => run::page(&[record], more),
            Self::Runs(records) => run::page(records, more),
            Self::Comparison(result, about) => comparison::page(result, *about, more),
            Self::Study(result) => page::of_study(result, more),
            Self::Matrix(matrix, cells) => cells::html(matrix, cells),
            Self::Results(results) => imported::page(results, more),
        }
    }

    fn json(&self) -> Result<String, Refusal> {
        let record = |record: &RunRecord| {
            serde_json::to_value(record)
                .map_err(|error| Refusal::request("the run has no JSON form").because(error))
        };
        Ok(match self {
            Self::Run(one) => json_text(&record(one)?),
            Self::Runs(records) => {
                let all: Result<Vec<_>, _> = records.iter().map(|one| record(one)).collect();
                json_text(&serde_json::Value::Array(all?))
            }
            Self::Comparison(result, _) => comparison::json(result),
            Self::Study(result) => study::json(result),
            Self::Matrix(matrix, cells) => cells::json(matrix, cells),
            Self::Results(results) => imported::json(results),
        })
    }

    fn text(&self) -> String {
        match self {
            Self::Run(record) => run::text(record, LOOK),
            Self::Runs(records) => {
                let records: Vec<RunRecord> = records.iter().map(|it| (*it).clone()).collect();
                run::jobs_text(&records, LOOK)
            }
            Self::Comparison(result, _) => comparison::text(result, LOOK),
            Self::Study(result) => study::text(result, LOOK),
            Self::Matrix(matrix, cells) => cells::text(matrix, cells, LOOK),
            Self::Results(results) => imported::text(results, LOOK),
        }
    }
}

#[cfg(test)]
mod tests;
