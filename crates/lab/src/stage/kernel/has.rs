//! The equipment of a guest besides its drive: a file system, memory and a processor.

use drivelab_core::config::Value as _;
use drivelab_core::units::Bytes;
use drivelab_guest::kernel::KernelName;
use drivelab_guest::mounted::{FileSystem, Mounted, names};
use drivelab_guest::processor::Processor;
use drivelab_guest::stack::Stack;
use drivelab_study::file::{Setting, Settings};

use drivelab_core::{Invalid, Refusal, invalid};

use super::disks::{Channels, Disks};

/// Enough for drivelab and a page cache of some size.
pub(super) const MEMORY: Bytes = Bytes::mib(512);
/// The size of the guest's root, with some left to run in.
const MEMORY_MIN: Bytes = Bytes::mib(96);
/// More than a page cache under test has; the memory is this machine's.
const MEMORY_MAX: Bytes = Bytes::gib(16);

/// The choices for a guest, if its kernel is Linux.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Has {
    /// The file system that workloads run on; none for those of the bare drive.
    pub mounted: Option<Mounted>,
    /// Memory of the guest.
    pub memory: Bytes,
    /// Cost of system calls and copied bytes.
    pub processor: Processor,
    /// The kernel; the usual one where no name is given.
    pub kernel: Option<KernelName>,
    /// Files below `queue` of the disk in sysfs, and their values.
    pub queue: Vec<(String, i64)>,
    /// Its disks, where it has several.
    pub disks: Disks,
}

impl Has {
    /// The keys of study files.
    pub const KEYS: [&'static str; 9] = [
        "filesystem",
        "mount-options",
        "memory",
        "processor",
        "kernel",
        "queue",
        "stack",
        "on",
        "channels",
    ];

    /// The equipment that settings describe, where later ones replace earlier ones.
    pub fn of<'a>(settings: impl Iterator<Item = &'a Settings>) -> Result<Self, Refusal> {
        let (mut file_system, mut options, mut bytes) = (None, String::new(), MEMORY);
        // Only the drive takes time, as at stage simulate.
        let (mut processor, mut kernel, mut queue) = (Processor::FREE, None, Vec::new());
        let settings: Vec<&Setting> = settings.flatten().collect();
        let disks = disks_of(settings.iter().copied());
        for setting in settings.into_iter().filter_map(Setting::typed::<GuestSetting>) {
            match setting {
                GuestSetting::FileSystem(kind) => file_system = Some(*kind),
                GuestSetting::MountOptions(text) => options.clone_from(text),
                GuestSetting::Memory(memory) => bytes = *memory,
                GuestSetting::Processor(cost) => processor = *cost,
                GuestSetting::Kernel(name) => kernel = Some(name.clone()),
                GuestSetting::Queue(files) => queue.clone_from(files),
                GuestSetting::Stack(_) | GuestSetting::On(_) | GuestSetting::Channels(_) => {}
            }
        }
        Ok(Self { kernel, queue, disks, ..Self::new(file_system, options, bytes, processor)? })
    }

    /// Reads the options of the command line.
    pub fn new(
        file_system: Option<FileSystem>,
        options: String,
        memory: Bytes,
        processor: Processor,
    ) -> Result<Self, Refusal> {
        if file_system.is_none() && !options.is_empty() {
            let message = format!("`{options}` are options of mount(8), but nothing is mounted");
            return Err(Refusal::request(message).hint(format!("name a file system: {}", names())));
        }
        let mounted = file_system.map(|file_system| Mounted { file_system, options });
        let (kernel, queue, disks) = (None, Vec::new(), Disks::default());
        Ok(Self { mounted, memory, processor, kernel, queue, disks })
    }

    /// Refuses a file system over all disks that is not the one to mount.
    ///
    /// # Errors
    /// Says which file system to name.
    pub fn is_mountable(&self) -> Result<(), Refusal> {
        let kind = self.mounted.as_ref().map(|mounted| mounted.file_system);
        let is_pool = self.disks.stack.is_some_and(|stack| stack.pool().is_some());
        if !is_pool || kind == Some(FileSystem::Btrfs) {
            return Ok(());
        }
        Err(Refusal::request("the stack `btrfs` is a file system, and needs to be mounted")
            .hint("name it: `filesystem = \"btrfs\"` in a study, `--filesystem btrfs` of `run`"))
    }

    /// As rows of a report.
    pub fn settings(&self) -> Vec<(String, String)> {
        let row = |name: &str, value: String| (name.to_owned(), value);
        let mut rows = Vec::new();
        if let Some(Mounted { file_system, options }) = &self.mounted {
            rows.push(row("file system", file_system.to_string()));
            if !options.is_empty() {
                rows.push(row("mount options", options.clone()));
            }
        }
        rows.push(row("memory", self.memory.to_string()));
        rows.push(row("processor", self.processor.to_string()));
        rows.extend(self.kernel.as_ref().map(|name| row("kernel", name.to_string())));
        rows.extend(self.queue.iter().map(|(file, value)| row(file, value.to_string())));
        rows.extend(self.disks.settings());
        rows
    }
}

/// The choices for disks among settings, where later ones replace earlier ones.
fn disks_of<'a>(settings: impl Iterator<Item = &'a Setting>) -> Disks {
    let mut disks = Disks::default();
    for setting in settings.filter_map(Setting::typed::<GuestSetting>) {
        match setting {
            GuestSetting::Stack(stack) => disks.stack = *stack,
            GuestSetting::On(name) => disks.on = Some(name.clone()),
            GuestSetting::Channels(channels) => disks.channels = *channels,
            _ => {}
        }
    }
    disks
}

/// A setting of a guest in a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuestSetting {
    /// The file system that is made on the drive.
    FileSystem(FileSystem),
    /// The options with which it is mounted.
    MountOptions(String),
    /// The memory of the guest.
    Memory(Bytes),
    /// The cost of system calls and copied bytes.
    Processor(Processor),
    /// A kernel that was built with patches or options of the user.
    Kernel(KernelName),
    /// Files below `queue` of the disk in sysfs, and their values.
    Queue(Vec<(String, i64)>),
    /// The array over all disks, or none.
    Stack(Option<Stack>),
    /// The disk that workloads run on.
    On(String),
    /// The channels of IDE drives.
    Channels(Channels),
}

impl GuestSetting {
    /// Reads the value of a key, and returns it also as it is printed; `None` for any other key.
    ///
    /// # Errors
    /// The key cannot have that value.
    pub fn read(key: &str, value: &str) -> Result<Option<(String, Self)>, Invalid> {
        let setting = match key {
            "filesystem" => Self::FileSystem(FileSystem::read(value)?),
            "mount-options" => Self::MountOptions(mount_options(value)?),
            "memory" => Self::Memory(memory(value)?),
            "processor" => Self::Processor(Processor::read(value)?),
            "kernel" => Self::Kernel(value.parse()?),
            "queue" => Self::Queue(queue(value)?),
            "stack" if value == NO_STACK => Self::Stack(None),
            "stack" => Self::Stack(Some(Stack::read(value)?)),
            "on" => Self::On(value.to_owned()),
            "channels" => Self::Channels(Channels::read(value)?),
            _ => return Ok(None),
        };
        let text = match &setting {
            Self::FileSystem(kind) => kind.to_string(),
            Self::MountOptions(options) => options.clone(),
            Self::Memory(memory) => memory.to_string(),
            Self::Processor(cost) => cost.to_string(),
            Self::Kernel(name) => name.to_string(),
            Self::Queue(files) => {
                let files = files.iter().map(|(file, value)| format!("{file}={value}"));
                files.collect::<Vec<_>>().join(",")
            }
            Self::Stack(stack) => stack.map_or_else(|| NO_STACK.to_owned(), |it| it.to_string()),
            Self::On(name) => name.clone(),
            Self::Channels(channels) => channels.to_string(),
        };
        Ok(Some((text, setting)))
    }
}

/// An amount of memory that a guest can have.
pub fn memory(text: &str) -> Result<Bytes, Invalid> {
    let memory = Bytes::read(text)?;
    if !(MEMORY_MIN..=MEMORY_MAX).contains(&memory) || memory.get() % (1 << 20) != 0 {
        return Err(invalid!(
            "`{text}` is not whole MiB from {MEMORY_MIN} to {MEMORY_MAX}, the memory of a guest"
        ));
    }
    Ok(memory)
}

/// Disks without an array over them.
const NO_STACK: &str = "none";

/// Files of the queue that another key sets, because the model must know them, too.
const QUEUE_KEYS: [(&str, &str); 4] = [
    ("scheduler", "scheduler"),
    ("nr_requests", "nr-requests"),
    ("write_cache", "write-cache"),
    ("rotational", "drive"),
];

/// `FILE=VALUE,...`: files below `queue` of the disk in sysfs, such as `read_ahead_kb` and
/// `iosched/slice_idle`.
fn queue(text: &str) -> Result<Vec<(String, i64)>, Invalid> {
    let mut files: Vec<(String, i64)> = Vec::new();
    for part in text.split(',') {
        let read = part.trim().split_once('=').and_then(|(file, value)| {
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            let name = file.strip_prefix("iosched/").unwrap_or(file);
            let is_file = !name.is_empty() && name.chars().all(is_plain);
            Some((file.to_owned(), value.parse().ok()?)).filter(|_| is_file)
        });
        let Some((file, value)) = read else {
            return Err(invalid!(
                "`{part}` is not a file of the queue and a number, such as `read_ahead_kb=128` or \
                 `iosched/slice_idle=0`"
            ));
        };
        if let Some((_, key)) = QUEUE_KEYS.iter().find(|(own, _)| *own == file) {
            return Err(invalid!("`{file}` is set by the key `{key}`"));
        }
        if files.iter().any(|(known, _)| *known == file) {
            return Err(invalid!("`{file}` is set twice"));
        }
        files.push((file, value));
    }
    Ok(files)
}

/// Options of mount(8), separated by commas.
pub fn mount_options(text: &str) -> Result<String, Invalid> {
    // The options become words of a shell's command: nothing in them may need quotes.
    if !text.chars().all(|c| c.is_ascii_alphanumeric() || "_-=:,.".contains(c)) {
        return Err(invalid!(
            "`{text}` is not a list of mount options, such as `noatime,barrier=0`"
        ));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use drivelab_study::Vocabulary as _;

    use super::*;
    use crate::stage::{DriveKeys, typed};

    #[test]
    fn the_later_setting_counts_and_nonsense_is_refused() {
        let base = typed(&[("filesystem", "ext4".into()), ("memory", "1G".into())]).unwrap();
        let arm = typed(&[("filesystem", "xfs".into()), ("scheduler", "none".into())]).unwrap();
        let has = Has::of([&base, &arm].into_iter()).unwrap();
        assert_eq!(has.mounted.map(|it| it.file_system), Some(FileSystem::Xfs));
        assert_eq!((has.memory, has.processor), (Bytes::gib(1), Processor::FREE));
        let busy = typed(&[("processor", "modelled".into())]).unwrap();
        assert_eq!(Has::of([&base, &busy].into_iter()).unwrap().processor, Processor::MODELLED);
        let check =
            |key, value, expected: Result<&str, &str>| match (DriveKeys.read(key, value), expected)
            {
                (Ok(found), Ok(expected)) => assert_eq!(found.text, expected),
                (Err(found), Err(part)) => assert!(found.0.contains(part), "{found}"),
                (found, expected) => panic!("{found:?}, not {expected:?}"),
            };
        check("filesystem", "btrfs", Ok("btrfs"));
        check("filesystem", "ntfs", Err("did you mean `ntfs3`?"));
        check("filesystem", "fat", Err("known: `ext4`, `ext3`, `xfs`, `btrfs`, `ntfs3`"));
        check("memory", "256M", Ok("256M"));
        check("memory", "1k", Err("the memory of a guest"));
        check("processor", "1us,0ns", Ok("1us,0s"));
        check("processor", "2", Err("`modelled`"));
        check("kernel", "one-tag", Ok("one-tag"));
        let files = "read_ahead_kb=64,iosched/slice_idle=0,wbt_lat_usec=-1";
        check("queue", files, Ok(files));
        check("queue", "nr_requests=8", Err("by the key `nr-requests`"));
        check("queue", "nomerges=1,nomerges=2", Err("set twice"));
        for wrong in ["", "x", "x=y", "../x=1", "a/b=1", "$(x)=1", "iosched/=1", "x=1,"] {
            check("queue", wrong, Err("not a file of the queue"));
        }
        check("kernel", "../linux", Err("a kernel's name"));
        check("stack", "raid0,chunk=64k", Ok("raid0,chunk=64k"));
        check("stack", "none", Ok("none"));
        check("stack", "raid7", Err("raid7"));
        check("channels", "own", Ok("own"));
        let other = typed(&[("kernel", "one-tag".into())]).unwrap();
        let kernel = Has::of([&base, &other].into_iter()).unwrap().kernel;
        assert_eq!(kernel.map(|name| name.to_string()), Some("one-tag".to_owned()));
        check("mount-options", "noatime,data=journal", Ok("noatime,data=journal"));
        check("mount-options", "a'; reboot", Err("not a list of mount options"));
        let alone = typed(&[("mount-options", "noatime".into())]).unwrap();
        let refused = Has::of([&alone].into_iter()).unwrap_err();
        assert!(refused.to_string().contains("nothing is mounted"), "{refused}");
    }
}
