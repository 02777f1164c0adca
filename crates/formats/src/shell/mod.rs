//! Small measurements of terminals: single commands, and scripts that call several of them.

pub mod bench_sh;
pub mod dd;
pub mod hdparm;
pub mod ioping;
pub mod pg_test_fsync;
pub mod yabs;
