//! The names of devices in messages that report a fault.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::super::messages::Source;
use super::super::{is_address, is_of_storage};

/// The part of the report of a failed request before the name of the disk.
static REQUEST: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(" error, dev "));

/// A message, with the device that it names.
pub(super) struct Named<'m> {
    pub(super) source: Source,
    /// The name, in one spelling for each device.
    pub(super) name: Cow<'m, str>,
    pub(super) text: &'m str,
}

impl<'m> Named<'m> {
    pub(super) fn new(source: Source, name: &'m str, text: &'m str) -> Self {
        Self { source, name: of_path(name).map_or(Cow::Borrowed(name), Cow::Owned), text }
    }
}

/// Finds the device in a message, and the text after its name.
pub(super) fn named(message: &str) -> Option<Named<'_>> {
    let (first, rest) = message.split_once([' ', ':'])?;
    let found = match first {
        "sd" | "scsi" | "ses" => scsi(rest),
        "nvme" => nvme(rest),
        "usb" => after_name(Source::Usb, rest),
        "md" | "raid0" | "raid1" | "raid10" | "raid5" | "raid6" | "md/raid" => md(message),
        "device-mapper" => mapped(rest),
        "EXT4-fs" | "EXT3-fs" | "EXT2-fs" | "XFS" | "BTRFS" | "FAT-fs" | "F2FS-fs" => fs(message),
        "JBD2" | "JBD" | "Aborting" => journal(message),
        "aacraid" | "megasas" => Some(Named::new(Source::Hba, first, rest.trim_start())),
        "mptbase" | "mptscsih" | "mptsas" => after_name(Source::Hba, rest.trim_start()),
        "I/O" | "Filesystem" => in_file_system(rest, message),
        "Buffer" | "lost" => buffer(message),
        "Read-error" | "Write-error" => swapped(rest),
        "SCSI" => old_scsi(rest),
        "INFO" => waiting(rest),
        "hv_storvsc" => hyper_v(message, rest),
        _ if first.starts_with("md/raid") => md(message),
        _ if first.starts_with("xfs_force_shutdown(") => fs(message),
        _ if is_ide(first) => ide(first, rest),
        _ if is_old_disk(first, rest) => after_name(Source::Scsi, message),
        _ if is_numbered(first, "connection") => after_name(Source::Hba, message),
        _ if is_numbered(first, "nvme") => after_name(Source::Nvme, message),
        _ if is_numbered(first, "mmc") => after_name(Source::Mmc, message),
        _ if is_numbered(first, "mpt2sas") || is_numbered(first, "mpt3sas") => {
            after_name(Source::Hba, message)
        }
        // The most frequent one by far, where there are many.
        _ => request(message).or_else(|| function(first, rest)),
    };
    found.or_else(|| request(message)).or_else(|| granularity(message))
}

/// `sdg1: Error: discard_granularity is 0.`
fn granularity(message: &str) -> Option<Named<'_>> {
    let (name, text) = message.split_once(": Error: ")?;
    (text.starts_with("discard_granularity") && !name.contains(' '))
        .then(|| Named::new(Source::Block, name, text))
}

/// Returns whether the name is `prefix` and something that begins with or contains a number:
/// `nvme0n1`, `mmcblk0`, `mpt3sas_cm0`.
fn is_numbered(name: &str, prefix: &str) -> bool {
    let rest = name.strip_prefix(prefix).unwrap_or("");
    rest.bytes().any(|byte| byte.is_ascii_digit())
        && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `NAME: TEXT`.
fn after_name(source: Source, message: &str) -> Option<Named<'_>> {
    let (name, text) = message.split_once(": ")?;
    (!name.is_empty() && !name.contains(' ')).then_some(Named::new(source, name, text))
}

/// `critical medium error, dev sda, sector 2048 op 0x0:(READ)`, with the prefixes of old and new
/// kernels (`blk_update_request:`, `end_request:`).
fn request(message: &str) -> Option<Named<'_>> {
    let at = REQUEST.find(message.as_bytes())?;
    let (word, rest) = (&message[..at], &message[at + REQUEST.needle().len()..]);
    let text = word.rsplit(": ").next().unwrap_or(word);
    let mut words = rest.split([',', ' ']);
    let mut name = words.next()?;
    // `03:05 (hda)`, of Linux 2.4.
    if number_of(name).is_some()
        && let Some(disk) = words.next().and_then(|it| it.strip_prefix('(')?.strip_suffix(')'))
    {
        name = disk;
    }
    if let Some(named) = old_number(name) {
        return Some(Named { source: Source::Block, name: Cow::Owned(named), text });
    }
    (!name.is_empty()).then_some(Named::new(Source::Block, name, text))
}

/// Returns the name of a drive by its number in Linux up to 2.4, two hexadecimal numbers of two
/// digits: `hda3` for `03:03`.
fn old_number(number: &str) -> Option<String> {
    let (major, minor) =
        number.split_once(':').filter(|(major, minor)| major.len() == 2 && minor.len() == 2)?;
    let [major, minor] = [major, minor].map(|text| u32::from_str_radix(text, 16).ok());
    let (major, minor) = (major?, minor?);
    // Documentation/admin-guide/devices.txt: two drives of 64 minor numbers each for a major one.
    let (disk, part) = match major {
        3 => (["hda", "hdb"].get((minor / 64) as usize)?, minor % 64),
        22 => (["hdc", "hdd"].get((minor / 64) as usize)?, minor % 64),
        _ => return scsi_name(&format!("{major}:{minor}")),
    };
    Some(if part == 0 { (*disk).to_owned() } else { format!("{disk}{part}") })
}

/// `Read-error on swap-device (8:16:78162624)`: the number of the device, and the sector.
fn swapped(rest: &str) -> Option<Named<'_>> {
    let (_, device) = rest.split_once("swap-device (")?;
    let (number, _) = device.split(')').next()?.rsplit_once(':')?;
    number_of(number)?;
    let name = scsi_name(number).map_or(Cow::Borrowed(number), Cow::Owned);
    Some(Named { source: Source::Block, name, text: "I/O" })
}

/// `SCSI error : <0 0 2 14> return code = 0x10000`, of Linux before 2.6.20.
fn old_scsi(rest: &str) -> Option<Named<'_>> {
    let (address, text) = rest.strip_prefix("error : <")?.split_once("> ")?;
    let is_address = address.split(' ').filter(|part| part.parse::<u32>().is_ok()).count() == 4;
    let name = Cow::Owned(address.replace(' ', ":"));
    is_address.then_some(Named { source: Source::Scsi, name, text })
}

/// `INFO: task jbd2/vdb1-8:1114 blocked for more than 120 seconds.`
fn waiting(rest: &str) -> Option<Named<'_>> {
    let (task, text) = rest.trim_start().strip_prefix("task ")?.split_once(':')?;
    let (_, text) = text.split_once(' ')?;
    let name = match task.split_once('/')? {
        ("jbd2", name) => name.strip_suffix("-8").filter(|name| *name != "dm").unwrap_or(name),
        ("xfsaild", name) => name,
        _ => return None,
    };
    Some(Named::new(Source::Block, name, text))
}

/// `hv_storvsc f8b3781b-1e82-4818-a1c3-63d806ec15bb: tag#59 cmd 0x28 status: scsi 0x2 srb 0xa`.
fn hyper_v<'m>(message: &'m str, rest: &'m str) -> Option<Named<'m>> {
    let (device, text) = rest.split_once(": ")?;
    let name = &message[..message.len() - rest.len() + device.len()];
    (!device.contains(' ')).then_some(Named::new(Source::Hba, name, text))
}

/// `hda: dma_intr: error=0x84 { BadCRC }`, and `hda:hda: dma_intr: ...`, where Linux 2.4 had just
/// begun to list the partitions.
fn ide<'m>(name: &'m str, rest: &'m str) -> Option<Named<'m>> {
    let text = rest.strip_prefix(name).unwrap_or(rest).trim_start_matches(':');
    text.starts_with(' ').then(|| Named::new(Source::Ide, name, text.trim_start()))
}

/// Returns whether it is `sdi: Current: sense key: Medium Error`, of Linux before 2.6.23.
fn is_old_disk(name: &str, rest: &str) -> bool {
    let letters = name.strip_prefix("sd").unwrap_or("");
    !letters.is_empty()
        && letters.bytes().all(|byte| byte.is_ascii_lowercase())
        && rest.trim_start().starts_with("Current")
}

/// Returns whether it is `hda`, a name of the old drivers for IDE.
pub(in crate::log) fn is_ide(name: &str) -> bool {
    let letter = name.strip_prefix("hd").unwrap_or("");
    letter.len() == 1 && letter.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// `Buffer I/O error on dev sda1, logical block 3`.
fn buffer(message: &str) -> Option<Named<'_>> {
    let (_, rest) = message.split_once("I/O error on ")?;
    let rest = rest.strip_prefix("device ").or_else(|| rest.strip_prefix("dev ")).unwrap_or(rest);
    let name = rest.split([',', ' ']).next().filter(|name| !name.is_empty())?;
    Some(Named::new(Source::Block, name, "I/O"))
}

/// `2:0:6:0: [sdg] tag#580 Sense Key : Not Ready`, `host2: uas_eh_device_reset_handler start`.
fn scsi(rest: &str) -> Option<Named<'_>> {
    let (address, mut text) = rest.split_once(": ")?;
    let mut name = address;
    if let Some((disk, after)) = text.strip_prefix('[').and_then(|text| text.split_once("] ")) {
        (name, text) = (disk, after);
    }
    if let Some((_, after)) = text.strip_prefix("tag#").and_then(|text| text.split_once(' ')) {
        text = after;
    }
    (!name.is_empty() && !name.contains(' ')).then_some(Named::new(Source::Scsi, name, text))
}

/// `nvme0: I/O 12 QID 3 timeout`, and `0000:01:00.0: ...` of Linux before 4.4.
fn nvme(rest: &str) -> Option<Named<'_>> {
    let named = after_name(Source::Nvme, rest)?;
    if is_address(&named.name) && named.text.contains("PCIe Bus Error") {
        return Some(Named { source: Source::Pci, ..named });
    }
    Some(named)
}

/// `DRIVER ADDRESS: TEXT` of another driver, if disks may be behind it.
fn function<'m>(driver: &str, rest: &'m str) -> Option<Named<'m>> {
    let (name, text) = rest.split_once(": ")?;
    if driver == "pcieport" && is_address(name) && text.contains("PCIe Bus Error") {
        return Some(Named { source: Source::Pci, name: Cow::Owned(port_name(name)), text });
    }
    if !is_address(name) || !is_of_storage(driver) {
        return None;
    }
    let of_pci = ["PCIe Bus Error", "device inaccessible", "AER: can't recover"];
    let pci = of_pci.iter().any(|part| text.contains(part));
    Some(Named::new(if pci { Source::Pci } else { Source::Hba }, name, text))
}

/// The name for faults of a port of PCI Express, which belong to what is attached to it.
pub(crate) fn port_name(address: &str) -> String {
    format!("pcieport {address}")
}

/// `md/raid1:md0: TEXT`, `md: TEXT`, `raid5: TEXT`.
fn md(message: &str) -> Option<Named<'_>> {
    let (head, text) = message.split_once(": ")?;
    let name = head.split_once(':').map_or("md", |(_, array)| array);
    Some(Named::new(Source::Md, if name.is_empty() { "md" } else { name }, text))
}

/// The member in `Disk failure on sdb1, disabling device`, `kicking non-fresh sdb1 from array!`,
/// `read error corrected (8 sectors at 2048 on sdc1)`, `sdb1: unrecoverable I/O read error`.
pub(super) fn member(text: &str) -> Option<&str> {
    let after = ["kicking non-fresh ", "failing device "].iter().find_map(|start| {
        let (_, rest) = text.split_once(start)?;
        rest.split(' ').next()
    });
    let name = after.or_else(|| text.rsplit_once(" on ")?.1.split([' ', ',', ')']).next());
    let name = name.or_else(|| text.split_once(": ").map(|(name, _)| name))?;
    let name = name.trim_end_matches(['.', '!', ')', ',']);
    let right = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    (right && name.starts_with(|c: char| c.is_ascii_alphabetic())).then_some(name)
}

/// `multipath: 253:0: Failing path 8:16.`, `integrity: dm-3: Checksum failed at sector 0x8`, and
/// targets that name no device.
fn mapped(rest: &str) -> Option<Named<'_>> {
    let text = rest.trim_start();
    if let Some((_, path)) = text.split_once("Failing path ") {
        let number = path.trim_end_matches('.').split(' ').next()?;
        let name = scsi_name(number).map_or(Cow::Borrowed(number), Cow::Owned);
        return Some(Named { source: Source::Dm, name, text });
    }
    let (_, device) = text.split_once(": ")?;
    let (name, _) = device.split_once(": ")?;
    let name = match number_of(name) {
        // The number of a mapped device is the minor one.
        Some((_, minor)) => Cow::Owned(format!("dm-{minor}")),
        None if name.starts_with("dm-") => Cow::Borrowed(name),
        None => return None,
    };
    Some(Named { source: Source::Dm, name, text })
}

/// `8:16`.
pub(super) fn number_of(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Returns the name of a SCSI disk with this number: `sdb` for `8:16`, `sdb1` for `8:17`.
pub(super) fn scsi_name(number: &str) -> Option<String> {
    let (major, minor) = number_of(number)?;
    // Documentation/admin-guide/devices.txt: 16 disks of 16 minor numbers each for a major one.
    let block = match major {
        8 => 0,
        65..=71 => major - 64,
        128..=135 => major - 120,
        _ => return None,
    };
    let mut index = block * 16 + minor / 16;
    let mut letters = Vec::new();
    loop {
        letters.push(char::from(b'a' + u8::try_from(index % 26).unwrap_or_default()));
        if index < 26 {
            break;
        }
        index = index / 26 - 1;
    }
    let part = minor % 16;
    let part = if part == 0 { String::new() } else { part.to_string() };
    Some(format!("sd{}{part}", letters.iter().rev().collect::<String>()))
}

/// Returns the disk of one path to an NVMe namespace: `nvme0n1` of `nvme0c1n1`.
fn of_path(name: &str) -> Option<String> {
    let rest = name.strip_prefix("nvme")?;
    let (subsystem, rest) = rest.split_once('c')?;
    let (controller, namespace) = rest.split_once('n')?;
    let are_numbers = [subsystem, controller]
        .iter()
        .all(|text| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit()));
    are_numbers.then(|| format!("nvme{subsystem}n{namespace}"))
}

/// `EXT4-fs error (device sda1): TEXT`, `XFS (dm-3): TEXT`.
fn fs(message: &str) -> Option<Named<'_>> {
    let (_, rest) = message.split_once('(')?;
    let rest = rest.strip_prefix("device ").unwrap_or(rest);
    // A file system on several devices says on which one it was, after the name of the first.
    let one = [" bdev /dev/", " on dev /dev/"].iter().find_map(|start| rest.split_once(start));
    // Names below a folder (`/dev/mapper/root`) are not the kernel's: no other message has them.
    let one = one.and_then(|(_, rest)| first_name(rest)).filter(|name| !name.contains('/'));
    Some(Named::new(Source::Fs, one.or_else(|| first_name(rest))?, message))
}

/// `Filesystem "sda2": Log I/O Error Detected.`, `I/O error in filesystem ("sda2") meta-data dev
/// sda2`, of XFS before Linux 3.0.
fn in_file_system<'m>(rest: &'m str, message: &'m str) -> Option<Named<'m>> {
    let quoted = rest.strip_prefix("error in filesystem (").unwrap_or(rest);
    let (name, _) = quoted.strip_prefix('"')?.split_once('"')?;
    Some(Named::new(Source::Fs, name, message))
}

fn first_name(text: &str) -> Option<&str> {
    text.split([')', ' ', ':', ',']).next().filter(|name| !name.is_empty())
}

/// `Aborting journal on device sda1-8.`, `JBD2: Error -5 detected when updating journal superblock
/// for sda1-8.`
fn journal(message: &str) -> Option<Named<'_>> {
    let starts = [" on device ", " for ", " on "];
    let rest = starts.iter().find_map(|start| message.rsplit_once(start).map(|(_, rest)| rest))?;
    let name = rest.split([' ', ',']).next()?.trim_end_matches('.');
    // The journal's inode; an external journal is a device without one.
    let name = name.strip_suffix("-8").filter(|name| *name != "dm").unwrap_or(name);
    let right = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    right.then_some(Named::new(Source::Fs, name, message))
}

/// Returns the disk of a partition: `sda` of `sda1`, `nvme0n1` of `nvme0n1p2`, and other names
/// unchanged.
pub(crate) fn disk_of(name: &str) -> &str {
    // The boot areas of an eMMC are no disks.
    if name.starts_with("mmcblk")
        && let Some(end) = ["boot", "rpmb", "gp"].iter().find_map(|area| name.find(area))
    {
        return &name[..end];
    }
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if bare.len() == name.len() {
        return name;
    }
    let lettered = ["sd", "hd", "vd", "xvd"].iter().any(|start| {
        let letters = bare.strip_prefix(start).unwrap_or("");
        !letters.is_empty() && letters.bytes().all(|byte| byte.is_ascii_lowercase())
    });
    if lettered {
        return bare;
    }
    let disk = bare.strip_suffix('p').unwrap_or("");
    debug_assert!(name.starts_with(disk), "the name of a partition begins with its disk's");
    if disk.ends_with(|c: char| c.is_ascii_digit()) { disk } else { name }
}
