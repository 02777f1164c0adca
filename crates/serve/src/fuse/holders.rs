//! The processes that have the drive's file open, and how the kernel is made to write back their
//! data.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::mounts;

#[derive(Debug, Default)]
pub(crate) struct Holders {
    file: PathBuf,
    processes: Vec<String>,
    loops: Vec<LoopDevice>,
}

#[derive(Debug, PartialEq, Eq)]
struct LoopDevice {
    path: PathBuf,
    mounted_on: Vec<PathBuf>,
}

impl Holders {
    /// The living processes among `pids`, and the loop devices on `file`.
    pub(super) fn of(file: &Path, pids: impl Iterator<Item = u32>) -> Self {
        // The kernel reports the thread; a user knows its process.
        debug_assert!(file.is_absolute(), "compared with paths that the kernel reports");
        let pids: BTreeSet<u32> = pids.filter_map(process_of).collect();
        let processes = pids.into_iter().filter_map(process_name).collect();
        Self { file: file.to_owned(), processes, loops: loops_on(file) }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.loops.iter().map(LoopDevice::name).collect();
        names.extend(self.processes.iter().cloned());
        if names.is_empty() {
            names.push("a process that passed it on".to_owned());
        }
        names
    }

    /// The commands that release the file.
    pub(crate) fn release(&self) -> String {
        let mut commands = Vec::new();
        for device in &self.loops {
            let mounts = device.mounted_on.iter().map(|on| format!("umount {}", on.display()));
            commands.extend(mounts);
            commands.push(format!("losetup -d {}", device.path.display()));
        }
        if commands.is_empty() { "close the file".to_owned() } else { commands.join("; ") }
    }

    /// Makes the kernel write back its data of the drive. Programs do this, because they wait in
    /// the kernel for answers from this very process; a thread that waits there could not be ended.
    pub(crate) fn write_back(&self) -> WriteBack {
        let mounts = self.loops.iter().flat_map(|device| &device.mounted_on);
        let mounts: Vec<&Path> = mounts.map(PathBuf::as_path).collect();
        let mut files: Vec<&Path> = self.loops.iter().map(|device| device.path.as_path()).collect();
        files.push(&self.file);
        let mut write_back = WriteBack { running: Vec::new(), failed: false };

        if !mounts.is_empty() {
            write_back.begin(Command::new("sync").arg("--file-system").args(mounts));
        }
        write_back.begin(Command::new("sync").args(files));
        write_back
    }
}

#[derive(Debug)]
pub(crate) struct WriteBack {
    running: Vec<Child>,
    failed: bool,
}

impl WriteBack {
    fn begin(&mut self, command: &mut Command) {
        // Its messages would mix with those of the server.
        match command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn() {
            Ok(child) => self.running.push(child),
            Err(_) => self.failed = true,
        }
    }

    /// Returns whether everything is written back; `false` as long as that is unknown.
    pub(crate) fn is_done(&mut self) -> bool {
        let mut failed = self.failed;
        self.running.retain_mut(|child| match child.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) => {
                failed |= !status.success();
                false
            }
            Err(_) => {
                failed = true;
                false
            }
        });
        self.failed = failed;
        self.running.is_empty() && !self.failed
    }
}

impl LoopDevice {
    fn name(&self) -> String {
        let path = self.path.display();
        match self.mounted_on.as_slice() {
            [] => format!("{path}"),
            mounts => {
                let mounts: Vec<_> = mounts.iter().map(|on| on.display().to_string()).collect();
                format!("{path} (mounted on {})", mounts.join(", "))
            }
        }
    }
}

/// Returns the name and id of a process, if it still lives.
fn process_name(pid: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(format!("{} ({pid})", name.trim_end()))
}

/// Returns the process of a thread, if it still lives.
fn process_of(thread: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// The loop devices on `file`, with the mounts of them and of their partitions.
fn loops_on(file: &Path) -> Vec<LoopDevice> {
    let mounts = mounts::read().unwrap_or_default();
    let entries = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let mut loops: Vec<LoopDevice> = entries
        .filter_map(|entry| {
            let folder = entry.path();
            let backing = fs::read_to_string(folder.join("loop/backing_file")).ok()?;
            if Path::new(backing.trim_end_matches('\n')) != file {
                return None;
            }
            let numbers = device_numbers(&folder);
            let on = mounts.iter().filter(|mount| numbers.contains(&mount.device));
            let mounted_on = on.map(|mount| mount.on.clone()).collect();
            Some(LoopDevice { path: Path::new("/dev").join(entry.file_name()), mounted_on })
        })
        .collect();
    // The order of `read_dir` is arbitrary; the names go into messages.
    loops.sort_by(|one, two| one.path.cmp(&two.path));
    loops
}

/// Returns the device numbers of a disk in `/sys/block` and of its partitions.
fn device_numbers(folder: &Path) -> Vec<String> {
    let parts = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let numbers = [folder.to_owned()].into_iter().chain(parts);
    let numbers = numbers.filter_map(|folder| fs::read_to_string(folder.join("dev")).ok());
    numbers.map(|text| text.trim_end().to_owned()).collect()
}
