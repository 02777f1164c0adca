//! Drives and profiles held against published figures.

mod quoted;
mod syncs;
