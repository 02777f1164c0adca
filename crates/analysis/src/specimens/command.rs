//! The commands that find out what a profile leaves open.

use drivelab_core::record::unknown::{self, FoundBy};

use super::sampled::Foreseen;

/// Commands that ask the same question of the reader's drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settle {
    /// The command that repeats the study, with `my-drive.toml` for the drive.
    pub again: String,
}

impl Settle {
    /// The commands to type, in order, and whether they destroy what the drive holds; nothing where
    /// no unknown decides, or where no fit finds out the one that does.
    pub fn commands(&self, foreseen: &Foreseen) -> Option<([String; 3], bool)> {
        let (index, _) = foreseen.forecast.decides()?;
        // A drive that leaves such a number open is solid-state: only its reads are fitted.
        let of_flash = foreseen.unknowns.iter().any(|it| found_by(&it.key) == Some(FoundBy::NoFit));
        let decides = found_by(&foreseen.unknowns[index].key);
        let writes = decides == Some(FoundBy::Writes);
        if decides == Some(FoundBy::NoFit) || of_flash && writes {
            return None;
        }
        let allowed = if writes { " --allow-destructive /dev/sdX" } else { "" };
        let commands = [
            format!("drivelab drive measure /dev/sdX{allowed} --out my.toml"),
            "drivelab drive fit my.toml --out my-drive.toml".to_owned(),
            self.again.clone(),
        ];
        Some((commands, writes))
    }

    /// The lead to the commands: the effect they have.
    pub fn lead(writes: bool) -> &'static str {
        if writes {
            "To settle it, measure your drive; this writes and destroys what it holds:"
        } else {
            "To settle it, measure your drive; this only reads, for about two minutes:"
        }
    }
}

fn found_by(key: &str) -> Option<FoundBy> {
    unknown::find(key).map(|it| it.found_by)
}

#[cfg(test)]
mod tests {
    use drivelab_stats::{Cause, Forecast, Part, Shares, Verdict};

    use super::*;
    use crate::specimens::Opened;

    fn foreseen(unknowns: &[&str]) -> Foreseen {
        let part = Part { cause: Cause::Unknown(0), share: 0.9, ci95: [0.8, 0.95] };
        let shares = Shares { faster: 0.5, slower: 0.5, no_practical_difference: 0.0 };
        let (n, prediction95, verdict) = (20, [0.5, 2.0], Verdict::Inconclusive);
        let forecast = Forecast { n, prediction95, shares, parts: vec![part], verdict };
        let opened = |key: &&str| Opened { key: (*key).to_owned(), arm: None };
        Foreseen { forecast, unknowns: unknowns.iter().map(opened).collect() }
    }

    #[test]
    fn no_command_is_given_for_what_no_fit_finds_out() {
        let settle = Settle { again: "drivelab study x --drive my-drive.toml".into() };
        let of_disk = settle.commands(&foreseen(&["guard_growth", "seek_short"]));
        assert!(of_disk.is_some_and(|(_, writes)| !writes));
        let writes = settle.commands(&foreseen(&["write_cache_bytes", "seek_short"]));
        assert!(writes.is_some_and(|(_, writes)| writes));
        // Of solid-state drives reads are fitted, and nothing of writes.
        let reads = settle.commands(&foreseen(&["page_read_factor", "erase"]));
        assert!(reads.is_some_and(|(_, writes)| !writes));
        assert_eq!(settle.commands(&foreseen(&["erase", "page_read_factor"])), None);
        // Its cache is a number that a fit finds out of disks.
        assert_eq!(settle.commands(&foreseen(&["write_cache_bytes", "erase"])), None);
    }
}
