//! Finds the few lines of a long log that a rule may concern, without reading the others.

use std::sync::LazyLock;

use memchr::memchr;
use memchr::memmem::Finder;

use super::super::controller::{DRIVERS, OTHER_DRIVERS};
use super::super::fault::{SLEEP, monitor_start};
use super::super::messages::beginnings_of_block;
use super::joined;
use super::line::{is_dated, is_of_talos};

/// The beginnings of messages that some rule reads, next to those of drivers and of the block
/// layer.
const BEGINNINGS: &[&str] = &[
    "A Degraded",
    "A Fail",
    "Aborting",
    "Add. Sense: ",
    "BTRFS",
    "Buffer",
    "Command line: ",
    "Device: /dev/",
    "EXT",
    "F2FS-fs",
    "FAT-fs",
    "Filesystem \"",
    "INFO: task ",
    "JBD",
    "Kernel command line: ",
    "Kernel driver in use",
    "Linux version ",
    "Read-error",
    "SCSI error",
    "Sense Key : ",
    "WARNING: Pool",
    "Write-error",
    "XFS",
    "ata",
    "blk",
    "connection",
    "device-mapper",
    "dm-",
    "end_request",
    "hd",
    "hv_storvsc",
    "lost ",
    "md",
    "megasas",
    "mmc",
    "nvme",
    "pci",
    "print_req",
    "raid",
    "res ",
    "sas: ata",
    "scsi",
    "sd",
    "ses ",
    "uas ",
    "usb",
    "vd",
    "virtio_blk",
    "xfs_force",
    "xhci",
    "xvd",
    "zio pool",
];

/// The part of a line that names the disk of a failed request.
static REQUEST: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(" error, dev "));
/// The name before the message in the files of `syslog` and `journalctl`.
static KERNEL: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("kernel"));

/// The first four bytes of a beginning, and which of them count.
#[derive(Debug, Clone, Copy)]
struct Beginning {
    bytes: u32,
    mask: u32,
}

impl Beginning {
    fn of(text: &[u8]) -> Self {
        debug_assert!(!text.is_empty(), "an empty beginning fits each line");
        let mask = first_four(&[0xff; 4][..text.len().min(4)]);
        Self { bytes: first_four(text), mask }
    }
}

/// The first bytes as a number, the first one highest.
fn first_four(text: &[u8]) -> u32 {
    let mut bytes = [0; 4];
    let count = text.len().min(4);
    bytes[..count].copy_from_slice(&text[..count]);
    u32::from_be_bytes(bytes)
}

/// The beginnings by their first byte.
static BY_BYTE: LazyLock<Vec<Vec<Beginning>>> = LazyLock::new(|| {
    let drivers = DRIVERS.iter().chain(OTHER_DRIVERS).chain(SLEEP).chain(BEGINNINGS).copied();
    let mut table = vec![Vec::new(); 256];
    for start in drivers.chain(beginnings_of_block()) {
        table[usize::from(start.as_bytes()[0])].push(Beginning::of(start.as_bytes()));
    }
    table
});

/// Returns whether a line may be one that a rule reads; most are not.
pub(super) fn may_matter(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    let Some(first) = text.first() else { return true };
    // Records of the journal, quoted and coloured lines, and those of `dmesg -x` are read.
    if matches!(first, b'{' | b'>' | b'`' | 0x1b | 0xef) || text.first_chunk() == Some(b"kern") {
        return true;
    }
    begins(text)
        || named(text)
        || monitor_start(text, is_dated(text)).is_some()
        || REQUEST.find(text).is_some()
        || joined::is_joined(text)
}

/// Returns whether a line begins with a time or a level, so that it continues no other.
pub(super) fn is_stamped(line: &[u8]) -> bool {
    let text = line.trim_ascii_start();
    let Some((b'[', stamp)) = text.split_first() else { return false };
    let stamp = stamp.trim_ascii_start();
    stamp.first().is_some_and(u8::is_ascii_digit)
        && memchr(b']', stamp).is_some_and(|end| {
            stamp[..end].iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
        })
}

/// Checks the message after the name of the kernel.
fn named(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(at) = KERNEL.find(rest) {
        rest = &rest[at + "kernel".len()..];
        rest = rest.strip_prefix(b"-monitor").unwrap_or(rest);
        let message = rest.iter().position(|byte| !matches!(byte, b':' | b']' | b' '));
        if message.is_some_and(|at| at > 0 && begins(&rest[at..])) {
            return true;
        }
    }
    false
}

/// Checks the beginning of a message, after stamps in brackets.
fn begins(mut text: &[u8]) -> bool {
    // The time, the processor and the task.
    for _ in 0..4 {
        let close = match text.first() {
            Some(b'[') => b']',
            Some(b'<') => b'>',
            _ => break,
        };
        let Some(end) = memchr(close, text) else { break };
        text = text[end + 1..].trim_ascii_start();
    }
    let Some(first) = text.first() else { return false };
    match first {
        // `2026-11-26T15:50:09,123456+00:00 text`, of `dmesg --time-format iso`.
        b'0'..=b'9' if is_dated(text) => {
            memchr(b' ', text).is_some_and(|at| begins(text[at..].trim_ascii_start()))
        }
        // Records of `/dev/kmsg`, and addresses in a listing of PCI functions.
        b'0'..=b'9' => {
            let listed = matches!(text.get(2), Some(b':')) || matches!(text.get(4), Some(b':'));
            let record = memchr(b';', text.get(..64).unwrap_or(text));
            is_of_talos(text)
                || listed && text.get(5).is_none_or(|next| *next != b':')
                || record.is_some_and(|at| begins(&text[at + 1..]))
        }
        // `c0   1549 text` and `I[7: text`, of phones; colours.
        b'c' if text.get(1).is_some_and(u8::is_ascii_digit) => true,
        0x1b => true,
        b'A'..=b'Z' if text.get(1) == Some(&b'[') => true,
        b'a'..=b'f' if matches!(text.get(2), Some(b':')) => true,
        _ => {
            let four = first_four(text);
            BY_BYTE[usize::from(*first)].iter().any(|it| four & it.mask == it.bytes)
        }
    }
}
