//! Verification of what a run wrote, by its state file.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use drivelab_core::Refusal;
use drivelab_core::record::Verification;
use drivelab_core::workload::Workload;
use drivelab_engine::verify::{Promise, StateError, verify};

use crate::measure::LINUX;

/// The state file of a run on `target` by default: in the current folder, since a device node is in
/// `/dev`, not in a folder of the user's.
pub fn state_path(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or(target.as_os_str()).to_string_lossy();
    format!("{name}.verify-state").into()
}

/// Refuses to verify a run that writes nothing that could be read back.
pub fn refuse_impossible(workload: &Workload, is_modelled: bool) -> Result<(), Refusal> {
    let (message, hint) = if is_modelled {
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

/// Reads everything back that the state file promises.
pub fn check(target: &Path, state: &Path, promise: Promise) -> Result<Verification, Refusal> {
    verify(target, state, promise, &*LINUX).map_err(refused)
}

fn refused(error: StateError) -> Refusal {
    let is_missing = |source: &std::io::Error| source.kind() == ErrorKind::NotFound;
    let hint = match &error {
        StateError::Foreign { .. } | StateError::OtherTarget { .. } => {
            "name the right file with `--verify-state`"
        }
        StateError::BeingWritten { .. } => "wait until that run ends",
        StateError::OtherVersion { .. } => "write with `--verify` once more",
        StateError::Damaged { .. } => "use an intact copy, or write again with `--verify`",
        StateError::Target { source, .. } if is_missing(source) => {
            "give the present name of the target"
        }
        StateError::System { source, .. } if is_missing(source) => {
            "write the target with `--verify` first"
        }
        _ => return Refusal::machine_error(error),
    };
    Refusal::request_error(error).hint(hint)
}
