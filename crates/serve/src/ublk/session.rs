//! One block device: created, served tag by tag, and deleted again.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use drivelab_core::{Bytes, Refusal};
use io_uring::types::Timespec;
use zerocopy::{FromZeros as _, IntoBytes as _};

use super::ring::{Descriptors, Ring};
use super::wire::{self, DEPTH, Info, RESULT_ABORT, RESULT_OK, command, data_offset, parameters};
use super::{CONTROL, request, unavailable};
use crate::drive::Attributes;
use crate::task::{BlockRequest, KernelSide, Task};

/// `EIO`, as the kernel numbers it.
const EIO: i32 = 5;

/// The token of an answer on the ring; below these, a tag's.
const START: u64 = 1 << 32;
const STOP: u64 = START + 1;
const DELETE: u64 = START + 2;

/// Time limit for the driver to release a device, in polls of [`POLL_INTERVAL`].
const RELEASE_POLLS: usize = 50;
const POLL_INTERVAL: Timespec = Timespec::new().nsec(200_000_000);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The kernel is reading the partition table, from us.
    Starting,
    Live,
    /// The kernel is writing back its data, to us.
    Stopping,
    Stopped,
}

/// A block device, deleted when it is dropped.
#[derive(Debug)]
pub(crate) struct Disk {
    control: File,
    ring: Ring,
    /// `/dev/ublkcN` and its request descriptors; dropped before the device is deleted.
    device: Option<(File, Descriptors)>,
    number: u32,
    size: Bytes,
    phase: Phase,
    /// For each tag, true if it has an unanswered request.
    open: Vec<bool>,
    answer: Vec<u8>,
}

impl Disk {
    /// Creates a device and begins to attach it; it exists when [`Self::is_attached`] returns
    /// true.
    pub(crate) fn new(size: Bytes, attributes: Attributes) -> Result<Self, Refusal> {
        let control = File::options().read(true).write(true).open(CONTROL);
        let control = control.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => unavailable::no_driver(),
            io::ErrorKind::PermissionDenied => unavailable::only_root(),
            _ => unavailable::refused("open", error),
        })?;
        // A ring has a power of two of entries; in addition to the tags there are three commands.
        let ring = Ring::new(u32::from(DEPTH) * 2).map_err(unavailable::no_ring)?;
        let mut disk = Self {
            control,
            ring,
            device: None,
            number: u32::MAX,
            size,
            phase: Phase::Stopped,
            open: vec![false; usize::from(DEPTH)],
            answer: Vec::new(),
        };
        disk.remove_left_behind();
        let mut info = Info::ask(std::process::id());
        disk.exchange("make a device", command::ADD_DEV, info.as_mut_bytes())?;
        disk.number = info.number;
        if !info.copies() {
            return Err(unavailable::too_old());
        }
        let mut parameters = parameters(size, attributes);
        disk.exchange("take the drive's parameters", command::SET_PARAMS, &mut parameters)?;
        disk.start().map_err(|error| unavailable::refused("open the device", error))?;
        Ok(disk)
    }

    fn exchange(&mut self, what: &'static str, op: u32, buffer: &mut [u8]) -> Result<(), Refusal> {
        let exchanged = self.ring.exchange(self.control.as_fd(), op, self.number, buffer);
        exchanged.map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => unavailable::only_root(),
            _ => unavailable::refused(what, error),
        })
    }

    /// Hands all tags to the driver and lets it show the device; the kernel reads from it before
    /// this is done.
    fn start(&mut self) -> io::Result<()> {
        let path = format!("/dev/ublkc{}", self.number);
        let device = File::options().read(true).write(true).open(path)?;
        let descriptors = Descriptors::new(device.as_fd(), DEPTH)?;
        for tag in 0..DEPTH {
            let bytes = wire::io(tag, 0);
            self.ring.io(device.as_fd(), command::FETCH_REQ, bytes, u64::from(tag));
        }
        self.device = Some((device, descriptors));
        let start = wire::control(self.number, u64::from(std::process::id()));
        self.ring.control(self.control.as_fd(), command::START_DEV, start, START);
        self.phase = Phase::Starting;
        self.ring.submit()
    }

    /// Deletes the remains of killed drivelab processes: the kernel has removed the block device by
    /// itself, but keeps the number and `/dev/ublkcN`.
    fn remove_left_behind(&mut self) {
        let Ok(entries) = std::fs::read_dir("/dev") else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix("ublkc"));
            let Some(number) = number.and_then(|number| number.parse().ok()) else { continue };
            let (mut info, op) = (Info::new_zeroed(), command::GET_DEV_INFO);
            let control = self.control.as_fd();
            if self.ring.exchange(control, op, number, info.as_mut_bytes()).is_err() {
                continue;
            }
            let server = info.dead_server();
            if server.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
                self.delete(number);
            }
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        format!("/dev/ublkb{}", self.number).into()
    }

    pub(crate) fn is_attached(&self) -> bool {
        self.phase == Phase::Live
    }

    pub(crate) fn is_detached(&self) -> bool {
        self.phase == Phase::Stopped
    }

    /// Becomes readable when there is something for [`Self::next`].
    pub(crate) fn ring(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }

    fn device(&self) -> &File {
        &self.device.as_ref().expect("open while tags are out").0
    }

    /// Returns the request of a tag, with its data; an unreadable one is answered here.
    fn take(&mut self, tag: u16) -> Option<(u64, BlockRequest)> {
        let (_, descriptors) = self.device.as_ref().expect("open while tags are out");
        let read = request::read(&descriptors.get(tag), self.size);
        debug_assert!(!self.open[usize::from(tag)], "the driver sends one request per tag");
        self.open[usize::from(tag)] = true;
        let read = read.and_then(|request| match request.task {
            Task::Write => {
                let bytes = self.data(tag, request.length).map_err(|_| EIO)?;
                Ok(BlockRequest { data: Some(bytes), ..request })
            }
            _ => Ok(request),
        });
        read.map(|request| (u64::from(tag), request)).map_err(|errno| self.commit(tag, -errno)).ok()
    }

    /// The data of a write.
    fn data(&self, tag: u16, length: u64) -> io::Result<Box<[u8]>> {
        let length = usize::try_from(length).expect("the kernel writes little at once");
        let mut data = vec![0; length].into_boxed_slice();
        self.device().read_exact_at(&mut data, data_offset(tag))?;
        Ok(data)
    }

    fn commit(&mut self, tag: u16, result: i32) {
        self.open[usize::from(tag)] = false;
        let (device, _) = self.device.as_ref().expect("open while tags are out");
        debug_assert!(tag < DEPTH, "one of the tags that the driver was given");
        let bytes = wire::io(tag, result);
        self.ring.io(device.as_fd(), command::COMMIT_AND_FETCH_REQ, bytes, u64::from(tag));
    }

    pub(crate) fn submit(&mut self) -> io::Result<()> {
        self.ring.submit()
    }

    /// Asks the kernel to remove the device. It writes back its data, so requests arrive until
    /// [`Self::is_detached`].
    pub(crate) fn detach(&mut self) -> io::Result<()> {
        self.phase = Phase::Stopping;
        let stop = wire::control(self.number, 0);
        self.ring.control(self.control.as_fd(), command::STOP_DEV, stop, STOP);
        self.ring.submit()
    }

    /// Removes the device while every request fails: a pulled plug.
    fn pull(&mut self) -> io::Result<()> {
        for tag in 0..DEPTH {
            if self.open[usize::from(tag)] {
                self.commit(tag, -EIO);
            }
        }
        if self.phase != Phase::Stopping {
            self.detach()?;
        }
        for _ in 0..RELEASE_POLLS {
            while let Some((tag, _)) = self.next()? {
                self.reply_error(tag);
            }
            if self.phase == Phase::Stopped {
                return Ok(());
            }
            self.ring.wait(POLL_INTERVAL)?;
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    /// Deletes a device and waits until it is gone, but not for other processes that have it open:
    /// then it disappears when they close it.
    fn delete(&mut self, number: u32) {
        let delete = wire::control(number, 0);
        self.ring.control(self.control.as_fd(), command::DEL_DEV, delete, DELETE);
        for _ in 0..RELEASE_POLLS / 5 {
            if self.ring.wait(POLL_INTERVAL).is_err() {
                return;
            }
            while let Some((token, _)) = self.ring.next() {
                if token == DELETE {
                    return;
                }
            }
        }
    }
}

impl KernelSide for Disk {
    /// Requests come with their tags.
    fn next(&mut self) -> io::Result<Option<(u64, BlockRequest)>> {
        while let Some((token, result)) = self.ring.next() {
            match (token, result) {
                (START, 0..) => self.phase = Phase::Live,
                (STOP, _) => self.phase = Phase::Stopped,
                (tag, RESULT_OK) if tag < START => {
                    let request = self.take(number(tag));
                    if request.is_some() {
                        return Ok(request);
                    }
                }
                (DELETE, _) | (_, RESULT_ABORT) => {}
                (_, error) => return Err(io::Error::from_raw_os_error(error.saturating_neg())),
            }
        }
        Ok(None)
    }

    fn read_buffer(&mut self, length: usize) -> &mut [u8] {
        self.answer.resize(length, 0);
        &mut self.answer
    }

    fn reply_read(&mut self, tag: u64, start: usize, length: usize) {
        let data = &self.answer[start..start + length];
        match self.device().write_all_at(data, data_offset(number(tag))) {
            Ok(()) => self.reply(tag, Task::Read, length as u64),
            Err(_) => self.reply_error(tag),
        }
    }

    fn reply(&mut self, tag: u64, _task: Task, length: u64) {
        // The kernel uses the length of reads and writes only, which are small.
        self.commit(number(tag), i32::try_from(length).unwrap_or(i32::MAX));
    }

    fn reply_error(&mut self, tag: u64) {
        self.commit(number(tag), -EIO);
    }
}

fn number(tag: u64) -> u16 {
    u16::try_from(tag).expect("we numbered the tags")
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.phase != Phase::Stopped {
            // If the driver does not release it now, it does so when our files are closed.
            let _ = self.pull();
        }
        // The driver keeps a device that is open.
        self.device = None;
        if self.number != u32::MAX {
            self.delete(self.number);
        }
    }
}
