//! What a model says, and how near it comes to what was measured.

mod prediction;
mod score;

pub use prediction::{Prediction, predict};
pub use score::Score;
