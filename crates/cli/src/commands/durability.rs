//! `durability`: does a drive keep what it promises?

use std::path::{Path, PathBuf};

use clap::Args;
use drivelab_core::Refusal;
use drivelab_core::units::{Bytes, Span};
use drivelab_lab::durability::{self, Config, EarlyEnd, Listening};
use drivelab_lab::target::{self, Target};
use drivelab_lab::{interrupt, measure};
use drivelab_model::options::DriveSpec;
use drivelab_report::durability::{self as words, Findings};
use drivelab_report::text::json_text;
use drivelab_serve::durability::{LedgerSink, PAGE_BYTES};

use crate::commands::completion::{self, Offer};
use crate::exit::{Exit, Outcome};
use crate::ui::Ui;

/// Test whether a drive keeps acknowledged writes through a power cut.
///
/// On a file, it writes numbered pages and syncs each: cut the power while it writes, then verify
/// with --verify. A modelled drive (drive:NAME) is cut and verified in one run, in virtual time.
/// See docs/guides/pull-the-plug.md.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  drivelab durability drive:seagate-st31000333as --fault '{\"kind\": \"lying-flush\"}'
  drivelab durability --listen 0.0.0.0:5400 --ledger promises       (on the other machine)
  drivelab durability /mnt/pages --server other:5400 --rpm 7200     (and pull the plug)
  drivelab durability /mnt/pages --verify --ledger promises")]
pub(crate) struct DurabilityArgs {
    /// A file on the drive under test, a block device, or drive:NAME[,key=value...].
    #[arg(required_unless_present = "listen", value_parser = Offer(completion::targets),
        hide_possible_values = true)]
    target: Option<String>,

    /// Verify the pages of an earlier run.
    #[arg(long)]
    verify: bool,

    /// Ledger of acknowledged pages; must not be on the drive under test.
    #[arg(long, value_name = "FILE", default_value = "durability.ledger")]
    ledger: PathBuf,

    /// Keep the ledger on another machine, which runs `durability --listen`.
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "verify")]
    server: Option<String>,

    /// Keep the ledger of another machine, in the file of --ledger.
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["target", "verify", "server"])]
    listen: Option<String>,

    /// Size of the region at the start of the target [default: 64M, or all of a smaller drive]. The
    /// rest of a larger file is left unchanged.
    #[arg(long)]
    size: Option<Bytes>,

    /// How long to write, unless the power is cut first.
    #[arg(long, default_value = "60s")]
    runtime: Span,

    /// Revolutions per minute of the drive: more syncs than revolutions show a cache. Not needed
    /// for a modelled disk.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rpm: Option<u64>,

    /// A fault of the modelled drive, in the JSON of POST /faults.
    #[arg(long, value_name = "JSON")]
    fault: Vec<String>,

    /// Write the file even if it contains data that drivelab did not write. Data past --size is
    /// kept.
    #[arg(long)]
    overwrite: bool,

    /// Allow writing to the target, a block device: repeat its name.
    #[arg(long, value_name = "DEVICE")]
    allow_destructive: Vec<PathBuf>,

    /// Seed of the pages, the time of a modelled cut and what survives it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The part of a target that is used by default.
const SIZE: Bytes = Bytes::mib(64);

impl From<&DurabilityArgs> for Config {
    fn from(arguments: &DurabilityArgs) -> Self {
        let page = PAGE_BYTES as u64;
        let file = || LedgerSink::File(arguments.ledger.clone());
        Self {
            keeper: arguments.server.clone().map_or_else(file, LedgerSink::Server),
            // A part of a page could not be verified.
            size: Bytes::new(arguments.size.unwrap_or(SIZE).get() / page * page),
            exactly: arguments.size.is_some(),
            runtime: arguments.runtime,
            rpm: arguments.rpm,
            faults: arguments.fault.clone(),
            allow_overwrite: arguments.overwrite,
            allow_destructive: arguments.allow_destructive.clone(),
            seed: arguments.seed,
        }
    }
}

/// Writes, verifies, or keeps promises for others.
pub(crate) fn run(arguments: &DurabilityArgs, ui: Ui) -> Outcome {
    let ledger = &arguments.ledger;
    if let Some(address) = &arguments.listen {
        return listen(address, ledger, ui);
    }
    let target = arguments.target.as_deref().expect("clap asks for it without --listen");
    let target = target::parse(target)?;
    let config = Config::from(arguments);
    match (target, arguments.verify) {
        (Target::Path(path), true) => verify(path, ledger.clone(), arguments.rpm, ui),
        (Target::Drive(_), true) => {
            let what = "a modelled drive is written, cut and verified in one run";
            Err(Refusal::request(what).hint("omit `--verify`"))
        }
        (_, false) if config.size.get() == 0 => {
            let page = Bytes::new(PAGE_BYTES as u64);
            Err(Refusal::request(format!("`--size` is smaller than a page of {page}"))
                .hint(format!("give at least `--size {page}`")))
        }
        (Target::Drive(spec), false) => cut(*spec, config, ui),
        (Target::Path(path), false) => write(&path, &config, ui),
    }
}

/// Keeps the promises of another machine.
fn listen(address: &str, ledger: &Path, ui: Ui) -> Outcome {
    let listening = Listening::at(address, ledger)?;
    let address = &listening.address;
    ui.note(&format!(
        "waiting at {address} for the machine under test; press Ctrl-C after its power was cut"
    ));
    let notes = listening.keep(ledger)?;
    ui.result(&format!("wrote {notes} ledger entries to {}", ledger.display()))?;
    Ok(if interrupt::requested() { Exit::Interrupted } else { Exit::Done })
}

fn verify(path: PathBuf, ledger: PathBuf, rpm: Option<u64>, ui: Ui) -> Outcome {
    let Some(findings) = durability::verify(path, ledger, rpm)? else {
        ui.warn("interrupted while waiting for the ledger or the target: no result");
        return Ok(Exit::Interrupted);
    };
    let text = findings.pages.map(|pages| words::of_real_file(&pages));
    show(findings, &text.expect("they were verified"), ui)
}

fn cut(spec: DriveSpec, config: Config, ui: Ui) -> Outcome {
    let Some(cut) = durability::cut(spec, config)? else {
        ui.warn("interrupted before the pages were checked: no result");
        return Ok(Exit::Interrupted);
    };
    let exit = show(cut.findings, &cut.text, ui)?;
    Ok(match cut.early {
        Some(EarlyEnd::Interrupted) => Exit::Interrupted,
        Some(EarlyEnd::Full) => Exit::CannotHere,
        None => exit,
    })
}

fn write(path: &Path, config: &Config, ui: Ui) -> Outcome {
    if let Some(warning) = measure::unseen_warning(&config.allow_destructive) {
        ui.warn(warning);
    }
    let written = durability::write(path, config)?;
    if written.is_stuck {
        ui.warn(&format!("{} did not respond to the request to stop", path.display()));
    }
    if written.is_interrupted {
        ui.warn("interrupted; the ledger is kept");
    }
    if let Some(why) = &written.early {
        ui.warn(&format!("it ended early: {why:#}"));
    }
    let exit = show(written.findings, &written.text, ui)?;
    match written.refused {
        Some(refusal) => Err(refusal),
        None if written.is_interrupted => Ok(Exit::Interrupted),
        None => Ok(exit),
    }
}

/// Shows what was found, of which `text` is the words.
fn show(findings: Findings, text: &str, ui: Ui) -> Outcome {
    let text = if ui.json { json_text(&findings.to_json()) } else { findings.conclude(text) };
    ui.result(&text)?;
    if findings.is_beyond_medium() {
        ui.warn(words::BEYOND_THE_MEDIUM);
    }
    Ok(match (findings.is_good(), findings.promised()) {
        (false, _) => Exit::No,
        // Nothing was promised, so nothing was tested.
        (true, 0) => Exit::Inconclusive,
        (true, _) => Exit::Done,
    })
}
