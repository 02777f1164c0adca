//! The commands that find out what a profile leaves open.

use drivelab_core::record::unknown;

use super::sampled::Foreseen;

/// How to ask the same question of one's own drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settle {
    /// The command that repeats the study, with `my-drive.toml` for the drive.
    pub again: String,
}

impl Settle {
    /// What to type, in order, and whether it destroys what the drive holds; nothing where no
    /// unknown decides.
    pub(crate) fn commands(&self, foreseen: &Foreseen) -> Option<([String; 3], bool)> {
        let (place, _) = foreseen.forecast.decides()?;
        let writes = unknown::find(&foreseen.unknowns[place]).is_some_and(|it| it.takes_writes);
        let allowed = if writes { " --allow-destructive /dev/sdX" } else { "" };
        let commands = [
            format!("drivelab drive measure /dev/sdX{allowed} --out my.toml"),
            "drivelab drive fit my.toml --out my-drive.toml".to_owned(),
            self.again.clone(),
        ];
        Some((commands, writes))
    }

    /// What the commands do, as a lead.
    pub(crate) fn lead(writes: bool) -> &'static str {
        if writes {
            "To settle it, measure your drive; this writes and destroys what it holds:"
        } else {
            "To settle it, measure your drive; this only reads, for about two minutes:"
        }
    }
}
