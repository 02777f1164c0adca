//! Messages that report a fault, other than libata's, and the devices that they name.

mod monitor;
mod name;
mod usual;

use std::collections::BTreeMap;

use memchr::memchr_iter;

use self::name::{Named, named};
use super::effect::Effect;
use super::messages::{Class, Source, Verdict, look_up};
use super::{KernelLog, Lines, entry};

pub(super) use self::monitor::{is_program, start as monitor_start, without_serials};
pub(super) use self::name::is_ide;
pub(crate) use self::name::{disk_of, port_name};
pub(crate) use self::usual::Events;
use self::usual::Excuse;
pub(super) use self::usual::SLEEP;

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

    /// Returns whether they are those of a controller for USB devices of any kind.
    pub(crate) fn is_of_usb_host(&self) -> bool {
        let first = self.by_class.values().filter_map(|lines| lines.first.first());
        let mut drivers = first.filter_map(|line| line.split(' ').next());
        drivers.any(|driver| driver.contains("hci_hcd") || driver.contains("hci-pci"))
    }
}

impl KernelLog {
    /// Adds a fault to those of `name`.
    pub(super) fn add_fault(&mut self, name: &str, class: Class, message: &str) {
        let at = self.at_s;
        debug_assert!(!name.is_empty(), "a fault belongs to a device");
        let known = self.faults.get_mut(name).and_then(|faults| faults.by_class.get_mut(&class));
        if let Some(lines) = known {
            return lines.add_at(message, at);
        }
        let Some(faults) = entry(&mut self.faults, name.to_owned()) else { return };
        faults.by_class.entry(class).or_default().add_at(message, at);
    }

    /// Adds a fault, unless an event excuses it; returns whether it is one.
    pub(super) fn add_unless_excused(&mut self, name: &str, class: Class, message: &str) -> bool {
        match self.excuse(name, class, message) {
            Some(Excuse::Usual) => false,
            Some(Excuse::Unplugged) => {
                self.add_fault(name, Class::Unplugged, message);
                false
            }
            None => {
                self.add_fault(name, class, message);
                true
            }
        }
    }

    /// Removes the faults of a name that the kernel uses for another device from now on, and those
    /// of its partitions. Data that was lost at an unplugging stays lost.
    pub(super) fn forget(&mut self, name: &str) {
        for name in self.fault_names_of(name) {
            let Some(faults) = self.faults.get_mut(&name) else { continue };
            faults.by_class.retain(|class, _| *class == Class::Unplugged);
            if faults.by_class.is_empty() {
                self.faults.remove(&name);
            }
        }
    }

    /// Returns the names of a disk and of its partitions under which there are faults.
    pub(crate) fn fault_names_of(&self, disk: &str) -> Vec<String> {
        let names = self.faults.range(disk.to_owned()..).map(|(name, _)| name);
        let near = names.take_while(|name| name.starts_with(disk));
        near.filter(|name| *name == disk || disk_of(name) == disk).cloned().collect()
    }

    /// Reads a message about any device but an ATA port.
    pub(super) fn fault_line(&mut self, message: &str) -> bool {
        if self.event(message) || self.adapter_report(message) {
            return true;
        }
        let Some(Named { source, name, text }) =
            monitor::monitored(message).or_else(|| named(message))
        else {
            if message.starts_with("pcieport ") {
                self.note_unkept(|| Effect::Nothing);
            }
            return false;
        };
        // Any message with both names pairs them, also one that says nothing else.
        let address = if source == Source::Scsi { self.note_address(message) } else { None };
        let class = match look_up(source, text) {
            Verdict::Fault(class) => of_operation(source, class, message),
            Verdict::Usual => {
                self.note_effect(|| Effect::Nothing);
                return true;
            }
            Verdict::Unknown => {
                let is_event = self.settles(source, &name, text);
                if !is_event && !message.starts_with("usb ") {
                    self.note_unkept(|| Effect::Nothing);
                }
                return is_event;
            }
        };
        match source {
            Source::Md => match self.excuse(&name, class, message) {
                Some(Excuse::Usual) => {}
                Some(Excuse::Unplugged) => self.add_fault(&name, Class::Unplugged, message),
                None => self.add_md_fault(&name, class, text, message),
            },
            Source::Mdadm => {
                self.add_fault(&name, class, message);
                if let Some(member) = monitor::component(text) {
                    self.add_fault(member, class, message);
                }
            }
            Source::Scsi => {
                if self.add_unless_excused(&name, class, message) {
                    if let Some(address) = address {
                        self.pair_report(address);
                    }
                    self.note_usb_host(&name, text);
                }
                let name = name.into_owned();
                if name.starts_with("host") {
                    let resets = reset_host(&name, text);
                    self.note_effect(|| Effect::Host { name, class, resets });
                } else {
                    let address = address.map(str::to_owned);
                    self.note_effect(|| Effect::Scsi { name, class, address });
                }
            }
            Source::Usb => {
                if self.add_unless_excused(&name, class, message) {
                    self.note_usb_reset(&name);
                }
                self.note_effect(|| Effect::Usb { name: name.into_owned(), class });
            }
            _ => {
                self.add_unless_excused(&name, class, message);
                self.note_effect(|| Effect::Fault { name: name.into_owned(), class });
            }
        }
        true
    }

    /// `mpt2sas0: attempting task abort! scmd(...)`, and the command on the next line: old drivers
    /// of LSI name the disk there.
    fn adapter_report(&mut self, message: &str) -> bool {
        let by_adapter = message.starts_with("mpt")
            && message.contains(": attempting ")
            && ["task abort!", "device reset!", "target reset!"]
                .iter()
                .any(|it| message.contains(it));
        if by_adapter {
            self.adapter = Some((self.lines, message.to_owned()));
            return true;
        }
        let Some((line, report)) = self.adapter.take_if(|_| message.starts_with("sd ")) else {
            return false;
        };
        let Some((address, rest)) = message[3..].split_once(": ") else { return false };
        if !rest.contains("CDB:") || self.lines > line + 1 {
            return false;
        }
        let disk = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let name = disk.map_or(address, |(disk, _)| disk).to_owned();
        self.add_fault(&name, Class::Timeout, &format!("{report}; {message}"));
        true
    }

    /// `md/raid:md1: Disk failure on nvme2n1p4` is about the array and its member.
    fn add_md_fault(&mut self, array: &str, class: Class, text: &str, message: &str) {
        let named = name::member(text);
        let of_member = named.is_some() && matches!(class, Class::Medium | Class::Io);
        if array != "md" && !of_member {
            self.add_fault(array, class, message);
        }
        if let Some(member) = named {
            self.add_fault(member, class, message);
        }
    }

    /// `sd 2:0:6:0: [sdg] ...` has both names of a disk. Returns the address.
    fn note_address<'m>(&mut self, message: &'m str) -> Option<&'m str> {
        let (address, rest) = message.strip_prefix("sd ")?.split_once(": [")?;
        let (name, _) = rest.split_once("] ").filter(|(name, _)| name.starts_with("sd"))?;
        let disk = entry(&mut self.disks, name.to_owned())?;
        disk.address.get_or_insert_with(|| address.to_owned());
        Some(address)
    }

    /// The reset of a USB device between the lines of UAS belongs to its host.
    fn note_usb_host(&mut self, name: &str, text: &str) {
        let host = name.strip_prefix("host").and_then(|number| number.parse().ok());
        if let Some(number) = host.filter(|_| text.starts_with("uas_"))
            && let Some(host) = entry(&mut self.hosts, number)
            && host.driver.is_empty()
        {
            "uas".clone_into(&mut host.driver);
        }
        self.resetting = reset_host(name, text).or(self.resetting);
    }

    pub(super) fn note_usb_reset(&mut self, location: &str) {
        let Some(host) = self.resetting.take() else { return };
        if let Some(host) = entry(&mut self.hosts, host) {
            host.usb.get_or_insert_with(|| location.to_owned());
        }
    }
}

/// Returns the number of the host in `host2: uas_eh_device_reset_handler start`.
fn reset_host(name: &str, text: &str) -> Option<u32> {
    let host = name.strip_prefix("host").and_then(|number| number.parse().ok());
    host.filter(|_| text.contains("reset_handler start"))
}

/// Returns the kind of a failed request: those that only pass a hint on, or that clear blocks, are
/// neither reads nor writes.
fn of_operation(source: Source, class: Class, message: &str) -> Class {
    if source != Source::Block || !matches!(class, Class::Command | Class::Io) {
        return class;
    }
    // `op 0x3:(DISCARD)`
    let mut operations =
        memchr_iter(b'(', message.as_bytes()).filter_map(|at| message[at + 1..].split_once(')'));
    let found = operations.find_map(|(operation, _)| match operation {
        "DISCARD" | "SECURE_ERASE" => Some(Class::Discard),
        "WRITE_ZEROES" | "WRITE_SAME" => Some(Class::WriteZeroes),
        _ => None,
    });
    found.unwrap_or(class)
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

    fn check(message: &str, name: &str, class: Class) {
        assert_eq!(fault(message), Some((name.to_owned(), class)), "{message}");
    }

    #[test]
    fn messages_of_old_kernels_name_the_device_in_other_ways() {
        check("md/raid1:md0: sdb3: rescheduling sector 1849689328", "sdb3", Class::Io);
        check("raid1: sdb3: rescheduling sector 184968", "sdb3", Class::Io);
        let old = "I/O error in filesystem (\"sda2\") meta-data dev sda2 block 0xf054f4";
        check(old, "sda2", Class::FileSystem);
        let shut = "xfs_force_shutdown(sda2,0x2) called from line 956 of file fs/xfs/xfs_log.c";
        check(shut, "sda2", Class::FileSystem);
        let quoted = "Filesystem \"dm-0\": XFS internal error xfs_da_do_buf(2) at line 2085";
        check(quoted, "dm-0", Class::FileSystem);
        check("mptbase: ioc0: WARNING - IOC is in FAULT state!!!", "ioc0", Class::Controller);
        check("kernel: : mpt2sas0: fault_state(0x5841)!", "mpt2sas0", Class::Controller);
        check("megasas: FW in FAULT state!!", "megasas", Class::Controller);
    }

    #[test]
    fn each_message_belongs_to_the_device_that_it_names() {
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
        check(
            "mpt2sas3: attempting task abort! scmd(ffff)\nsd 7:0:14:0: CDB: Test Unit Ready: 00",
            "7:0:14:0",
            Class::Timeout,
        );
        check(
            "mptscsih: ioc1: attempting task abort! (sc=f)\nsd 6:0:7:0: [sdq] CDB: Read(10): 28",
            "sdq",
            Class::Timeout,
        );
        let late =
            "EXT4-fs warning (device dm-1): ext4_end_bio:316: I/O error -19 writing to inode 8";
        check(late, "dm-1", Class::Io);
        check("sdg1: Error: discard_granularity is 0.", "sdg1", Class::Discard);
        let dead = "ahci 0000:01:00.0: AER: can't recover (no error_detected callback)";
        check(dead, "0000:01:00.0", Class::Uncorrected);
        check("sd 2:2:0:0: [sda] megasas: RESET cmd=28 retries=0", "sda", Class::Timeout);
        let corrected = "md/raid:md0: read error corrected (8 sectors at 2048 on sdc1)";
        check(corrected, "sdc1", Class::Medium);
        check("hda: dma_intr: error=0x40 { UncorrectableError }, LBAsect=8", "hda", Class::Medium);
        check("hdd: dma_intr: error=0x84 { DriveStatusError BadCRC }", "hdd", Class::Link);
        check("hdg: dma_timer_expiry: dma status == 0x21", "hdg", Class::Timeout);
        check("hdg: DMA disabled", "hdg", Class::Mode);
        check("end_request: I/O error, dev 03:05 (hda), sector 62608", "hda", Class::Io);
        check("Read-error on swap-device (8:16:78162624)", "sdb", Class::Io);
        check("Write-error on swap-device (254:1:7816)", "254:1", Class::Io);
        check("SCSI error : <0 0 2 14> return code = 0x10000", "0:0:2:14", Class::Lost);
        check("sd 3:0:1:42: SCSI error: return code = 0x00010000", "3:0:1:42", Class::Lost);
        check("connection3:0: detected conn error (1022)", "connection3:0", Class::Link);
        check("XFS (dm-0): xfs_log_force: error -5 returned.", "dm-0", Class::FileSystem);
        check("md: kicking non-fresh sdb1 from array!", "sdb1", Class::Member);
        check("device-mapper: multipath: 253:0: Failing path 8:16.", "sdb", Class::Path);
        check("device-mapper: multipath: 253:0: Failing path 65:160.", "sdaa", Class::Path);
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
            "connection1:0: detected conn error (1020)",
            "hda: task_no_data_intr: error=0x04 { DriveStatusError }",
            "hda: 156301488 sectors (80026 MB) w/2048KiB Cache, CHS=16383/255/63, UDMA(100)",
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
        check("mmcblk1boot0", "mmcblk1");
        check("", "");
    }
}
