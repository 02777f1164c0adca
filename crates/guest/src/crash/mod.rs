//! A crash test in guests: what they run, and what came of it.

mod batch;
mod checked;
mod layout;
mod scene;
mod worked;

pub use batch::{Mark, Numbered, ONE, batch_cuts};
pub use checked::{Checked, Look, checked};
pub use layout::Layout;
pub use scene::{ACKNOWLEDGED, Scene};
pub use worked::{Unusable, Worked, worked};
