//! The user of this process, as long work sees them.

use drivelab_core::Control;
use drivelab_core::control::{Event, Observer};

use super::{Progress, Ui};
use drivelab_lab::interrupt;

/// A terminal, or its substitute.
#[derive(Debug)]
pub(crate) struct Console {
    ui: Ui,
    progress: Option<Progress>,
}

impl Console {
    /// Warnings, and nothing about progress.
    pub(crate) fn new(ui: Ui) -> Self {
        Self { ui, progress: None }
    }

    /// Warnings and progress.
    pub(crate) fn with_progress(ui: Ui, progress: Progress) -> Self {
        Self { ui, progress: Some(progress) }
    }

    /// The control of work that the user sees and may stop.
    pub(crate) fn control(&self) -> Control<'_> {
        interrupt::control(self)
    }
}

impl Observer for Console {
    fn observe(&self, event: Event<'_>) {
        match (event, &self.progress) {
            (Event::Warning(warning), _) => self.ui.warn(warning),
            (Event::Note(note), _) => self.ui.note(note),
            (event, Some(progress)) => progress.observe(event),
            (_, None) => {}
        }
    }
}
