//! Writing pages to a file or a block device until the plug is pulled.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use drivelab_core::verification::PromiseRate;
use drivelab_core::{Refusal, RefusalKind, Time};
use drivelab_engine::Room;
use drivelab_report::durability::{self as words, Findings, LedgerPlace};
use drivelab_serve::durability::{
    self, Ended, Ledger, LedgerSink, PAGE_BYTES, Progress, RealFile, TargetError, Writing,
};

use super::{Config, unless_stuck, unverified};
use crate::interrupt;
use crate::measure::{self, LINUX};

/// Pages that were written until the plug was pulled, the time was over or the user asked to stop.
#[derive(Debug)]
pub struct Written {
    /// The findings before the pages are verified.
    pub findings: Findings,
    /// The same in words.
    pub text: String,
    /// True if the user asked to stop.
    pub is_interrupted: bool,
    /// True if the target did not respond to the request to stop.
    pub is_stuck: bool,
    /// The reason of an early end, if the target is the reason.
    pub early: Option<Refusal>,
    /// The refusal, if there was no space for the pages or the ledger.
    pub refused: Option<Refusal>,
}

/// Writes pages to a file or a block device, each promised in the ledger once it is synced.
pub fn write(path: &Path, config: &Config) -> Result<Written, Refusal> {
    if let LedgerSink::File(ledger) = &config.keeper {
        crate::paths::refuse_device(ledger)?;
        durability::check_ledger(ledger, Some(path))?;
    }
    refuse_target(path, &config.keeper)?;
    let progress = Progress::default();
    let work = {
        let (path, config, progress) = (path.to_owned(), config.clone(), progress.clone());
        move || write_pages(&path, &config, &progress)
    };
    let done = unless_stuck(work)?;
    let is_stuck = done.is_none();
    let (pace, ended) = match done {
        // What was under way was given up because the user asked for it.
        Some(Err(failure)) if interrupt::requested() => {
            return Err(failure.with_kind(RefusalKind::Interrupted));
        }
        Some(done) => done?,
        None => (progress.pace(), Ended::Stopped),
    };
    let findings = unverified(pace, matches!(ended, Ended::Target(_)), config.rpm);
    let target = path.display().to_string();
    let text = match &config.keeper {
        LedgerSink::File(ledger) => {
            let ledger = ledger.display().to_string();
            words::of_writing(&pace, &target, LedgerPlace::File(&ledger))
        }
        LedgerSink::Server(address) => {
            words::of_writing(&pace, &target, LedgerPlace::Server(address))
        }
    };
    let is_interrupted = matches!(ended, Ended::Stopped);
    let (early, refused) = reasons(ended);
    Ok(Written { findings, text, is_interrupted, is_stuck, early, refused })
}

/// Why the writing ended early, and the refusal if more space would help.
fn reasons(ended: Ended) -> (Option<Refusal>, Option<Refusal>) {
    let (early, refused) = match ended {
        Ended::Time | Ended::Stopped => (None, None),
        Ended::Target(error) => {
            let refused = is_full(&error).then(|| Refusal::machine("no space left for the pages"));
            (Some(Refusal::machine_error(error)), refused)
        }
        Ended::Notes(error) => {
            (None, Some(Refusal::machine("cannot write the ledger").because(error)))
        }
    };
    let hint = "free some space, or choose another file system";
    (early, refused.map(|refusal| refusal.hint(hint)))
}

/// True if the file system is full, rather than the drive gone.
fn is_full(error: &TargetError) -> bool {
    let full = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::FileTooLarge];
    matches!(error, TargetError::Io { source, .. } if full.contains(&source.kind()))
}

fn write_pages(
    path: &Path,
    config: &Config,
    progress: &Progress,
) -> Result<(PromiseRate, Ended), Refusal> {
    let room = Room {
        path,
        size: config.size,
        exactly: config.exactly,
        allow_overwrite: config.allow_overwrite,
        allow_destructive: &config.allow_destructive,
        seed: config.seed,
        census: &*LINUX,
    };
    let control = interrupt::silent();
    let (file, size) = measure::make_room(room, &control)?;
    // The ledger may be another name of a target that was only made now.
    refuse_target(path, &config.keeper)?;
    let pages = size.get() / PAGE_BYTES as u64;
    if pages == 0 {
        let what = format!("{} is too small for a single page", path.display());
        return Err(Refusal::request(what).hint(format!("it needs {PAGE_BYTES} bytes or more")));
    }
    let run = durability::new_run(config.seed);
    let ledger = Ledger::new(run, pages).with_target(path);
    let mut notes = progress.count(config.keeper.begin(&ledger)?);
    let until = Time::ZERO + config.runtime;
    let writing = Writing { run, pages, until, control: &interrupt::silent() };
    Ok(durability::write(&mut RealFile::new(file), &mut notes, writing))
}

/// The device and the inode of a file: paths that differ may name the same file.
fn identity(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().map(|meta| (meta.dev(), meta.ino()))
}

/// Refuses to keep the promises in the file that they are about.
fn refuse_target(path: &Path, keeper: &LedgerSink) -> Result<(), Refusal> {
    let LedgerSink::File(ledger) = keeper else { return Ok(()) };
    if identity(path).is_none() || identity(path) != identity(ledger) {
        return Ok(());
    }
    let what = format!("the ledger of {} cannot be on the target itself", path.display());
    Err(Refusal::request(what).hint("name a file on another disk: --ledger FILE"))
}
