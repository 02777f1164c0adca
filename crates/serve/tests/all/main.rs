//! The served drive as its users meet it: what a power cut may take, and what it may not.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod durability;
mod faults;
mod fuse;
mod nbd;
mod power;
mod serving;
