//! A crash test, ready to be carried out: its guests, and what the first of them did.

use std::path::{Path, PathBuf};

use drivelab_core::crash::{FileSystemKind, Finding};
use drivelab_core::units::{Bytes, Span};
use drivelab_core::{AtPath as _, Refusal, Time, disk::Medium};
use drivelab_guest::boot::{Line, Observer, RunResult};
use drivelab_guest::crash::{
    ACKNOWLEDGED, Assembly, CheckOutcome, CheckResult, Layout, Numbered, ONE, Scene, batch_cuts,
    checked, workload_run,
};
use drivelab_guest::initramfs::Initramfs;
use drivelab_guest::stack::Stack;
use drivelab_serve::drive::ServedDrive;
use drivelab_serve::fault::{Fault, Kind};
use drivelab_serve::medium::Memory;
use drivelab_serve::store::{Recorded, Step, Store};
use drivelab_study::crash::{CrashFile, Layer, Moments, Stacked};

use super::replays::{After, CutDisks, Loss, RecordedDisk, Replays};
use crate::stage::kernel::{Disks, NamedDisk, Rig};
use crate::target;

/// A test whose file was read and whose programs were found.
#[derive(Debug)]
pub struct Test {
    rig: Rig,
    pub(super) faults: Vec<Fault>,
    file_seed: u64,
    /// The condition in which each disk comes back after a cut.
    after: Vec<After>,
    workload_root: Initramfs,
    check_root: Initramfs,
    /// Of a guest that checks several cuts, without those.
    batch_root: Initramfs,
    look_root: Initramfs,
    file_system: FileSystemKind,
    check_limit: Span,
    pub(super) jobs: usize,
}

/// The recorded run of the workload.
#[derive(Debug)]
pub struct Worked {
    pub(super) disks: Vec<RecordedDisk>,
    pub(super) lines: Vec<Line>,
    pub(super) calls: Vec<Line>,
    /// Instants at which a cut may be placed.
    pub moments: Moments,
}

impl Worked {
    /// The number of lines that had been printed before an instant.
    pub(super) fn printed_before(&self, at: Time) -> usize {
        self.lines.partition_point(|line| line.at < at)
    }
}

/// The root of a guest that checks several cuts.
fn batch_root(scene: &Scene<'_>) -> Result<Initramfs, Refusal> {
    let mut root = Rig::root(&scene.batch_script())?;
    root.add_file(ONE, scene.check_script().into_bytes(), false);
    Ok(root)
}

/// System directories that are searched after the user's path: tools of file systems are there.
const SYSTEM_PATHS: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/local/sbin"];

/// Hint for a check that does not end in time.
const TOO_SLOW: &str = "repeat it on a quieter machine, or with fewer guests: --jobs 1";

/// The precision of the time at which the workload printed a line while its drive was idle.
const TICK: Span = Span::from_ms(1);

impl Test {
    /// Prepares the guests of a test, up to `jobs` at once.
    ///
    /// # Errors
    /// The file names an unknown drive or fault, or this machine cannot run guests.
    pub fn new(file: &CrashFile, path: &Path, jobs: usize) -> Result<Self, Refusal> {
        let faults = file.faults.iter().map(|text| fault(text)).collect::<Result<_, _>>()?;
        let rig = rig_of(file)?;
        let (disk, settings) = rig.disk();
        let (disk, assembly) = (disk.to_owned(), assembly_of(file, &rig)?);
        let CrashFile { file_system, prepare, workload, check, .. } = file;
        if rig.capacity().bytes() < file_system.size {
            let message = format!("the drive holds {}", rig.capacity().bytes());
            return Err(Refusal::request(message).hint("give a smaller `size` in `[file_system]`"));
        }
        let strace = file.strace;
        let scene = Scene {
            disk: &disk,
            settings,
            assembly,
            file_system,
            prepare,
            workload,
            check,
            strace,
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        let furnish = |mut root: Initramfs| -> Result<Initramfs, Refusal> {
            for (name, text) in scene.files() {
                root.add_file(name, text.into(), false);
            }
            let own = file.programs.iter().map(String::as_str);
            let maker = match file.stacked.as_ref().map(|it| &it.layer) {
                Some(Layer::Array { stack, .. }) => Some(stack_of(stack)?.maker()),
                _ => None,
            };
            for program in scene.programs().map(|program: &str| program).chain(maker).chain(own) {
                let path = find(program)?;
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                root.add_program(&name, &path).at_path("read", &path)?;
            }
            for (inside, outside) in &file.files {
                let path = folder.join(outside);
                root.add_copy(inside, &path).at_path("read", &path)?;
            }
            Ok(root)
        };
        Ok(Self {
            workload_root: furnish(Rig::root(&scene.workload_script())?)?,
            check_root: furnish(Rig::root(&scene.check_script())?)?,
            batch_root: furnish(batch_root(&scene)?)?,
            look_root: Rig::root(&scene.look_script())?,
            file_system: file_system.kind,
            check_limit: file.check_limit,
            file_seed: file.seed,
            after: conditions(file),
            rig,
            faults,
            jobs,
        })
    }

    /// File system, drive and kernel in words.
    pub fn words(&self, file: &CrashFile) -> String {
        format!("{} on {}", file.file_system.kind, self.rig.words())
    }

    /// Memory that each copy of the drive's bytes may take.
    pub fn memory(&self) -> Bytes {
        // Each thread of a campaign has two replays; the workload had a medium and a recording.
        let copies = (2 * self.jobs + 2) * self.after.len();
        Bytes::new(Memory::limit_here().get() / copies as u64)
    }

    /// Carries out the workload; nothing where it was stopped.
    pub fn work(&self, file: &CrashFile) -> Result<Option<Worked>, Refusal> {
        let stores = self.rig.geometry().map(|(capacity, physical_sector)| {
            let medium = Memory::new(capacity, self.memory());
            let mut store = Store::new(Box::new(medium), physical_sector);
            store.record(self.memory());
            store
        });
        let (root, limits) = (&self.workload_root, (file.workload_limit, Some(TICK)));
        let (ended, drives) = self.rig.boot(stores.collect(), &self.faults, root, limits)?;
        let Some(done) = workload_run(&ended).map_err(Refusal::from)? else { return Ok(None) };
        let each = drives.into_iter().zip(self.rig.geometry()).zip(&self.after);
        let disks = each.map(|((mut drive, (capacity, physical_sector)), after)| RecordedDisk {
            recording: drive.take_recording().expect("it was begun"),
            recorded: Recorded {
                capacity,
                physical_sector,
                durable_before: done.window.0,
                faults: self.faults.clone(),
                seed: self.file_seed,
            },
            after: *after,
        });
        let disks: Vec<RecordedDisk> = disks.collect();
        let moments = moments_of(&disks, done.window, &done.lines);
        Ok(Some(Worked { disks, lines: done.lines, calls: done.calls, moments }))
    }

    /// Says whether the check finds everything whole where no power was cut: `false` where it was
    /// stopped.
    pub fn is_whole_at_the_end(&self, worked: &Worked) -> Result<bool, Refusal> {
        let mut replay = self.replay(worked);
        replay.advance(Time::MAX).map_err(memory)?;
        let message = match self.check(&replay, worked, Time::MAX, Loss::None)? {
            CheckOutcome::Stopped => return Ok(false),
            CheckOutcome::Found(CheckResult { finding: Finding::Whole, .. }) => return Ok(true),
            CheckOutcome::Found(CheckResult { finding, reason }) => {
                format!("without a power cut the check says {finding}: {reason}")
            }
            CheckOutcome::TooSlow => {
                let message = "without a power cut the check did not end in time";
                return Err(Refusal::machine(message).hint(TOO_SLOW));
            }
        };
        let refusal = Refusal::request(message)
            .hint("fix `workload` or `check`: the check must pass without a power cut first");
        // Otherwise the cuts would be blamed for what the disk alone does.
        if self.after.iter().any(|after| *after != After::Cut) {
            return Err(refusal.hint(
                "a disk that is `dead` or `stale` is so in this check, too: what Linux makes of \
                 the others, and of a stale one, must be whole",
            ));
        }
        Err(refusal)
    }

    pub(super) fn replay<'a>(&self, worked: &'a Worked) -> Replays<'a> {
        Replays::new(&worked.disks, self.memory())
    }

    /// The number of the disk that a write went to, in words; nothing where there is one.
    pub(super) fn disk_words(&self, index: usize) -> Option<String> {
        self.rig.named().get(index).map(|disk| format!("disk {}", disk.name))
    }

    /// True if a guest can check several cuts: its one disk is exchanged.
    pub fn can_share_guests(&self) -> bool {
        self.after.len() == 1
    }

    /// Checks the file system after a cut at this instant.
    pub(super) fn check(
        &self,
        replay: &Replays<'_>,
        worked: &Worked,
        at: Time,
        loss: Loss<'_>,
    ) -> Result<CheckOutcome, Refusal> {
        let CutDisks { media, .. } = replay.cut(at, loss).map_err(memory)?;
        let mut root = self.check_root.clone();
        let printed = worked.lines[..worked.printed_before(at)].iter();
        let acknowledged: String = printed.flat_map(|line| [&line.text, "\n"]).collect();
        root.add_file(ACKNOWLEDGED, acknowledged.into_bytes(), false);
        let limits = (self.check_limit, None);
        let (ended, _) = self.rig.boot(self.stores(media), &[], &root, limits)?;
        Ok(checked(&ended))
    }

    fn stores(&self, media: Vec<Box<dyn Medium>>) -> Vec<Store> {
        let each = media.into_iter().zip(self.rig.geometry());
        each.map(|(medium, (_, physical_sector))| Store::new(medium, physical_sector)).collect()
    }

    /// The drive of a guest that checks what `medium` holds.
    pub(super) fn drive(&self, medium: Box<dyn Medium>) -> Result<ServedDrive, Refusal> {
        self.rig.drive(Store::new(medium, self.rig.physical_sector()))
    }

    /// Boots a guest that checks `cuts`, the first of them on `disk`; `watch` exchanges that.
    pub(super) fn boot_batch(
        &self,
        worked: &Worked,
        cuts: &[Numbered],
        disk: ServedDrive,
        watch: &mut dyn Observer<ServedDrive>,
    ) -> Result<RunResult, Refusal> {
        let mut root = self.batch_root.clone();
        let lines: Vec<&str> = worked.lines.iter().map(|line| line.text.as_str()).collect();
        let (name, text) = batch_cuts(cuts, &lines);
        root.add_file(name, text.into_bytes(), false);
        self.rig.boot_watched(disk, &root, self.check_limit, watch)
    }

    /// The layout of the file system at an instant if no write were lost.
    ///
    /// # Panics
    /// The test has several disks: what they hold is known to the stack.
    pub(super) fn layout(&self, replay: &Replays<'_>, at: Time) -> Result<Layout, Refusal> {
        assert!(self.can_share_guests(), "the file system is on one disk");
        let CutDisks { media, .. } = replay.cut(at, Loss::None).map_err(memory)?;
        let limits = (self.check_limit, None);
        let (_, disks) = self.rig.boot(self.stores(media), &[], &self.look_root, limits)?;
        Ok(Layout::read(self.file_system, &|lba, data| disks[0].read(lba, data)))
    }

    /// The times at which the possible states after a cut change, each with the number of states.
    pub fn changes(&self, worked: &Worked) -> Result<Vec<(Time, u64)>, Refusal> {
        let (begin, end) = worked.moments.window;
        let steps = worked.disks.iter().flat_map(|it| it.recording.steps()).map(|(at, _)| *at);
        let lines = worked.moments.lines.iter().copied();
        let mut instants: Vec<Time> = steps.chain(lines).collect();
        instants.retain(|at| begin <= *at && *at < end);
        instants.sort_unstable();
        instants.dedup();
        let mut replay = self.replay(worked);
        let changes = instants.into_iter().map(|at| {
            // At the instant itself the change has not happened yet.
            replay.advance(at + Span::from_ns(1))?;
            Ok((at, replay.outcomes()?))
        });
        changes.collect::<std::io::Result<_>>().map_err(memory)
    }
}

/// Why a cut could not be made.
pub(super) fn memory(error: std::io::Error) -> Refusal {
    Refusal::machine("cannot keep the drive's data")
        .because(error)
        .hint("make the workload write less, or run fewer guests at once: --jobs 1")
}

fn moments_of(disks: &[RecordedDisk], window: (Time, Time), lines: &[Line]) -> Moments {
    let mut moments = Moments { window, ..Moments::default() };
    moments.lines = lines.iter().map(|line| line.at).collect();
    let (begin, end) = window;
    for disk in disks {
        let mut open = std::collections::VecDeque::new();
        let steps = disk.recording.steps().iter();
        for (at, step) in steps.filter(|(at, _)| begin <= *at && *at < end) {
            match step {
                Step::Write { .. } => moments.writes.push(*at),
                Step::Flush => open.push_back(*at),
                Step::Lied => moments.flushes.push((*at, *at)),
                Step::Flushed => moments.flushes.extend(open.pop_front().map(|open| (open, *at))),
                _ => {}
            }
        }
    }
    // The steps of one disk are in order.
    if disks.len() > 1 {
        moments.writes.sort_unstable();
        moments.flushes.sort_unstable();
    }
    moments
}

/// The guests of a test, with its disk or its disks.
fn rig_of(file: &CrashFile) -> Result<Rig, Refusal> {
    let Some(Stacked { disks, layer, .. }) = &file.stacked else {
        return Rig::new(&target::drive_spec(&file.drive)?, file.seed, file.memory);
    };
    let mut named = Vec::new();
    for (index, disk) in (0_u8..).zip(disks) {
        let spec = target::drive_spec(&disk.drive)?;
        let (name, port) = (disk.name.clone(), disk.port.unwrap_or(index));
        named.push(NamedDisk { name, port, spec: Some(spec) });
    }
    let first = named[0].spec.take().expect("each disk has a drive");
    let mut disks = Disks { named, ..Disks::default() };
    let device = match layer {
        Layer::Array { stack, .. } => {
            let stack = stack_of(stack)?;
            disks.stack = Some(stack);
            is_on_pool(file, &stack)?;
            None
        }
        Layer::Commands { device, .. } => Some(device.as_str()),
    };
    disks.target()?;
    Rig::with_disks(&first, disks, device, (file.seed, file.memory))
}

/// Refuses a file system that its stack cannot have.
fn is_on_pool(file: &CrashFile, stack: &Stack) -> Result<(), Refusal> {
    if stack.pool().is_none() {
        return Ok(());
    }
    if file.stacked.as_ref().is_some_and(|it| it.dead == Some(0)) {
        let message = "a btrfs over several disks is mounted by the first, which is `dead`";
        return Err(Refusal::request(message).hint("let another disk be `dead`"));
    }
    if file.file_system.kind == FileSystemKind::Btrfs {
        return Ok(());
    }
    let message = "the stack `btrfs` is a file system, and needs to be that of the test";
    Err(Refusal::request(message).hint("add `[file_system]` with `type = \"btrfs\"`"))
}

fn stack_of(text: &str) -> Result<Stack, Refusal> {
    Stack::read(text).map_err(Refusal::request)
}

/// The commands that make one device of the disks of a test, if it has several.
fn assembly_of(file: &CrashFile, rig: &Rig) -> Result<Option<Assembly>, Refusal> {
    let Some(Stacked { layer, dead, .. }) = &file.stacked else { return Ok(None) };
    let (stack, options) = match layer {
        Layer::Array { stack, assemble } => (stack, assemble),
        Layer::Commands { make, again, end, .. } => {
            // In braces, so that the output of all commands goes to the console.
            let make = format!("{{\n{}\n}} >&2 || exit", make.trim_end());
            let again = format!("{{\n{}\n}} >&2", again.trim_end());
            let (make, end) = (vec![make], end.clone());
            return Ok(Some(Assembly { make, again, end, is_file_system: false }));
        }
    };
    let stack = stack_of(stack)?;
    if !stack.is_array() && !options.is_empty() {
        return Err(Refusal::request("`assemble` holds options of mdadm, for an array of md"));
    }
    let disks = rig.names();
    if let Some(pool) = stack.pool() {
        let making = pool.making(&disks, file.file_system.size);
        let make = vec![format!("{making} {} >&2 || exit", file.file_system.mkfs)];
        // A mount finds the other disks among those that were looked at.
        let (again, end) = ("/bin/btrfs device scan >&2".to_owned(), stack.end());
        return Ok(Some(Assembly { make, again, end, is_file_system: true }));
    }
    // An array is put together without the dead disk; any other stack finds an empty one.
    let absent = dead.filter(|_| stack.is_array());
    let there = (0..).zip(&disks).filter(|(index, _)| Some(*index) != absent).map(|(_, it)| *it);
    let there: Vec<&str> = there.collect();
    let (make, again) = (stack.commands(&disks), stack.again(&there, options));
    Ok(Some(Assembly { make, again, end: stack.end(), is_file_system: false }))
}

/// The condition in which each disk comes back after a cut.
fn conditions(file: &CrashFile) -> Vec<After> {
    let Some(Stacked { disks, dead, stale, .. }) = &file.stacked else { return vec![After::Cut] };
    let of_disk = (0..disks.len()).map(|index| match Some(index) {
        index if index == *dead => After::Dead,
        index if index == *stale => After::Stale,
        _ => After::Cut,
    });
    of_disk.collect()
}

/// A fault of the drive; those that damage what is on the medium are no matter of a power cut.
fn fault(text: &str) -> Result<Fault, Refusal> {
    let fault = Fault::from_json(text).map_err(|error| {
        let example = "write JSON, for example '{\"kind\": \"lying-flush\"}'";
        Refusal::request_error(error).hint(example)
    })?;
    if matches!(fault.kind, Kind::BitRot | Kind::LatentError | Kind::Misdirected) {
        let message = format!("a crash test has no fault `{}`", fault.kind);
        return Err(Refusal::request(message)
            .hint("set `lying-flush`, `torn`, `stall`, `slow`, `read-error` or `write-error`"));
    }
    Ok(fault)
}

/// A program of this machine.
fn find(name: &str) -> Result<PathBuf, Refusal> {
    if name.contains('/') {
        return Ok(PathBuf::from(name));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let user: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let folders = user.into_iter().chain(SYSTEM_PATHS.map(PathBuf::from));
    let mut paths = folders.map(|folder| folder.join(name));
    paths.find(|path| path.is_file()).ok_or_else(|| {
        let message = format!("`{name}` is not installed");
        Refusal::machine(message).hint(match name {
            "mke2fs" | "e2fsck" => "sudo apt-get install e2fsprogs".to_owned(),
            "mkfs.xfs" | "xfs_repair" => "sudo apt-get install xfsprogs".to_owned(),
            "make-bcache" => "sudo apt-get install bcache-tools".to_owned(),
            "mdadm" | "dmsetup" => format!("sudo apt-get install {name}"),
            _ => format!("install it, or name its path in `programs`: \"/path/to/{name}\""),
        })
    })
}
