//! What any disk that turns is made of, whoever models it.

pub use crate::disk::geometry::Arm;
pub use crate::disk::seek::SeekTable;
pub use crate::spindle::{Angle, Spindle};
