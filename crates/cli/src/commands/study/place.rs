//! Where a study is carried out: by this process, or by many on hosts of their own.

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
    /// The arm that the user put in place.
    pub(crate) in_place: Option<&'a str>,
}

/// A stage of any kind.
pub(crate) type AnyStage<'a> = Box<dyn Stage<Error = Refusal> + 'a>;

/// What carries studies out.
pub(crate) trait Place {
    /// How many ranks make each run, where it is more than this process.
    fn ranks(&self) -> Option<u32>;

    /// The stage of a study, ready to enter its first arm.
    fn stage(&mut self, wanted: Wanted<'_>) -> Result<AnyStage<'_>, Refusal>;
}

/// This process.
#[derive(Debug)]
pub(crate) struct Here;

impl Place for Here {
    fn ranks(&self) -> Option<u32> {
        None
    }

    fn stage(&mut self, wanted: Wanted<'_>) -> Result<AnyStage<'_>, Refusal> {
        stage::of(wanted.study, wanted.asked, wanted.in_place, ui::confirm)
    }
}
