//! Threads that read and write, one per tag.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use drivelab_core::disk::{Answer, Command, Data};
use drivelab_core::{IoError, Op, Time};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::FallocateFlags;

/// Memory alignment for direct I/O: that of drives with 4 KiB sectors satisfies all others.
const ALIGNMENT: usize = 4096;

/// Number of zeros written at once.
const ZEROS: usize = 1 << 20;

/// A command that a thread has carried out.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) answer: Answer,
    /// The data of a read.
    pub(super) data: Option<Box<[u8]>>,
    /// The epoch at its submission.
    pub(super) epoch: u64,
}

#[derive(Debug)]
pub(super) struct Workers {
    file: Arc<File>,
    jobs: Option<Sender<(Command, u64)>>,
    finished: Receiver<Finished>,
    wake: Arc<OwnedFd>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    pub(super) fn start(file: File, threads: usize) -> io::Result<Self> {
        assert!(threads > 0, "without a thread no command would ever complete");
        let file = Arc::new(file);
        let wake = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        let (jobs, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let (done, finished) = channel();
        let mut workers = Vec::with_capacity(threads);
        for _ in 0..threads {
            let (file, wake) = (Arc::clone(&file), Arc::clone(&wake));
            let (waiting, done) = (Arc::clone(&waiting), done.clone());
            let worker = std::thread::Builder::new()
                .name("drivelab-io".into())
                .spawn(move || work(&file, &waiting, &done, &wake))?;
            workers.push(worker);
        }
        Ok(Self { file, jobs: Some(jobs), finished, wake, threads: workers })
    }

    pub(super) fn start_job(&self, command: Command, epoch: u64) {
        let jobs = self.jobs.as_ref().expect("there until the workers are dropped");
        jobs.send((command, epoch)).expect("the threads live as long as the channel");
    }

    pub(super) fn finished(&self) -> Vec<Finished> {
        // Cleared before the channel is read: anything that arrives in between sets it again. An
        // empty one is not an error here, because the loop also calls this without having been
        // woken.
        let _ = rustix::io::read(&*self.wake, &mut [0; 8]);
        self.finished.try_iter().collect()
    }

    /// Becomes readable when a command has been carried out.
    pub(super) fn wakes(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // The threads end with the channel.
        self.jobs = None;
        for thread in self.threads.drain(..) {
            thread.join().expect("a worker does not panic");
        }
    }
}

fn work(
    file: &File,
    waiting: &Mutex<Receiver<(Command, u64)>>,
    done: &Sender<Finished>,
    wake: &OwnedFd,
) {
    loop {
        // One thread at a time waits with the lock held; the others wait for the lock.
        let next = waiting.lock().expect("no worker panics with it").recv();
        let Ok((command, epoch)) = next else { return };
        let (result, data) = match carry_out(file, &command) {
            Ok(data) => (Ok(()), data),
            Err(error) => (Err(IoError::Os(error.raw_os_error().unwrap_or(5)).into()), None),
        };
        let Command { token, op, lba, sectors, .. } = command;
        let answer = Answer { token, due: Time::ZERO, result, op, lba, sectors };
        // The server may have ended; the result is then not needed.
        let _ = done.send(Finished { answer, data, epoch });
        // After the result is in the channel, so that the loop never wakes up for nothing.
        let _ = rustix::io::write(wake, &1_u64.to_ne_bytes());
    }
}

/// Zeroed memory, and the range in it with the alignment that direct I/O needs.
fn aligned(bytes: usize) -> (Vec<u8>, Range<usize>) {
    let buffer = vec![0; bytes + ALIGNMENT];
    // `Vec<u8>` guarantees no alignment, so one more unit makes an aligned start certain.
    let start = buffer.as_ptr().align_offset(ALIGNMENT);
    debug_assert!(start < ALIGNMENT, "an aligned address is within one unit");
    (buffer, start..start + bytes)
}

fn carry_out(file: &File, command: &Command) -> io::Result<Option<Box<[u8]>>> {
    let at = command.lba.byte_offset().get();
    let length = command.sectors.bytes().get();
    match command.op {
        Op::Read => {
            let bytes = usize::try_from(length).expect("a request is bounded");
            let (mut buffer, range) = aligned(bytes);
            file.read_exact_at(&mut buffer[range.clone()], at)?;
            Ok(Some(buffer[range].into()))
        }
        Op::Write => {
            match &command.data {
                Some(Data::Bytes(bytes)) => {
                    let (mut buffer, range) = aligned(bytes.len());
                    buffer[range.clone()].copy_from_slice(bytes);
                    file.write_all_at(&buffer[range], at)?;
                }
                Some(Data::Zeros(_)) => write_zeros(file, at, length)?,
                None => return Err(io::ErrorKind::InvalidInput.into()),
            }
            if command.fua {
                file.sync_data()?;
            }
            Ok(None)
        }
        Op::Flush => file.sync_data().map(|()| None),
        Op::Trim => free(file, at, length).map(|()| None),
    }
}

/// Frees a range, which then reads as zeros; if that is not supported it is zeroed.
fn free(file: &File, at: u64, length: u64) -> io::Result<()> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    match rustix::fs::fallocate(file, flags, at, length) {
        // File systems without holes, and disks without discard.
        Err(rustix::io::Errno::OPNOTSUPP) => write_zeros(file, at, length),
        other => Ok(other?),
    }
}

fn write_zeros(file: &File, at: u64, length: u64) -> io::Result<()> {
    let (zeros, range) = aligned(ZEROS);
    debug_assert!(length.is_multiple_of(512), "a drive zeroes whole sectors");
    let mut done = 0;
    while done < length {
        let bytes = usize::try_from(length - done).map_or(ZEROS, |rest| rest.min(ZEROS));
        file.write_all_at(&zeros[range.start..range.start + bytes], at + done)?;
        done += bytes as u64;
    }
    Ok(())
}
