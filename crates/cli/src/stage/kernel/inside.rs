//! A run of drivelab in a guest: a modelled drive under a real Linux kernel, in virtual time.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use drivelab_core::record::{Guest as GuestRecord, Mark, MarkId, RunRecord};
use drivelab_core::units::{Bytes, Sectors, Span};
use drivelab_core::workload::{OPTIONS, Workload, WorkloadOptions};
use drivelab_core::{Device as _, Refusal};
use drivelab_lab::guest::{End, Ended, Guest};
use drivelab_lab::initramfs::{self, Initramfs};
use drivelab_lab::kernel::Kernel;
use drivelab_lab::setting::{NR_REQUESTS_MAX, NR_REQUESTS_MIN};
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::Profile;
use drivelab_model::{About, Drive};
use drivelab_serve::drive::ServedDrive;
use drivelab_serve::medium::Memory;
use drivelab_serve::store::Store;

use super::seen::{Seen, TAGS_MAX};
use crate::attached;
use crate::failure::{AtPath as _, Exit, Failure};
use crate::interrupt;
use crate::target;

/// Enough for drivelab and a page cache of some size.
pub(super) const MEMORY: Bytes = Bytes::mib(512);
const BUSYBOX: [&str; 2] = ["/usr/bin/busybox", "/bin/busybox"];
/// Lines of the console that are shown of a guest that failed.
const LAST_LINES: usize = 12;
/// Characters of such a line.
const LINE_MAX: usize = 160;

/// A run in a guest.
#[derive(Debug)]
pub(crate) struct Inside<'a> {
    pub(crate) kernel: &'a Kernel,
    /// The drive, and its profile or that of a specimen.
    pub(crate) spec: &'a DriveSpec,
    pub(crate) profile: &'a Profile,
    pub(crate) seed: u64,
    pub(crate) workload: &'a Workload,
    /// What `drivelab run` gets in the guest, besides its target and its workload.
    pub(crate) options: Vec<String>,
    /// Real time after which the guest is ended.
    pub(crate) limit: Span,
    /// Where the trace and the console are written.
    pub(crate) trace: Option<PathBuf>,
    pub(crate) console: Option<PathBuf>,
}

/// Boots a kernel on the drive, runs drivelab in it, and gives its record.
pub(crate) fn run(inside: &Inside<'_>) -> Result<RunRecord, Failure> {
    let Inside { spec, profile, seed, .. } = inside;
    let host = target::build(profile, &spec.options, *seed)?;
    // The guest's kernel is the host side: the drive behind it has no elevator of its own.
    let drive = target::build_bare(profile, &spec.options, *seed)?;
    let attributes = target::attributes(profile, drive.about());
    let seen = Seen::new(host.about(), profile, attributes)?;
    let initramfs = root(&command(&seen, inside))?;
    let guest = Guest {
        kernel: &inside.kernel.path,
        initramfs: &initramfs.to_bytes(),
        memory: MEMORY,
        tags: seen.setting.as_ref().map_or(TAGS_MAX, |setting| setting.tags),
        arguments: &[],
        tick: None,
        limit: Duration::from_nanos(inside.limit.ns()),
        stop: interrupt::flag(),
    };
    let about = drive.about().clone();
    let ended = boot(&guest, drive, &seen, inside)?;
    if let Some(path) = &inside.console {
        std::fs::write(path, &ended.console).at_path("write", path)?;
    }
    let record = result(&ended)?;
    agreed(&record, &seen, inside)?;
    Ok(concluded(record, &ended, &about, inside))
}

fn boot(
    guest: &Guest<'_>,
    drive: Drive,
    seen: &Seen,
    inside: &Inside<'_>,
) -> Result<Ended, Failure> {
    let disk = served(drive, seen.physical_sector, inside.seed);
    let mut file = match &inside.trace {
        Some(path) => Some(BufWriter::new(File::create(path).at_path("write", path)?)),
        None => None,
    };
    let sink = file.as_mut().map(|file| file as &mut dyn Write);
    let (ended, _) = guest.run(disk, &seen.hardware, sink).map_err(Refusal::from)?;
    if let (Some(mut file), Some(path)) = (file, &inside.trace) {
        file.flush().at_path("write", path)?;
    }
    Ok(ended)
}

/// A drive with bytes, which are in memory.
pub(super) fn served(drive: Drive, physical_sector: Sectors, seed: u64) -> ServedDrive {
    let medium = Memory::new(drive.capacity(), Memory::limit_here());
    let store = Store::new(Box::new(medium), physical_sector);
    ServedDrive::new(drive, store, seed)
}

/// What the shell of the guest runs: the settings of the queue, then the load.
fn command(seen: &Seen, inside: &Inside<'_>) -> String {
    let disk = seen.disk;
    let mut lines = seen.setting.as_ref().map_or_else(Vec::new, |it| it.commands(disk));
    let is_flag = |name: &str| OPTIONS.iter().any(|option| option.name == name && option.is_flag);
    let workload = WorkloadOptions::from(inside.workload).entries().into_iter();
    let workload = workload.filter(|(name, _)| is_flag(name));
    let workload = workload.map(|(name, value)| format!("--{}={value}", name.replace('_', "-")));
    let quoted = |argument: String| format!("'{}'", argument.replace('\'', "'\\''"));
    let arguments: Vec<String> =
        workload.chain(inside.options.iter().cloned()).map(quoted).collect();
    lines.push(format!(
        "exec drivelab run /dev/{disk} --json --no-archive --allow-destructive /dev/{disk} {}",
        arguments.join(" ")
    ));
    lines.join("\n")
}

/// Refuses a run that was not the one that was asked for.
fn agreed(record: &RunRecord, seen: &Seen, inside: &Inside<'_>) -> Result<(), Failure> {
    if record.config.workload.as_ref() != Some(inside.workload) {
        let message = "the guest ran another workload than it was given";
        return Err(Failure { exit: Exit::Bug, ..Failure::bad_words(message) });
    }
    let Some(setting) = &seen.setting else { return Ok(()) };
    let mut disks = record.attached.iter().flat_map(|attached| &attached.devices);
    let disk = disks.find(|device| device.name == seen.disk).cloned().unwrap_or_default();
    setting.check(&disk).map_err(|wrong| {
        let failure = Failure::cannot_here(wrong);
        failure.hint(format!(
            "set what Linux can have: `nr-requests` from {NR_REQUESTS_MIN} to {NR_REQUESTS_MAX}, \
             or the {} that it starts with",
            2 * setting.tags
        ))
    })
}

/// The root of the guest, with this program in it.
fn root(command: &str) -> Result<Initramfs, Failure> {
    let busybox = busybox()?;
    let root = Initramfs::new(busybox, command).at_path("read", busybox)?;
    with_this_program(root)
}

/// The program that is all tools of a guest.
pub(super) fn busybox() -> Result<&'static Path, Failure> {
    let found = BUSYBOX.iter().map(Path::new).find(|path| path.exists());
    found.ok_or_else(|| {
        let failure = Failure::cannot_here(anyhow::anyhow!("`busybox` is not installed"));
        failure.hint("see what else is missing: drivelab lab setup")
    })
}

pub(super) fn with_this_program(mut root: Initramfs) -> Result<Initramfs, Failure> {
    let own: PathBuf = std::env::current_exe()?;
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

pub(super) fn failed(how: End, status: Option<u8>, console: &str) -> Failure {
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
    // A console that was shown need not be shown again.
    if how == End::Stopped || console.is_empty() {
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
        specimen: inside.profile.record(about),
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
    use super::*;

    #[test]
    fn the_guest_runs_the_workload_that_it_is_given() {
        let spec: DriveSpec = "seagate-st31000333as".parse().unwrap();
        let profile = target::profile(&spec).unwrap();
        let drive = target::build(&profile, &spec.options, 1).unwrap();
        let attributes = target::attributes(&profile, drive.about());
        let seen = Seen::new(drive.about(), &profile, attributes).unwrap();
        let options = WorkloadOptions { iodepth: Some(7), ..WorkloadOptions::default() };
        let kernel = Kernel {
            path: PathBuf::new(),
            release: String::new(),
            source: String::new(),
            recipe: String::new(),
            sha256: String::new(),
        };
        let command = command(
            &seen,
            &Inside {
                kernel: &kernel,
                spec: &spec,
                profile: &profile,
                seed: 1,
                workload: &options.check().unwrap(),
                options: vec!["it's".into()],
                limit: Span::from_secs(1),
                trace: None,
                console: None,
            },
        );
        assert!(command.contains("\nexec drivelab run /dev/sda "), "{command}");
        assert!(command.contains(" '--iodepth=7' "), "{command}");
        assert!(command.ends_with(" 'it'\\''s'"), "{command}");
    }
}
