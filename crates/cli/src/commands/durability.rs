//! `durability`: does a drive keep what it promises?

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use clap::Args;
use drivelab_core::units::{Bytes, Span};
use drivelab_core::{Device as _, Rng, Time};
use drivelab_model::spec::DriveSpec;
use drivelab_serve::drive::ServedDrive;
use drivelab_serve::durability::{
    self, Ledger, ModelledPlace, Notes, PAGE_BYTES, Place, PlaceError, RealFile, Remote, Verdict,
    Writing, Written,
};
use drivelab_serve::fault::Fault;
use drivelab_serve::medium::Memory;
use drivelab_serve::store::{Dice, Store};

use crate::failure::{AtPath as _, Exit, Failure, Outcome};
use crate::interrupt;
use crate::measure;
use crate::output;
use crate::target::{self, Target};
use crate::ui::Ui;

/// Write numbered pages, sync each, pull the plug, and see whether what was promised is there.
///
/// On a file: run it, cut the power while it writes, come back and run it with --verify. A modelled
/// drive (drive:NAME) is cut and verified in one go, in virtual time. See
/// docs/guides/pull-the-plug.md.
#[derive(Debug, Args)]
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

    /// How much of the target is used.
    #[arg(long, default_value = "64M")]
    size: Bytes,

    /// How long to write, unless the power goes first.
    #[arg(long, default_value = "60s")]
    runtime: Span,

    /// The drive's revolutions a minute: more syncs than they allow are a lie. A modelled disk
    /// knows its own.
    #[arg(long, value_name = "N")]
    rpm: Option<u64>,

    /// A fault of the modelled drive, as POST /faults takes it.
    #[arg(long, value_name = "JSON")]
    fault: Vec<String>,

    /// Write the file even if it holds data that drivelab did not put there.
    #[arg(long)]
    overwrite: bool,

    /// Write this block device, the target: repeat its name.
    #[arg(long, value_name = "DEVICE")]
    allow_destructive: Vec<PathBuf>,

    /// Governs the pages, the moment of a modelled cut and what survives it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Writes, verifies, or keeps promises for others.
pub(crate) fn run(arguments: &DurabilityArgs, ui: Ui) -> Outcome {
    if let Some(address) = &arguments.listen {
        return listen(address, &arguments.ledger, ui);
    }
    let target = arguments.target.as_deref().expect("clap asks for it without --listen");
    match (target::parse(target)?, arguments.verify) {
        (Target::Drive(spec), false) => modelled(&spec, arguments, ui),
        (Target::Drive(_), true) => Err(Failure::bad_words(
            "a modelled drive is written, cut and verified in one go: leave --verify out",
        )),
        (Target::Path(path), false) => write(&path, arguments, ui),
        (Target::Path(path), true) => verify(&path, arguments, ui),
    }
}

fn listen(address: &str, ledger: &Path, ui: Ui) -> Outcome {
    output::refuse_device(ledger)?;
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
    ui.result(&format!("{notes} notes are in {}", ledger.display()))
}

fn write(path: &Path, arguments: &DurabilityArgs, ui: Ui) -> Outcome {
    let pages = (arguments.size.get() / PAGE_BYTES as u64).max(1);
    let (mut place, pages) = open(path, pages, arguments)?;
    // Pages of an earlier run on the same file must not pass for pages of this one.
    let since_1970 = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let run = Rng::for_part(arguments.seed, u64::from(since_1970.subsec_nanos())).bits()
        ^ since_1970.as_secs();
    let ledger = Ledger::new(run, pages);
    let until = Time::ZERO + arguments.runtime;
    let mut notes = notes(&ledger, arguments)?;
    let kept = durability::write(&mut place, &mut *notes, Writing { run, pages, until });
    let (written, ended) = kept.map_err(|error| {
        Failure::cannot_here(anyhow::Error::new(error).context("the promises could not be kept"))
    })?;
    let went_away = Some(ended.is_some());
    if let Some(error) = ended {
        ui.warn(&format!("it ended before its time: {:#}", anyhow::Error::new(error)));
    }
    let mut text = format!("{} pages promised, {:.0} a second\n", written.promised, rate(&written));
    match &arguments.server {
        None => text.push_str(&format!(
            "once the power has been cut: drivelab durability {} --verify --ledger {}\n",
            path.display(),
            arguments.ledger.display(),
        )),
        Some(server) => text.push_str(&format!(
            "once the power has been cut, with the ledger of {server} copied over: drivelab \
             durability {} --verify --ledger FILE\n",
            path.display(),
        )),
    }
    let findings = Findings { written, went_away, verdict: None };
    show(ui, &findings, arguments.rpm, &text)
}

/// The target, if it may be written, and how many pages it has.
fn open(path: &Path, pages: u64, arguments: &DurabilityArgs) -> Result<(RealFile, u64), Failure> {
    if !path.exists() {
        drop(output::create(path, "write")?);
    }
    let file = measure::open_for_writing(path, &arguments.allow_destructive)?;
    let device = !file.metadata().at_path("write", path)?.is_file();
    let mut place = RealFile::new(file);
    // A device was named twice.
    if !device && !arguments.overwrite && !place.holds_only_ours().at_path("read", path)? {
        let what = format!("{} holds data that drivelab did not write", path.display());
        let hint = "name a file that does not exist yet, or add --overwrite if its data may go";
        return Err(Failure::bad_words(what).hint(hint));
    }
    let pages = place.resize(pages).at_path("write", path)?;
    if pages == 0 {
        return Err(Failure::bad_words(format!("not a single page fits {}", path.display())));
    }
    Ok((place, pages))
}

/// Where the promises are kept.
fn notes(ledger: &Ledger, arguments: &DurabilityArgs) -> Result<Box<dyn Notes>, Failure> {
    let Some(address) = &arguments.server else {
        output::refuse_device(&arguments.ledger)?;
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

fn verify(path: &Path, arguments: &DurabilityArgs, ui: Ui) -> Outcome {
    let ledger = Ledger::read(&arguments.ledger).at_path("read", &arguments.ledger)?;
    let mut place = RealFile::new(std::fs::File::open(path).at_path("read", path)?);
    let verdict = look(&mut place, &ledger)?;
    let findings = Findings { written: ledger.written(), went_away: None, verdict: Some(verdict) };
    show(ui, &findings, arguments.rpm, &in_words(&verdict))
}

fn look(place: &mut dyn Place, ledger: &Ledger) -> Result<Verdict, Failure> {
    durability::verify(place, ledger)
        .map_err(|error| Failure::cannot_here(anyhow::Error::new(error)))
}

fn modelled(spec: &DriveSpec, arguments: &DurabilityArgs, ui: Ui) -> Outcome {
    let profile = target::profile(spec)?;
    let device = target::build(&profile, &spec.options, arguments.seed)?;
    let medium = Memory::new(device.capacity(), Bytes::new(arguments.size.get() * 2));
    let store = Store::new(Box::new(medium), profile.physical_sector);
    let mut drive = ServedDrive::new(device, store, arguments.seed);
    for fault in &arguments.fault {
        drive.add_fault(Time::ZERO, Fault::from_json(fault).map_err(Failure::bad_request)?);
    }
    let mut rng = Rng::for_part(arguments.seed, 1);
    let runtime = arguments.runtime.ns().max(2);
    let power_goes = Time::from_ns(rng.between(runtime / 2, runtime));
    let mut place = ModelledPlace::new(drive, power_goes);
    let pages = (arguments.size.get() / PAGE_BYTES as u64).clamp(1, place.pages());
    let mut ledger = Ledger::new(arguments.seed, pages);
    let writing = Writing { run: arguments.seed, pages, until: Time::MAX };
    let (written, ended) = durability::write(&mut place, &mut ledger, writing)?;
    place.cut(&mut Dice::new(arguments.seed))?;
    let verdict = look(&mut place, &ledger)?;
    let why = match ended {
        Some(PlaceError::PowerCut) | None => format!("the power went at {power_goes}"),
        Some(error) => format!("this at {}: {:#}", written.took, anyhow::Error::new(error)),
    };
    let text = format!(
        "{} pages promised, {:.0} a second, until {why}\n{}",
        written.promised,
        rate(&written),
        in_words(&verdict)
    );
    let findings = Findings { written, went_away: Some(true), verdict: Some(verdict) };
    show(ui, &findings, arguments.rpm.or(profile.rpm()), &text)
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn rate(written: &Written) -> f64 {
    written.promised as f64 * 1e9 / written.took.ns().max(1) as f64
}

fn in_words(verdict: &Verdict) -> String {
    let Verdict { promised, survived, lost, torn, misdirected, unknown, oldest_loss_ns } = *verdict;
    let mut text = format!(
        "of {promised} pages with a promise: {survived} survived, {lost} lost, {torn} torn, \
         {misdirected} misdirected; {unknown} were being written\n"
    );
    if let Some(ns) = oldest_loss_ns {
        let age = Span::from_ns(ns);
        text.push_str(&format!("the oldest loss had been promised {age} before the end\n"));
    }
    text.push_str(if verdict.is_kept() {
        "every promise was kept\n"
    } else {
        "PROMISES WERE BROKEN\n"
    });
    text
}

/// What is known at the end.
struct Findings {
    written: Written,
    /// Whether the drive went away while it was written, where that was seen.
    went_away: Option<bool>,
    verdict: Option<Verdict>,
}

fn show(ui: Ui, findings: &Findings, rpm: Option<u64>, text: &str) -> Outcome {
    let Findings { written, went_away, verdict } = findings;
    let lies = rpm.is_some_and(|rpm| written.is_beyond(rpm));
    if ui.json {
        let document = serde_json::json!({
            "schema": "drivelab.durability/1",
            "promises": written.promised,
            "took_ns": written.took.ns(),
            "went_away": went_away,
            "pages": verdict,
            "syncs_beyond_the_medium": lies,
        });
        ui.result(&super::json_text(&document))?;
    } else {
        ui.result(text)?;
    }
    if lies {
        ui.warn("it syncs more often than its platter comes round: it lies, or has a cache");
    }
    let kept = verdict.is_none_or(|verdict| verdict.is_kept());
    Ok(if kept && !lies { Exit::Done } else { Exit::No })
}
