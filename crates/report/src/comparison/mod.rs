//! A verdict from results that are already there: stored runs, a CSV of pairs, foreign results.

mod analyse;
mod column;
mod direction;
mod form;
mod input;
mod json;
mod page;
mod result;
mod text;
mod withheld;
mod words;

pub use analyse::{CompareOptions, analyse};
pub use direction::by_name as direction_by_name;
pub use form::form;
pub use input::{
    ArmResults, ArmRuns, Choice, Figures, Input, OwnRuns, RunFigures, Source, from_foreign,
    from_lines, from_own, from_pairs, from_runs,
};
pub use json::{COMPARE_SCHEMA, json};
pub use page::About;
pub(crate) use page::page;
pub use result::{CompareResult, SeriesFacts};
pub use text::{short, text};
pub use withheld::{Withheld, WorkRow};
pub(crate) use words::words;

#[cfg(test)]
pub(crate) mod tests;
