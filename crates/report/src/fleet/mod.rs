//! A fleet in text, JSON, CSV, Markdown and pages.

mod collected;
mod json;
mod page;
mod sheet;
mod small;
mod text;

pub use collected::{collected_json, collected_text};
pub use json::{FLEET_SCHEMA, json};
pub use page::{Links, file_name, finding_page, page};
pub use sheet::{csv, markdown};
pub use text::text;

#[cfg(test)]
mod tests;
