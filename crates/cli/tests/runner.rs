//! All integration tests in one binary: one file a command.

mod tidy;
