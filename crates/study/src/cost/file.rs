//! The command, what it needs, and the limits of its bill.

use drivelab_core::config::{Choice, ConfigError, Section};
use drivelab_core::{Bytes, Span, choice_as_text};

/// A class of drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriveClass {
    /// A disk of 7,200 rpm.
    Hdd,
    /// A SATA solid-state drive for PCs.
    SataConsumer,
    /// An `NVMe` solid-state drive for PCs.
    NvmeConsumer,
    /// An `NVMe` solid-state drive for servers.
    Datacenter,
    /// An SD card.
    SdCard,
}

impl Choice for DriveClass {
    const WHAT: &'static str = "class of drives";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("sata-consumer", Self::SataConsumer),
        ("nvme-consumer", Self::NvmeConsumer),
        ("datacenter", Self::Datacenter),
        ("hdd", Self::Hdd),
        ("sd-card", Self::SdCard),
    ];
}
choice_as_text!(DriveClass);

impl DriveClass {
    /// All classes; the first one has the requests that a bill counts.
    pub const ALL: [Self; 5] =
        [Self::SataConsumer, Self::NvmeConsumer, Self::Datacenter, Self::Hdd, Self::SdCard];

    /// The drive that stands for the class.
    pub fn drive(self) -> &'static str {
        match self {
            Self::Hdd => "seagate-st2000dm006",
            Self::SataConsumer => "generic-sata-consumer",
            // The guest's driver sends 128 commands at once, and the drives would take 1023.
            Self::NvmeConsumer => "generic-nvme-consumer,tags=128",
            Self::Datacenter => "generic-nvme-datacenter,tags=128",
            Self::SdCard => "generic-sd",
        }
    }

    /// Reads a drive: a class, or `NAME[,key=value...]`. Returns how it was named, and the drive.
    pub fn named(text: &str) -> (String, String) {
        match Self::from_name(text) {
            Ok(class) => (text.into(), class.drive().into()),
            Err(_) => (text.into(), text.into()),
        }
    }
}

/// A command whose bill is made out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostFile {
    /// The command, for a shell.
    pub command: String,
    /// Commands before it, which cost nothing.
    pub prepare: String,
    /// Programs of this machine to have in the guest.
    pub programs: Vec<String>,
    /// Files and folders to have in the guest: the path there, and the path here.
    pub files: Vec<(String, String)>,
    /// The file system: `ext4`, `xfs` or `btrfs`.
    pub filesystem: String,
    /// Its mount options.
    pub mount_options: String,
    /// Its size.
    pub size: Bytes,
    /// The drives: classes, or `NAME[,key=value...]`.
    pub drives: Vec<String>,
    /// The memory of a guest.
    pub memory: Bytes,
    /// Seed of what differs between two machines that are set up alike.
    pub seed: u64,
    /// Parts of names that are not the same in every run, as patterns with `*`.
    pub normalise: Vec<String>,
    /// True if calls are recorded with their stacks.
    pub stacks: bool,
    /// The highest values of metrics.
    pub limits: Vec<(String, String)>,
    /// The accepted increase over the base.
    pub tolerance: Option<String>,
    /// Processor time that a guest may take.
    pub processor_limit: Span,
}

const LIST_MAX: usize = 1000;
const PROCESSOR_LIMIT: Span = Span::from_secs(600);
const MEMORY: Bytes = Bytes::mib(512);
const SIZE: Bytes = Bytes::gib(2);

impl CostFile {
    /// A command with the defaults of everything else.
    pub fn new(command: String) -> Self {
        Self {
            command,
            prepare: String::new(),
            programs: Vec::new(),
            files: Vec::new(),
            filesystem: "ext4".into(),
            mount_options: String::new(),
            size: SIZE,
            drives: DriveClass::ALL.iter().map(ToString::to_string).collect(),
            memory: MEMORY,
            seed: 1,
            normalise: Vec::new(),
            stacks: false,
            limits: Vec::new(),
            tolerance: None,
            processor_limit: PROCESSOR_LIMIT,
        }
    }

    /// Reads the `text` of `file`.
    pub fn parse(file: &str, text: &str) -> Result<Self, ConfigError> {
        let mut top = Section::parse(file, text)?;
        for list in ["programs", "drives", "normalise"] {
            top.at_most(list, LIST_MAX)?;
        }
        let base = Self::new(top.require("command")?);
        let file = Self {
            prepare: top.take("prepare")?.unwrap_or_default(),
            programs: top.list("programs")?.unwrap_or_default(),
            files: top.words("files")?,
            filesystem: top.take("filesystem")?.unwrap_or(base.filesystem),
            mount_options: top.take("mount_options")?.unwrap_or_default(),
            size: top.take("size")?.unwrap_or(base.size),
            drives: top.list("drives")?.unwrap_or(base.drives),
            memory: top.take("memory")?.unwrap_or(base.memory),
            seed: top.take("seed")?.unwrap_or(base.seed),
            normalise: top.list("normalise")?.unwrap_or_default(),
            stacks: top.take("stacks")?.unwrap_or(base.stacks),
            limits: top.words("limits")?,
            tolerance: top.take("tolerance")?,
            processor_limit: top.take("processor_limit")?.unwrap_or(base.processor_limit),
            command: base.command,
        };
        if file.drives.is_empty() {
            return Err(top.error("`drives` names no drive"));
        }
        top.finish()?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_file_is_a_command() {
        let file = CostFile::parse("f", "command = \"true\"").unwrap();
        assert_eq!(file, CostFile::new("true".into()));
        assert_eq!(file.drives.len(), 5);
    }

    #[test]
    fn everything_can_be_said() {
        let text = "command = \"app\"\nprepare = \"init\"\nprograms = [\"app\"]\n\
                    filesystem = \"xfs\"\nmount_options = \"noatime\"\nsize = \"1G\"\n\
                    drives = [\"hdd\", \"samsung-850evo\"]\nmemory = \"256M\"\nseed = 3\n\
                    normalise = [\"tmp*\"]\nstacks = true\ntolerance = \"1%\"\nprocessor_limit = \"60s\"\n\
                    [files]\n\"/data\" = \"data\"\n[limits]\nflushes = 300\nwrite_bytes = \"1M\"\n";
        let file = CostFile::parse("f", text).unwrap();
        assert_eq!(
            file.limits,
            [("flushes".to_owned(), "300".to_owned()), ("write_bytes".to_owned(), "1M".to_owned())]
        );
        assert_eq!((file.size, file.seed, file.stacks), (Bytes::gib(1), 3, true));
        assert_eq!(DriveClass::named("hdd").1, "seagate-st2000dm006");
        assert_eq!(DriveClass::named("samsung-850evo").1, "samsung-850evo");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        fn check(more: &str, part: &str) {
            let text = format!("command = \"true\"\n{more}");
            let error = CostFile::parse("f", &text).unwrap_err().to_string();
            assert!(error.contains(part), "{more}: {error}");
        }
        check("drives = []", "names no drive");
        check("comand = \"x\"", "unknown key");
        check("size = \"large\"", "large");
        assert!(CostFile::parse("f", "").unwrap_err().to_string().contains("command"));
    }
}
