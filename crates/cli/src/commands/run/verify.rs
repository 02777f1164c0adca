//! `run --verify`: whether what was written is there.

use drivelab_report::text::json_text;
use std::path::{Path, PathBuf};

use clap::Args;
use drivelab_core::record::Verification;
use drivelab_core::workload::Workload;
use drivelab_engine::verify::{Promise, StateError, verify};
use serde_json::json;

use crate::exit::{Exit, Outcome};
use crate::ui::Ui;
use drivelab_core::Refusal;
use drivelab_lab::measure::LINUX;

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

impl VerifyArgs {
    /// Nothing is to be run, only checked.
    pub(crate) fn only(&self) -> bool {
        self.verify_only
    }

    /// Refuses to verify what writes nothing that could be read back.
    pub(crate) fn possible(&self, workload: &Workload, modelled: bool) -> Result<(), Refusal> {
        let (message, hint) = if !self.verify && self.verify_state.is_some() {
            let message = "`--verify-state` names the state file of a verification, and none is \
                           asked for";
            (message.to_owned(), "add `--verify` to verify this run, or `--verify-only`")
        } else if !self.verify {
            return Ok(());
        } else if modelled {
            let message = "a modelled drive in virtual time stores no data to verify";
            (message.to_owned(), "serve it with `drivelab serve`, and verify the served drive")
        } else if workload.rw.sends() {
            return Ok(());
        } else {
            let message =
                format!("`--verify` checks written data, but `--rw {}` writes none", workload.rw);
            (message, "use a writing workload (`--rw randwrite`), or omit `--verify`")
        };
        Err(Refusal::request(message).hint(hint))
    }

    /// The state file of a run that writes `target`, where it is to be verified.
    pub(crate) fn state(&self, target: &Path) -> Option<PathBuf> {
        self.verify.then(|| self.state_path(target))
    }

    /// In the current folder by default: a device node is in `/dev`, not in a folder of the user's.
    fn state_path(&self, target: &Path) -> PathBuf {
        let name = target.file_name().unwrap_or(target.as_os_str()).to_string_lossy();
        self.verify_state.clone().unwrap_or_else(|| format!("{name}.verify-state").into())
    }

    /// Reads everything back.
    pub(crate) fn check(&self, target: &Path) -> Result<Verification, Refusal> {
        let promise = if self.power_was_cut { Promise::Flushed } else { Promise::Acknowledged };
        verify(target, &self.state_path(target), promise, &*LINUX).map_err(|error| match error {
            StateError::Foreign { .. } | StateError::OtherTarget { .. } => {
                Refusal::request_error(error).hint("name the right file with `--verify-state`")
            }
            StateError::BeingWritten { .. } => {
                Refusal::request_error(error).hint("wait until that run ends")
            }
            StateError::OtherVersion { .. } => {
                Refusal::request_error(error).hint("write with `--verify` once more")
            }
            StateError::Damaged { .. } => {
                let hint = "use an intact copy, or write again with `--verify`";
                Refusal::request_error(error).hint(hint)
            }
            StateError::Target { ref source, .. }
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                Refusal::request_error(error).hint("give the present name of the target")
            }
            StateError::System { ref source, .. }
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                Refusal::request_error(error).hint("write the target with `--verify` first")
            }
            _ => Refusal::machine_error(error),
        })
    }
}

/// Checks what an earlier run left, and prints what was found.
pub(crate) fn only(arguments: &VerifyArgs, target: &Path, ui: Ui) -> Outcome {
    let found = arguments.check(target)?;
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
