//! The cause that explains the difference between two sets of figures.
//!
//! The caller simulates: [`Rates`] has the rate of every load on a drive that is as it should be,
//! and with causes alone and in pairs. What is concluded from them is computed here.

mod answer;
mod hypothesis;
pub mod question;
mod ranking;
mod separate;
mod shown;
mod suspect;

pub use answer::Answer;
pub use hypothesis::{Rates, possible_pairs, promising_pairs};
pub use question::{Asked, Load, Question, Set};
pub use ranking::{Accused, Explanation, Figure, Kind, Ranked, Share, Spoken, Strength, explain};
pub use separate::{Next, Outlooks, next, undecided};
pub use suspect::{Shows, Suspect};

#[cfg(test)]
mod tests;
