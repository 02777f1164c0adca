//! The cost of a kernel log of a gigabyte: at most 2 s and 50 MB.
//!
//! `cargo bench -p drivelab-host --bench long_log`

use std::io::{Read, Write as _};
use std::time::{Duration, Instant};

use drivelab_host::KernelLog;
use rustix::time::{ClockId, clock_gettime};

/// Size of each log.
const BYTES: u64 = 1 << 30;
/// The newest line, which must be found.
const LAST: &str = "[99999.5] critical medium error, dev sdz, sector 8 op 0x0:(READ)\n";

/// Lines that follow one another again and again, and the last one.
struct Log {
    lines: Vec<u8>,
    at: usize,
    left: u64,
}

impl Read for Log {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 {
            return Ok(0);
        }
        let rest = &self.lines[self.at..];
        let count = rest.len().min(buffer.len()).min(usize::try_from(self.left).unwrap_or(0));
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at = (self.at + count) % self.lines.len();
        self.left -= count as u64;
        Ok(count)
    }
}

fn main() {
    let quiet = [
        "audit: type=1400 audit(1732730766.1): apparmor=\"ALLOWED\" operation=\"open\" comm=\"x\"",
        "eth0: Link is Up - 1Gbps/Full - flow control rx/tx",
        "IPv6: ADDRCONF(NETDEV_CHANGE): veth1: link becomes ready",
        "systemd[1]: Started a session of a user on this machine.",
    ];
    let other = [
        "usb 1-2: new high-speed USB device number 3 using xhci_hcd",
        "pci 0000:00:1c.0: bridge window [mem 0xf7d00000-0xf7dfffff]",
    ];
    let mixed = [&quiet[..], &quiet[..], &other[..]].concat();
    let failed = "I/O error, dev sda, sector 8 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2";
    measure("lines of a quiet machine", ring(&quiet));
    measure("a journal of all programs", journal());
    measure("a fifth about USB and PCI", ring(&mixed));
    measure("errors only", ring(&[failed]));
    measure("errors of many sectors and disks", failures());
    measure("errors of all kinds", kinds());
}

/// Failed requests, each of another sector.
fn failures() -> String {
    let lines = (0..5000_u64).map(|number| {
        let (disk, sector) = (number % 5, number * 7919);
        let disk = char::from(b"abcde"[usize::try_from(disk).unwrap_or(0)]);
        format!(
            "[{:5}.000012] I/O error, dev sd{disk}, sector {sector} op 0x1:(WRITE) flags 0x800 \
             phys_seg {} prio class 2\n",
            number / 7,
            number % 128
        )
    });
    lines.collect()
}

/// Reports of libata, of the SCSI layer, of NVMe and of file systems.
fn kinds() -> String {
    let messages = [
        "ata1.00: exception Emask 0x0 SAct 0x1 SErr 0x0 action 0x6 frozen",
        "ata1.00: failed command: READ FPDMA QUEUED",
        "ata1.00: cmd 60/08:00:00:e1:59/00:00:a2:00:00/40 tag 0 ncq 4096 in",
        "         res 40/00:10:d0:5d:a8/00:00:b2:00:00/40 Emask 0x4 (timeout)",
        "ata1: hard resetting link",
        "sd 2:0:6:0: [sdg] tag#580 FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_OK",
        "sd 2:0:6:0: [sdg] tag#580 Sense Key : Medium Error [current]",
        "critical medium error, dev sdg, sector 2048 op 0x0:(READ) flags 0x0 phys_seg 1",
        "nvme nvme0: I/O 29 QID 1 timeout, aborting",
        "EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm ls: reading directory",
        "Buffer I/O error on dev sda1, logical block 3, async page read",
        "BTRFS error (device sdb): bdev /dev/sdb errs: wr 0, rd 3535, flush 0, corrupt 0, gen 0",
    ];
    ring(&messages)
}

/// The lines as `dmesg` prints them, again and again.
fn ring(messages: &[&str]) -> String {
    let stamped = (0..5000).map(|number| {
        let message = messages[number % messages.len()];
        format!("[{:5}.000012] {message}\n", number / 7)
    });
    stamped.collect()
}

/// Lines of `journalctl`, of which one in three is the kernel's.
fn journal() -> String {
    let lines = (0..5000).map(|number| {
        let text = match number % 3 {
            0 => "kernel: br0: port 1 entered forwarding state",
            1 => "sshd[812]: Accepted publickey for a user from a host",
            _ => "systemd[1]: Finished a job.",
        };
        format!("Nov 27 18:06:{:02} host {text}\n", number % 60)
    });
    lines.collect()
}

fn measure(name: &str, lines: String) {
    let lines = lines.into_bytes();
    let left = BYTES / lines.len() as u64 * lines.len() as u64;
    let log = Log { lines, at: 0, left }.chain(LAST.as_bytes());
    let (wall, processor) = (Instant::now(), processor_time());
    let log = KernelLog::read(log).expect("it is text");
    let (wall, processor) = (wall.elapsed(), processor_time().saturating_sub(processor));
    assert!(log.faults.contains_key("sdz"), "the newest line is read");
    let peak = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = peak.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("?");
    let text = format!(
        "{name}: {wall:.2?}, on the processor {processor:.2?}; {} lines; peak {}\n",
        log.lines,
        peak.trim()
    );
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Time on the processor, user and system: what a busy machine does not lengthen.
fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}
