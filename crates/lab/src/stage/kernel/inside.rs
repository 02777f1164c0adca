//! A run of drivelab in a guest: a modelled drive under a real Linux kernel, in virtual time.

use std::io::{BufWriter, IntoInnerError, Write};
use std::time::Duration;

use drivelab_core::record::{Attached, Guest as GuestRecord, Mark, MarkId, RunRecord};
use drivelab_core::units::Span;
use drivelab_core::workload::Workload;
use drivelab_core::{AtPath as _, Control, Refusal};
use drivelab_files::NewFile;
use drivelab_guest::boot::{End, Guest, Limit, RunResult};
use drivelab_guest::chance::Chance;
use drivelab_guest::initramfs;
use drivelab_guest::kernel::Kernel;
use drivelab_guest::machine::Adapter;
use drivelab_guest::mounted::unmount;
use drivelab_guest::setting::{NR_REQUESTS_MAX, NR_REQUESTS_MIN};
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::Profile;
use drivelab_serve::drive::ServedDrive;
use serde::de::DeserializeOwned;

use super::disks::machines::{Machine, Machines};
use super::has::Has;
use super::installed;
use super::root;
use super::withheld::{withheld, without_processor};
use super::work;
use crate::attached;
use crate::request::{Environment, GuestOptions, Request, Work};
use crate::target::Target;

/// Lines of the console that are shown of a guest that failed.
const LAST_LINES: usize = 12;
/// Characters of such a line.
const LINE_MAX: usize = 160;
/// The end of the line that a guest prints about a setting which it does not have afterwards.
const NOT_SET: &str = " was asked for";

/// A run in a guest, and what it takes.
#[derive(Debug)]
pub struct Inside<'a> {
    request: &'a Request,
    guest: &'a GuestOptions,
    kernel: Kernel,
    spec: &'a DriveSpec,
    profile: Profile,
}

/// A guest that has ended, and the drive that it had.
#[derive(Debug)]
pub(super) struct Made {
    ended: RunResult,
    machines: Machines,
}

impl<'a> Inside<'a> {
    /// Finds the kernel and the profile of the drive.
    ///
    /// # Errors
    /// The request is not one for a guest on a modelled drive, or asks for what a guest cannot do.
    pub fn new(request: &'a Request) -> Result<Self, Refusal> {
        let Environment::Guest(guest) = &request.environment else {
            return Err(Refusal::bug("the request is not one for a guest"));
        };
        let spec = match &request.target {
            Target::Drive(spec) => spec,
            Target::Path(path) => {
                let path = path.display();
                let message =
                    format!("`{path}` is not a modelled drive, and `--in kernel` needs one");
                return Err(Refusal::request(message)
                    .hint("name one: drive:NAME; `drivelab drive list` shows them"));
            }
        };
        work::check(&request.work, guest.has.mounted.is_some())?;
        let profile = request.profile(spec)?;
        // The stage of a study finds its kernel once for all runs.
        let kernel = match &guest.kernel {
            Some(kernel) => kernel.clone(),
            None => installed::find(&installed::cache(None)?, guest.has.kernel.as_ref())?,
        };
        Ok(Self { request, guest, kernel, spec, profile })
    }
}

impl Inside<'_> {
    /// Boots a kernel on the drive, runs drivelab in it, and gives its record.
    pub fn run(&self, control: &Control<'_>) -> Result<RunRecord, Refusal> {
        let (record, made) = self.make(control)?;
        self.is_as_asked(&record)?;
        self.concluded(record, &made)
    }

    /// Boots a kernel on the drive, runs drivelab in it, and reads what it printed.
    pub(super) fn make<T: DeserializeOwned>(
        &self,
        control: &Control<'_>,
    ) -> Result<(T, Made), Refusal> {
        let (has, seed) = (&self.guest.has, self.request.seed);
        let mounted = has.mounted.as_ref();
        let (machines, drives) = Machines::new((self.spec, &self.profile), &has.disks, seed)?;
        let mut root = root::root(&self.script(&machines))?;
        if let Some(stack) = has.disks.stack {
            root::add_maker(&mut root, stack.maker(), stack.package())?;
        }
        if let Some(mounted) = mounted {
            let kind = mounted.file_system;
            root::add_maker(&mut root, &kind.maker(), kind.package())?;
        }
        let target = work::target(&self.request.work, &machines.target, mounted.is_some());
        work::add(&work::inner(&self.request.work, &target, seed), &mut root)?;
        // A bare drive has no layout.
        let chance = mounted.map(|_| Chance::of(seed).argument());
        let arguments: Vec<String> = chance.into_iter().chain(has.processor.argument()).collect();
        let guest = Guest {
            kernel: &self.kernel.path,
            initramfs: &root.to_bytes(),
            memory: has.memory,
            tags: machines.tags(),
            arguments: &arguments,
            tick: None,
            limit: Limit::real(Duration::from_nanos(self.guest.limit.ns())),
            stop: control.stop_flag(),
        };
        let ended = self.boot(&guest, machines.adapters(drives))?;
        if let Some(path) = &self.guest.console {
            drivelab_files::replace(path, ended.console.as_bytes()).at_path("write", path)?;
        }
        let printed = result(&ended)?;
        Ok((printed, Made { ended, machines }))
    }

    /// The script for the shell of the guest: the settings of the queue, the file system, the work.
    fn script(&self, machines: &Machines) -> String {
        let Has { mounted, disks, .. } = &self.guest.has;
        let target = &machines.target;
        let mut lines = machines.commands(disks);
        for (file, value) in &self.guest.has.queue {
            let path = format!("/sys/block/{target}/queue/{file}");
            // Linux may refuse a value, or round it.
            lines.push(format!(
                "echo {value} > {path}; [ \"$(cat {path})\" = {value} ] || {{ echo \
                 \"queue/{file} is '$(cat {path})', and {value}{NOT_SET}\" >&2; exit 2; }}"
            ));
        }
        let work = work::line();
        if let Some(mounted) = mounted {
            let capacity = machines.capacity();
            lines.extend(match disks.stack.and_then(|stack| stack.pool()) {
                Some(pool) => mounted.commands_over(pool, &machines.names(), capacity),
                None => mounted.commands(target, capacity),
            });
            lines.extend(Chance::of(self.request.seed).commands());
            let end = format!("status=$?; {}; ", unmount());
            let stop = disks.stack.map_or_else(String::new, |stack| stack.end() + "; ");
            lines.extend([work, format!("{end}{stop}exit $status")]);
        } else if let Some(stack) = &disks.stack {
            lines.extend([work, format!("status=$?; {}; exit $status", stack.end())]);
        } else {
            lines.push(format!("exec {work}"));
        }
        lines.join("\n")
    }

    fn boot(
        &self,
        guest: &Guest<'_>,
        adapters: Vec<Adapter<ServedDrive>>,
    ) -> Result<RunResult, Refusal> {
        let mut file = match &self.guest.trace {
            Some(path) => {
                Some(BufWriter::new(drivelab_files::create(path).at_path("write", path)?))
            }
            None => None,
        };
        let sink = file.as_mut().map(|file| file as &mut dyn Write);
        let ran = guest.run_all(adapters, sink);
        if let (Some(file), Some(path)) = (file, &self.guest.trace) {
            // Kept of a guest that failed, too: it may show why.
            let flushed = file.into_inner().map_err(IntoInnerError::into_error);
            flushed.and_then(NewFile::finish).at_path("write", path)?;
        }
        let (ended, _) = ran.map_err(Refusal::from)?;
        Ok(ended)
    }

    /// Refuses a record of other work than was asked for.
    fn is_as_asked(&self, record: &RunRecord) -> Result<(), Refusal> {
        let config = &record.config;
        let is_asked = match &self.request.work {
            Work::Load(load) => config.workload.as_ref() == Some(&load.workload),
            work @ Work::Suite(_) => config.suite == work::suite(work),
            Work::Cell(_) | Work::Commands { .. } => true,
        };
        if is_asked {
            return Ok(());
        }
        let message = "the guest ran another workload than it was given";
        Err(Refusal::bug(message))
    }

    /// Refuses a guest that had other settings than its arm.
    fn agreed(&self, attached: &Attached, machines: &Machines) -> Result<(), Refusal> {
        if let Some(mounted) = &self.guest.has.mounted {
            let agreed = mounted.check(attached);
            agreed.map_err(Refusal::machine)?;
        }
        let is_stacked = self.guest.has.disks.stack.is_some();
        for Machine { seen, .. } in &machines.all {
            // The other disks are no part of the target, and were not inspected.
            if !is_stacked && seen.disk != machines.target {
                continue;
            }
            let Some(setting) = &seen.setting else { continue };
            let mut disks = attached.devices.iter();
            let disk = disks.find(|device| device.name == seen.disk).cloned().unwrap_or_default();
            setting.check(&disk).map_err(|wrong| {
                let failure = Refusal::machine_error(wrong);
                failure.hint(format!(
                    "set what Linux can have: `nr-requests` from {NR_REQUESTS_MIN} to \
                     {NR_REQUESTS_MAX}, or the {} that it starts with",
                    2 * setting.tags
                ))
            })?;
        }
        Ok(())
    }

    /// A record with what only this side knows: the drive, the kernel, and that no device was
    /// involved.
    ///
    /// # Errors
    /// The guest had other settings than its arm.
    pub(super) fn concluded(&self, record: RunRecord, made: &Made) -> Result<RunRecord, Refusal> {
        let Made { ended, machines } = made;
        let mut attached = record.attached.unwrap_or_default();
        self.agreed(&attached, machines)?;
        let Has { memory, processor, disks, .. } = &self.guest.has;
        attached.machine.insert("memory_bytes".into(), memory.get().into());
        attached.machine.insert("processor_cost".into(), processor.to_string().into());
        if let Some(stack) = disks.stack {
            attached.machine.insert("stack".into(), stack.to_string().into());
        }
        for Machine { spec, about, .. } in &machines.all {
            let mut model = attached::to_model(&spec.profile.to_string(), about);
            for device in &mut model.devices {
                // The guest has these, and what it has was inspected in it.
                device
                    .facts
                    .retain(|name, _| !["scheduler", "nr_requests"].contains(&name.as_str()));
            }
            attached.devices.extend(model.devices);
        }
        let phases = without_processor(record.phases);
        let message = format!(
            "a modelled drive under Linux {} in virtual time, in which {}{}: no real device was \
             involved",
            self.kernel.release,
            processor.words(),
            withheld(&phases)
        );
        let mut marks = vec![Mark { id: MarkId::Modelled, message }];
        let flushes =
            record.total.as_ref().or(record.jobs.first()).and_then(|it| it.flush.as_ref());
        if let (Work::Load(load), Some(_), Some(flushes)) =
            (&self.request.work, &self.guest.has.mounted, flushes)
        {
            marks.extend(coarse_clock(&load.workload, flushes.iops));
        }
        marks.extend(record.marks);
        Ok(RunRecord {
            target: format!("{}{disks}", self.spec),
            marks,
            host: None,
            ended_unix_s: None,
            attached: Some(attached),
            specimen: self.profile.record(&machines.all[0].about),
            phases,
            guest: Some(GuestRecord {
                kernel: self.kernel.release.clone(),
                kernel_sha256: self.kernel.sha256.clone(),
                requests: ended.requests,
                virtual_ns: ended.took.ns(),
                trace_sha256: ended.trace_sha256.clone(),
                console_sha256: ended.console_sha256.clone(),
            }),
            ..record
        })
    }
}

/// Steps a second of the clock that files in a guest get their times from (`CONFIG_HZ=100`).
const TICKS_PER_S: f64 = 100.0;

/// The mark of a load that calls fsync more often than the guest's clock moves.
fn coarse_clock(workload: &Workload, flushes_per_s: f64) -> Option<Mark> {
    if workload.fsync == 0 || workload.fdatasync || flushes_per_s <= TICKS_PER_S {
        return None;
    }
    // Of the calls between two ticks only the first finds a new time in the file.
    let without = 100.0 * (1.0 - TICKS_PER_S / flushes_per_s);
    let message = format!(
        "the guest's clock moves every 10 ms, so {without:.0} % of the {flushes_per_s:.0} fsync \
         calls a second found the file's time unchanged and wrote no metadata, as fdatasync does: \
         with CONFIG_HZ=250 or 1000, as in kernels of distributions, fsync costs more"
    );
    Some(Mark { id: MarkId::CoarseClock, message })
}

/// The result that drivelab printed in the guest.
fn result<T: DeserializeOwned>(ended: &RunResult) -> Result<T, Refusal> {
    let printed = initramfs::results(&ended.results);
    match (ended.how, printed) {
        // 3 is a record most of whose requests failed (`Answer::is_failed`).
        (End::PoweredOff, Some((json, 0 | 3))) if json.trim_start().starts_with('{') => {
            serde_json::from_str(json)
                .map_err(|error| Refusal::machine("the guest's record is damaged").because(error))
        }
        (_, printed) => Err(failed(ended, printed.map(|(_, status)| status))),
    }
}

pub(super) fn failed(ended: &RunResult, status: Option<u8>) -> Refusal {
    let RunResult { how, console, .. } = ended;
    let message = match how {
        End::PoweredOff => match status {
            Some(status) => format!("drivelab ended with exit code {status} in the guest"),
            None => "the guest switched itself off before the run had ended".into(),
        },
        End::Crashed(status) => format!("the guest's kernel crashed: {status}"),
        End::TimedOut | End::UsedUp => {
            let [wall, processor] = [ended.wall, ended.processor].map(in_ms);
            format!(
                "the guest did not end in time: within {wall} of real time it used a processor for \
                 {processor}, and its own clock came to {}",
                ended.took
            )
        }
        End::Deadlocked => "the guest waits for something that cannot happen".into(),
        End::Stopped => "interrupted".into(),
    };
    // A console that was shown need not be shown again.
    if *how == End::Stopped || console.is_empty() {
        return Refusal::machine(message);
    }
    let refused = console.lines().find(|line| line.ends_with(NOT_SET));
    if let Some(line) = refused.filter(|line| line.starts_with("queue/")) {
        return Refusal::machine(format!("the guest refused a setting: {line}"))
            .hint("look at what there is: drivelab guest shell, then ls /sys/block/*/queue");
    }
    let lines: Vec<String> =
        console.lines().map(|line| line.chars().take(LINE_MAX).collect()).collect();
    let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n  ");
    let message = format!("{message}; its console ends with:\n  {last}");
    let failure = Refusal::machine(message);
    match how {
        End::TimedOut | End::UsedUp => failure.hint("allow it more real time: --wall-limit 30m"),
        _ => failure.hint("keep the whole console: --console FILE"),
    }
}

/// Whole milliseconds: more digits would not matter to a reader.
fn in_ms(duration: Duration) -> Span {
    Span::from_ms(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX / 1_000_000))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use drivelab_core::units::Bytes;
    use drivelab_core::workload::WorkloadOptions;
    use drivelab_study::file::Settings;

    use super::*;
    use crate::request::Load;
    use crate::stage::typed;
    use crate::target;

    fn script(settings: &Settings) -> String {
        let spec: DriveSpec = "seagate-st31000333as".parse().unwrap();
        let profile = target::profile(&spec).unwrap();
        let kernel = Kernel {
            path: PathBuf::new(),
            release: String::new(),
            source: String::new(),
            recipe: String::new(),
            sha256: String::new(),
            name: None,
            changes: Vec::new(),
        };
        let options = WorkloadOptions { size: Some(Bytes::mib(1)), ..WorkloadOptions::default() };
        let load = Work::Load(Box::new(Load::new(options.check().unwrap())));
        let guest = GuestOptions {
            kernel: Some(kernel),
            has: Has::of(std::iter::once(settings)).unwrap(),
            limit: Span::from_secs(1),
            trace: None,
            console: None,
        };
        let request = Request::on_drive(spec, load, 1).in_guest(guest);
        let inside = Inside::new(&request).unwrap();
        let disks = &inside.guest.has.disks;
        let (machines, _) = Machines::new((inside.spec, &profile), disks, 1).unwrap();
        inside.script(&machines)
    }

    #[test]
    fn more_fsync_calls_than_ticks_are_marked() {
        let options = |fsync, fdatasync| WorkloadOptions {
            rw: Some(drivelab_core::workload::Rw::Write),
            fsync,
            fdatasync,
            ..WorkloadOptions::default()
        };
        let [fsync, fdatasync, none] = [(Some(1), None), (None, Some(1)), (None, None)]
            .map(|(fsync, fdatasync)| options(fsync, fdatasync).check().unwrap());
        let mark = coarse_clock(&fsync, 1000.0).unwrap();
        assert_eq!(mark.id, MarkId::CoarseClock);
        assert!(mark.message.contains("90 % of the 1000 fsync calls"), "{}", mark.message);
        assert_eq!(coarse_clock(&fsync, 50.0), None);
        assert_eq!(coarse_clock(&fdatasync, 1000.0), None);
        assert_eq!(coarse_clock(&none, 1000.0), None);
    }

    #[test]
    fn a_guest_sets_its_queue_mounts_what_is_asked_for_and_runs_the_work() {
        let bare = script(&Settings::new());
        assert!(bare.starts_with("echo none > /sys/block/sda/queue/scheduler\n"), "{bare}");
        assert!(bare.ends_with("\nexec drivelab guest run /request.json"), "{bare}");
        let mounted = script(&typed(&[("filesystem", "xfs".into())]).unwrap());
        let lines: Vec<&str> = mounted.lines().collect();
        assert_eq!(lines[1], "mkfs.xfs -q -f -d size=16384m /dev/sda >&2 || exit");
        assert_eq!(lines[2], "mount -t xfs /dev/sda /mnt >&2 || exit");
        let chance = Chance::of(1).commands();
        assert_eq!(lines[3..lines.len() - 2], chance, "{mounted}");
        let [.., work, end] = lines[..] else { panic!("{mounted}") };
        assert_eq!(work, "drivelab guest run /request.json");
        assert!(end.contains("umount") && end.ends_with("exit $status"), "{mounted}");
    }
}
