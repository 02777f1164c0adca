//! Checks that written data is still there: the rules that verified runs and `durability` share.
//!
//! Both label each sector that they write ([`crate::label`]), record the required content of each
//! block ([`BlockAccount`]) in entries or lines with a checksum ([`entry`], [`sealed`]), and later
//! judge what they find ([`BlockContent`]). They differ in where the account is kept.

mod account;
mod content;
mod judgement;
mod line;

pub use account::{BlockAccount, ENTRY_BYTES, entry, entry_numbers};
pub use content::BlockContent;
pub use judgement::{Judgement, PromiseRate};
pub use line::{checksum, sealed, unsealed};
