//! `durability`: does a drive keep what it promises?

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use clap::Args;
use drivelab_core::units::{Bytes, Span};
use drivelab_core::{Device as _, Rng, Sectors, Time};
use drivelab_serve::drive::ServedDrive;
use drivelab_serve::durability::{
    self, Ledger, ModelledPlace, Notes, PAGE_BYTES, Place, RealFile, Remote, Verdict, Writing,
    Written,
};
use drivelab_serve::fault::Fault;
use drivelab_serve::medium::Memory;
use drivelab_serve::store::{Dice, Store};

use crate::failure::{AtPath as _, Exit, Failure, Outcome};
use crate::target::{self, Target};
use crate::ui::Ui;

/// Write numbered pages, sync each, pull the plug, and see whether what was promised is there.
///
/// On a file: run it, cut the power while it writes, come back and run it with --verify. A modelled
/// drive (drive:NAME) is cut and verified in one go, in virtual time. See
/// docs/guides/pull-the-plug.md.
#[derive(Debug, Args)]
pub(crate) struct DurabilityArgs {
    /// A file on the drive under test, or drive:NAME[,key=value...].
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

    /// The drive's revolutions a minute: more syncs than they allow are a lie.
    #[arg(long, value_name = "N")]
    rpm: Option<u64>,

    /// A fault of the modelled drive, as POST /faults takes it.
    #[arg(long, value_name = "JSON")]
    fault: Vec<String>,

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
    let listener = TcpListener::bind(address).map_err(|error| {
        Failure::cannot_here(
            anyhow::Error::new(error).context(format!("cannot listen at {address}")),
        )
    })?;
    // The port that was given out, where 0 was asked for.
    let address = listener.local_addr().map_or_else(|_| address.into(), |at| at.to_string());
    ui.note(&format!("waiting at {address} for a machine whose plug may be pulled"));
    let notes = durability::keep_for_others(&listener, ledger).at_path("keep", ledger)?;
    ui.result(&format!("{notes} notes are in {}", ledger.display()))
}

fn write(path: &Path, arguments: &DurabilityArgs, ui: Ui) -> Outcome {
    let pages = (arguments.size.get() / PAGE_BYTES as u64).max(1);
    // Pages of an earlier run on the same file must not pass for pages of this one.
    let since_1970 = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let run = Rng::for_part(arguments.seed, u64::from(since_1970.subsec_nanos())).bits()
        ^ since_1970.as_secs();
    let mut place = RealFile::open(path, Some(pages)).at_path("write", path)?;
    let ledger = Ledger::new(run, pages);
    let until = Time::ZERO + arguments.runtime;
    let mut notes: Box<dyn Notes> = if let Some(address) = &arguments.server {
        let remote = Remote::connect(address, &ledger).map_err(|error| {
            let error = anyhow::Error::new(error).context(format!("nobody keeps at {address}"));
            Failure::cannot_here(error)
                .hint("on that machine: drivelab durability --listen 0.0.0.0:5400")
        })?;
        Box::new(remote)
    } else {
        Box::new(ledger.keep_in(&arguments.ledger).at_path("write", &arguments.ledger)?)
    };
    let kept = durability::write(&mut place, &mut *notes, Writing { run, pages, until });
    let written = kept.map_err(|error| {
        Failure::cannot_here(anyhow::Error::new(error).context("the promises could not be kept"))
    })?;
    let lies = lies(&written, arguments.rpm);
    let text = format!(
        "{} pages promised, {:.0} a second{}\nnow cut the power, or let it come back, and run: \
         drivelab durability {} --verify --ledger {}\n",
        written.promised,
        rate(&written),
        if written.cut { ", until the drive went away" } else { "" },
        path.display(),
        arguments.ledger.display(),
    );
    show(ui, &written, None, lies, &text)
}

fn verify(path: &Path, arguments: &DurabilityArgs, ui: Ui) -> Outcome {
    let ledger = Ledger::read(&arguments.ledger).at_path("read", &arguments.ledger)?;
    let mut place = RealFile::open(path, None).at_path("read", path)?;
    let verdict = look(&mut place, &ledger)?;
    let written = Written { promised: verdict.promised, took: Span::ZERO, cut: true };
    show(ui, &written, Some(verdict), false, &in_words(&verdict))
}

fn look(place: &mut dyn Place, ledger: &Ledger) -> Result<Verdict, Failure> {
    durability::verify(place, ledger)
        .map_err(|error| Failure::cannot_here(anyhow::Error::new(error)))
}

fn modelled(spec: &drivelab_model::spec::DriveSpec, arguments: &DurabilityArgs, ui: Ui) -> Outcome {
    let profile = target::profile(spec)?;
    let device = target::build(&profile, &spec.options, arguments.seed)?;
    let medium = Memory::new(device.capacity(), Bytes::new(arguments.size.get() * 2));
    let store = Store::new(Box::new(medium), Sectors::new(1));
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
    let written = durability::write(&mut place, &mut ledger, writing)?;
    place.cut(&mut Dice::new(arguments.seed))?;
    let verdict = look(&mut place, &ledger)?;
    let lies = lies(&written, arguments.rpm);
    let text = format!(
        "{} pages promised, {:.0} a second, until the power went at {power_goes}\n{}",
        written.promised,
        rate(&written),
        in_words(&verdict)
    );
    show(ui, &written, Some(verdict), lies, &text)
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn rate(written: &Written) -> f64 {
    written.promised as f64 * 1e9 / written.took.ns().max(1) as f64
}

/// Whether the drive synced more often than its platter comes round.
fn lies(written: &Written, rpm: Option<u64>) -> bool {
    let most = rpm.map(durability::most_syncs_per_s);
    most.is_some_and(|most| {
        u128::from(written.promised) * 1_000_000_000
            > u128::from(most) * u128::from(written.took.ns())
    })
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

fn show(ui: Ui, written: &Written, verdict: Option<Verdict>, lies: bool, text: &str) -> Outcome {
    if ui.json {
        let document = serde_json::json!({
            "schema": "drivelab.durability/1",
            "promises": written.promised,
            "took_ns": written.took.ns(),
            "went_away": written.cut,
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
