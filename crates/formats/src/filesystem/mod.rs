//! Benchmarks of file systems and of block devices, also of many hosts at once.

pub mod dbench;
pub mod elbencho;
pub mod filebench;
pub mod ior;
pub mod iozone;
pub mod mdtest;
pub mod vdbench;

/// The reason why operations on metadata do not measure a disk.
const METADATA: &str = "operations on metadata: the memory of the client or of the server may answer, \
                        and nothing is synced";
