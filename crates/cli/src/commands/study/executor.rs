//! The processes that carry out a study: this one, or many on separate hosts.

use drivelab_study::{Asked, Stage, StudyFile};

use crate::ui;
use drivelab_core::Refusal;
use drivelab_lab::stage;

/// A study that is about to get its stage.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) study: &'a mut StudyFile,
    /// The text that it was read from.
    #[cfg_attr(not(feature = "mpi"), expect(dead_code, reason = "only other hosts read it again"))]
    pub(crate) text: &'a str,
    pub(crate) asked: &'a Asked,
    /// The arm that the user has set up.
    pub(crate) set_up: Option<&'a str>,
}

/// A stage of any kind.
pub(crate) type AnyStage<'a> = Box<dyn Stage<Error = Refusal> + 'a>;

/// Carries out studies.
pub(crate) trait Executor {
    /// The number of ranks of each run, if it is more than this process.
    fn ranks(&self) -> Option<u32>;

    /// The stage of a study, ready to enter its first arm.
    fn stage(&mut self, wanted: Wanted<'_>) -> Result<AnyStage<'_>, Refusal>;
}

/// This process.
#[derive(Debug)]
pub(crate) struct Here;

impl Executor for Here {
    fn ranks(&self) -> Option<u32> {
        None
    }

    fn stage(&mut self, wanted: Wanted<'_>) -> Result<AnyStage<'_>, Refusal> {
        stage::of(wanted.study, wanted.asked, wanted.set_up, ui::confirm)
    }
}
