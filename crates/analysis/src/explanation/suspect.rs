//! The causes that are tried, and the hypotheses that are made of them.

/// A cause that can be simulated on the drive of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Suspect {
    /// Its name.
    pub id: String,
    /// Its description.
    pub words: String,
    /// A command that shows whether it is so.
    pub look: String,
    /// Its weight among all suspects before the evidence.
    pub prior: f64,
    /// The suspects that cannot act on the same arm, by number.
    pub excludes: Vec<usize>,
    /// The signs that a measurement of a drive with it shows.
    pub shows: Vec<Shows>,
}

/// A sign of a drive that a suspect changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shows {
    /// The sign, by its name in [`crate::signs`].
    pub sign: String,
    /// The value that it then has.
    pub value: String,
    /// False if it may have another: where the suspect is not always in the drive itself.
    pub always: bool,
}

/// The suspects that act on each arm; none on both is chance.
pub(super) type Acting = [Vec<usize>; 2];

/// A hypothesis about the arms.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum About {
    /// Variation from run to run, or a suspect that no figure shows.
    Chance,
    /// A cause outside the library.
    Unknown,
    /// Suspects.
    Causes(Acting),
}
