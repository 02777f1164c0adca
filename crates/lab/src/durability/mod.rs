//! Durability trials: pages that are written with a ledger of promises, and verified after the
//! power was cut.

mod modelled;
mod writing;

pub use modelled::{CutDrive, EarlyEnd, cut};
pub use writing::{Written, write};

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use drivelab_core::units::{Bytes, Span};
use drivelab_core::verification::PromiseRate;
use drivelab_core::{AtPath as _, Refusal};
use drivelab_report::durability::Findings;
use drivelab_serve::durability::{self, Ledger, LedgerSink, RealFile, TargetError};

use crate::interrupt;

/// The settings of a trial.
#[derive(Debug, Clone)]
pub struct Config {
    /// Keeps the ledger.
    pub keeper: LedgerSink,
    /// The size of all pages.
    pub size: Bytes,
    /// True if no smaller size will do.
    pub exactly: bool,
    /// The time to write.
    pub runtime: Span,
    /// Revolutions per minute of the drive.
    pub rpm: Option<u64>,
    /// Faults of a modelled drive, as JSON.
    pub faults: Vec<String>,
    /// A file's contents may be destroyed, no matter who wrote them.
    pub allow_overwrite: bool,
    /// Block devices whose contents may be destroyed.
    pub allow_destructive: Vec<PathBuf>,
    /// Seed of the pages, of a modelled cut and of what survives it.
    pub seed: u64,
}

/// Verifies the pages that an earlier run wrote to `path`, by its ledger. `None` if the user gave
/// up waiting for a disk that does not answer.
pub fn verify(
    path: PathBuf,
    ledger: PathBuf,
    rpm: Option<u64>,
) -> Result<Option<Findings>, Refusal> {
    let check = move || -> Result<Findings, Refusal> {
        let kept_in = ledger.display();
        let ledger = Ledger::read(&ledger).at_path("read", &ledger).map_err(|failure| {
            failure.hint("name the ledger that the writing run kept: --ledger FILE")
        })?;
        let mut target = RealFile::new(std::fs::File::open(&path).at_path("read", &path)?);
        if ledger.is_of_other(&path) {
            let (own, other) = (&ledger.target, path.display());
            let what = format!("{kept_in} is the ledger of {own}, and not of {other}");
            return Err(Refusal::request(what)
                .hint(format!("verify that file: drivelab durability {own} --verify"))
                .hint("name the ledger of this one: --ledger FILE"));
        }
        let pages = durability::verify(&mut target, &ledger, &interrupt::silent());
        let (pace, pages) = (ledger.pace(), Some(pages.map_err(unread)?));
        Ok(Findings { pace, went_away: None, pages, rpm })
    };
    unless_stuck(check)?.transpose()
}

/// A ledger that is kept for another machine.
#[derive(Debug)]
pub struct Listening {
    listener: TcpListener,
    /// The address, with the port that was given out where 0 was asked for.
    pub address: String,
}

impl Listening {
    /// Waits for the machine under test at `address`; its ledger goes to the file `ledger`.
    pub fn at(address: &str, ledger: &Path) -> Result<Self, Refusal> {
        crate::paths::refuse_device(ledger)?;
        durability::check_ledger(ledger, None)?;
        let listener = durability::listen(address)?;
        let address = listener.local_addr().map_or_else(|_| address.into(), |at| at.to_string());
        Ok(Self { listener, address })
    }

    /// Keeps the promises of the other machine until the user asks to stop; returns their number.
    pub fn keep(self, ledger: &Path) -> Result<u64, Refusal> {
        let notes = durability::keep_for_others(&self.listener, ledger, &interrupt::silent());
        notes.at_path("keep", ledger)
    }
}

/// Does `work`, which may wait for a dead disk; `None` where the user gave up waiting.
fn unless_stuck<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Option<T>, Refusal> {
    let done = durability::unless_stuck(&interrupt::silent(), work);
    done.map_err(|error| Refusal::machine("cannot start a thread").because(error))
}

/// The reason why the pages could not be read.
fn unread(error: TargetError) -> Refusal {
    match error {
        TargetError::Stopped => {
            Refusal::interrupted("interrupted before all pages were checked: no result")
        }
        error => Refusal::machine_error(error),
    }
}

/// Findings of pages that were written and not verified yet.
fn unverified(pace: PromiseRate, went_away: bool, rpm: Option<u64>) -> Findings {
    Findings { pace, went_away: Some(went_away), pages: None, rpm }
}
