//! Threads that do the reading and writing, one for each tag.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use drivelab_core::disk::{Command, Data};
use drivelab_core::{Lba, Op, Sectors};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::FallocateFlags;

/// What direct I/O wants of memory, on every drive we know.
const ALIGNMENT: usize = 4096;

/// Zeros written at once.
const ZEROS: usize = 1 << 20;

/// A command that a thread has carried out.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) token: u64,
    pub(super) op: Op,
    pub(super) lba: Lba,
    pub(super) sectors: Sectors,
    pub(super) result: io::Result<()>,
    /// What a read found.
    pub(super) data: Option<Box<[u8]>>,
    /// As it was handed over.
    pub(super) epoch: u64,
}

/// The threads, and the two channels to them.
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
        let file = Arc::new(file);
        let wake = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        let (jobs, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let (done, finished) = channel();
        let start = |_| {
            let (file, wake) = (Arc::clone(&file), Arc::clone(&wake));
            let (waiting, done) = (Arc::clone(&waiting), done.clone());
            std::thread::Builder::new()
                .name("drivelab-io".into())
                .spawn(move || work(&file, &waiting, &done, &wake))
        };
        let threads = (0..threads).map(start).collect::<io::Result<_>>()?;
        Ok(Self { file, jobs: Some(jobs), finished, wake, threads })
    }

    pub(super) fn start_job(&self, command: Command, epoch: u64) {
        let jobs = self.jobs.as_ref().expect("there until the workers are dropped");
        jobs.send((command, epoch)).expect("the threads live as long as the channel");
    }

    /// What has been carried out since the last call.
    pub(super) fn finished(&self) -> Vec<Finished> {
        // Cleared before the channel is looked at: what comes in between rings again. Empty is
        // no error here, for the loop also looks without having been woken.
        let _ = rustix::io::read(&*self.wake, &mut [0; 8]);
        self.finished.try_iter().collect()
    }

    /// What becomes readable when something has been carried out.
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
        let next = waiting.lock().expect("no worker panics with it").recv();
        let Ok((command, epoch)) = next else { return };
        let (result, data) = match carry_out(file, &command) {
            Ok(data) => (Ok(()), data),
            Err(error) => (Err(error), None),
        };
        let Command { token, op, lba, sectors, .. } = command;
        // The server may be gone: then nobody wants to know.
        let _ = done.send(Finished { token, op, lba, sectors, result, data, epoch });
        let _ = rustix::io::write(wake, &1_u64.to_ne_bytes());
    }
}

fn carry_out(file: &File, command: &Command) -> io::Result<Option<Box<[u8]>>> {
    let at = command.lba.byte_offset().get();
    let length = command.sectors.bytes().get();
    match command.op {
        Op::Read => {
            let bytes = usize::try_from(length).expect("a request is bounded");
            let mut buffer = vec![0; bytes + ALIGNMENT];
            let start = buffer.as_ptr().align_offset(ALIGNMENT);
            file.read_exact_at(&mut buffer[start..start + bytes], at)?;
            Ok(Some(buffer[start..start + bytes].into()))
        }
        Op::Write => {
            let Some(Data::Bytes(bytes)) = &command.data else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            let mut buffer = vec![0; bytes.len() + ALIGNMENT];
            let start = buffer.as_ptr().align_offset(ALIGNMENT);
            let aligned = &mut buffer[start..start + bytes.len()];
            aligned.copy_from_slice(bytes);
            file.write_all_at(aligned, at)?;
            if command.fua {
                file.sync_data()?;
            }
            Ok(None)
        }
        Op::Flush => file.sync_data().map(|()| None),
        Op::Trim => free(file, at, length).map(|()| None),
    }
}

/// Frees a range, which then reads as zeros; where that is not to be had it is zeroed.
fn free(file: &File, at: u64, length: u64) -> io::Result<()> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    match rustix::fs::fallocate(file, flags, at, length) {
        Err(rustix::io::Errno::OPNOTSUPP) => {}
        other => return Ok(other?),
    }
    let piece = length.min(ZEROS as u64);
    let zeros = vec![0; usize::try_from(piece).expect("a small piece") + ALIGNMENT];
    let start = zeros.as_ptr().align_offset(ALIGNMENT);
    let mut done = 0;
    while done < length {
        let bytes = usize::try_from((length - done).min(piece)).expect("a small piece");
        file.write_all_at(&zeros[start..start + bytes], at + done)?;
        done += bytes as u64;
    }
    Ok(())
}
