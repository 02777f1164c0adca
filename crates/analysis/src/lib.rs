//! Records to findings: runs are read, grouped, compared and judged. Nothing is rendered here.
//!
//! Pure: same input, same findings. `report` turns them into text, JSON and pages.
#![forbid(unsafe_code)]

pub mod attachment;
pub mod cells;
pub mod comparison;
pub mod cost;
pub mod digest;
pub mod explanation;
pub mod figures;
pub mod fleet;
pub mod history;
pub mod kept;
pub mod marks;
pub mod metric;
pub mod outcome;
pub mod pairs;
pub mod run;
pub mod signs;
pub mod specimens;
pub mod study;
pub mod suggest;

pub use outcome::validity;
