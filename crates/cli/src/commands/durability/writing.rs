//! Writing pages to a file or a block device until the plug is pulled.

use std::io::ErrorKind;
use std::path::Path;

use drivelab_core::{Rng, Time};
use drivelab_engine::{Control, Room};
use drivelab_serve::durability::{self, Ended, Ledger, PAGE_BYTES, PlaceError, RealFile, Writing};

use super::findings::{self, Findings};
use super::keeping::{self, Counted, SoFar};
use super::{DurabilityArgs, no_page, same_file, waiting};
use crate::failure::{Exit, Failure, Outcome};
use crate::interrupt;
use crate::measure::{self, LINUX};
use crate::ui::Ui;

pub(super) fn run(path: &Path, arguments: &DurabilityArgs, ui: Ui) -> Outcome {
    if arguments.room().0.get() == 0 {
        return no_page(ui, arguments);
    }
    if arguments.server.is_none() {
        keeping::may_be_begun(&arguments.ledger)?;
        refuse_target(path, &arguments.ledger)?;
    }
    measure::warn_of_unseen(&arguments.allow_destructive, ui);
    let so_far = SoFar::default();
    let work = {
        let (path, arguments, so_far) = (path.to_owned(), arguments.clone(), so_far.clone());
        move || write(&path, &arguments, so_far)
    };
    let (written, ended) = if let Some(done) = waiting::unless_stuck(work) {
        // What was under way was given up because the user asked for it.
        let given_up = |failure| Failure { exit: Exit::Interrupted, ..failure };
        done.map_err(|failure| if interrupt::requested() { given_up(failure) } else { failure })?
    } else {
        ui.warn(&format!("{} did not answer when it was to stop", path.display()));
        (so_far.written(), Ended::Stopped)
    };
    let went_away = Some(matches!(ended, Ended::Place(_)));
    let findings = Findings { written, went_away, verdict: None };
    let text = findings::of_writing(&written, path, arguments);
    conclude(&findings, ended, (ui, arguments, &text))
}

/// Shows what was found, and says what ended it before its time.
fn conclude(
    findings: &Findings,
    ended: Ended,
    (ui, arguments, text): (Ui, &DurabilityArgs, &str),
) -> Outcome {
    let error = match ended {
        Ended::Time => None,
        Ended::Stopped => {
            ui.warn("interrupted; the ledger is kept");
            findings.show(ui, arguments.rpm, text)?;
            return Ok(Exit::Interrupted);
        }
        Ended::Place(error) => {
            let full = is_full(&error);
            ui.warn(&format!("it ended before its time: {:#}", anyhow::Error::new(error)));
            full.then(|| anyhow::anyhow!("there is no room for the pages"))
        }
        Ended::Notes(error) => {
            Some(anyhow::Error::new(error).context("the promises could not be kept"))
        }
    };
    let exit = findings.show(ui, arguments.rpm, text)?;
    match error {
        None => Ok(exit),
        Some(error) => Err(Failure::cannot_here(error).hint("make room, or choose another place")),
    }
}

/// Whether it was no drive that went away, but a file system that has no room.
fn is_full(error: &PlaceError) -> bool {
    let full = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::FileTooLarge];
    matches!(error, PlaceError::Io { source, .. } if full.contains(&source.kind()))
}

fn write(
    path: &Path,
    arguments: &DurabilityArgs,
    so_far: SoFar,
) -> Result<(durability::Written, Ended), Failure> {
    let (size, exactly) = arguments.room();
    let room = Room {
        path,
        size,
        exactly,
        allow_overwrite: arguments.overwrite,
        allow_destructive: &arguments.allow_destructive,
        seed: arguments.seed,
        census: &*LINUX,
    };
    let control = Control { stop: interrupt::flag(), progress: &|_| () };
    let (file, size) = measure::make_room(room, &control)?;
    // The ledger may be another name of a target that was only made now.
    if arguments.server.is_none() {
        refuse_target(path, &arguments.ledger)?;
    }
    let pages = size.get() / PAGE_BYTES as u64;
    if pages == 0 {
        return Err(Failure::bad_words(format!("not a single page fits {}", path.display())));
    }
    // Pages of an earlier run on the same file must not pass for pages of this one.
    let since_1970 = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let run = Rng::for_part(arguments.seed, u64::from(since_1970.subsec_nanos())).bits()
        ^ since_1970.as_secs();
    let notes = keeping::begin(&Ledger::new(run, pages), arguments)?;
    let mut notes = Counted { notes, so_far };
    let until = Time::ZERO + arguments.runtime;
    let writing = Writing { run, pages, until, stop: interrupt::flag() };
    Ok(durability::write(&mut RealFile::new(file), &mut notes, writing))
}

/// Refuses to keep the promises in the file that they are about.
fn refuse_target(path: &Path, ledger: &Path) -> Result<(), Failure> {
    if !same_file(path, ledger) {
        return Ok(());
    }
    let what = format!("the promises about {} cannot be kept in it", path.display());
    Err(Failure::bad_words(what).hint("name a file on another disk with --ledger"))
}
