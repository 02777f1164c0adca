//! Parts shared by all models of rotating disks.

pub use crate::disk::geometry::Arm;
pub use crate::disk::seek::SeekTable;
pub use crate::spindle::{Angle, Spindle};
