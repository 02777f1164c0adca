//! Whether what was written is what is there: the rules that verified runs and `durability` share.
//!
//! Both label each sector that they write ([`crate::label`]), keep an account of what each block
//! must hold in lines or entries with a checksum ([`sealed`], [`checksum`]), and judge later what
//! they find ([`Census`]). They differ in where the account is kept and in what it promises.

mod census;
mod judgement;
mod line;

pub use census::Census;
pub use judgement::{Judgement, Pace};
pub use line::{checksum, sealed, unsealed};
