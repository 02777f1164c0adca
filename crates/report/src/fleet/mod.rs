//! A fleet: disks that differ from their peers, and settings that drifted apart.
//!
//! Peers are disks of the same model and kind that are attached in the same way and did the same
//! work. What `stats` finds among them is worded and drawn here.

mod analyse;
mod collected;
mod drift;
mod gather;
mod json;
mod page;
mod sheet;
mod text;

pub use analyse::{FleetOptions, FleetResult, Found, PeerResult, analyse};
pub use collected::{CollectedHost, collected_json, collected_text};
pub use drift::{Drift, DriftedValue};
pub use gather::{Collection, DiskName, Fleet, LeftOut, PeerKey};
pub use json::{FLEET_SCHEMA, json};
pub use page::{Links, file_name, finding_page, page};
pub use sheet::{csv, markdown};
pub use text::text;

#[cfg(test)]
mod tests;
