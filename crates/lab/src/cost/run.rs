//! The guests of a bill: one that counts and one that checks the count, each with its calls
//! recorded, and one for the time on each drive.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread;

use drivelab_analysis::cost::{Bill, DriveCost, FlashCost, SCHEMA, varying};
use drivelab_core::config::{Choice as _, Value as _};
use drivelab_core::control::{Control, Event};
use drivelab_core::units::Bytes;
use drivelab_core::{AtPath as _, Refusal};
use drivelab_guest::chance::Chance;
use drivelab_guest::cost::{CallKind, CostRun, CostScene, Phases, Recorded, cost_run};
use drivelab_guest::mounted::{FileSystem, Mounted, SIZE_MAX};
use drivelab_serve::drive::ServedDrive;
use drivelab_serve::medium::Memory;
use drivelab_serve::store::Store;
use drivelab_study::cost::{CostFile, DriveClass};

use super::attributed::{Attributed, attribute, signed_difference, sum};
use super::holds::Map;
use super::meter::{Meter, Reading, between};
use super::symbols::Symbols;
use crate::stage::kernel::{Rig, add_maker, add_program, memory, mount_options};
use crate::stage::parallel;
use crate::target;

/// A command with everything that its guests need.
#[derive(Debug)]
pub struct Cost {
    file: CostFile,
    /// The folder that relative paths of files start from.
    folder: PathBuf,
    mounted: Mounted,
    drives: Vec<(String, Rig)>,
    jobs: NonZeroUsize,
}

/// A guest: its drive, its seed, and what is recorded.
#[derive(Debug, Clone, Copy)]
struct Job {
    drive: usize,
    seed: u64,
    recorded: Recorded,
}

/// A guest that has ended.
struct Done {
    run: CostRun,
    reading: Reading,
    disk: ServedDrive,
}

/// The smallest file system that is made: `mkfs.xfs` refuses a smaller one.
const SIZE_MIN: Bytes = Bytes::mib(300);

/// A file system by its name, on which a bill can say what a block holds.
///
/// # Errors
/// There is no such file system, or its layout is not known.
pub fn file_system(name: &str) -> Result<FileSystem, Refusal> {
    let known = FileSystem::from_name(name).map_err(Refusal::request_error)?;
    let Some(why) = known.without_layout() else { return Ok(known) };
    let message = format!("there are no bills on {known}: {why}");
    Err(Refusal::request(message).hint("name ext4, xfs or btrfs"))
}

impl Cost {
    /// Finds the drives, the kernel and the programs of a command. Relative paths of files start
    /// from `folder`.
    ///
    /// # Errors
    /// The file names what does not exist, or this machine cannot run guests.
    pub fn new(file: &CostFile, folder: &Path) -> Result<Self, Refusal> {
        if file.command.trim().is_empty() {
            let hint = "for what a file system writes by itself, give the command `true`";
            return Err(Refusal::request("the command is empty").hint(hint));
        }
        let kind = file_system(&file.filesystem)?;
        let options = mount_options(&file.mount_options).map_err(Refusal::request_error)?;
        memory(&file.memory.to_string()).map_err(Refusal::request_error)?;
        if !(SIZE_MIN..=SIZE_MAX).contains(&file.size) {
            let message = format!("a file system has {SIZE_MIN} to {SIZE_MAX}, not {}", file.size);
            return Err(Refusal::request(message).hint("give another `size`"));
        }
        let drives = file.drives.iter().map(|text| {
            let (class, drive) = DriveClass::named(text);
            let spec = target::drive_spec(&drive).map_err(|refusal| {
                let names = DriveClass::NAMES.iter().map(|(name, _)| *name);
                let names: Vec<&str> = names.collect();
                refusal.hint(format!("or name a class: {}", names.join(", ")))
            })?;
            Ok((class, spec))
        });
        // A name that does not exist is said of any drive before a kernel is looked for.
        let specs: Vec<_> = drives.collect::<Result<_, Refusal>>()?;
        let drives = specs.into_iter().map(|(class, spec)| {
            let rig = Rig::new(&spec, file.seed, file.memory)?;
            Ok((class, rig))
        });
        let drives: Vec<(String, Rig)> = drives.collect::<Result<_, Refusal>>()?;
        let smallest = drives.iter().map(|(_, rig)| rig.capacity().bytes()).min();
        if smallest.is_some_and(|bytes| bytes < file.size) {
            let message = format!("a drive holds less than the file system of {}", file.size);
            return Err(Refusal::request(message).hint("give a smaller `size`"));
        }
        Ok(Self {
            file: file.clone(),
            folder: folder.to_owned(),
            mounted: Mounted { file_system: kind, options },
            drives,
            jobs: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        })
    }

    /// The number of guests that a bill takes.
    pub fn guests(&self) -> usize {
        self.plan().len()
    }

    fn plan(&self) -> Vec<Job> {
        let seed = self.file.seed;
        let timed =
            (0..self.drives.len()).map(|drive| Job { drive, seed, recorded: Recorded::Nothing });
        let seeds = [seed, seed.wrapping_add(1)];
        let recorded = if self.file.stacks { Recorded::Stacks } else { Recorded::Calls };
        let traced = seeds.map(|seed| Job { drive: 0, seed, recorded });
        traced.into_iter().chain(timed).collect()
    }

    /// Makes the bill out; nothing where it was stopped. `control` receives the number of guests.
    ///
    /// # Errors
    /// The command failed, or a guest did.
    pub fn bill(&self, control: &Control<'_>) -> Result<Option<Bill>, Refusal> {
        let jobs = self.plan();
        let done = std::sync::atomic::AtomicU64::new(0);
        let made = parallel::map(self.jobs, &jobs, |job| {
            let ran = self.run(*job);
            let done = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            control.report(Event::Begins { run: &self.drives[job.drive].0, done });
            let Some(ran) = ran? else { return Ok(None) };
            Ok(Some(match job.recorded {
                Recorded::Nothing => self.timed(*job, &ran),
                Recorded::Calls | Recorded::Stacks => self.attributed(ran),
            }))
        });
        let made: Option<Vec<Part>> = made.into_iter().collect::<Result<_, Refusal>>()?;
        let Some(made) = made else { return Ok(None) };
        let (mut traced, mut drives) = (Vec::new(), Vec::new());
        for part in made {
            match part {
                Part::Traced(part) => traced.push(*part),
                Part::Timed(cost) => drives.push(cost),
            }
        }
        let [first, second] = traced.try_into().expect("two guests are traced");
        Ok(Some(self.joined(first, second, drives)))
    }

    /// Joins the guests: the first one has the bill, the second one checks it.
    fn joined(&self, first: Traced, second: Traced, drives: Vec<DriveCost>) -> Bill {
        let mut bill = self.written(first, drives);
        let other = self.written(second, Vec::new());
        bill.varies = varying(&bill, &other);
        for note in other.notes {
            if !bill.notes.contains(&note) {
                bill.notes.push(note);
            }
        }
        let total = bill.total;
        for (number, drive) in bill.drives.iter().enumerate() {
            let different = drive.requests.instead_of(&total);
            if number == 0 && !different.is_empty() {
                // The same drive: only the record of the calls is missing.
                bill.notes.push(format!(
                    "without the record of its calls there are {}: the record changes the order in \
                     which its threads or processes run",
                    different.join(", ")
                ));
            } else if !different.is_empty() {
                bill.notes.push(format!(
                    "on {} there are {}: the speed of a drive decides which requests the kernel \
                     merges and when a timer expires, its way to the host whether a durable write \
                     has FUA, and a drive without a volatile cache gets no flushes",
                    drive.class,
                    different.join(", ")
                ));
            }
        }
        bill
    }

    fn written(&self, traced: Traced, drives: Vec<DriveCost>) -> Bill {
        let Traced { attributed, left, notes } = traced;
        let Attributed { total, ledger, calls, files, processes, .. } = attributed;
        let syncs = calls.iter().filter(|call| call.syncs).map(|call| call.count).sum();
        let changes = calls.iter().filter(|call| call.changes).map(|call| call.count).sum();
        let Mounted { file_system, options } = &self.mounted;
        let options = if options.is_empty() { String::new() } else { format!(",{options}") };
        Bill {
            schema: SCHEMA.into(),
            command: self.file.command.clone(),
            file_system: format!("{file_system}{options}"),
            kernel: self.drives[0].1.release().into(),
            seed: self.file.seed,
            total,
            left,
            syncs,
            changes,
            ledger,
            drives,
            calls,
            files,
            processes,
            varies: Vec::new(),
            notes,
        }
    }

    /// Boots one guest.
    fn run(&self, job: Job) -> Result<Option<Done>, Refusal> {
        let rig = &self.drives[job.drive].1;
        let (disk, settings) = rig.disk();
        let scene = CostScene {
            disk,
            settings,
            mounted: &self.mounted,
            size: self.file.size,
            seed: job.seed,
            recorded: job.recorded,
        };
        let initramfs = self.root(&scene)?;
        // Each thread has one guest at a time.
        let limit = Bytes::new(Memory::limit_here().get() / self.jobs.get() as u64);
        let medium = Memory::new(rig.capacity(), limit);
        let store = Store::new(Box::new(medium), rig.physical_sector());
        let meter = Meter::new(rig.device()?, rig.has_volatile_cache(), |device| {
            ServedDrive::new(device, store, job.seed)
        });
        let chance = [Chance::of(job.seed).argument()];
        let (ended, meter) = rig.boot_on(meter, &initramfs, self.file.processor_limit, &chance)?;
        let Some(run) = cost_run(&ended).map_err(Refusal::from)? else { return Ok(None) };
        let (disk, reading) = meter.read();
        Ok(Some(Done { run, reading, disk }))
    }

    /// The root of a guest.
    fn root(&self, scene: &CostScene<'_>) -> Result<drivelab_guest::initramfs::Initramfs, Refusal> {
        let mut root = Rig::root(&scene.script())?;
        let [prepare, command] = CostScene::FILES;
        root.add_file(prepare, self.file.prepare.clone().into_bytes(), false);
        root.add_file(command, self.file.command.clone().into_bytes(), false);
        let kind = self.mounted.file_system;
        add_maker(&mut root, &kind.maker(), kind.package())?;
        for program in scene.programs() {
            add_program(&mut root, Path::new(program)).map_err(|refusal| {
                let package = if *program == "strace" { "strace" } else { "e2fsprogs" };
                refusal.hint(format!("install it: sudo apt-get install {package}"))
            })?;
        }
        for program in self.programs() {
            add_program(&mut root, &program)?;
        }
        for (inside, outside) in &self.file.files {
            let path = self.folder.join(outside);
            root.add_copy(inside, &path).at_path("read", &path)?;
        }
        Ok(root)
    }

    /// The programs that the user named: paths start from the folder, names are looked up.
    fn programs(&self) -> impl Iterator<Item = PathBuf> {
        self.file.programs.iter().map(|program| {
            let path = Path::new(program);
            let is_path = path.components().count() > 1;
            if is_path { self.folder.join(path) } else { path.to_owned() }
        })
    }

    /// The cost on one drive.
    fn timed(&self, job: Job, done: &Done) -> Part {
        let Done { run: CostRun { phases, .. }, reading, .. } = done;
        let Phases { start, end, left, settled } = *phases;
        let requests = sum(between(&reading.requests, start, left));
        let (before, after) = (reading.flash_by(start), reading.flash_by(settled));
        let [host, copied, padded] = [0, 1, 2].map(|at: usize| after[at] - before[at]);
        let is_flash = after != [0; 3];
        let flash = FlashCost {
            held_bytes: signed_difference(requests.write_bytes, host),
            host_bytes: host,
            copied_bytes: copied,
            padded_bytes: padded,
        };
        let (class, rig) = &self.drives[job.drive];
        Part::Timed(DriveCost {
            class: class.clone(),
            drive: rig.spec().to_string(),
            time_ns: end.since(start).ns(),
            left_ns: left.since(end).ns(),
            requests,
            flash: is_flash.then_some(flash),
        })
    }

    /// The requests of a guest whose calls are recorded.
    fn attributed(&self, done: Done) -> Part {
        let Done { run, reading, disk } = done;
        let file_system = self.mounted.file_system;
        let map = Map::new(file_system, &|lba, data: &mut [u8]| disk.read(lba, data), &run.extents);
        let Phases { start, end, left, .. } = run.phases;
        let requests = between(&reading.requests, start, left);
        let calls = &run.calls.calls;
        let mut symbols = Symbols::new(self.programs());
        let stacks: Vec<Vec<String>> =
            calls.iter().map(|call| symbols.names(&call.stack)).collect();
        let attributed = attribute(requests, (calls, &stacks), &map, &self.file.normalise);
        let known = notes(&run, &attributed);
        let left = sum(between(&reading.requests, end, left));
        Part::Traced(Box::new(Traced { attributed, left, notes: known }))
    }
}

/// A guest's part of a bill.
enum Part {
    Traced(Box<Traced>),
    Timed(DriveCost),
}

#[derive(Debug)]
struct Traced {
    attributed: Attributed,
    left: drivelab_analysis::cost::Requests,
    notes: Vec<String>,
}

/// Sentences that a reader of a bill must know.
fn notes(run: &CostRun, attributed: &Attributed) -> Vec<String> {
    let mut notes = Vec::new();
    let calls = &run.calls.calls;
    if let Some(map) = calls.iter().find(|call| call.kind == CallKind::Map) {
        notes.push(format!(
            "{} writes to {} through mapped memory: what it writes there is no call, and stands in \
             the row of the page cache",
            map.process, map.path
        ));
    }
    if let Some(ring) = calls.iter().find(|call| call.kind == CallKind::Ring) {
        notes.push(format!(
            "{} uses io_uring: its requests are counted, but no call names their files",
            ring.process
        ));
    }
    if attributed.several > 0 {
        notes.push(format!(
            "{} of {} requests were made while several calls waited; each is charged to one of \
             them: a call on the same file, then one that syncs, then the earliest",
            attributed.several,
            attributed.total.all()
        ));
    }
    if run.is_cut {
        notes.push(
            "there were more system calls than are kept: the requests of the first ones are \
             charged to the kernel"
                .into(),
        );
    }
    if run.calls.unknown > 0 {
        notes.push(format!(
            "{} lines of strace could not be read: use strace 5.13 or later",
            run.calls.unknown
        ));
    }
    notes
}

/// Reads the highest value of a metric: a number, or a size for one in bytes.
pub fn limit_value(metric: &str, text: &str) -> Result<u64, drivelab_core::Invalid> {
    let digits: Option<u64> = text.replace('_', "").parse().ok();
    match digits {
        Some(number) => Ok(number),
        None if metric.ends_with("_bytes") => Ok(Bytes::read(text)?.get()),
        None => Err(drivelab_core::invalid!("`{text}` is not a number of {metric}")),
    }
}
