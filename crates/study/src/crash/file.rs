//! A crash test as a file.

use drivelab_core::config::{Choice, ConfigError, Section};
use drivelab_core::crash::{FileSystem, FileSystemKind, Fsck};
use drivelab_core::{Bytes, Invalid, Span, choice_as_text, invalid};

use super::disks::{Stacked, read_stacked};

/// The events of a workload at which it is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutPoint {
    /// Right after a write was submitted.
    Writes,
    /// Before a flush, while it is carried out, and right after it was acknowledged.
    Flushes,
    /// Right after a line of the workload.
    Lines,
    /// At random.
    Random,
    /// After every change, with every possible outcome.
    Exhaustive,
}

impl Choice for CutPoint {
    const WHAT: &'static str = "place of cuts";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("writes", Self::Writes),
        ("flushes", Self::Flushes),
        ("lines", Self::Lines),
        ("random", Self::Random),
        ("exhaustive", Self::Exhaustive),
    ];
}
choice_as_text!(CutPoint);

/// A crash test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrashFile {
    /// The subject, in a line.
    pub title: String,
    /// The drive, as `NAME[,key=value...]`.
    pub drive: String,
    /// The disks, if there are several; then `drive` is that of those that name no other.
    pub stacked: Option<Stacked>,
    /// Its faults, in the JSON of `POST /faults`.
    pub faults: Vec<String>,
    /// Seed of everything random.
    pub seed: u64,
    /// The number of cuts.
    pub cuts: usize,
    /// The number of cuts at one instant, each with another outcome.
    pub outcomes: usize,
    /// The events at which the workload is cut.
    pub points: Vec<CutPoint>,
    /// Only every n-th write counts.
    pub every: usize,
    /// Its file system.
    pub file_system: FileSystem,
    /// Programs of this machine to have in the guest.
    pub programs: Vec<String>,
    /// Files to have in the guest: the path there, and the path here.
    pub files: Vec<(String, String)>,
    /// True if the system calls of the workload are recorded, to explain a failure.
    pub strace: bool,
    /// The memory of a guest.
    pub memory: Bytes,
    /// Commands of a shell before the workload; their effects are durable.
    pub prepare: String,
    /// The workload; each line that it prints is a promise.
    pub workload: String,
    /// Checks the state that a cut has left.
    pub check: String,
    /// Processor time that the workload may take.
    pub workload_limit: Span,
    /// Processor time that a check may take.
    pub check_limit: Span,
}

const POINTS: [CutPoint; 4] =
    [CutPoint::Lines, CutPoint::Flushes, CutPoint::Writes, CutPoint::Random];
const CUTS: usize = 100;
/// More would take weeks.
const CUTS_MAX: usize = 1_000_000;
const OUTCOMES: usize = 4;
/// The smallest that `mkfs.xfs` makes is 300 MiB.
const SIZE: Bytes = Bytes::mib(512);
const MEMORY: Bytes = Bytes::mib(256);
const MEMORY_MIN: Bytes = Bytes::mib(64);
const LIST_MAX: usize = 1000;

impl CrashFile {
    /// Reads the `text` of `file`.
    pub fn parse(file: &str, text: &str) -> Result<Self, ConfigError> {
        let mut top = Section::parse(file, text)?;
        for list in ["at", "fault", "programs"] {
            top.at_most(list, LIST_MAX)?;
        }
        let limits = top.section("limits")?;
        let (workload_limit, check_limit) = limits.map_or(Ok((None, None)), limits_of)?;
        let drive: String = top.require("drive")?;
        let stacked = read_stacked(&mut top, &drive)?;
        let file = Self {
            title: top.require("title")?,
            drive,
            stacked,
            faults: top.list("fault")?.unwrap_or_default(),
            seed: top.take("seed")?.unwrap_or(1),
            cuts: top.take_with("cuts", |text| count(text, CUTS_MAX))?.unwrap_or(CUTS),
            outcomes: top.take_with("outcomes", |text| count(text, 10_000))?.unwrap_or(OUTCOMES),
            points: top.list("at")?.unwrap_or_else(|| POINTS.to_vec()),
            every: top.take_with("every", |text| count(text, usize::MAX))?.unwrap_or(1),
            file_system: file_system(top.section("file_system")?)?,
            programs: top.list("programs")?.unwrap_or_default(),
            files: top.words("files")?,
            strace: top.take("strace")?.unwrap_or(false),
            memory: top.take_with("memory", memory)?.unwrap_or(MEMORY),
            prepare: top.take("prepare")?.unwrap_or_default(),
            workload: top.require("workload")?,
            check: top.require("check")?,
            workload_limit: workload_limit.unwrap_or(Span::from_secs(600)),
            check_limit: check_limit.unwrap_or(Span::from_secs(60)),
        };
        if file.points.is_empty() {
            return Err(top.error("`at` names no place"));
        }
        // Their numbers multiply, and no test would come to an end.
        if file.stacked.is_some() && file.points.contains(&CutPoint::Exhaustive) {
            return Err(top.error("`exhaustive` is for one disk: several have too many outcomes"));
        }
        // Files are packed for the guest: `..` would lead out of its root.
        if file.files.iter().any(|(path, _)| !path.starts_with('/') || path.contains("..")) {
            return Err(top.error("a path in `[files]` is absolute, as in \"/check.sh\""));
        }
        top.finish()?;
        Ok(file)
    }
}

fn limits_of(mut limits: Section) -> Result<(Option<Span>, Option<Span>), ConfigError> {
    let found = (limits.take("workload")?, limits.take("check")?);
    limits.finish()?;
    Ok(found)
}

fn file_system(section: Option<Section>) -> Result<FileSystem, ConfigError> {
    let (kind, size) = (FileSystemKind::Ext4, SIZE);
    let (mkfs, mount) = (String::new(), String::new());
    let Some(mut section) = section else {
        return Ok(FileSystem { kind, size, mkfs, mount, fsck: Fsck::After });
    };
    let found = FileSystem {
        kind: section.take_with("type", checked)?.unwrap_or(kind),
        size: section.take("size")?.unwrap_or(size),
        mkfs: section.take("mkfs")?.unwrap_or(mkfs),
        mount: section.take("mount")?.unwrap_or(mount),
        fsck: section.take("fsck")?.unwrap_or(Fsck::After),
    };
    section.finish()?;
    Ok(found)
}

/// A file system that a crash test can check.
fn checked(text: &str) -> Result<FileSystemKind, Invalid> {
    // Guests have more, and a user would try them here.
    if ["ext3", "ntfs3"].contains(&text) {
        return Err(invalid!(
            "a crash test has no program that checks {text} without repairing it; known: `ext4`, \
             `xfs`, `btrfs`, `none`"
        ));
    }
    FileSystemKind::from_name(text)
}

fn count(text: &str, most: usize) -> Result<usize, Invalid> {
    // TOML allows `_` between digits, Rust's parser does not.
    let count: Option<usize> = text.replace('_', "").parse().ok();
    let count = count.filter(|count| (1..=most).contains(count));
    count.ok_or_else(|| invalid!("`{text}` is not a number from 1 to {most}"))
}

fn memory(text: &str) -> Result<Bytes, Invalid> {
    let memory: Bytes = text.parse().map_err(|_| format!("`{text}` is not a size"))?;
    if memory < MEMORY_MIN {
        return Err(invalid!("a guest needs {MEMORY_MIN} of memory at least"));
    }
    Ok(memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = "title = \"t\"\ndrive = \"d\"\nworkload = \"w\"\ncheck = \"c\"\n";

    #[test]
    fn the_least_file_has_defaults() {
        let file = CrashFile::parse("f", LEAST).unwrap();
        assert_eq!((file.cuts, file.outcomes, file.seed), (100, 4, 1));
        assert_eq!((file.points, file.file_system.kind), (POINTS.to_vec(), FileSystemKind::Ext4));
        assert!(file.prepare.is_empty() && file.file_system.fsck == Fsck::After);
    }

    #[test]
    fn everything_can_be_said() {
        let text = format!(
            "{LEAST}cuts = 1_000\nat = [\"flushes\", \"random\"]\nmemory = \"128M\"\n\
             fault = ['{{\"kind\": \"lying-flush\"}}']\nprograms = [\"sqlite3\"]\n\
             [file_system]\ntype = \"xfs\"\nsize = \"1G\"\nfsck = \"both\"\n\
             [limits]\ncheck = \"5s\"\n[files]\n\"/a/b\" = \"b\"\n"
        );
        let file = CrashFile::parse("f", &text).unwrap();
        assert_eq!((file.cuts, file.points), (1000, vec![CutPoint::Flushes, CutPoint::Random]));
        assert_eq!(file.file_system.size, Bytes::gib(1));
        assert_eq!((file.check_limit, file.memory), (Span::from_secs(5), Bytes::mib(128)));
        assert_eq!(file.files, [("/a/b".into(), "b".into())]);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_line() {
        let check = |more: &str, part: &str| {
            let error = CrashFile::parse("f", &format!("{LEAST}{more}")).unwrap_err().to_string();
            assert!(error.contains(part), "{more}: {error}");
        };
        check("cuts = 0", "from 1 to");
        check("at = [\"wednesdays\"]", "place of cuts");
        check("at = []", "names no place");
        check("memory = \"1M\"", "64M");
        check("[files]\n\"b\" = \"b\"", "absolute");
        check("wrkload = \"x\"", "unknown key `wrkload`");
        check("[file_system]\ntyp = \"ext4\"", "unknown key `typ`");
        assert!(CrashFile::parse("f", "title = \"t\"").unwrap_err().to_string().contains("drive"));
    }
}
