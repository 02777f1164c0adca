//! The output of `smartctl` about a drive, as text or JSON.

mod entry;
mod json;
mod text;

pub(in crate::tools) use json::facts as json;
pub(in crate::tools) use text::facts as text;
