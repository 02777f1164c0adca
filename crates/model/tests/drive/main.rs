//! Whole drives in virtual time, held against closed forms, measured shapes and invariants.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "tests compare floats with margins far wider than any rounding"
)]
#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic as the tests do")]

mod caches;
mod closed_forms;
mod controllers;
mod counters;
mod flash;
mod invariants;
mod load;
mod mixed;
mod profiles;
mod published;
mod queue;
mod shingled;
mod writes;
