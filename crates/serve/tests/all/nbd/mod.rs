//! The NBD server: its protocol without sockets, and its clients of every kind on real ones.

mod clients;
mod protocol;
mod wire;
