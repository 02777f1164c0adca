//! The archive in a browser: pages over HTTP on loopback.
//!
//! Every page is one that `report` renders. Nothing here starts a load, writes to a drive or
//! changes the archive: all requests are reads, and there is no token because there is nothing to
//! protect by one.
#![forbid(unsafe_code)]

mod guard;
mod pages;
mod routes;
mod server;

pub use pages::{Chosen, Pages};
pub use routes::router;
pub use server::{bind, serve};
