//! Who follows what a guest prints, and may exchange its disk.

/// What becomes of a guest after a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// It continues.
    Continue,
    /// Its disk has become another one; what it may take begins again.
    Exchanged,
    /// It is ended.
    Stop,
}

/// Follows what a guest prints on its console of results.
pub trait Watch<D> {
    /// A line was printed, and the guest stands still. Its disk is there if it has no command.
    fn line(&mut self, line: &str, disk: Option<&mut D>) -> Then;
}
