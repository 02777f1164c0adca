//! Declarations of a study besides its primary metric: claims, factors, prices.

mod answers;
mod evidence;
mod finding;
mod interaction;
mod price;

pub(super) use answers::answers;
pub use finding::{Answer, FindingResult};
pub(super) use interaction::interactions;
pub use interaction::{FoundEffect, InteractionResult};
pub(super) use price::prices;
pub use price::{ArmPrice, Price};
