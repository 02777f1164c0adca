//! One load from many hosts: their messages before and after, and the joint result.
//!
//! Everything here speaks to other hosts through [`Ranks`] alone, which sends and receives messages
//! and has a clock. Broadcast, gathering and barriers are built of messages with deadlines, and not
//! those of MPI: a rank that has died must not keep the others waiting for ever. Between the common
//! start and the end of a rank's own window nothing is called, as the measuring code has no
//! [`Crew`].

mod clock;
mod crew;
mod joint;
mod outcome;
mod queue;
mod start;
mod study;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod threads;

pub use clock::{Round, best};
pub use crew::Crew;
pub use joint::{Line, Measured, Own, Terms, make};
pub use outcome::{Gathered, together};
pub use queue::share;
pub use start::{Agreed, Begun, begin};
pub use study::{Followed, Leader, Member, follow, lead};

use drivelab_core::units::Time;

/// Processes that measure together. One of them is rank 0, whose clock is everyone's.
pub trait Ranks {
    /// The number of this one.
    fn rank(&self) -> u32;

    /// The number of ranks.
    fn size(&self) -> u32;

    /// The time of this host: a clock that no one sets, with an arbitrary zero.
    fn now(&self) -> Time;

    /// Sends a message. Messages from one rank to another arrive in their order. Returns false
    /// where it could not be handed over by `deadline`.
    fn send(&self, to: u32, message: &[u8], deadline: Time) -> bool;

    /// The next message from a rank; `None` where there is none by `deadline`, or the user has
    /// asked to stop.
    fn receive(&self, from: u32, deadline: Time) -> Option<Vec<u8>>;
}
