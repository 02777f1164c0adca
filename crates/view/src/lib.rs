//! The archive in a browser: pages over HTTP on loopback.
//!
//! Every page is one that `report` renders. Nothing here starts a load, writes to a drive or
//! changes the archive: all requests are reads. There is no token: every local user can read what
//! the user who serves it can, also from an archive that asks that user for a password. Pages of
//! other sites are refused, work ends when its client has gone, and everything has a limit.
#![forbid(unsafe_code)]

mod guard;
mod lab;
mod pages;
mod routes;
mod server;

pub use lab::Lab;
pub use pages::{Chosen, Client, Pages};
pub use routes::{RUNS_MAX, router, too_many};
pub use server::{bind, serve};
