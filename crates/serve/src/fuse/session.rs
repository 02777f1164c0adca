//! The FUSE session of a mounted file: reads the kernel's messages and replies to them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use drivelab_core::{Bytes, Refusal};
use zerocopy::IntoBytes as _;

use super::holders::Holders;
use super::mount::Mount;
use super::request::Message;
use super::wire::{BYTES_MAX, ReplyHeader, opened};
use crate::task::{BlockRequest, KernelSide, Task};

/// The largest message of the kernel.
const MESSAGE_BYTES: usize = BYTES_MAX as usize + 4096;

/// `EIO`, as the kernel numbers it.
const EIO: i32 = 5;

#[derive(Debug)]
pub(crate) struct Mounted {
    device: File,
    bytes: Bytes,
    message: Vec<u8>,
    answer: Vec<u8>,
    /// The processes that have the file open, by handle.
    open: BTreeMap<u64, u32>,
    handles: u64,
    /// Unmounts when dropped; after the device, so that requests in flight fail at once.
    mount: Mount,
}

impl Mounted {
    /// Mounts a drive of `bytes` on the file at `path`, which is created if it is missing.
    pub(crate) fn new(path: &Path, bytes: Bytes) -> Result<Self, Refusal> {
        let (device, mount) = Mount::new(path).map_err(|error| cannot_mount(path, error))?;
        // The loop polls the device; a read that blocks would stop all other clients.
        rustix::io::ioctl_fionbio(&device, true)
            .map_err(|error| cannot_mount(path, error.into()))?;
        let (message, answer) = (vec![0; MESSAGE_BYTES], Vec::new());
        let open = BTreeMap::new();
        Ok(Self { device: device.into(), bytes, message, answer, open, handles: 0, mount })
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Returns the processes that have it open, as far as the system reports them.
    pub(crate) fn holders(&self) -> Holders {
        Holders::of(self.mount.path(), self.open.values().copied())
    }

    /// Becomes readable when the kernel sends a request.
    pub(crate) fn device(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }

    fn send(&self, unique: u64, errno: i32, body: &[u8]) {
        let bytes = u32::try_from(size_of::<ReplyHeader>() + body.len());
        let bytes = bytes.expect("an answer is about as long as asked");
        let header = ReplyHeader { bytes, error: -errno, unique };
        // ENOENT: the process was killed meanwhile and needs no answer.
        let _ =
            (&self.device).write_vectored(&[IoSlice::new(header.as_bytes()), IoSlice::new(body)]);
    }
}

fn cannot_mount(path: &Path, error: io::Error) -> Refusal {
    let hint = match error.kind() {
        io::ErrorKind::ResourceBusy => "end the server that uses it, or name another path",
        io::ErrorKind::NotConnected => {
            "`umount` it, or without root `fusermount3 -u` it, and try again"
        }
        io::ErrorKind::InvalidInput => "name a regular file, or a new path",
        _ => {
            "install fuse3 (fusermount3) or run as root, with /dev/fuse present; or use --nbd, \
                 which needs neither"
        }
    };
    let what = format!("cannot mount the drive on {}", path.display());
    Refusal::machine(what).because(error).hint(hint)
}

impl KernelSide for Mounted {
    fn next(&mut self) -> io::Result<Option<(u64, BlockRequest)>> {
        loop {
            let count = match self.device.read(&mut self.message) {
                Ok(count) => count,
                Err(error) => match error.raw_os_error() {
                    // ENOENT: the process was interrupted before we read; ENODEV: unmounted.
                    Some(2 | 4) => continue,
                    Some(19) => return Ok(None),
                    _ if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                    _ => return Err(error),
                },
            };
            // The kernel sends whole messages, each in one read.
            let Some((unique, message)) = Message::read(&self.message[..count], self.bytes) else {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a short FUSE message"));
            };
            match message {
                Message::Request(request) => return Ok(Some((unique, request))),
                Message::Answer(body) => self.send(unique, 0, &body),
                Message::Error(errno) => self.send(unique, errno, &[]),
                Message::Open { pid } => {
                    // Handles start at 1 and are never reused, so a late release cannot hit another
                    // opener.
                    self.handles += 1;
                    self.open.insert(self.handles, pid);
                    self.send(unique, 0, &opened(self.handles));
                }
                Message::Release { handle } => {
                    self.open.remove(&handle);
                    self.send(unique, 0, &[]);
                }
                Message::Nothing => {}
            }
        }
    }

    fn read_buffer(&mut self, length: usize) -> &mut [u8] {
        self.answer.resize(length, 0);
        &mut self.answer
    }

    fn reply_read(&mut self, unique: u64, start: usize, length: usize) {
        debug_assert!(start + length <= self.answer.len(), "within the buffer that was read into");
        self.send(unique, 0, &self.answer[start..start + length]);
    }

    fn reply(&mut self, unique: u64, task: Task, length: u64) {
        // `struct fuse_write_out`: the number of bytes written, and padding.
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let written = [length, 0];
        self.send(unique, 0, if task == Task::Write { written.as_bytes() } else { &[] });
    }

    fn reply_error(&mut self, unique: u64) {
        self.send(unique, EIO, &[]);
    }
}
