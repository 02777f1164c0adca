//! Where the promises are kept: in a file, on another machine, or for another machine.

use std::fs::File;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use drivelab_core::Span;
use drivelab_serve::durability::{self, Ledger, Note, Notes, Remote, Written};

use super::DurabilityArgs;
use crate::failure::{AtPath as _, Exit, Failure, Outcome};
use crate::interrupt;
use crate::output;
use crate::ui::Ui;

/// Keeps the promises of another machine.
pub(super) fn listen(address: &str, ledger: &Path, ui: Ui) -> Outcome {
    may_be_begun(ledger)?;
    let listener = TcpListener::bind(address).map_err(|error| {
        Failure::cannot_here(
            anyhow::Error::new(error).context(format!("cannot listen at {address}")),
        )
    })?;
    // The port that was given out, where 0 was asked for.
    let address = listener.local_addr().map_or_else(|_| address.into(), |at| at.to_string());
    ui.note(&format!(
        "waiting at {address} for a machine whose plug may be pulled; Ctrl-C once it has been"
    ));
    let kept = durability::keep_for_others(&listener, ledger, interrupt::flag());
    let notes = kept.at_path("keep", ledger)?;
    ui.result(&format!("{notes} notes are in {}", ledger.display()))?;
    Ok(if interrupt::requested() { Exit::Interrupted } else { Exit::Done })
}

/// Refuses a place that holds anything but an earlier ledger, before the target is touched.
pub(super) fn may_be_begun(ledger: &Path) -> Result<(), Failure> {
    output::refuse_device(ledger)?;
    if !ledger.metadata().is_ok_and(|meta| meta.is_file()) {
        return Ok(());
    }
    let file = File::open(ledger).at_path("read", ledger)?;
    let free = durability::may_be_replaced(&file).at_path("begin a ledger in", ledger);
    free.map_err(|failure| failure.hint("name another file with --ledger"))
}

/// Begins to keep the promises.
pub(super) fn begin(
    ledger: &Ledger,
    arguments: &DurabilityArgs,
) -> Result<Box<dyn Notes>, Failure> {
    let Some(address) = &arguments.server else {
        let kept = ledger.keep_in(&arguments.ledger).at_path("write", &arguments.ledger)?;
        return Ok(Box::new(kept));
    };
    let remote = Remote::connect(address, ledger).map_err(|error| {
        let error = anyhow::Error::new(error).context(format!("nobody keeps at {address}"));
        Failure::cannot_here(error)
            .hint("on that machine: drivelab durability --listen 0.0.0.0:5400")
    })?;
    Ok(Box::new(remote))
}

/// What was promised so far, seen from outside.
#[derive(Debug, Clone, Default)]
pub(super) struct SoFar {
    promised: Arc<AtomicU64>,
    took_ns: Arc<AtomicU64>,
}

impl SoFar {
    pub(super) fn written(&self) -> Written {
        let promised = self.promised.load(Ordering::Relaxed);
        Written { promised, took: Span::from_ns(self.took_ns.load(Ordering::Relaxed)) }
    }
}

/// Notes that are counted as they are kept.
pub(super) struct Counted {
    pub(super) notes: Box<dyn Notes>,
    pub(super) so_far: SoFar,
}

impl Notes for Counted {
    fn note(&mut self, note: Note) -> std::io::Result<()> {
        self.notes.note(note)?;
        // The clock of a target begins with it.
        self.so_far.took_ns.store(note.at.ns(), Ordering::Relaxed);
        self.so_far.promised.fetch_add(note.promised.into(), Ordering::Relaxed);
        Ok(())
    }

    fn close(&mut self) -> std::io::Result<()> {
        self.notes.close()
    }
}
