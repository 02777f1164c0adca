//! Disks: where the heads are and what they wait for.

mod caches;
mod closed_forms;
mod depth;
mod prior;
mod spans;
mod writes;

/// The disks that come along.
fn disks() -> impl Iterator<Item = &'static str> {
    use drivelab_model::profile::{Profile, names};
    let turns = |name: &&str| Profile::embedded(name).is_some_and(|profile| profile.rotates());
    names().into_iter().filter(turns)
}
