//! Presents a drive in real time, and cuts its power.
//!
//! [`drive::ServedDrive`] joins a [`drivelab_core::Device`], which decides when a request
//! completes, with a [`store::Store`], which decides what the bytes are; it receives the time as an
//! argument and is tested in virtual time.
#![cfg_attr(not(feature = "ublk"), forbid(unsafe_code))]

pub mod backing;
pub mod control;
pub mod drive;
pub mod durability;
pub mod fault;
mod fuse;
mod hash;
mod json;
pub mod medium;
pub mod nbd;
mod queue;
pub mod server;
pub mod store;
mod task;
#[cfg(feature = "ublk")]
mod ublk;
