//! Accounts of what the jobs of a file wrote, which later jobs of it verify.

use std::path::PathBuf;

use drivelab_core::record::Verification;
use drivelab_core::{Refusal, Workload};
use drivelab_engine::RunPlan;
use drivelab_engine::verify::Promise;

use super::verification;

/// The accounts that still hold, the earliest first.
#[derive(Debug, Default)]
pub(super) struct Written(Vec<Account>);

#[derive(Debug)]
struct Account {
    target: PathBuf,
    region: (u64, u64),
    state: PathBuf,
}

impl Written {
    /// Adds the accounts of `plans`. An earlier one does not hold for blocks that were written
    /// since.
    pub(super) fn add(&mut self, plans: &[RunPlan]) {
        for plan in plans.iter().filter(|plan| plan.workload.rw.writes()) {
            let region = region(&plan.workload);
            self.0.retain(|it| it.target != plan.path || !overlap(it.region, region));
            if let Some(state) = plan.verify_state.clone() {
                self.0.push(Account { target: plan.path.clone(), region, state });
            }
        }
    }

    /// Reads back what `plan` wrote, if it kept account.
    pub(super) fn of(plan: &RunPlan) -> Result<Option<Verification>, Refusal> {
        let Some(state) = &plan.verify_state else { return Ok(None) };
        verification::check(&plan.path, state, Promise::Acknowledged).map(Some)
    }

    /// Reads back all that was written to the target of `plan`.
    pub(super) fn check(&self, plan: &RunPlan) -> Result<Option<Verification>, Refusal> {
        let mut found: Option<Verification> = None;
        for account in self.0.iter().filter(|account| account.target == plan.path) {
            let one = verification::check(&account.target, &account.state, Promise::Acknowledged)?;
            match &mut found {
                Some(all) => all.merge(one),
                None => found = Some(one),
            }
        }
        Ok(found)
    }
}

/// Lets plans that run together verify one target, if each writes another part of it.
pub(super) fn share(plans: &mut [RunPlan]) -> Result<(), Refusal> {
    for at in 0..plans.len() {
        if plans[at].verify_state.is_none() {
            continue;
        }
        let (path, used) = (plans[at].path.clone(), region(&plans[at].workload));
        for other in at + 1..plans.len() {
            if plans[other].path != path || plans[other].verify_state.is_none() {
                continue;
            }
            if overlap(used, region(&plans[other].workload)) {
                let wrong = format!(
                    "two jobs write the same blocks of {} at the same time, so that `verify` \
                     cannot know what they must contain",
                    path.display()
                );
                return Err(Refusal::request(wrong)
                    .hint("`stonewall` between them, or an `offset` for each"));
            }
            plans[at].verifies_part = true;
            plans[other].verifies_part = true;
        }
    }
    Ok(())
}

/// First byte and end of the blocks that a workload uses.
fn region(workload: &Workload) -> (u64, u64) {
    let first = workload.offset.get();
    (first, workload.size.map_or(u64::MAX, |size| first.saturating_add(size.get())))
}

fn overlap(one: (u64, u64), other: (u64, u64)) -> bool {
    one.0 < other.1 && other.0 < one.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivelab_core::units::Bytes;
    use drivelab_core::workload::{Rw, WorkloadOptions};

    fn plan(target: &str, at_mib: u64, state: Option<&str>) -> RunPlan {
        let options = WorkloadOptions {
            rw: Some(Rw::Write),
            offset: Some(Bytes::mib(at_mib)),
            size: Some(Bytes::mib(1)),
            number_ios: Some(1),
            ..WorkloadOptions::default()
        };
        let workload = options.check().unwrap();
        RunPlan { verify_state: state.map(PathBuf::from), ..RunPlan::new(target.into(), workload) }
    }

    #[test]
    fn parts_are_shared_and_the_same_blocks_are_not() {
        let mut plans = [plan("f", 0, Some("a")), plan("f", 1, Some("b")), plan("g", 0, Some("c"))];
        share(&mut plans).unwrap();
        assert_eq!(plans.map(|plan| plan.verifies_part), [true, true, false]);
        let refused = share(&mut [plan("f", 0, Some("a")), plan("f", 0, Some("b"))]).unwrap_err();
        assert!(refused.message.contains("the same blocks of f"), "{refused:?}");
        // Without an account the other one is not verified, and the lock decides.
        share(&mut [plan("f", 0, Some("a")), plan("f", 0, None)]).unwrap();
    }

    #[test]
    fn an_account_holds_until_its_blocks_are_written_again() {
        let mut written = Written::default();
        let states = |written: &Written| -> Vec<String> {
            written.0.iter().map(|it| it.state.display().to_string()).collect()
        };
        written.add(&[plan("f", 0, Some("a")), plan("f", 1, Some("b")), plan("g", 0, Some("c"))]);
        written.add(&[plan("f", 0, Some("d"))]);
        assert_eq!(states(&written), ["b", "c", "d"]);
        written.add(&[plan("f", 1, None)]);
        assert_eq!(states(&written), ["c", "d"]);
    }
}
