//! The storage of the ledger: a file, another machine, or this machine on behalf of another.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use drivelab_core::{Refusal, Rng};

use super::ledger::{Ledger, Notes, may_be_replaced};
use super::remote::Remote;

/// The storage of the ledger.
#[derive(Debug, Clone)]
pub enum LedgerSink {
    /// A file.
    File(PathBuf),
    /// Another machine, at this address.
    Server(String),
}

impl LedgerSink {
    /// Begins the ledger of a run.
    pub fn begin(&self, ledger: &Ledger) -> Result<Box<dyn Notes>, Refusal> {
        match self {
            Self::File(path) => {
                let kept = ledger.keep_in(path);
                Ok(Box::new(kept.map_err(|error| Refusal::at_path("write", path, error))?))
            }
            Self::Server(address) => {
                let remote = Remote::connect(address, ledger).map_err(|error| {
                    Refusal::machine(format!("no ledger at {address}"))
                        .because(error)
                        .hint("start it there: drivelab durability --listen 0.0.0.0:5400")
                })?;
                Ok(Box::new(remote))
            }
        }
    }
}

/// Refuses a file that contains anything but an earlier ledger, and one of a file other than
/// `target`, before the target is touched.
pub fn check_ledger(path: &Path, target: Option<&Path>) -> Result<(), Refusal> {
    let file = match drivelab_files::read_regular(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        read => read.map_err(|error| Refusal::at_path("read", path, error))?,
    };
    let Some(file) = file else { return Ok(()) };
    may_be_replaced(&file, target).map_err(|error| {
        Refusal::at_path("create a ledger in", path, error).hint("name another file with --ledger")
    })
}

/// Listens for a machine whose ledger will be kept here.
pub fn listen(address: &str) -> Result<TcpListener, Refusal> {
    TcpListener::bind(address)
        .map_err(|error| Refusal::machine(format!("cannot listen at {address}")).because(error))
}

/// A number that distinguishes the pages of a run from those of an earlier one on the same file.
pub fn new_run(seed: u64) -> u64 {
    // Two runs of one seed within a second differ in the nanoseconds.
    let since_1970 = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let drawn = Rng::for_part(seed, u64::from(since_1970.subsec_nanos())).bits();
    drawn ^ since_1970.as_secs()
}
