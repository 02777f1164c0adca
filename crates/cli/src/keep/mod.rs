//! What is kept on disk: a journal of what was finished, and files that are replaced whole.

mod durable;
mod journal;

pub(crate) use durable::{make_folder, remove, write};
pub(crate) use journal::{Journal, Line, Owner, Seal};
