//! Distribution functions, computed with `libm` only so that every machine gets the same bits.
//!
//! Three are needed (normal, Student, signed rank). They are written here instead of taken from a
//! statistics crate because the crates at hand call the platform's `ln` and `exp`, and those
//! differ in the last bits between systems.

pub mod normal;
pub mod rank_sum;
pub mod signed_rank;
pub mod student;

mod beta;
