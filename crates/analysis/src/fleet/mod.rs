//! A fleet: disks that differ from their peers, and settings that drifted apart.
//!
//! Peers are disks of the same model and kind that are attached in the same way and did the same
//! work. They are grouped here, and `stats` judges them.

mod analyse;
mod collected;
mod drift;
mod gather;

pub use analyse::{FleetOptions, FleetResult, Found, PeerResult, SmallGroup, analyse};
pub use collected::CollectedHost;
pub use drift::{Drift, DriftedValue};
pub use gather::{Collection, DiskName, Fleet, LeftOut, PeerKey};
