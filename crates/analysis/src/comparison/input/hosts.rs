//! On which machines arms ran: what differs between them may be the machine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drivelab_core::Refusal;

use super::ArmRuns;

/// The machine of each run of an arm; of modelled runs and those of other tools there is none.
pub(super) struct OnHosts {
    pub name: String,
    pub runs: Vec<Option<Arc<str>>>,
}

/// The note on pairs that were made machine by machine.
pub(super) const BLOCKS: &str = "The runs are of several machines, and each is compared with \
                                 itself: the first run of one arm on a machine with the first of \
                                 the other on the same.";

/// True if the runs are of several machines, each of which is in every arm: then each machine is
/// compared with itself. Runs without a machine may be compared with those of any one.
///
/// # Errors
/// The arms ran on different machines.
pub(super) fn are_blocks(arms: &[OnHosts]) -> Result<bool, Refusal> {
    let hosts: Vec<BTreeSet<Option<Arc<str>>>> =
        arms.iter().map(|arm| arm.runs.iter().cloned().collect()).collect();
    let all: BTreeSet<&Arc<str>> = hosts.iter().flatten().flatten().collect();
    if all.len() < 2 {
        return Ok(false);
    }
    let blocked = hosts.iter().all(|of_arm| of_arm == &hosts[0] && !of_arm.contains(&None));
    if blocked {
        return Ok(true);
    }
    let words = arms.iter().zip(&hosts).map(|(arm, hosts)| {
        let hosts = hosts.iter().map(|host| host.as_deref().unwrap_or("none"));
        format!("`{}` on {}", arm.name, hosts.collect::<Vec<_>>().join(" and "))
    });
    Err(Refusal::request(format!(
        "the arms ran on different machines ({}), which may cause the difference",
        words.collect::<Vec<_>>().join(", ")
    ))
    .hint("run every arm on one machine, or every arm on each of them"))
}

/// Names the blocks of each arm by machine, and the runs of each machine by their order.
pub(super) fn number(arms: &mut [ArmRuns], ran_on: &[OnHosts]) {
    for (arm, ran_on) in arms.iter_mut().zip(ran_on) {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (run, host) in arm.runs.iter_mut().zip(&ran_on.runs) {
            let host = host.as_deref().unwrap_or_default();
            let count = counts.entry(host).or_default();
            *count += 1;
            run.block = format!("{host} {count}");
        }
    }
}
