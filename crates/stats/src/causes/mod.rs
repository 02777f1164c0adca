//! The cause that explains a set of ratios best: likelihoods, posterior, and the measurement that
//! would decide most.
//!
//! A cause predicts the logarithms of all ratios together, as rows of drives that were simulated.
//! The density of a cause is a mixture of multivariate t kernels around its rows, shrunk towards
//! their mean so that the mixture has the covariance of the rows (West, "Approximating posterior
//! distributions by mixture", 1993): drives that fall into kinds keep their kinds.

mod cholesky;
mod density;
mod information;
mod posterior;

pub use density::{Evidence, Hypothesis, ModelError, Noisy, Predicted};
pub use information::{Outlook, information};
pub use posterior::{contributions, posterior};

#[cfg(test)]
mod tests;
