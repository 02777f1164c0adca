//! `inspect`: how disks are attached, and what is wrong with them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use drivelab_core::units::Span;
use drivelab_host::capture::Capture;
use drivelab_host::watch::{self, Sample};
use drivelab_host::{InspectError, Inspection, Options, Reader, Wanted};
use drivelab_report::text::{json_text, outline};

use crate::attached;
use crate::failure::{AtPath as _, Exit, Failure, Outcome};
use crate::input;
use crate::interrupt;
use crate::kernel_log;
use crate::output;
use crate::ui::Ui;

/// Show how disks are attached and what is misconfigured (opens no disk, writes nothing).
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// Disks, partitions or volumes (sda, /dev/mapper/home), or files on them [default: all disks]
    devices: Vec<PathBuf>,

    /// Read a captured tree (sys/, proc/, optionally dmesg) instead of this machine
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,

    /// Read this kernel log (dmesg, journalctl -k) instead of the log of this boot
    #[arg(long, value_name = "FILE")]
    dmesg: Option<PathBuf>,

    /// Exit with 1 on an error or a warning (a volatile write cache alone counts as neither)
    #[arg(long)]
    strict: bool,

    /// Write everything an inspection reads to a tar archive, for --root on another machine
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,

    /// Ask drives that are awake for their temperature (sends a command, which may delay standby)
    #[arg(long)]
    temperature: bool,

    /// Show serial numbers (a virtio disk asks its host), and keep them, mount points and file
    /// names in a capture
    #[arg(long)]
    serials: bool,

    /// Show queue depth, IOPS and latency every second, for SECONDS or until Ctrl-C
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true,
          default_missing_value = "0", conflicts_with_all = ["root", "capture"])]
    #[expect(clippy::option_option, reason = "`--watch` with and without a number")]
    watch: Option<Option<u64>>,
}

/// Inspects, captures or watches.
pub(crate) fn run(arguments: &InspectArgs, ui: Ui) -> Outcome {
    let (serials, temperature) = (arguments.serials, arguments.temperature);
    let options = Options { log: log(arguments)?, serials, temperature };
    if let Some(file) = &arguments.capture {
        return capture(arguments, options, file, ui);
    }
    let mut reader = Reader::new(base(arguments)?);
    let wanted: Vec<Wanted> =
        arguments.devices.iter().map(|name| wanted(arguments, name)).collect();
    let found = drivelab_host::inspect_within(&mut reader, &wanted, &options).map_err(refused)?;
    if let Some(seconds) = arguments.watch {
        return watch_disks(&mut reader, &found, seconds.unwrap_or(0), ui);
    }
    if ui.json {
        let json = serde_json::to_value(&found).map_err(Failure::bad_request)?;
        ui.result(&json_text(&json))?;
    } else {
        ui.result(&outline(&drivelab_host::outline(&found), ui.look()))?;
    }
    if !found.environment.block_devices && found.devices.is_empty() {
        return Err(refused(InspectError::NoTree { base: reader.base().to_owned() }));
    }
    let fails = arguments.strict && found.has_misconfiguration();
    Ok(if fails { Exit::No } else { Exit::Done })
}

/// A name that is not there is the user's to mend, a tree that is not there the machine's.
fn refused(error: InspectError) -> Failure {
    match error {
        InspectError::NoTree { .. } => Failure::cannot_here(error)
            .hint("mount sysfs on /sys; with --root, name the folder that holds sys/ and proc/"),
        InspectError::Unanswered(_) => Failure::cannot_here(error)
            .hint("a device or a file server does not respond; `dmesg` may name it"),
        error => {
            Failure::bad_request(error).hint("`drivelab inspect` without a name lists all disks")
        }
    }
}

fn base(arguments: &InspectArgs) -> Result<PathBuf, Failure> {
    let Some(root) = &arguments.root else { return Ok("/".into()) };
    std::fs::read_dir(root).at_path("read the tree", root)?;
    Ok(root.clone())
}

/// A name with a slash that exists here is a file or a device file; any other is a name.
fn wanted(arguments: &InspectArgs, name: &Path) -> Wanted {
    let text = name.to_string_lossy().into_owned();
    let here = text.contains('/') && arguments.root.is_none();
    let holder = if here { attached::holder(name) } else { None };
    holder.unwrap_or(Wanted::Name(text))
}

/// The log asked for; else this boot's, from the kernel, or where that is closed from the journal.
/// A captured tree has its own.
fn log(arguments: &InspectArgs) -> Result<Option<String>, Failure> {
    if let Some(file) = &arguments.dmesg {
        return input::beginning(file, input::LOG).map(Some);
    }
    if arguments.root.is_some() {
        return Ok(None);
    }
    Ok(kernel_log::of_this_boot())
}

fn capture(arguments: &InspectArgs, options: Options, file: &Path, ui: Ui) -> Outcome {
    output::refuse_other(file, &output::CAPTURE)?;
    let reader = Reader::new(base(arguments)?);
    let recording = drivelab_host::record_within(reader, &options).map_err(refused)?;
    let serials = options.serials;
    let capture = Capture { recording, log: options.log, serials };
    let out = output::create(file, &output::CAPTURE)?;
    let entries = capture.write(std::io::BufWriter::new(out)).at_path("write the capture", file)?;
    if ui.json {
        return ui.result(&json_text(&serde_json::json!({
            "schema": "drivelab.inspect/1",
            "file": file,
            "entries": entries,
            "serials": serials,
        })));
    }
    let serials = if serials { "with" } else { "without" };
    ui.result(&format!("{}: {entries} entries, {serials} serial numbers", file.display()))
}

/// Once a second, until interrupted or `seconds` times; 0 is without end.
fn watch_disks(reader: &mut Reader, found: &Inspection, seconds: u64, ui: Ui) -> Outcome {
    let depth = |disk: &drivelab_host::Device| Some((disk.name.clone(), disk.queue_depth?));
    let depths: BTreeMap<String, u32> = found.devices.iter().filter_map(depth).collect();
    let names: Vec<String> = found.devices.iter().map(|disk| disk.name.clone()).collect();
    let mut sample = || {
        let names = names.clone();
        let read = reader.read(move |root| Sample::read(&root, &names));
        read.map_err(|error| refused(error.into()))
    };
    let mut before = (Instant::now(), sample()?);
    let mut shown = 0;
    while seconds == 0 || shown < seconds {
        let due = before.0 + Duration::from_secs(1);
        while Instant::now() < due {
            if interrupt::requested() {
                return Ok(Exit::Interrupted);
            }
            let rest = due.saturating_duration_since(Instant::now());
            std::thread::sleep(rest.min(Duration::from_millis(50)));
        }
        let now = (Instant::now(), sample()?);
        let elapsed = u64::try_from(now.0.duration_since(before.0).as_nanos()).unwrap_or(u64::MAX);
        let rates = watch::rates(&before.1, &now.1, Span::from_ns(elapsed), &depths);
        if ui.json {
            let moment = serde_json::json!({ "schema": watch::SCHEMA, "devices": rates });
            ui.result(&moment.to_string())?;
        } else {
            ui.result(&outline(&drivelab_host::watched(&rates), ui.look()))?;
        }
        before = now;
        shown += 1;
    }
    Ok(Exit::Done)
}
