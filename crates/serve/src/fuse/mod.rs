//! The drive as a file: the kernel's FUSE protocol on a mount whose root is a regular file.
//!
//! The mount point itself is the drive, so that `losetup` and programs find it under a name of the
//! user's choosing. Read straight from `/dev/fuse`, because answers leave in another order than
//! requests come.

mod holders;
mod message;
mod mount;
mod mounts;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use drivelab_core::Bytes;

use message::{Incoming, MOST_BYTES, Parsed, opened};
use mount::Mount;

pub(crate) use holders::Holders;
pub(crate) use message::Asked;

/// What one message of the kernel needs at most.
pub(crate) const BUFFER_BYTES: usize = MOST_BYTES as usize + 4096;

/// `EIO` and `ENOSYS`, as the kernel numbers them.
const EIO: i32 = 5;

/// A mounted file.
#[derive(Debug)]
pub(crate) struct Mounted {
    device: File,
    bytes: Bytes,
    /// The answer to a read: header and data.
    answer: Vec<u8>,
    /// Who opened the file and has not closed it, by number: the process that did.
    open: BTreeMap<u64, u32>,
    handles: u64,
    /// Unmounts when dropped; after the device, so that requests on their way fail at once.
    mount: Mount,
}

impl Mounted {
    /// Mounts a drive of `bytes` on the file at `path`, which is made if there is none.
    ///
    /// # Errors
    /// The host has no FUSE, or does not let this user mount.
    pub(crate) fn new(path: &Path, bytes: Bytes) -> io::Result<Self> {
        let (device, mount) = Mount::new(path)?;
        rustix::io::ioctl_fionbio(&device, true)?;
        let (answer, open) = (Vec::new(), BTreeMap::new());
        Ok(Self { device: device.into(), bytes, answer, open, handles: 0, mount })
    }

    /// Whether somebody has it open.
    pub(crate) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Who has it open, as far as the system tells.
    pub(crate) fn holders(&self) -> Holders {
        Holders::of(self.mount.path(), self.open.values().copied())
    }

    /// What becomes readable when the kernel asks for something.
    pub(crate) fn device(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }

    /// The next thing that the drive has to do; what can be answered without it is answered.
    pub(crate) fn next(&mut self, buffer: &mut [u8]) -> io::Result<Option<(u64, Asked)>> {
        loop {
            let count = match self.device.read(buffer) {
                Ok(count) => count,
                Err(error) => match error.raw_os_error() {
                    // ENOENT: the asker was interrupted before we read; ENODEV: unmounted.
                    Some(2 | 4) => continue,
                    Some(19) => return Ok(None),
                    _ if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                    _ => return Err(error),
                },
            };
            let Some(incoming) = Incoming::read(&buffer[..count]) else {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a short FUSE message"));
            };
            match incoming.parse(self.bytes) {
                Parsed::Asked(asked) => return Ok(Some((incoming.unique, asked))),
                Parsed::Answer(body) => self.reply(incoming.unique, 0, &body),
                Parsed::Error(errno) => self.reply(incoming.unique, errno, &[]),
                Parsed::Open { pid } => {
                    self.handles += 1;
                    self.open.insert(self.handles, pid);
                    self.reply(incoming.unique, 0, &opened(self.handles));
                }
                Parsed::Release { handle } => {
                    self.open.remove(&handle);
                    self.reply(incoming.unique, 0, &[]);
                }
                Parsed::Nothing => {}
            }
        }
    }

    /// Where the data of a read goes before [`Self::reply_read`].
    pub(crate) fn read_buffer(&mut self, length: usize) -> &mut [u8] {
        self.answer.resize(length, 0);
        &mut self.answer
    }

    /// Answers with `length` bytes of the buffer from `start` on.
    pub(crate) fn reply_read(&mut self, unique: u64, start: usize, length: usize) {
        let answer = std::mem::take(&mut self.answer);
        self.reply(unique, 0, &answer[start..start + length]);
        self.answer = answer;
    }

    pub(crate) fn reply_written(&mut self, unique: u64, length: u64) {
        let length = u32::try_from(length).expect("the kernel writes little at once");
        let body = [length.to_ne_bytes(), [0; 4]].concat();
        self.reply(unique, 0, &body);
    }

    pub(crate) fn reply_done(&mut self, unique: u64) {
        self.reply(unique, 0, &[]);
    }

    pub(crate) fn reply_error(&mut self, unique: u64) {
        self.reply(unique, EIO, &[]);
    }

    fn reply(&mut self, unique: u64, errno: i32, body: &[u8]) {
        let length = u32::try_from(16 + body.len()).expect("an answer is about as long as asked");
        let mut header = [0; 16];
        header[..4].copy_from_slice(&length.to_ne_bytes());
        header[4..8].copy_from_slice(&(-errno).to_ne_bytes());
        header[8..].copy_from_slice(&unique.to_ne_bytes());
        // ENOENT: whoever asked was killed meanwhile and wants no answer.
        let _ = self.device.write_vectored(&[IoSlice::new(&header), IoSlice::new(body)]);
    }
}
