//! Experiments: the study file, its plan, carrying it out over any stage, and what is kept of it.
//!
//! This crate knows no stage and prints nothing.
#![forbid(unsafe_code)]
