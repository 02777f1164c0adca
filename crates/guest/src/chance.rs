//! The variation between two machines that are set up alike: where a file system puts its folders,
//! the number of a process, and the state of the kernel's timers when the work begins.
//!
//! In virtual time all of it would be the same in every run of a study. Its interval would then
//! speak of one layout alone, and another build of drivelab or of the kernel would fall outside it.

use drivelab_core::Rng;
use drivelab_core::units::Span;

/// ext4 starts its search for free blocks at one of 16 offsets in a group, by process number.
/// Source: Linux 6.12, fs/ext4/balloc.c, `ext4_inode_to_goal_block`.
const COLOURS: u64 = 16;
/// The period of the commits of ext4's journal and of the writeback of dirty pages.
/// Source: Linux 6.12, `JBD2_DEFAULT_MAX_COMMIT_AGE` and `dirty_writeback_interval`, 5 s each.
const PERIOD: Span = Span::from_secs(5);

/// The variation of one run; arms that are compared run by run get the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chance {
    seed: u64,
    processes: u64,
    wait: Span,
}

impl Chance {
    /// Draws the variation of the run with `seed`.
    pub fn of(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        // More processes than colours would only repeat the layouts.
        let processes = rng.below(COLOURS);
        let wait = Span::from_ms(rng.below(PERIOD.ns() / Span::from_ms(1).ns()));
        debug_assert!(wait < PERIOD && processes < COLOURS, "one period, and one of each colour");
        Self { seed: rng.bits(), processes, wait }
    }

    /// Returns a word of the kernel command line. It seeds the guest's random numbers, from which
    /// mke2fs draws the hash that spreads folders over the disk.
    pub fn argument(self) -> String {
        format!("drivelab.chance={:016x}", self.seed)
    }

    /// Returns the lines of a shell that precede the work.
    pub fn commands(self) -> Vec<String> {
        let ms = self.wait.ns() / Span::from_ms(1).ns();
        // A subshell takes a process number and does nothing else.
        let forks = (0..self.processes).map(|_| "(:)".to_owned());
        forks.chain([format!("sleep {}.{:03}", ms / 1000, ms % 1000)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_seed_has_its_chance() {
        let chances: Vec<Chance> = (0..200).map(Chance::of).collect();
        assert_eq!(chances[7], Chance::of(7));
        let waits = |chance: &Chance| chance.wait < PERIOD;
        assert!(chances.iter().all(waits));
        let mut processes: Vec<u64> = chances.iter().map(|chance| chance.processes).collect();
        processes.sort_unstable();
        processes.dedup();
        assert_eq!(processes, (0..COLOURS).collect::<Vec<_>>());
        let mut words: Vec<String> = chances.iter().map(|chance| chance.argument()).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), chances.len());
    }

    #[test]
    fn a_guest_forks_and_waits_before_its_work() {
        let chance = Chance { seed: 1, processes: 2, wait: Span::from_ms(4_007) };
        assert_eq!(chance.commands(), ["(:)", "(:)", "sleep 4.007"]);
        assert_eq!(chance.argument(), "drivelab.chance=0000000000000001");
    }
}
