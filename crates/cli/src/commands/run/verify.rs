//! `run --verify`: whether what was written is there.

use drivelab_report::text::json_text;
use std::path::{Path, PathBuf};

use clap::Args;
use drivelab_core::record::Verification;
use drivelab_core::workload::Workload;
use drivelab_engine::verify::Promise;
use serde_json::json;

use crate::exit::{Exit, Outcome};
use crate::ui::Ui;
use drivelab_core::Refusal;
use drivelab_lab::request::verification;
use drivelab_lab::target::Target;

/// On each option and not on the group, where it would go on for the options after it.
const VERIFICATION: &str = "Verification";

/// Verification of what a run writes.
#[derive(Debug, Clone, Args)]
pub(crate) struct VerifyArgs {
    /// Label written blocks, and verify them after the run.
    #[arg(long, conflicts_with = "verify_only", help_heading = VERIFICATION)]
    verify: bool,
    /// Verify the blocks of an earlier --verify run, even of one that was killed.
    #[arg(long, alias = "verify_only", help_heading = VERIFICATION)]
    verify_only: bool,
    /// With --verify or --verify-only: the verify state file, which records what was written.
    #[arg(long, value_name = "FILE", help_heading = VERIFICATION)]
    verify_state: Option<PathBuf>,
    /// With --verify-only: the power was cut, so only flushed writes must be intact.
    #[arg(long, requires = "verify_only", help_heading = VERIFICATION)]
    power_was_cut: bool,
}

/// Blocks that an earlier run wrote, and what must be intact of them.
#[derive(Debug)]
pub(super) struct Earlier {
    target: PathBuf,
    state: PathBuf,
    promise: Promise,
}

impl VerifyArgs {
    /// The verification of an earlier run of `target`, if that is all that is asked for.
    pub(super) fn earlier(&self, target: &str) -> Option<Earlier> {
        let promise = if self.power_was_cut { Promise::Flushed } else { Promise::Acknowledged };
        let target = PathBuf::from(target);
        let state = self.state_path(&target);
        self.verify_only.then_some(Earlier { target, state, promise })
    }

    /// The state file of a run of `workload` on `target`, if it is to be verified.
    pub(super) fn state(
        self,
        target: &Target,
        workload: &Workload,
    ) -> Result<Option<PathBuf>, Refusal> {
        if !self.verify && self.verify_state.is_some() {
            let message = "`--verify-state` names the state file of a verification, and none is \
                           asked for";
            return Err(Refusal::request(message)
                .hint("add `--verify` to verify this run, or `--verify-only`"));
        }
        if !self.verify {
            return Ok(None);
        }
        verification::refuse_impossible(workload, matches!(target, Target::Drive(_)))?;
        let path = match target {
            Target::Path(path) => path.as_path(),
            Target::Drive(_) => Path::new(""),
        };
        Ok(Some(self.state_path(path)))
    }

    fn state_path(&self, target: &Path) -> PathBuf {
        self.verify_state.clone().unwrap_or_else(|| verification::state_path(target))
    }
}

/// Checks what an earlier run left, and prints what was found.
pub(super) fn run(earlier: &Earlier, ui: Ui) -> Outcome {
    let Earlier { target, state, promise } = earlier;
    let found = verification::check(target, state, *promise)?;
    if ui.json {
        ui.result(&json_text(&json!({
            "schema": "drivelab.run/1",
            "target": target.display().to_string(),
            "verification": found,
        })))?;
    } else {
        ui.result(&drivelab_report::verification::text(&found, ui.look()))?;
    }
    Ok(exit(&found))
}

/// A broken promise is an answer, and it is no; where nothing was promised there is none.
pub(crate) fn exit(found: &Verification) -> Exit {
    match (found.is_good(), found.promised) {
        (false, _) => Exit::No,
        (true, 0) => Exit::Inconclusive,
        (true, _) => Exit::Done,
    }
}
