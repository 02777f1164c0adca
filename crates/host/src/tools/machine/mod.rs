//! Outputs about the devices of a machine and the paths to them.

pub(in crate::tools) mod hwinfo;
pub(in crate::tools) mod lsblk;
pub(in crate::tools) mod lspci;
pub(in crate::tools) mod tree;
pub(in crate::tools) mod udev;
