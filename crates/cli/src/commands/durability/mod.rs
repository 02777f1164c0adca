//! `durability`: does a drive keep what it promises?

mod findings;
mod keeping;
mod modelled;
mod waiting;
mod writing;

use std::path::{Path, PathBuf};

use clap::Args;
use drivelab_core::units::{Bytes, Span};
use drivelab_serve::durability::{self, Ledger, PAGE_BYTES, PlaceError, RealFile};

use self::findings::Findings;
use crate::failure::{AtPath as _, Exit, Failure, Outcome};
use crate::interrupt;
use crate::target::{self, Target};
use crate::ui::Ui;

/// Write numbered pages, sync each, pull the plug, and see whether what was promised is there.
///
/// On a file: run it, cut the power while it writes, come back and run it with --verify. A modelled
/// drive (drive:NAME) is cut and verified in one go, in virtual time. See
/// docs/guides/pull-the-plug.md.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  drivelab durability drive:seagate-st31000333as --fault '{\"kind\": \"lying-flush\"}'
  drivelab durability --listen 0.0.0.0:5400 --ledger promises       (on the other machine)
  drivelab durability /mnt/pages --server other:5400 --rpm 7200     (and pull the plug)
  drivelab durability /mnt/pages --verify --ledger promises")]
pub(crate) struct DurabilityArgs {
    /// A file on the drive under test, a block device, or drive:NAME[,key=value...].
    #[arg(required_unless_present = "listen")]
    target: Option<String>,

    /// Look at the pages of an earlier run again.
    #[arg(long)]
    verify: bool,

    /// Where the promises are kept: never on the drive under test.
    #[arg(long, value_name = "FILE", default_value = "durability.ledger")]
    ledger: PathBuf,

    /// Keep the promises on another machine, which runs `durability --listen`.
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "verify")]
    server: Option<String>,

    /// Keep the promises of another machine, in --ledger.
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["target", "verify", "server"])]
    listen: Option<String>,

    /// How much of the target is used, from its beginning: 64M, or all of a smaller drive. A file
    /// that is larger keeps the rest.
    #[arg(long)]
    size: Option<Bytes>,

    /// How long to write, unless the power goes first.
    #[arg(long, default_value = "60s")]
    runtime: Span,

    /// The drive's revolutions a minute: more syncs than they allow are a lie. A modelled disk
    /// knows its own.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rpm: Option<u64>,

    /// A fault of the modelled drive, as POST /faults takes it.
    #[arg(long, value_name = "JSON")]
    fault: Vec<String>,

    /// Write the file even if it holds data that drivelab did not put there: what lies behind
    /// --size stays.
    #[arg(long)]
    overwrite: bool,

    /// Write this block device, the target: repeat its name.
    #[arg(long, value_name = "DEVICE")]
    allow_destructive: Vec<PathBuf>,

    /// Governs the pages, the moment of a modelled cut and what survives it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// How much of a target is used where nothing is said.
const SIZE: Bytes = Bytes::mib(64);

impl DurabilityArgs {
    /// Bytes that pages take, and whether it is a wish that must be met.
    fn room(&self) -> (Bytes, bool) {
        let page = PAGE_BYTES as u64;
        let size = self.size.unwrap_or(SIZE).get();
        (Bytes::new(size / page * page), self.size.is_some())
    }
}

/// Writes, verifies, or keeps promises for others.
pub(crate) fn run(arguments: &DurabilityArgs, ui: Ui) -> Outcome {
    if let Some(address) = &arguments.listen {
        return keeping::listen(address, &arguments.ledger, ui);
    }
    let target = arguments.target.as_deref().expect("clap asks for it without --listen");
    match (target::parse(target)?, arguments.verify) {
        (Target::Drive(spec), false) => modelled::run(spec, arguments, ui),
        (Target::Drive(_), true) => Err(Failure::bad_words(
            "a modelled drive is written, cut and verified in one go: leave --verify out",
        )),
        (Target::Path(path), false) => writing::run(&path, arguments, ui),
        (Target::Path(path), true) => verify(path, arguments, ui),
    }
}

fn verify(path: PathBuf, arguments: &DurabilityArgs, ui: Ui) -> Outcome {
    let ledger = arguments.ledger.clone();
    let look = move || {
        let ledger = Ledger::read(&ledger).at_path("read", &ledger).map_err(|failure| {
            failure
                .hint("name the ledger that was kept while the pages were written: --ledger FILE")
        })?;
        let mut place = RealFile::new(std::fs::File::open(&path).at_path("read", &path)?);
        let verdict = durability::verify(&mut place, &ledger, interrupt::flag());
        Ok((ledger.written(), verdict.map_err(looking)?))
    };
    let Some((written, verdict)) = waiting::unless_stuck(look).transpose()? else {
        ui.warn("interrupted while the ledger or the target did not answer: nothing is known");
        return Ok(Exit::Interrupted);
    };
    let findings = Findings { written, went_away: None, verdict: Some(verdict) };
    let text = findings::of_pages(&verdict) + findings::of_real_file(&verdict);
    findings.show(ui, arguments.rpm, &text)
}

/// Why the pages could not be looked at.
fn looking(error: PlaceError) -> Failure {
    match error {
        PlaceError::Stopped => {
            let words = "interrupted before every page had been looked at: nothing is known";
            Failure { exit: Exit::Interrupted, ..Failure::bad_words(words) }
        }
        error => Failure::cannot_here(error),
    }
}

/// Nothing fits the size that was asked for.
fn no_page(ui: Ui, arguments: &DurabilityArgs) -> Outcome {
    let text = format!("--size has no room for a page of {}\n", Bytes::new(PAGE_BYTES as u64));
    Findings::default().show(ui, arguments.rpm, &text)
}

/// Whether two paths are one file.
fn same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let of = |path: &Path| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    of(one).is_some_and(|one| Some(one) == of(other))
}
