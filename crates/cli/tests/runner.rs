//! All integration tests in one binary: one file a command.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod archive;
mod arms;
mod commands;
mod common;
mod compare;
mod conformance;
mod devices;
mod disksim;
mod drive;
mod durability;
mod emulate;
mod foreign;
mod formats;
mod guards;
mod help;
mod input;
mod inspect;
mod interrupt;
mod job;
mod lab;
mod matrix_study;
mod measured;
mod replaced;
mod replay;
mod resume;
mod run;
mod serve;
mod study;
mod suite;
mod tidy;
mod transcripts;
mod tree_suite;
mod verify;
mod words;
