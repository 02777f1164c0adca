//! Observers of a guest's output, which may exchange its disk.

/// The reaction of an observer to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// The guest continues.
    Continue,
    /// The guest continues with another disk; its time limit begins again.
    Exchanged,
    /// The guest is ended.
    Stop,
}

/// Receives the lines that a guest prints on its console of results.
pub trait Observer<D> {
    /// Handles a line while the guest is stopped. `disk` is `None` while it has a command.
    fn line(&mut self, line: &str, disk: Option<&mut D>) -> Reaction;
}
