//! Drives and profiles held against published figures.

mod quoted;
mod sequence;
mod syncs;
