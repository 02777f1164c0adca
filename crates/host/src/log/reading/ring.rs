//! The kernel's own log, as stored by the kernel.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::super::KernelLog;

/// Size limit of the ring buffer, which is a few megabytes on a large machine.
const RING_BYTES_MAX: usize = 16 << 20;

/// Longest record: `PRINTKRB_RECORD_MAX` and its prefix (`kernel/printk/internal.h`).
const RECORD_BYTES_MAX: usize = 16 << 10;

/// The log in `/dev/kmsg` at present; `None` if it cannot be read (a
/// container, or `kernel.dmesg_restrict`) or is empty.
pub fn ring(kmsg: &Path) -> Option<KernelLog> {
    // Without NONBLOCK a read at the end of the ring waits for the next message.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut kmsg: File = rustix::fs::open(kmsg, flags, Mode::empty()).ok()?.into();
    let mut text = Vec::new();
    let mut record = [0; RECORD_BYTES_MAX];
    while text.len() < RING_BYTES_MAX {
        match kmsg.read(&mut record) {
            Ok(0) => break,
            Ok(count) => text.extend_from_slice(&record[..count]),
            // EPIPE: a record was overwritten before it was read; the next read continues after it.
            Err(error)
                if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::Interrupted) => {}
            // EAGAIN: that was the last one.
            Err(_) => break,
        }
    }
    let log = KernelLog::read(text.as_slice()).ok()?;
    log.present.then_some(log)
}
