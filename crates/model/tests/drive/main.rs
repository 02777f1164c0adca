//! Whole drives in virtual time, held against closed forms, measured shapes and invariants.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "tests compare floats with margins far wider than any rounding"
)]

mod caches;
mod closed_forms;
mod controllers;
mod depth;
mod invariants;
mod load;
mod writes;
