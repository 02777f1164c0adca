//! The table of messages that report a fault: `messages.tsv`.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use serde::{Deserialize, Serialize};

const TABLE: &str = include_str!("messages.tsv");

/// Declares the kinds of fault, each with its name in the table.
macro_rules! classes {
    ($($(#[$doc:meta])+ $class:ident = $name:literal,)+) => {
        /// The kinds of fault that a message of the kernel reports.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum Class { $($(#[$doc])+ $class,)+ }

        impl Class {
            fn parse(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$class),)+ _ => None }
            }
        }
    };
}

classes! {
    /// Data could not be read or written, or the drive reports that it is defective.
    Medium = "medium",
    /// The transfer between host and device failed.
    Link = "link",
    /// A command was not answered in time.
    Timeout = "timeout",
    /// A file system waited for the device for half a minute or longer.
    Stall = "stall",
    /// A command was done, but its interrupt did not arrive.
    Interrupt = "interrupt",
    /// The device was reset, and may have been attached again only.
    Reset = "reset",
    /// The device rejected or aborted a command.
    Command = "command",
    /// The device rejected a hint that blocks are unused; no data is concerned.
    Discard = "discard",
    /// The device rejected the command that clears blocks, which the kernel then writes itself.
    WriteZeroes = "write-zeroes",
    /// The device is gone, dead or offline.
    Lost = "lost",
    /// The device was unplugged while data was being written.
    Unplugged = "unplugged",
    /// A message of the start of a device, which is a fault only if nothing follows.
    Unsettled = "unsettled",
    /// A request failed for a reason that the message does not name.
    Io = "io",
    /// A parallel drive transfers data in a slow mode.
    Mode = "mode",
    /// The controller failed.
    Controller = "controller",
    /// The SAS fabric between adapter and drives reports disturbances.
    Fabric = "fabric",
    /// The kernel suspects power saving.
    Power = "power",
    /// A member left its array.
    Member = "member",
    /// An array has too few members to run.
    Stopped = "stopped",
    /// A path to a multipath disk failed.
    Path = "path",
    /// A file system or volume found damage, or stopped writing.
    FileSystem = "filesystem",
    /// PCI Express repeated a transfer.
    Corrected = "corrected",
    /// PCI Express lost a transfer.
    Uncorrected = "uncorrected",
    /// The drive's own record says that it fails, or its test failed.
    Health = "health",
    /// The drive is above a limit of its temperature.
    Heat = "heat",
}

/// The forms of message, by the way in which they name a device.
///
/// Their order is that of [`Source::NAMES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Ata,
    Ide,
    Block,
    Scsi,
    Nvme,
    Usb,
    Mmc,
    Md,
    Dm,
    Fs,
    Hba,
    Pci,
    Smartd,
    Mdadm,
    Multipathd,
    Zfs,
}

impl Source {
    const NAMES: [(&str, Self); 16] = [
        ("ata", Self::Ata),
        ("ide", Self::Ide),
        ("block", Self::Block),
        ("scsi", Self::Scsi),
        ("nvme", Self::Nvme),
        ("usb", Self::Usb),
        ("mmc", Self::Mmc),
        ("md", Self::Md),
        ("dm", Self::Dm),
        ("fs", Self::Fs),
        ("hba", Self::Hba),
        ("pci", Self::Pci),
        ("smartd", Self::Smartd),
        ("mdadm", Self::Mdadm),
        ("multipathd", Self::Multipathd),
        ("zfs", Self::Zfs),
    ];
}

/// The result of a look-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is a fault of this kind.
    Fault(Class),
    /// It is a usual message, although it looks like a fault.
    Usual,
    /// It is not in the table.
    Unknown,
}

struct Row {
    source: Source,
    /// `None` is a usual message.
    class: Option<Class>,
    /// The parts between the asterisks.
    parts: Vec<&'static str>,
}

/// The rows of one source, with a search for all their parts at once.
struct Group {
    rows: Vec<Row>,
    /// Finds the longest part of each row, which is the rarest.
    parts: AhoCorasick,
}

impl Group {
    fn of(source: Source, all: &mut Vec<Row>) -> Self {
        let rows: Vec<Row> = all.extract_if(.., |row| row.source == source).collect();
        let longest = rows
            .iter()
            .map(|row| row.parts.iter().max_by_key(|part| part.len()).copied().unwrap_or_default());
        let longest: Vec<&str> = longest.collect();
        debug_assert!(longest.iter().all(|part| !part.is_empty()), "a pattern has text");
        let parts = AhoCorasick::new(&longest).expect("a few hundred short words");
        Self { rows, parts }
    }

    /// The first row that fits.
    fn find(&self, text: &str) -> Option<&Row> {
        let found = self.parts.find_overlapping_iter(text);
        let rows = found.map(|part| part.pattern().as_usize());
        let fitting = rows.filter(|row| fits(&self.rows[*row].parts, text));
        fitting.min().map(|row| &self.rows[row])
    }
}

static GROUPS: LazyLock<Vec<Group>> = LazyLock::new(|| {
    let lines = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut rows: Vec<Row> = lines.map(|line| row(line).expect("a test reads the table")).collect();
    Source::NAMES.iter().map(|(_, source)| Group::of(*source, &mut rows)).collect()
});

/// The beginnings of messages of the block layer, which name the disk at their end.
pub(super) fn beginnings_of_block() -> impl Iterator<Item = &'static str> {
    let block = &GROUPS[Source::Block as usize];
    block.rows.iter().filter_map(|row| row.parts.first().copied())
}

fn row(line: &'static str) -> Option<Row> {
    let mut fields = line.split('\t');
    let (source, class) = (fields.next()?, fields.next()?);
    let [since, until] = [fields.next()?, fields.next()?];
    if ![since, until].iter().all(|version| *version == "-" || is_version(version)) {
        return None;
    }
    let parts = fields.next()?.split('*').collect();
    let (_, source) = Source::NAMES.iter().find(|(name, _)| *name == source)?;
    let class = if class == "none" { None } else { Some(Class::parse(class)?) };
    fields.next().is_none().then_some(Row { source: *source, class, parts })
}

fn is_version(text: &str) -> bool {
    text.split_once('.').is_some_and(|(major, rest)| {
        major.parse::<u32>().is_ok() && rest.split('.').all(|part| part.parse::<u32>().is_ok())
    })
}

/// Looks up the text after the name of a device.
pub(super) fn look_up(source: Source, text: &str) -> Verdict {
    let group = &GROUPS[source as usize];
    match group.find(text) {
        Some(Row { class: Some(class), .. }) => Verdict::Fault(*class),
        Some(_) => Verdict::Usual,
        None => Verdict::Unknown,
    }
}

/// Returns whether the parts follow each other in the text, the first at its beginning.
fn fits(parts: &[&str], text: &str) -> bool {
    let Some((first, others)) = parts.split_first() else { return false };
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    for part in others {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_of_the_table_is_read_and_reachable() {
        let lines = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut count = 0;
        for line in lines {
            let row = row(line).unwrap_or_else(|| panic!("not a row: {line}"));
            // An earlier row that always fits first would hide it.
            let text = row.parts.join(" 1 ");
            let expected = row.class.map_or(Verdict::Usual, Verdict::Fault);
            assert_eq!(look_up(row.source, &text), expected, "{line}");
            count += 1;
        }
        assert!(count > 150, "{count} rows");
    }

    #[test]
    fn asterisks_stand_for_any_text() {
        let check = |pattern: &str, text: &str, expected: bool| {
            let parts: Vec<&str> = pattern.split('*').collect();
            assert_eq!(fits(&parts, text), expected, "{pattern}: {text}");
        };
        check("I/O * timeout", "I/O 12 QID 3 timeout, aborting", true);
        check("I/O * timeout", "an I/O 12 timeout", false);
        check("*(timeout)", "cmd a0 Emask 0x4 (timeout)", true);
        check("*(timeout)", "cmd a0", false);
        check("*a*a", "a", false);
    }
}
