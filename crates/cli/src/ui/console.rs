//! The user of this process, as a study sees them.

use drivelab_study::{Shield, Watch};

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
}

impl Watch for Console {
    fn is_stopping(&self) -> bool {
        interrupt::requested()
    }

    fn shield(&self) -> Shield {
        Shield::new(interrupt::shield())
    }

    fn warn(&self, warning: &str) {
        self.ui.warn(warning);
    }

    fn begins(&self, done: usize, run: &str) {
        if let Some(progress) = &self.progress {
            progress.at(done as u64, run);
        }
    }

    fn finished(&self, done: usize, all: usize, run: &str) {
        if let Some(progress) = &self.progress {
            progress.done(done, all, run);
        }
    }
}
