//! Stage kernel: a modelled drive under a real Linux kernel, in virtual time.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use drivelab_core::record::{Guest as GuestRecord, Mark, MarkId, RunRecord};
use drivelab_core::units::{Bytes, Span};
use drivelab_core::{Device as _, Refusal};
use drivelab_lab::guest::{End, Ended, Guest};
use drivelab_lab::initramfs::{self, Initramfs};
use drivelab_lab::kernel::Kernel;
use drivelab_lab::machine::BlockConfig;
use drivelab_model::options::{DriveSpec, Options};
use drivelab_model::{About, Drive, Scheduler};
use drivelab_serve::drive::{Attributes, ServedDrive};
use drivelab_serve::medium::Memory;
use drivelab_serve::store::Store;

use crate::attached;
use crate::failure::{AtPath as _, Failure};
use crate::interrupt;
use crate::target;

/// The drive in the guest.
pub(crate) const DEVICE: &str = "/dev/vda";
/// Enough for drivelab and a page cache of some size.
const MEMORY: Bytes = Bytes::mib(512);
/// What the driver takes at most, and so many requests need no larger queue.
const TAGS_MAX: usize = 128;
const BUSYBOX: [&str; 2] = ["/usr/bin/busybox", "/bin/busybox"];
/// Lines of the console that are shown of a guest that failed.
const LAST_LINES: usize = 12;
/// Characters of such a line.
const LINE_MAX: usize = 160;

/// A run in a guest.
#[derive(Debug)]
pub(crate) struct Inside<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) spec: &'a DriveSpec,
    pub(crate) seed: u64,
    /// What `drivelab run` gets in the guest, besides its target.
    pub(crate) arguments: Vec<String>,
    /// Real time after which the guest is ended.
    pub(crate) limit: Span,
    /// Where the trace and the console are written.
    pub(crate) trace: Option<&'a Path>,
    pub(crate) console: Option<&'a Path>,
}

/// Boots a kernel on the drive, runs drivelab in it, and gives its record.
pub(crate) fn run(inside: &Inside<'_>) -> Result<RunRecord, Failure> {
    let profile = target::profile(inside.spec)?;
    let host = target::build(&profile, &inside.spec.options, inside.seed)?;
    // The guest's kernel is the host side: the drive behind it has no elevator of its own.
    let bare = Options { scheduler: Some(Scheduler::None), ..inside.spec.options };
    let drive = target::build(&profile, &bare, inside.seed)?;
    let attributes = target::attributes(&profile, drive.about());
    let tags = host.about().attached.as_ref().map_or(TAGS_MAX, |attached| attached.tags);
    let command = command(host.about(), &inside.arguments)?;
    let initramfs = root(&command)?;
    let guest = Guest {
        kernel: &inside.kernel.path,
        initramfs: &initramfs.to_bytes(),
        memory: MEMORY,
        tags: u16::try_from(tags.clamp(1, TAGS_MAX)).expect("at most TAGS_MAX"),
        arguments: &[],
        limit: Duration::from_nanos(inside.limit.ns()),
        stop: interrupt::flag(),
    };
    let about = drive.about().clone();
    let ended = boot(&guest, drive, attributes, inside)?;
    if let Some(path) = inside.console {
        std::fs::write(path, &ended.console).at_path("write", path)?;
    }
    let record = result(&ended)?;
    Ok(concluded(record, &ended, &about, inside))
}

fn boot(
    guest: &Guest<'_>,
    drive: Drive,
    attributes: Attributes,
    inside: &Inside<'_>,
) -> Result<Ended, Failure> {
    let capacity = drive.capacity();
    let medium = Memory::new(capacity, Memory::limit_here());
    let store = Store::new(Box::new(medium), attributes.physical_sector);
    let disk = ServedDrive::new(drive, store, inside.seed);
    let config = BlockConfig {
        capacity,
        physical_sector: attributes.physical_sector,
        write_cache: attributes.volatile_cache,
    };
    let mut file = match inside.trace {
        Some(path) => Some(BufWriter::new(File::create(path).at_path("write", path)?)),
        None => None,
    };
    let sink = file.as_mut().map(|file| file as &mut dyn Write);
    let (ended, _) = guest.run(disk, config, sink).map_err(Refusal::from)?;
    if let (Some(mut file), Some(path)) = (file, inside.trace) {
        file.flush().at_path("write", path)?;
    }
    Ok(ended)
}

/// What the shell of the guest runs: the settings of the queue, then the load.
fn command(host: &About, arguments: &[String]) -> Result<String, Failure> {
    let mut lines = Vec::new();
    if let Some(attached) = &host.attached {
        let scheduler = match attached.scheduler {
            Scheduler::None => "none",
            Scheduler::Deadline => "mq-deadline",
            other => {
                let message = format!("Linux has no elevator `{other}`");
                return Err(Failure::bad_words(message)
                    .hint("give `scheduler=none` or `scheduler=deadline`, or omit `--in kernel`"));
            }
        };
        lines.push(format!("echo {scheduler} > /sys/block/vda/queue/scheduler"));
        if attached.scheduler != Scheduler::None {
            lines.push(format!("echo {} > /sys/block/vda/queue/nr_requests", attached.nr_requests));
        }
    }
    let quoted = arguments.iter().map(|argument| format!("'{}'", argument.replace('\'', "'\\''")));
    let arguments = quoted.collect::<Vec<_>>().join(" ");
    lines.push(format!(
        "exec drivelab run {DEVICE} --json --no-archive --allow-destructive {DEVICE} {arguments}"
    ));
    Ok(lines.join("\n"))
}

/// The root of the guest, with this program in it.
fn root(command: &str) -> Result<Initramfs, Failure> {
    let found = BUSYBOX.iter().map(Path::new).find(|path| path.exists());
    let Some(busybox) = found else {
        let failure = Failure::cannot_here(anyhow::anyhow!("`busybox` is not installed"));
        return Err(failure.hint("see what else is missing: drivelab lab setup"));
    };
    let own: PathBuf = std::env::current_exe()?;
    let mut root = Initramfs::new(busybox, command).at_path("read", busybox)?;
    root.add_program("drivelab", &own).at_path("read", &own)?;
    Ok(root)
}

/// The record that drivelab printed in the guest.
fn result(ended: &Ended) -> Result<RunRecord, Failure> {
    let printed = initramfs::results(&ended.results);
    match (ended.how, printed) {
        (End::PoweredOff, Some((json, 0 | 3))) if json.trim_start().starts_with('{') => {
            serde_json::from_str(json).map_err(|error| {
                let failure = anyhow::Error::new(error).context("the guest's record is damaged");
                Failure::cannot_here(failure)
            })
        }
        (how, printed) => Err(failed(how, printed.map(|(_, status)| status), &ended.console)),
    }
}

fn failed(how: End, status: Option<u8>, console: &str) -> Failure {
    let message = match how {
        End::PoweredOff => match status {
            Some(status) => format!("drivelab ended with exit code {status} in the guest"),
            None => "the guest switched itself off before the run had ended".into(),
        },
        End::Crashed(status) => format!("the guest's kernel crashed: {status}"),
        End::TimedOut => {
            "the guest did not end in time: it hangs, or time stands still in it".into()
        }
        End::Deadlocked => "the guest waits for something that cannot happen".into(),
        End::Stopped => "interrupted".into(),
    };
    if how == End::Stopped {
        return Failure::cannot_here(anyhow::anyhow!(message));
    }
    let lines: Vec<String> =
        console.lines().map(|line| line.chars().take(LINE_MAX).collect()).collect();
    let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n  ");
    let message = format!("{message}; its console ends with:\n  {last}");
    let failure = Failure::cannot_here(anyhow::anyhow!(message));
    match how {
        End::TimedOut => failure.hint("allow it more real time: --wall-limit 30m"),
        _ => failure.hint("keep the whole console: --console FILE"),
    }
}

/// What only this side knows of a run: the drive, the kernel, and that no device was involved.
fn concluded(record: RunRecord, ended: &Ended, about: &About, inside: &Inside<'_>) -> RunRecord {
    let mut attached = record.attached.unwrap_or_default();
    let mut model = attached::to_model(&inside.spec.profile.to_string(), about);
    for device in &mut model.devices {
        // The guest has these, and what it has was inspected in it.
        device.facts.retain(|name, _| !["scheduler", "nr_requests"].contains(&name.as_str()));
    }
    attached.devices.extend(model.devices);
    let message = format!(
        "a modelled drive under Linux {} in virtual time, in which processor time costs nothing: \
         no real device was involved",
        inside.kernel.release
    );
    let mut marks = vec![Mark { id: MarkId::Modelled, message }];
    marks.extend(record.marks);
    RunRecord {
        target: inside.spec.to_string(),
        marks,
        host: None,
        attached: Some(attached),
        guest: Some(GuestRecord {
            kernel: inside.kernel.release.clone(),
            kernel_sha256: inside.kernel.sha256.clone(),
            requests: ended.requests,
            virtual_ns: ended.took.ns(),
            trace_sha256: ended.trace_sha256.clone(),
            console_sha256: ended.console_sha256.clone(),
        }),
        ..record
    }
}

#[cfg(test)]
mod tests {
    use drivelab_model::options::DriveSpec;

    use super::*;

    fn of_spec(spec: &str) -> Result<String, Failure> {
        let spec: DriveSpec = spec.parse().unwrap();
        let profile = target::profile(&spec).unwrap();
        let drive = target::build(&profile, &spec.options, 1).unwrap();
        command(drive.about(), &["--bs=4k".into(), "it's".into()])
    }

    #[test]
    fn the_guest_gets_the_elevator_of_the_drives_options() {
        let ahci = of_spec("seagate-st31000333as").unwrap();
        assert!(ahci.starts_with("echo none > /sys/block/vda/queue/scheduler\nexec "), "{ahci}");
        assert!(ahci.ends_with(" '--bs=4k' 'it'\\''s'"), "{ahci}");
        let ide = of_spec("seagate-st31000333as,controller=ide,nr-requests=64").unwrap();
        assert!(ide.contains("echo mq-deadline >") && ide.contains("echo 64 >"), "{ide}");
        let bsd = of_spec("seagate-st31000333as,scheduler=bioq").unwrap_err();
        assert!(bsd.to_string().contains("bioq"), "{bsd}");
    }
}
