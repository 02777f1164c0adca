//! Drives and profiles held against published figures.

mod cliff;
mod quoted;
mod sequence;
mod syncs;
mod volumes;
