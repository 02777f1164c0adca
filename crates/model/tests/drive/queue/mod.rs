//! What queue depth buys: by depth, by span, and over all drives that fit a profile.

mod depth;
mod pairs;
mod prior;
mod spans;

/// The disks that come along.
pub(crate) fn disks() -> impl Iterator<Item = &'static str> {
    use drivelab_model::profile::{Profile, names};
    // Without overlapping tracks, of which none was measured with a queue: a media cache takes
    // random writes at the rate of others, and a cylinder of twelve heads holds many times as much.
    let turns = |profile: Profile| profile.rotates() && !profile.is_shingled();
    names().into_iter().filter(move |name| Profile::embedded(name).is_some_and(turns))
}
