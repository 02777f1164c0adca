//! `inspect`: how disks are attached, and what is wrong with them.

pub(crate) mod advise;
mod causes;
mod pages;
mod scope;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use drivelab_core::units::Span;
use drivelab_host::capture::Capture;
use drivelab_host::watch::{self, Sample};
use drivelab_host::{Inspection, Options, Reader};
use drivelab_report::text::{json_text, outline};

use self::scope::{Scope, refused};
use crate::commands::completion::Offer;
use crate::exit::{Exit, Outcome};
use crate::output;
use crate::ui::Ui;
use drivelab_core::{AtPath as _, Refusal};
use drivelab_lab::interrupt;
use drivelab_lab::measure::LINUX;

/// Show how disks are attached and what is misconfigured (opens no disk, writes nothing).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab inspect                                  every disk of this machine
  drivelab inspect sda --temperature                one disk, with its temperature
  drivelab inspect --strict                         exit code 1 where something is misconfigured
  drivelab inspect --explain ncq-off                what a finding means, and what to do
  drivelab inspect --capture tree.tar               what an inspection reads, for another machine
  drivelab inspect tree.tar                         that capture, or a sosreport
  drivelab inspect smart.txt lsblk.json dmesg.txt   a machine that others described")]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    scope: Scope,

    /// Exit with 1 on an error, or on a warning that is more than advice about speed
    #[arg(long)]
    strict: bool,

    /// Explain the finding ID and inspect nothing
    #[arg(long, value_name = "ID", value_parser = Offer(pages::ids), hide_possible_values = true)]
    #[arg(conflicts_with_all = ["devices", "root", "capture", "watch"])]
    explain: Option<String>,

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
    if let Some(id) = &arguments.explain {
        return pages::explain(id, ui);
    }
    let (serials, temperature) = (arguments.serials, arguments.temperature);
    if let Some(file) = &arguments.capture {
        let options = Options { serials, temperature, ..arguments.scope.options()? };
        return capture(arguments, options, file, ui);
    }
    let mut subject = arguments.scope.subject()?;
    subject.options = Options { serials, temperature, ..subject.options };
    let mut found = subject.inspect()?;
    if subject.here {
        found.host = Some(LINUX.host());
    }
    if let Some(seconds) = arguments.watch {
        return watch_disks(&mut subject.reader, &found, seconds.unwrap_or(0), ui);
    }
    if ui.json {
        let json = serde_json::to_value(&found).map_err(Refusal::request_error)?;
        ui.result(&json_text(&json))?;
    } else {
        ui.result(&outline(&drivelab_host::outline(&found), ui.look()))?;
    }
    scope::refuse_nothing(&found, &subject.reader)?;
    let fails = arguments.strict && found.has_misconfiguration();
    Ok(if fails { Exit::No } else { Exit::Done })
}

/// The findings of an inspection of all disks of this machine.
#[cfg(feature = "view")]
pub(crate) fn of_this_machine() -> Result<Vec<drivelab_core::outline::Line>, Refusal> {
    let mut subject = Scope::default().subject()?;
    let found = subject.inspect()?;
    scope::refuse_nothing(&found, &subject.reader)?;
    Ok(drivelab_host::outline(&found))
}

fn capture(arguments: &InspectArgs, options: Options, file: &Path, ui: Ui) -> Outcome {
    output::refuse_other(file, &output::CAPTURE)?;
    let reader = arguments.scope.reader()?;
    let recording = drivelab_host::record_within(reader, &options).map_err(refused)?;
    let serials = options.serials;
    let capture = Capture { recording, log: options.log, serials };
    let mut out = output::create(file, &output::CAPTURE)?;
    let entries = capture.write(std::io::BufWriter::new(&mut out));
    let entries = entries.at_path("write the capture", file)?;
    out.finish().at_path("write the capture", file)?;
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
    let depths = found.devices.iter().filter_map(|it| Some((it.name.clone(), it.queue_depth?)));
    let depths: BTreeMap<String, u32> = depths.collect();
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
            // In short pieces, so that Ctrl-C is noticed soon.
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
