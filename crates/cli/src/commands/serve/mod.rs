//! `serve`: a drive in real time, over NBD and as a file.

use drivelab_report::text::json_text;
use std::path::{Path, PathBuf};

use clap::Args;
use drivelab_core::disk::Medium;
use drivelab_core::dispatch::Dispatch;
use drivelab_core::record::Specimen;
use drivelab_core::units::{Bytes, Span};
use drivelab_core::{AtPath as _, Device, Refusal, Sectors, Time};
use drivelab_files::Target;
use drivelab_serve::backing::Backing;
use drivelab_serve::drive::{Attributes, Null, ServedDrive};
use drivelab_serve::fault::Fault;
use drivelab_serve::medium::{Image, Memory};
use drivelab_serve::nbd::Export;
use drivelab_serve::server::{self, Backend, Endpoint, LatenessBound, Server, Settings, Spin};
use drivelab_serve::store::Store;

use crate::commands::completion::{self, Offer};
use crate::exit::{Exit, Outcome};
use crate::ui::Ui;
use drivelab_lab::{interrupt, measure, target};

/// Serve a modelled drive to any program, with faults and power cuts on demand.
///
/// The drive completes requests when the model does, keeps its data in memory or in an image file,
/// and loses in a power cut what a real drive would. See docs/guides/pull-the-plug.md.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab serve seagate-st31000333as --nbd unix:/tmp/drive.sock --control unix:/tmp/control
  drivelab serve seagate-st31000333as,drives=2,raid=1 --image disk.img --fuse ./drive
  sudo drivelab serve seagate-st31000333as --ublk
  curl --unix-socket /tmp/control -d '{\"kind\": \"slow\", \"factor\": 10}' http://localhost/faults
  curl --unix-socket /tmp/control -d '{\"when\": {\"writes\": 100}}' http://localhost/power-cut
  drivelab serve --backing ./big-file --dispatch split --nbd unix:/tmp/file.sock")]
pub(crate) struct ServeArgs {
    /// A modelled drive: NAME[,key=value...] or a profile file; `null` completes at once.
    #[arg(required_unless_present = "backing", value_parser = Offer(completion::drives),
        hide_possible_values = true)]
    drive: Option<String>,

    /// Serve this real file or block device instead of a model, behind a tag dispatch policy.
    #[arg(
        long,
        value_name = "FILE|DEVICE",
        conflicts_with_all = ["drive", "image", "fault", "seed", "size"],
    )]
    backing: Option<PathBuf>,

    /// Allow clients to write to the block device of --backing: repeat its name.
    #[arg(long, value_name = "DEVICE", requires = "backing", conflicts_with = "drive")]
    allow_destructive: Vec<PathBuf>,

    /// Tag dispatch for --backing: single, shared or split (a modelled drive has the key
    /// `dispatch=`).
    #[arg(long, default_value = "shared", requires = "backing", conflicts_with = "drive",
        value_parser = completion::choice::<Dispatch>(), hide_possible_values = true)]
    dispatch: Dispatch,

    /// Maximum number of concurrent requests to --backing.
    #[arg(long, default_value_t = 31, requires = "backing", conflicts_with = "drive")]
    tags: usize,

    /// Serve NBD at unix:PATH or at a local port, 127.0.0.1:10809.
    #[arg(long, value_name = "ENDPOINT")]
    nbd: Option<Endpoint>,

    /// Create a block device, /dev/ublkbN (needs root, and a drivelab built with `--features
    /// ublk`).
    #[arg(long)]
    ublk: bool,

    /// Serve the drive as this file through FUSE (created if missing).
    #[arg(long, value_name = "PATH")]
    fuse: Option<PathBuf>,

    /// Keep the data in this sparse file [default: in memory].
    #[arg(long, value_name = "FILE")]
    image: Option<PathBuf>,

    /// Accept HTTP here: GET /stats, POST /power-cut, POST /faults, DELETE /faults/ID.
    #[arg(long, value_name = "ENDPOINT")]
    control: Option<Endpoint>,

    /// A fault active from the start, in the JSON of POST /faults.
    #[arg(long, value_name = "JSON")]
    fault: Vec<String>,

    /// Seed of the drive and its faults.
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Wake up this long before a deadline and spin, which trades CPU for lateness; `auto` adapts.
    #[arg(long, value_name = "auto|SPAN", default_value_t = Spin::Auto)]
    spin: Spin,

    /// Lateness above which a completion counts as late [default: a twentieth of the drive's
    /// typical random read, at least 150us, 500us without real-time scheduling]. With it, a drive
    /// is served that is too fast for this host.
    #[arg(long, value_name = "DURATION")]
    lateness_bound: Option<Span>,

    /// After SIGINT or SIGTERM, keep serving for at most this long while the file of --fuse is
    /// open, so that it can be unmounted.
    #[arg(long, value_name = "DURATION", default_value_t = server::GRACE)]
    grace: Span,

    /// End when the process that started this one ends, as the server of a study does.
    #[arg(long, hide = true)]
    end_with_parent: bool,

    /// Size of the `null` drive [default: 1G].
    #[arg(long)]
    size: Option<Bytes>,
}

/// The drive that takes no time.
const NULL: &str = "null";

/// One thread each: more tags than any drive has.
const TAGS_MAX: usize = 256;

/// Serves until interrupted, or until the power is cut.
pub(crate) fn run(arguments: &ServeArgs, ui: Ui) -> Outcome {
    if arguments.end_with_parent {
        // A study that is killed cannot end its server (`man 2 prctl`, PR_SET_PDEATHSIG).
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))
            .map_err(std::io::Error::from)?;
    }
    if arguments.ublk && cfg!(not(feature = "ublk")) {
        let failure = Refusal::machine("this drivelab was built without ublk");
        return Err(failure.hint(
            "build it with `cargo build --release --features ublk`, or use --nbd, or --fuse with a \
             loop device",
        ));
    }
    if arguments.nbd.is_none() && arguments.fuse.is_none() && !arguments.ublk {
        let failure = Refusal::request("no export given");
        return Err(failure.hint("add `--nbd unix:/tmp/drive.sock`, `--fuse ./drive` or `--ublk`"));
    }
    if let Some(path) = &arguments.backing {
        let name = path.display().to_string();
        return serve(backing(path, arguments, ui)?, &name, &Nature::OTHER, arguments, ui);
    }
    let name = arguments.drive.as_deref().expect("clap asks for it without --backing");
    let (device, nature) = device(name, arguments)?;
    let drive = with_data(device, &nature, arguments)?;
    serve(drive, &format!("{name}, seed {}", arguments.seed), &nature, arguments, ui)
}

/// A real file or device with a dispatch policy in front.
fn backing(path: &Path, arguments: &ServeArgs, ui: Ui) -> Result<Backing, Refusal> {
    let file = measure::open_for_writing(path, &arguments.allow_destructive)?;
    let tags = arguments.tags.clamp(1, TAGS_MAX);
    let backing = Backing::new(file, arguments.dispatch, tags).at_path("serve", path)?;
    if !backing.is_direct() {
        ui.warn("this file system does not support direct I/O: requests go through the page cache");
    }
    Ok(backing)
}

/// The facts about a drive that the server needs.
struct Nature {
    /// The time of a random read; `None` if no model decides when it completes.
    typical_read: Option<Span>,
    attributes: Attributes,
    /// The record of the drawn drive, if the profile leaves numbers open.
    specimen: Option<Specimen>,
    one_drive: Option<String>,
}

impl Nature {
    /// A drive that takes no time, or a file of which we know nothing.
    const OTHER: Self = Self {
        typical_read: None,
        attributes: Attributes::UNKNOWN,
        specimen: None,
        one_drive: None,
    };
}

/// The device's bytes, in memory or in an image: not one that is a device, or that a loop device,
/// swap or a mount uses.
fn with_data(
    device: Box<dyn Device>,
    nature: &Nature,
    arguments: &ServeArgs,
) -> Result<ServedDrive, Refusal> {
    let capacity = device.capacity();
    let medium: Box<dyn Medium> = match &arguments.image {
        None => Box::new(Memory::new(capacity, Memory::limit_here())),
        Some(path) => {
            drivelab_lab::paths::refuse_device(path)?;
            // Looked up once: the file that passes the guard is the one that is served.
            let file = Target::find(path).and_then(|image| image.open_or_create());
            let file = file.at_path("open the image", path)?;
            measure::refuse_used(path, &file)?;
            Box::new(Image::new(file, capacity).at_path("open the image", path)?)
        }
    };
    let store = Store::new(medium, nature.attributes.physical_sector);
    let mut drive = ServedDrive::new(device, store, arguments.seed);
    for fault in &arguments.fault {
        let read = Fault::from_json(fault).map_err(|error| {
            Refusal::request_error(error)
                .hint("as JSON, for example --fault '{\"kind\": \"slow\", \"factor\": 10}'")
        })?;
        drive.add_fault(Time::ZERO, read);
    }
    Ok(drive)
}

fn settings(bytes: u64, nature: &Nature, arguments: &ServeArgs) -> Settings {
    let attributes = nature.attributes;
    let sector = attributes.physical_sector.bytes().get();
    let export = Export {
        name: "drive".into(),
        bytes,
        rotational: attributes.rotational,
        sector_bytes: u32::try_from(sector).expect("512 or 4096"),
    };
    // What has no deadlines gains nothing by jumping the queue or by spinning, and hears its
    // clients in smaller pieces.
    let real_time = nature.typical_read.is_some();
    let spin = match arguments.spin {
        Spin::Auto if !real_time => Spin::Fixed(Span::ZERO),
        spin => spin,
    };
    let of_drive = LatenessBound::OfTypicalRead(nature.typical_read.unwrap_or(Span::ZERO));
    Settings {
        nbd: arguments.nbd.clone(),
        fuse: arguments.fuse.clone(),
        ublk: arguments.ublk.then_some(attributes),
        control: arguments.control.clone(),
        real_time,
        spin,
        grace: arguments.grace,
        lateness: arguments.lateness_bound.map_or(of_drive, LatenessBound::Fixed),
        ..Settings::new(export)
    }
}

fn serve<B: Backend>(
    drive: B,
    name: &str,
    nature: &Nature,
    arguments: &ServeArgs,
    ui: Ui,
) -> Outcome {
    let capacity = drive.capacity().bytes().get();
    let server = Server::new(drive, settings(capacity, nature, arguments))?;
    ui.note(&server.announcement(name));
    if let Some(short) = nature.typical_read.and_then(server::falls_short) {
        ui.warn(&format!("{short}: a client measures less than the drive"));
    }
    if let Some(which) = &nature.one_drive {
        ui.note(which);
    }
    if arguments.ublk {
        // The kernel writes back what it has at the drive's pace, and the server bounds that
        // itself: nothing ends it from outside.
        std::mem::forget(interrupt::shield());
    }
    let ended = server.run(interrupt::flag(), &mut |text| ui.note(text));
    let summary = ended.map_err(has_stopped)?;
    let mut document = summary.to_json();
    if let Some(specimen) = &nature.specimen {
        document["specimen"] = serde_json::json!(specimen);
    }
    ui.result(&if ui.json { json_text(&document) } else { summary.to_string() })?;
    let Some(taken) = &summary.forced_unmount else { return Ok(Exit::Done) };
    ui.warn(&taken.to_string());
    // 130 where something may be lost by it.
    Ok(if taken.written_back { Exit::Done } else { Exit::Interrupted })
}

/// Data could not be kept: a drive that went on would lie.
fn has_stopped(error: std::io::Error) -> Refusal {
    let full = error.kind() == std::io::ErrorKind::StorageFull;
    let what = "the drive stopped: unflushed writes are lost, as in a power cut";
    let failure = Refusal::machine(what).because(error);
    if !full {
        return failure;
    }
    failure.hint(
        "free space on the file system of the image; without --image the data is kept in \
                  memory",
    )
}

/// The drive, if this host is fast enough to be it.
fn device(name: &str, arguments: &ServeArgs) -> Result<(Box<dyn Device>, Nature), Refusal> {
    if name == NULL {
        let size = arguments.size.unwrap_or(Bytes::gib(1));
        let capacity = Sectors::of_drive(size).map_err(|wrong| {
            let failure = Refusal::request(format!("--size: {wrong}"));
            failure.hint("omit --size, or give a size such as 1G")
        })?;
        return Ok((Box::new(Null::new(capacity)), Nature::OTHER));
    }
    if arguments.size.is_some() {
        let failure = Refusal::request("the profile determines the size of a modelled drive");
        return Err(failure.hint(
            "omit --size, which is for `serve null`; clients may use part of \
                                 the drive",
        ));
    }
    let spec = target::drive_spec(name)?;
    let profile = target::profile(&spec)?;
    let build = || target::build(&profile, &spec.options, arguments.seed);
    // On another instance, so that the served drive begins unused.
    let typical = server::typical_read(&mut build()?);
    let least = server::least_answer_time(arguments.spin, typical)?;
    if typical < least {
        let message = format!(
            "this host is too slow to be {spec}: the drive answers a random read within \
             {typical}, and the least that a wakeup takes here is {least}"
        );
        return Err(Refusal::machine(message)
            .hint("run it in virtual time: drivelab run drive:NAME; or spin: --spin 200us"));
    }
    if let Some(short) = server::falls_short(typical)
        && arguments.lateness_bound.is_none()
    {
        let message = format!("this host is too slow to be {spec}: {short}, more than a twentieth");
        return Err(Refusal::machine(message).hint(
            "run it in virtual time: drivelab run drive:NAME; or, where its data matter and its \
             times do not, say how late it may be: --lateness-bound 5ms",
        ));
    }
    let device = build()?;
    let attributes = target::attributes(&profile, device.about());
    let specimen = profile.record(device.about());
    let one_drive = target::one_drive(&spec, specimen.as_ref());
    Ok((Box::new(device), Nature { typical_read: Some(typical), attributes, specimen, one_drive }))
}
