//! A study whose runs were made by many hosts together, host by host.

mod json;
mod page;
mod text;

pub(super) use json::{HostsJson, json};
pub(crate) use page::section;
pub(super) use text::{sentence, table};
