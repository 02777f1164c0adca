//! What queue depth buys: by depth, by span, and over all drives that fit a profile.

mod depth;
mod pairs;
mod prior;
mod spans;

/// The disks that come along.
pub(crate) fn disks() -> impl Iterator<Item = &'static str> {
    use drivelab_model::profile::{Profile, names};
    let turns = |name: &&str| Profile::embedded(name).is_some_and(|profile| profile.rotates());
    names().into_iter().filter(turns)
}
