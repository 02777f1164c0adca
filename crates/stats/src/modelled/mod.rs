//! Predictions of a model, and their distance from measurements.

mod prediction;
mod score;

pub use prediction::{Prediction, predict};
pub use score::Score;
