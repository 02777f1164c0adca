//! Checks that written data is still there.
//!
//! A verified run labels every 512-byte sector that it writes with its address, the number of the
//! write (its generation), the run's own number and a checksum. A state file records which write
//! each block must contain. Reading everything back then distinguishes the possible faults: see
//! [`drivelab_core::record::Damage`]. The state file may outlive the run that wrote it, whether it
//! was killed or the power failed.

mod check;
mod ledger;
mod state;
#[cfg(test)]
mod tests;

pub use check::Promise;
use check::check;
pub(crate) use ledger::Ledger;
pub use state::{JobAccount, State, StateError};

use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use drivelab_core::record::Verification;
use drivelab_core::usage::Census;

use crate::guard::{self, LockHolder};

/// Checks what a verified run wrote to `target` against the account in `state`.
///
/// # Errors
/// There is no account of this target, or one of the two cannot be read.
pub fn verify(
    target: &Path,
    state: &Path,
    promise: Promise,
    census: &dyn Census,
) -> Result<Verification, StateError> {
    let account = State::open(state)?.about(state, target)?;
    let system =
        |operation| move |source| StateError::Target { operation, path: target.into(), source };
    let file = open(target).map_err(system("open"))?;
    let regular = file.metadata().is_ok_and(|meta| meta.is_file());
    if let Err(LockHolder(by)) = if regular { guard::share(&file, census) } else { Ok(()) } {
        return Err(StateError::BeingWritten {
            target: target.into(),
            by: by.map(|by| by.to_string()),
        });
    }
    check(&file, &account, promise).map_err(|source| match source.kind() {
        // Only the account's own entries are reported as damaged in this way.
        io::ErrorKind::InvalidData => {
            StateError::Damaged { path: state.into(), what: source.to_string() }
        }
        _ => system("read back")(source),
    })
}

/// Opens a file or block device to read it; not a pipe, which would wait for its other end.
fn open(target: &Path) -> io::Result<File> {
    let found = drivelab_files::look_up(target)?;
    let kind = found.metadata()?.file_type();
    if !kind.is_file() && !kind.is_block_device() {
        let what = "it is neither a file nor a block device";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    drivelab_files::reopen_to_read(&found)
}
