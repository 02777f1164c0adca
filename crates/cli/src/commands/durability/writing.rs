//! Writing pages to a file or a block device until the plug is pulled.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use drivelab_core::verification::PromiseRate;
use drivelab_core::{Refusal, RefusalKind, Time};
use drivelab_engine::Room;
use drivelab_load::Control;
use drivelab_report::durability::{self as words, Findings, LedgerPlace};
use drivelab_serve::durability::{
    self, Ended, Ledger, LedgerSink, PAGE_BYTES, Progress, RealFile, TargetError, Writing,
};

use super::answer::{show, unless_stuck};
use super::config::Config;
use crate::exit::{Exit, Outcome};
use crate::ui::Ui;
use drivelab_lab::interrupt;
use drivelab_lab::measure::{self, LINUX};

pub(super) fn run(path: &Path, config: &Config, ui: Ui) -> Outcome {
    if let LedgerSink::File(ledger) = &config.keeper {
        drivelab_lab::paths::refuse_device(ledger)?;
        durability::check_ledger(ledger)?;
    }
    refuse_target(path, &config.keeper)?;
    if let Some(warning) = measure::unseen_warning(&config.allow_destructive) {
        ui.warn(warning);
    }
    let progress = Progress::default();
    let work = {
        let (path, config, progress) = (path.to_owned(), config.clone(), progress.clone());
        move || write(&path, &config, &progress)
    };
    let (pace, ended) = if let Some(done) = unless_stuck(work)? {
        // What was under way was given up because the user asked for it.
        let given_up = |failure: Refusal| failure.with_kind(RefusalKind::Interrupted);
        done.map_err(|failure| if interrupt::requested() { given_up(failure) } else { failure })?
    } else {
        ui.warn(&format!("{} did not respond to the request to stop", path.display()));
        (progress.pace(), Ended::Stopped)
    };
    let went_away = Some(matches!(ended, Ended::Target(_)));
    let findings = Findings { pace, went_away, pages: None, rpm: config.rpm };
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
    conclude(findings, ended, &text, ui)
}

/// Shows what was found, and says what ended it before its time.
fn conclude(findings: Findings, ended: Ended, text: &str, ui: Ui) -> Outcome {
    let error = match ended {
        Ended::Time => None,
        Ended::Stopped => {
            ui.warn("interrupted; the ledger is kept");
            show(findings, text, ui)?;
            return Ok(Exit::Interrupted);
        }
        Ended::Target(error) => {
            let full = is_full(&error);
            ui.warn(&format!("it ended early: {:#}", Refusal::machine_error(error)));
            full.then(|| Refusal::machine("no space left for the pages"))
        }
        Ended::Notes(error) => Some(Refusal::machine("cannot write the ledger").because(error)),
    };
    let exit = show(findings, text, ui)?;
    match error {
        None => Ok(exit),
        Some(refusal) => Err(refusal.hint("free some space, or choose another place")),
    }
}

/// True if the file system is full, rather than the drive gone.
fn is_full(error: &TargetError) -> bool {
    let full = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::FileTooLarge];
    matches!(error, TargetError::Io { source, .. } if full.contains(&source.kind()))
}

fn write(
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
    let control = Control { stop: interrupt::flag(), progress: &|_| () };
    let (file, size) = measure::make_room(room, &control)?;
    // The ledger may be another name of a target that was only made now.
    refuse_target(path, &config.keeper)?;
    let pages = size.get() / PAGE_BYTES as u64;
    if pages == 0 {
        return Err(Refusal::request(format!("{} is too small for a single page", path.display())));
    }
    let run = durability::new_run(config.seed);
    let mut notes = progress.count(config.keeper.begin(&Ledger::new(run, pages))?);
    let until = Time::ZERO + config.runtime;
    let writing = Writing { run, pages, until, stop: interrupt::flag() };
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
