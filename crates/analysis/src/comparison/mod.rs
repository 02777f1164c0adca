//! A verdict from results that are already there: stored runs, a CSV of pairs, foreign results.

mod analyse;
mod column;
mod direction;
mod input;
mod result;
mod withheld;

pub use analyse::{CompareOptions, analyse};
pub use direction::by_name as direction_by_name;
pub use input::{
    ArmResults, ArmRuns, Choice, Figures, Input, OwnRuns, RunFigures, Source, from_foreign,
    from_lines, from_own, from_pairs, from_runs,
};
pub use result::{CompareResult, SeriesFacts};
pub use withheld::{Withheld, WorkRow};
