//! The drives that a study runs on: those of the disks of a guest, or of a matrix.

pub(super) mod disk;
pub(super) mod matrix;
