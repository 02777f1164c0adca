//! The inspected disks, and the tree that describes them.

use std::path::{Path, PathBuf};

use clap::Args;
use drivelab_host::{InspectError, Inspection, KernelLog, Options, Problem, Reader, Wanted};

use drivelab_core::{AtPath as _, Refusal, RefusalKind};
use drivelab_lab::shown::{Recognised, Shown, seeming};
use drivelab_lab::{attached, input, kernel_log};

/// The options that name disks, a tree and a log.
#[derive(Debug, Default, Args)]
pub(super) struct Scope {
    /// Disks, partitions or volumes (sda, /dev/mapper/home), or files on them [default: all disks];
    /// or files that describe another machine: output of smartctl, lsblk, udevadm, nvme, lspci,
    /// hwinfo, hdparm, a kernel log, a sosreport, an archive of --capture
    devices: Vec<PathBuf>,

    /// Read a captured tree (sys/, proc/, optionally dmesg) instead of this machine
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,

    /// Read this kernel log (dmesg, journalctl -k) instead of the log of this boot
    #[arg(long, value_name = "FILE")]
    dmesg: Option<PathBuf>,
}

impl Scope {
    /// The log asked for; else this boot's, from the kernel, or where that is closed from the
    /// journal. A captured tree has its own.
    pub(super) fn log(&self) -> Result<Option<KernelLog>, Refusal> {
        if let Some(file) = &self.dmesg {
            return input::kernel_log(file).map(Some);
        }
        if self.root.is_some() {
            return Ok(None);
        }
        Ok(kernel_log::of_this_boot())
    }

    /// The inspected machine: this machine, a captured tree, or a machine that files describe.
    ///
    /// Files that describe no machine are named in the report; fails where nothing else was given.
    pub(super) fn subject(&self) -> Result<Subject, Refusal> {
        let asked = self.options()?;
        let Sorted { shown, names, unread } = self.sorted()?;
        let Some(shown) = shown else {
            let wanted = names.into_iter().map(|name| self.wanted(name)).collect();
            let (reader, here) = (self.reader()?, self.is_here());
            return Ok(Subject { reader, options: asked, wanted, here, unread });
        };
        // Names select among the devices that the files describe.
        let wanted = names.iter().map(|it| Wanted::Name(it.to_string_lossy().into_owned()));
        let wanted = wanted.collect();
        let tree = match &self.root {
            Some(_) => Some(drivelab_host::record_within(self.reader()?, &asked)),
            None => None,
        };
        let own = Options { log: self.dmesg.as_ref().and(asked.log), ..Options::default() };
        let (reader, options) = shown.into_options(tree.transpose().map_err(refused)?, &own);
        Ok(Subject { reader, options, wanted, here: false, unread })
    }

    /// Tells files that describe a machine from names of disks and from other files.
    fn sorted(&self) -> Result<Sorted<'_>, Refusal> {
        let mut shown = Shown::default();
        let mut is_described = false;
        let (mut names, mut refusals) = (Vec::new(), Vec::new());
        for argument in &self.devices {
            match self.look_at(argument, &mut shown) {
                Ok(true) => is_described = true,
                Ok(false) => names.push(argument.as_path()),
                Err(refusal) if refusal.kind == RefusalKind::Interrupted => return Err(refusal),
                Err(refusal) => refusals.push((argument.as_path(), refusal)),
            }
        }
        if is_described && self.root.is_none() {
            // Among files of another machine, one more file is no disk of this machine.
            let others = names.extract_if(.., |name| seeming(name).is_some());
            refusals.extend(others.map(|name| (name, unrecognised(name, seeming(name)))));
        }
        let is_nothing = !is_described && names.is_empty();
        if let Some(at) = refusals.iter().position(|_| is_nothing) {
            return Err(refusals.swap_remove(at).1);
        }
        let unread = refusals.iter().map(|(path, refusal)| unread(path, refusal)).collect();
        Ok(Sorted { shown: is_described.then_some(shown), names, unread })
    }

    /// Returns whether an argument describes a machine, which is then read; others may be disks.
    ///
    /// Fails for a file that was meant as a description and is none.
    fn look_at(&self, argument: &Path, shown: &mut Shown) -> Result<bool, Refusal> {
        if !self.may_describe(argument) {
            return Ok(false);
        }
        match shown.add(argument)? {
            Recognised::Machine => Ok(true),
            Recognised::Text(kind) if self.root.is_none() => {
                Err(unrecognised(argument, Some(kind)))
            }
            // The disk on which an empty capture lies is not the one that was meant.
            Recognised::Other if self.root.is_none() && is_empty(argument) => Err(empty(argument)),
            Recognised::Text(_) | Recognised::Other => Ok(false),
        }
    }

    /// `sda` is a disk even if a file in the working directory has this name.
    fn may_describe(&self, argument: &Path) -> bool {
        let block = Path::new("/sys/class/block").join(argument);
        let is_name = !argument.to_string_lossy().contains('/');
        !(is_name && self.root.is_none() && block.exists())
    }

    /// The options of an inspection with the log.
    pub(super) fn options(&self) -> Result<Options, Refusal> {
        let log_of_any_machine = self.dmesg.is_some() && self.root.is_none();
        Ok(Options { log: self.log()?, log_of_any_machine, ..Options::default() })
    }

    /// True if it is this machine, not a captured tree.
    pub(super) fn is_here(&self) -> bool {
        self.root.is_none()
    }

    /// The reader of the tree.
    pub(super) fn reader(&self) -> Result<Reader, Refusal> {
        let Some(root) = &self.root else { return Ok(Reader::new("/")) };
        // An unreadable folder would look like a machine without disks.
        std::fs::read_dir(root).at_path("read the tree", root)?;
        Ok(Reader::new(root.clone()))
    }

    /// A name with a slash, or of a working folder, that exists here is a file, a folder or a
    /// device file; any other is a name.
    fn wanted(&self, name: &Path) -> Wanted {
        let text = name.to_string_lossy().into_owned();
        // `sda` is a disk even if a file in the working directory has this name.
        let is_path = text.contains('/') || matches!(text.as_str(), "." | "..");
        let here = is_path && self.root.is_none();
        let holder = if here { attached::holder(name) } else { None };
        holder.unwrap_or(Wanted::Name(text))
    }
}

/// The arguments by what they are.
struct Sorted<'a> {
    /// The machine that files describe, if any does.
    shown: Option<Shown>,
    /// Names of disks, and files on them.
    names: Vec<&'a Path>,
    /// Files that describe nothing.
    unread: Vec<Problem>,
}

/// A machine to be inspected.
pub(super) struct Subject {
    pub(super) reader: Reader,
    pub(super) options: Options,
    wanted: Vec<Wanted>,
    /// Files that were given and describe nothing.
    unread: Vec<Problem>,
    /// True if it is this machine.
    pub(super) here: bool,
}

impl Subject {
    /// Inspects the disks.
    pub(super) fn inspect(&mut self) -> Result<Inspection, Refusal> {
        let found = drivelab_host::inspect_within(&mut self.reader, &self.wanted, &self.options);
        let mut found = found.map_err(|error| {
            let file = match &error {
                InspectError::NoSuchDevice { name, .. } if self.here => meant_as_file(name),
                _ => None,
            };
            file.unwrap_or_else(|| refused(error))
        })?;
        found.problems.extend(self.unread.iter().cloned());
        Ok(found)
    }
}

/// Fails where there was nothing to look at.
pub(super) fn refuse_nothing(found: &Inspection, reader: &Reader) -> Result<(), Refusal> {
    let environment = &found.environment;
    let log_read =
        environment.kernel_log && found.problems.iter().all(|it| it.path != "kernel log");
    let described = !environment.sources.is_empty();
    if environment.block_devices || !found.devices.is_empty() || log_read || described {
        return Ok(());
    }
    if environment.foreign_log.is_some() {
        // The log of a whole boot names all disks: this machine has none.
        if environment.kernel.is_some() {
            return Ok(());
        }
        let error = "nothing can be said: the kernel log names no disk and no controller of disks";
        return Err(Refusal::machine(error)
            .hint("give the whole log since the boot, not an excerpt of other messages"));
    }
    Err(refused(InspectError::NoTree { base: reader.base().to_owned() }))
}

fn is_empty(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.len() == 0)
}

/// The refusal of a file that says nothing.
fn empty(path: &Path) -> Refusal {
    let message = format!("`{}` is empty: it describes no machine", path.display());
    Refusal::request(message).hint(format!(
        "write the output of the tool to it again; for the disk on which the file lies, type \
         `drivelab inspect {}`",
        folder_of(path).display()
    ))
}

/// The folder in which a file lies.
fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("./"))
}

/// The refusal of what is no disk, where a file has the name or only a file can have it.
fn meant_as_file(name: &str) -> Option<Refusal> {
    let path = Path::new(name);
    let Ok(file) = std::fs::metadata(path) else {
        let of_devices = name.starts_with("/dev/");
        let is_path = ["/", "./", "../"].iter().any(|start| name.starts_with(start));
        let in_folder = path.parent().is_some_and(Path::is_dir);
        return (!of_devices && (is_path || in_folder)).then(|| {
            Refusal::request(format!("there is no file `{name}`"))
                .hint("check the path; `drivelab inspect` without a name lists all disks")
        });
    };
    let what = if file.is_dir() { "is a folder" } else { "does not describe a machine" };
    let message = format!("`{name}` {what}, and there is no block device of that name");
    Some(Refusal::request(message).hint(format!(
        "type `drivelab inspect ./{name}` for the disk on which it lies, or `drivelab inspect` for \
         all disks"
    )))
}

/// The refusal of a file in which no reader found anything, with what it seems to be.
fn unrecognised(path: &Path, kind: Option<&str>) -> Refusal {
    let (name, kind) = (path.display(), kind.unwrap_or("a file of another kind"));
    let message = format!(
        "nothing in `{name}` was recognised: it seems to be {kind}; it is neither a kernel log nor \
         output of a tool that is read (smartctl, lsblk, udevadm, nvme, lspci, hwinfo, hdparm)"
    );
    Refusal::request(message).hint(format!(
        "give the whole output, from its first line on; for the disk on which the file lies, type \
         `drivelab inspect {}`",
        folder_of(path).display()
    ))
}

/// The line of the report about a file that describes nothing.
fn unread(path: &Path, refusal: &Refusal) -> Problem {
    let name = path.display().to_string();
    let message = refusal.message.as_str();
    let file = path.file_name().map(|name| format!("`{}` ", name.to_string_lossy()));
    let of_file = [Some(format!("`{name}` ")), file];
    let rest = of_file.iter().flatten().find_map(|start| message.strip_prefix(start.as_str()));
    let message = match rest {
        Some(rest) => rest.to_owned(),
        None => format!("was left out: {message}"),
    };
    Problem { path: name, message }
}

/// A name that is not there is the user's to mend, a tree that is not there the machine's.
pub(super) fn refused(error: InspectError) -> Refusal {
    match error {
        InspectError::NoTree { .. } => Refusal::machine_error(error)
            .hint("mount sysfs on /sys; with --root, name the folder that holds sys/ and proc/"),
        InspectError::Unanswered(_) => Refusal::machine_error(error)
            .hint("a device or a file server does not respond; `dmesg` may name it"),
        InspectError::ForeignLog { .. } => Refusal::request_error(error).hint(
            "leave the name out to see all that the log names; to capture, leave --dmesg out",
        ),
        error => {
            Refusal::request_error(error).hint("`drivelab inspect` without a name lists all disks")
        }
    }
}
