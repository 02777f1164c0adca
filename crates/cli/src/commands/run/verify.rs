//! `run --verify`: whether what was written is there.

use std::path::{Path, PathBuf};

use clap::Args;
use drivelab_core::record::Verification;
use drivelab_core::workload::Workload;
use drivelab_engine::verify::{Promise, StateError, verify};
use serde_json::json;

use crate::failure::{Exit, Failure, Outcome};
use crate::measure::LINUX;
use crate::ui::Ui;

/// Verification of what a run writes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Verification")]
pub(crate) struct VerifyArgs {
    /// Label what is written, and check it afterwards.
    #[arg(long, conflicts_with = "verify_only")]
    verify: bool,
    /// Check what an earlier `--verify` run wrote, even one that was killed.
    #[arg(long, alias = "verify_only")]
    verify_only: bool,
    /// Where the account of what must be there is kept.
    #[arg(long, value_name = "FILE")]
    verify_state: Option<PathBuf>,
    /// The power was cut: only what was flushed is promised.
    #[arg(long, requires = "verify_only")]
    power_was_cut: bool,
}

impl VerifyArgs {
    /// Nothing is to be run, only checked.
    pub(crate) fn only(&self) -> bool {
        self.verify_only
    }

    /// Refuses to verify what writes nothing that could be read back.
    pub(crate) fn possible(&self, workload: &Workload, modelled: bool) -> Result<(), Failure> {
        let (message, hint) = if !self.verify {
            return Ok(());
        } else if modelled {
            let message = "a modelled drive in virtual time holds no data that could be verified";
            (message.to_owned(), "`drivelab serve` it, and verify what is served")
        } else if workload.rw.sends() {
            return Ok(());
        } else {
            let message = format!(
                "`--verify` checks what is written, and `--rw {}` writes no \
                                   data",
                workload.rw
            );
            (message, "give a writing workload (`--rw randwrite`), or leave `--verify` out")
        };
        Err(Failure::bad_words(message).hint(hint))
    }

    /// The state file of a run that writes `target`, where it is to be verified.
    pub(crate) fn state(&self, target: &Path) -> Option<PathBuf> {
        self.verify.then(|| self.place(target))
    }

    /// Beside whoever calls, since a device has no folder of its own.
    fn place(&self, target: &Path) -> PathBuf {
        let name = target.file_name().unwrap_or(target.as_os_str()).to_string_lossy();
        self.verify_state.clone().unwrap_or_else(|| format!("{name}.verify-state").into())
    }

    /// Reads everything back.
    pub(crate) fn check(&self, target: &Path) -> Result<Verification, Failure> {
        let promise = if self.power_was_cut { Promise::Flushed } else { Promise::Acknowledged };
        verify(target, &self.place(target), promise, &*LINUX).map_err(|error| match error {
            StateError::Foreign { .. } | StateError::OtherTarget { .. } => {
                Failure::bad_request(error).hint("name the right one with `--verify-state`")
            }
            StateError::BeingWritten { .. } => {
                Failure::bad_request(error).hint("wait until that ends")
            }
            StateError::OtherVersion { .. } => {
                Failure::bad_request(error).hint("write with `--verify` once more")
            }
            StateError::Damaged { .. } => {
                let hint = "take a copy of it that is whole, or write with `--verify` once more";
                Failure::bad_request(error).hint(hint)
            }
            StateError::Target { ref source, .. }
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                Failure::bad_request(error).hint("name what was written, as it is called now")
            }
            StateError::System { ref source, .. }
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                Failure::bad_request(error).hint("write it with `--verify` first")
            }
            _ => Failure::cannot_here(error),
        })
    }
}

/// Checks what an earlier run left, and prints what was found.
pub(crate) fn only(arguments: &VerifyArgs, target: &Path, ui: Ui) -> Outcome {
    let found = arguments.check(target)?;
    if ui.json {
        ui.result(&crate::commands::json_text(&json!({
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
