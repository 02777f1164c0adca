//! Messages that report a fault, other than libata's, and the devices that they name.

use std::collections::BTreeMap;

use super::messages::{Class, Source, Verdict, look_up};
use super::{KernelLog, Lines, entry, is_address};

/// Time after a resume in which resets of USB devices are usual.
const RESUME_S: u64 = 30;

/// The faults of one name, by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    /// The lines of each kind.
    pub by_class: BTreeMap<Class, Lines>,
}

impl Faults {
    /// Returns the lines of a kind, if there are any.
    pub fn of(&self, class: Class) -> Option<&Lines> {
        self.by_class.get(&class)
    }
}

impl KernelLog {
    /// Adds a fault to those of `name`.
    pub(super) fn add_fault(&mut self, name: &str, class: Class, message: &str) {
        let at = self.at_s;
        debug_assert!(!name.is_empty(), "a fault belongs to a device");
        let Some(faults) = entry(&mut self.faults, name.to_owned()) else { return };
        faults.by_class.entry(class).or_default().add_at(message, at);
    }

    /// Removes the faults of a name that the kernel uses for another device from now on. Data
    /// that was lost at an unplugging stays lost.
    pub(super) fn forget(&mut self, name: &str) {
        let Some(faults) = self.faults.get_mut(name) else { return };
        faults.by_class.retain(|class, _| *class == Class::Unplugged);
        if faults.by_class.is_empty() {
            self.faults.remove(name);
        }
    }

    /// Reads a message about any device but an ATA port.
    pub(super) fn fault_line(&mut self, message: &str) -> bool {
        if self.is_resume(message) {
            return true;
        }
        if let Some(location) = unplugged(message) {
            self.unplug(location);
            return true;
        }
        let Some(Named { source, name, text }) = named(message) else { return false };
        let class = match look_up(source, text) {
            Verdict::Fault(class) => class,
            Verdict::Usual => return true,
            Verdict::Unknown => return self.settles(source, name, text),
        };
        if self.is_of_unplugged(name, class) {
            if message.contains("(WRITE)") || message.contains("lost async page write") {
                self.add_fault(name, Class::Unplugged, message);
            }
            return true;
        }
        if class == Class::Reset && self.has_just_resumed() {
            return true;
        }
        match source {
            Source::Md => self.add_md_fault(name, class, text, message),
            Source::Scsi => {
                self.add_fault(name, class, message);
                self.note_address(message);
                self.note_usb_host(name, text);
            }
            Source::Usb => {
                self.add_fault(name, class, message);
                self.note_usb_reset(name);
            }
            _ => self.add_fault(name, class, message),
        }
        true
    }

    /// `new high speed SDHC card at address` ends the trouble of finding the card.
    fn settles(&mut self, source: Source, name: &str, text: &str) -> bool {
        if source != Source::Mmc || !text.starts_with("new ") {
            return false;
        }
        if let Some(faults) = self.faults.get_mut(name) {
            faults.by_class.remove(&Class::Unsettled);
        }
        true
    }

    fn is_resume(&mut self, message: &str) -> bool {
        let tells = message.starts_with("PM: suspend exit")
            || message.starts_with("PM: resume")
            || message.starts_with("ACPI: PM: Waking up")
            || message.contains("xHC error in resume")
            || message.contains("root hub lost power or was reset");
        if tells {
            self.resumed_s = Some(self.at_s.unwrap_or(0));
        }
        tells
    }

    fn has_just_resumed(&self) -> bool {
        let Some(resumed) = self.resumed_s else { return false };
        self.at_s.is_none_or(|now| now.saturating_sub(resumed) <= RESUME_S)
    }

    /// Requests to a device that was pulled fail, which is no fault.
    fn unplug(&mut self, location: &str) {
        self.unplugged.insert(location.to_owned());
        if self.unplugged.len() > super::NAMES_MAX {
            self.unplugged.clear();
        }
    }

    fn is_of_unplugged(&self, name: &str, class: Class) -> bool {
        if self.unplugged.is_empty() || !matches!(class, Class::Io | Class::Lost | Class::Link) {
            return false;
        }
        let host = match self.disks.get(name).and_then(|disk| disk.address.as_deref()) {
            Some(address) => address.split(':').next().and_then(|host| host.parse().ok()),
            None => name.split(':').next().and_then(|host| host.parse().ok()),
        };
        let host = host.and_then(|host: u32| self.hosts.get(&host));
        host.is_some_and(|host| match &host.usb {
            Some(location) => self.unplugged.contains(location),
            None => host.is_usb(),
        })
    }

    /// `md/raid:md1: Disk failure on nvme2n1p4` is about the array and its member.
    fn add_md_fault(&mut self, array: &str, class: Class, text: &str, message: &str) {
        let named = member(text);
        if array != "md" && (class != Class::Medium || named.is_none()) {
            self.add_fault(array, class, message);
        }
        if let Some(member) = named {
            self.add_fault(member, class, message);
        }
    }

    /// `sd 2:0:6:0: [sdg] ...` has both names of a disk.
    fn note_address(&mut self, message: &str) {
        let Some((address, rest)) =
            message.strip_prefix("sd ").and_then(|rest| rest.split_once(": ["))
        else {
            return;
        };
        let Some((name, _)) = rest.split_once("] ").filter(|(name, _)| name.starts_with("sd"))
        else {
            return;
        };
        if let Some(disk) = entry(&mut self.disks, name.to_owned()) {
            disk.address.get_or_insert_with(|| address.to_owned());
        }
    }

    /// The reset of a USB device between the lines of UAS belongs to its host.
    fn note_usb_host(&mut self, name: &str, text: &str) {
        let host = name.strip_prefix("host").and_then(|number| number.parse().ok());
        if host.is_some() && text.contains("reset_handler start") {
            self.resetting = host;
        }
    }

    fn note_usb_reset(&mut self, location: &str) {
        let Some(host) = self.resetting.take() else { return };
        if let Some(host) = entry(&mut self.hosts, host) {
            host.usb.get_or_insert_with(|| location.to_owned());
        }
    }
}

/// A message, with the device that it names.
struct Named<'m> {
    source: Source,
    name: &'m str,
    text: &'m str,
}

fn named(message: &str) -> Option<Named<'_>> {
    let (first, rest) = message.split_once([' ', ':'])?;
    let found = match first {
        "sd" | "scsi" | "ses" => scsi(rest),
        "nvme" => nvme(rest),
        "usb" => after_name(Source::Usb, rest),
        "md" | "raid0" | "raid1" | "raid10" | "raid5" | "raid6" | "md/raid" => md(message),
        "device-mapper" => mapped(rest),
        "EXT4-fs" | "EXT3-fs" | "EXT2-fs" | "XFS" | "BTRFS" | "FAT-fs" | "F2FS-fs" => fs(message),
        "JBD2" | "JBD" | "Aborting" => journal(message),
        "aacraid" => Some(Named { source: Source::Hba, name: first, text: rest.trim_start() }),
        "Buffer" | "lost" => buffer(message),
        _ if first.starts_with("md/raid") => md(message),
        _ if is_numbered(first, "nvme") => after_name(Source::Nvme, message),
        _ if is_numbered(first, "mmc") => after_name(Source::Mmc, message),
        _ if is_numbered(first, "mpt2sas") || is_numbered(first, "mpt3sas") => {
            after_name(Source::Hba, message)
        }
        _ => function(rest),
    };
    found.or_else(|| request(message))
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
    (!name.is_empty() && !name.contains(' ')).then_some(Named { source, name, text })
}

/// `critical medium error, dev sda, sector 2048 op 0x0:(READ)`, with the prefixes of old and new
/// kernels (`blk_update_request:`, `end_request:`).
fn request(message: &str) -> Option<Named<'_>> {
    let (word, rest) = message.split_once(" error, dev ")?;
    let text = word.rsplit(": ").next().unwrap_or(word);
    let name = rest.split([',', ' ']).next()?;
    (!name.is_empty()).then_some(Named { source: Source::Block, name, text })
}

/// `Buffer I/O error on dev sda1, logical block 3`.
fn buffer(message: &str) -> Option<Named<'_>> {
    let (_, rest) = message.split_once("I/O error on ")?;
    let rest = rest.strip_prefix("device ").or_else(|| rest.strip_prefix("dev ")).unwrap_or(rest);
    let name = rest.split([',', ' ']).next().filter(|name| !name.is_empty())?;
    Some(Named { source: Source::Block, name, text: "I/O" })
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
    (!name.is_empty() && !name.contains(' ')).then_some(Named { source: Source::Scsi, name, text })
}

/// `nvme0: I/O 12 QID 3 timeout`, and `0000:01:00.0: ...` of Linux before 4.4.
fn nvme(rest: &str) -> Option<Named<'_>> {
    let named = after_name(Source::Nvme, rest)?;
    if is_address(named.name) && named.text.contains("PCIe Bus Error") {
        return Some(Named { source: Source::Pci, ..named });
    }
    Some(named)
}

/// `DRIVER ADDRESS: TEXT` of another driver.
fn function(rest: &str) -> Option<Named<'_>> {
    let (name, text) = rest.split_once(": ")?;
    if !is_address(name) {
        return None;
    }
    let pci = text.contains("PCIe Bus Error") || text.contains("device inaccessible");
    Some(Named { source: if pci { Source::Pci } else { Source::Hba }, name, text })
}

/// `md/raid1:md0: TEXT`, `md: TEXT`, `raid5: TEXT`.
fn md(message: &str) -> Option<Named<'_>> {
    let (head, text) = message.split_once(": ")?;
    let name = head.split_once(':').map_or("md", |(_, array)| array);
    Some(Named { source: Source::Md, name: if name.is_empty() { "md" } else { name }, text })
}

/// The member in `Disk failure on sdb1, disabling device`, `kicking non-fresh sdb1 from array!`,
/// `read error corrected (8 sectors at 2048 on sdc1)`, `sdb1: unrecoverable I/O read error`.
fn member(text: &str) -> Option<&str> {
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

/// `multipath: 253:0: Failing path 8:16.`, and targets that name no device.
fn mapped(rest: &str) -> Option<Named<'_>> {
    let text = rest.trim_start();
    if let Some((_, path)) = text.split_once("Failing path ") {
        let name = path.trim_end_matches('.').split(' ').next()?;
        return Some(Named { source: Source::Dm, name, text });
    }
    let (_, numbers) = text.split_once(": ")?;
    let (name, _) = numbers.split_once(": ")?;
    let right = name.split_once(':').is_some_and(|(major, minor)| {
        [major, minor].iter().all(|part| part.parse::<u32>().is_ok())
    });
    right.then_some(Named { source: Source::Dm, name, text })
}

/// `EXT4-fs error (device sda1): TEXT`, `XFS (dm-3): TEXT`.
fn fs(message: &str) -> Option<Named<'_>> {
    let (_, rest) = message.split_once('(')?;
    let rest = rest.strip_prefix("device ").unwrap_or(rest);
    let name = rest.split([')', ' ', ':']).next().filter(|name| !name.is_empty())?;
    Some(Named { source: Source::Fs, name, text: message })
}

/// `Aborting journal on device sda1-8.`, `JBD2: Error -5 detected when updating journal superblock
/// for sda1-8.`
fn journal(message: &str) -> Option<Named<'_>> {
    let starts = [" on device ", " for ", " on "];
    let rest = starts.iter().find_map(|start| message.rsplit_once(start).map(|(_, rest)| rest))?;
    let name = rest.split([' ', ',']).next()?.trim_end_matches('.');
    // The journal's inode.
    let name = name.strip_suffix("-8").unwrap_or(name);
    let right = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    right.then_some(Named { source: Source::Fs, name, text: message })
}

/// The location in `usb 2-1: USB disconnect, device number 4`.
fn unplugged(message: &str) -> Option<&str> {
    let (location, text) = message.strip_prefix("usb ")?.split_once(": ")?;
    text.starts_with("USB disconnect").then_some(location)
}

/// Returns the disk of a partition: `sda` of `sda1`, `nvme0n1` of `nvme0n1p2`, and other names
/// unchanged.
pub(crate) fn disk_of(name: &str) -> &str {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The name and the kind of the only fault.
    fn fault(message: &str) -> Option<(String, Class)> {
        let log = KernelLog::parse(message);
        let faults = log.faults.iter().next();
        faults.and_then(|(name, faults)| Some((name.clone(), *faults.by_class.keys().next()?)))
    }

    #[test]
    fn each_message_belongs_to_the_device_that_it_names() {
        let check = |message: &str, name: &str, class: Class| {
            assert_eq!(fault(message), Some((name.to_owned(), class)), "{message}");
        };
        check("critical medium error, dev sda, sector 8 op 0x0:(READ)", "sda", Class::Medium);
        check(
            "blk_update_request: critical target error, dev sdb, sector 8",
            "sdb",
            Class::Command,
        );
        check("end_request: I/O error, dev sdc, sector 8", "sdc", Class::Io);
        check("print_req_error: I/O error, dev nvme0n1, sector 8 flags 0", "nvme0n1", Class::Io);
        check("Buffer I/O error on dev sda1, logical block 3", "sda1", Class::Io);
        check("sd 2:0:6:0: [sdg] tag#580 Sense Key : Medium Error [current]", "sdg", Class::Medium);
        check("sd 2:0:6:0: attempting task abort! scmd(0x1)", "2:0:6:0", Class::Timeout);
        check("sd 5:0:0:0: [sdc] tag#0 uas_eh_abort_handler 0 uas-tag 1", "sdc", Class::Timeout);
        check("sd 5:0:0:0: rejecting I/O to offline device", "5:0:0:0", Class::Lost);
        check("nvme nvme2: I/O 5 QID 0 timeout, reset controller", "nvme2", Class::Timeout);
        check("nvme nvme2: Device not ready; aborting reset, CSTS=0x1", "nvme2", Class::Lost);
        check("nvme 0000:01:00.0: I/O 5 QID 0 timeout", "0000:01:00.0", Class::Timeout);
        let read =
            "nvme0n1: Read(0x2) @ LBA 8, 8 blocks, Unrecovered Read Error (sct 0x2 / sc 0x81)";
        check(read, "nvme0n1", Class::Medium);
        check("mmc0: Timeout waiting for hardware interrupt.", "mmc0", Class::Timeout);
        check("mmcblk0: error -84 transferring data, sector 8", "mmcblk0", Class::Link);
        let corrected = "md/raid:md0: read error corrected (8 sectors at 2048 on sdc1)";
        check(corrected, "sdc1", Class::Medium);
        check("md: kicking non-fresh sdb1 from array!", "sdb1", Class::Member);
        check("device-mapper: multipath: 253:0: Failing path 8:16.", "8:16", Class::Path);
        check("EXT4-fs error (device sda1): ext4_find_entry:1455", "sda1", Class::FileSystem);
        check("XFS (dm-3): metadata I/O error in \"xfs\" at daddr", "dm-3", Class::FileSystem);
        check("Aborting journal on device nvme0n1p2-8.", "nvme0n1p2", Class::FileSystem);
        check("mpt3sas_cm0: SAS host is non-operational !!!!", "mpt3sas_cm0", Class::Controller);
        let corrected =
            "nvme 0000:01:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer";
        check(corrected, "0000:01:00.0", Class::Corrected);
        let died = "xhci_hcd 0000:00:14.0: xHCI host controller not responding, assume dead";
        check(died, "0000:00:14.0", Class::Controller);
    }

    #[test]
    fn usual_messages_are_no_faults() {
        for message in [
            "sd 6:0:0:0: [sdb] Synchronize Cache(10) failed: Result: hostbyte=DID_NO_CONNECT",
            "usb 1-1: new high-speed USB device number 2 using xhci_hcd",
            "nvme nvme0: 8/0/0 default/read/poll queues",
            "EXT4-fs (sda1): mounted filesystem with ordered data mode",
            "md/raid1:md0: active with 2 out of 2 mirrors",
            "BTRFS info (device sda1): bdev /dev/sda1 errs: wr 0, rd 0, flush 0, corrupt 0, gen 0",
            "mmc1: error -110 during resume (card was removed?)",
        ] {
            assert_eq!(fault(message), None, "{message}");
        }
    }

    #[test]
    fn a_member_of_an_array_has_the_fault_as_well() {
        let log = KernelLog::parse("md/raid:md1: Disk failure on nvme2n1p4, disabling device.");
        let names: Vec<&str> = log.faults.keys().map(String::as_str).collect();
        assert_eq!(names, ["md1", "nvme2n1p4"]);
    }

    #[test]
    fn partitions_belong_to_disks() {
        let check = |name, disk| assert_eq!(disk_of(name), disk);
        check("sda1", "sda");
        check("sdaa12", "sdaa");
        check("nvme0n1p2", "nvme0n1");
        check("nvme0n1", "nvme0n1");
        check("mmcblk0p1", "mmcblk0");
        check("md0", "md0");
        check("dm-3", "dm-3");
        check("md127p1", "md127");
        check("", "");
    }
}
