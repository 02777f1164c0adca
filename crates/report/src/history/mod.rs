//! Kept runs as a list, and over time.

mod asked;
mod json;
mod over_time;
mod page;
mod picture;
mod text;

pub use asked::Asked;
pub use json::{json, json_frame, json_run};
pub use over_time::course_page;
pub use page::page;
pub use text::text;

#[cfg(test)]
mod tests;
