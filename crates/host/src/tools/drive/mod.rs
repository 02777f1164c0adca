//! Reports of a drive itself: its identity and its record.

pub(in crate::tools) mod facts;
pub(in crate::tools) mod hdparm;
pub(in crate::tools) mod health;
pub(in crate::tools) mod nvme;
pub(in crate::tools) mod smart;

pub use facts::Facts;
pub use health::{Health, Reading};
