//! Text for people: refusals of requests, outlines that `report` draws, and text of others.

mod counted;
mod hexadecimal;
mod invalid;
pub mod outline;
mod refusal;
mod shown;

pub use counted::counted;
pub use hexadecimal::hexadecimal;
pub use invalid::Invalid;
pub use refusal::{AtPath, Refusal, RefusalKind, path_hint};
pub use shown::{shown, shown_in_line, shown_json};
