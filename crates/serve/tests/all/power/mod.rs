//! The rules of a power cut, held against an oracle that knows nothing of how the drive works.

mod exhaustive;
mod histories;
mod jumbled;
mod oracle;
mod planted;
mod rig;
mod trims;
