//! One binary for all tests of the crate: known truth, mutations, golden values, edges.

#[path = "../truth/mod.rs"]
mod truth;

mod change;
mod edges;
mod families;
mod fleets;
mod golden;
mod grid;
mod interaction;
mod metamorphic;
mod mutation;
mod planning;
mod series;
mod specimens;
mod steadiness;
