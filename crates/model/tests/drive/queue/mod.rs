//! What queue depth buys: by depth, by span, and over all drives that fit a profile.

mod depth;
mod prior;
mod spans;
