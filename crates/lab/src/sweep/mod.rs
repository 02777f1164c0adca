//! Sweeps on modelled drives: one load on many points of a space of settings.

mod document;
mod keep;
mod modelled;
#[cfg(test)]
mod revision;

pub use document::document;
pub use keep::keep;
pub use modelled::Modelled;

use std::num::NonZeroUsize;
use std::path::Path;
use std::thread;

use drivelab_core::{Control, Refusal};
use drivelab_study::sweep::{Kept, Row, Rows, Shard, carry_out};

use crate::stage::parallel;

impl Modelled {
    /// Makes the points of a shard that the rows in `folder` lack, and returns all rows.
    ///
    /// # Errors
    /// Points whose options exclude one another, before any is made; or a run that failed.
    pub fn make(
        &self,
        shard: Shard,
        folder: &Path,
        control: &Control<'_>,
    ) -> Result<Kept, Refusal> {
        let all = self.points()?;
        // Before the folder is made: a refused sweep leaves none.
        self.check(&all)?;
        let mut rows = Rows::open(folder, &shard.file())?;
        let mut kept = self.rows(folder, &all)?;
        let threads = processors();
        let batch = threads.get() * self.points_a_thread(usize::MAX);
        carry_out(&all, shard, &mut rows, &mut kept, batch, control, |batch| {
            parallel::map(threads, batch, |point| self.row(point)).into_iter().collect()
        })?;
        Ok(kept)
    }

    /// The rows made so far in `folder`; at least one. `file` is the sweep file.
    pub fn finished(&self, file: &Path, folder: &Path) -> Result<Kept, Refusal> {
        let kept = self.rows(folder, &self.points()?)?;
        if kept.rows.is_empty() {
            let file = file.display();
            return Err(Refusal::request(format!("no point of `{file}` has been made"))
                .hint(format!("make them: drivelab sweep {file}")));
        }
        Ok(kept)
    }

    /// The best rows, or all.
    fn chosen<'a>(&self, kept: &'a Kept, best: Option<usize>) -> Vec<&'a Row> {
        let Some(best) = best else { return kept.rows.values().collect() };
        let result = self.swept(kept);
        let best = result.best_of(best).into_iter();
        best.map(|index| &kept.rows[&result.made[index].0]).collect()
    }
}

/// The processors of this machine, as far as they are known.
pub(crate) fn processors() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}
