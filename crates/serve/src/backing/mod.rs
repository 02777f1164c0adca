//! A real file behind the server, with a dispatch policy in front.
//!
//! There is no model here: requests become reads and writes of the file, on one thread per tag, and
//! the policy decides which request gets the next tag ([`drivelab_core::dispatch`]). It makes the
//! rule that once separated `DragonFly`'s writers from its readers testable on any disk.

mod workers;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::BorrowedFd;

use drivelab_core::disk::{Answer, Command, Extent};
use drivelab_core::dispatch::{Class, Dispatch, TagPool};
use drivelab_core::{Bytes, Disk, Lba, Sectors, Time};
use rustix::fs::OFlags;

use crate::queue::Queue;
use crate::server::Backend;
use workers::{Finished, Workers};

/// A real file, served.
#[derive(Debug)]
pub struct Backing {
    capacity: Sectors,
    direct: bool,
    pool: TagPool,
    queue: Queue<Command>,
    workers: Workers,
    /// Data of completed reads, by token, until it is sent.
    read_data: HashMap<u64, Box<[u8]>>,
    in_flight: usize,
    /// The number of resets; completions of an earlier epoch are dropped.
    epoch: u64,
}

impl Backing {
    /// Serves a file or block device that is open for reading and writing, without the page cache
    /// if its file system allows it.
    pub fn new(mut file: File, dispatch: Dispatch, tags: usize) -> io::Result<Self> {
        // Some file systems, such as older tmpfs, do not support direct I/O.
        let flags = rustix::fs::fcntl_getfl(&file)? | OFlags::DIRECT;
        let direct = rustix::fs::fcntl_setfl(&file, flags).is_ok();
        // Whole pages: direct I/O of the last few sectors would be refused.
        let length = file.seek(SeekFrom::End(0))?;
        let bytes = length / 4096 * 4096;
        if bytes == 0 {
            let found = match length {
                0 => "it is empty".to_owned(),
                length => format!("it has {length} bytes, and the smallest drive has 4096"),
            };
            let what = format!("{found}: set the size of the drive, `truncate -s 1G FILE`");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let pool = TagPool::new(dispatch, tags);
        let workers = Workers::start(file, pool.tags())?;
        let capacity = Sectors::holding(Bytes::new(bytes));
        let (queue, read_data) = (Queue::default(), HashMap::new());
        Ok(Self { capacity, direct, pool, queue, workers, read_data, in_flight: 0, epoch: 0 })
    }

    /// Returns whether the page cache is bypassed.
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    fn dispatch(&mut self) {
        while let Some(class) = self.pool.next(self.queue.waiting()) {
            let command = self.queue.pop(class);
            self.pool.take(class);
            self.workers.start_job(command, self.epoch);
        }
    }
}

impl Disk for Backing {
    fn capacity(&self) -> Sectors {
        self.capacity
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn submit(&mut self, _now: Time, command: Command) -> io::Result<()> {
        self.in_flight += 1;
        // The data of a read for a client that has disconnected is never fetched.
        self.read_data.remove(&command.token);
        self.queue.push(Class::from(command.op), command);
        self.dispatch();
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        None
    }

    fn advance(&mut self, now: Time, answers: &mut Vec<Answer>) -> io::Result<()> {
        for Finished { answer, data, epoch } in self.workers.finished() {
            // A tag is busy until its thread is done, even if a reset made the result worthless.
            self.pool.release(Class::from(answer.op));
            if epoch != self.epoch {
                continue;
            }
            debug_assert!(
                self.in_flight > 0,
                "a completion of this epoch was counted at submission"
            );
            self.in_flight -= 1;
            if let Some(data) = data {
                self.read_data.insert(answer.token, data);
            }
            answers.push(Answer { due: now, ..answer });
        }
        self.dispatch();
        Ok(())
    }

    fn take_read(&mut self, answer: &Answer, data: &mut [u8]) -> io::Result<()> {
        let found = self.read_data.remove(&answer.token).expect("a completed read has data");
        debug_assert!(data.len() <= found.len(), "a front end asks for at most what was read");
        data.copy_from_slice(&found[..data.len()]);
        Ok(())
    }

    fn extents(&self, _lba: Lba, sectors: Sectors, _limit: usize) -> io::Result<Vec<Extent>> {
        // All data: querying the file system would take time in the loop.
        Ok(vec![Extent { sectors, hole: false }])
    }

    fn reset(&mut self) -> io::Result<()> {
        // Threads cannot be interrupted: what they work on still completes, in an old epoch.
        self.queue = Queue::default();
        self.read_data.clear();
        self.in_flight = 0;
        self.epoch += 1;
        Ok(())
    }

    fn power_off(&mut self) -> io::Result<()> {
        self.workers.sync()
    }
}

impl Backend for Backing {
    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        Some(self.workers.wakes())
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::Op;
    use drivelab_core::disk::Data;

    use super::*;

    fn file(test: &str) -> std::path::PathBuf {
        let name = format!("drivelab-backing-{}-{test}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, vec![0; 1 << 20]).unwrap();
        path
    }

    fn backing(path: &std::path::Path, dispatch: Dispatch, tags: usize) -> Backing {
        let file = File::options().read(true).write(true).open(path).unwrap();
        Backing::new(file, dispatch, tags).unwrap()
    }

    fn command(token: u64, op: Op, lba: u64, byte: u8) -> Command {
        let data = (op == Op::Write).then(|| Data::Bytes(vec![byte; 4096].into()));
        let (lba, sectors) = (Lba::new(lba), Sectors::new(8));
        Command { token, op, lba, sectors, fua: false, submitter: 0, data }
    }

    fn wait(backing: &mut Backing) -> Answer {
        let mut done = Vec::new();
        while done.is_empty() {
            backing.advance(Time::ZERO, &mut done).unwrap();
            std::thread::yield_now();
        }
        done[0]
    }

    #[test]
    fn what_is_written_is_in_the_file_and_is_read_from_it() {
        for dispatch in [Dispatch::Single, Dispatch::Shared, Dispatch::Split] {
            let path = file(&dispatch.to_string());
            let mut backing = backing(&path, dispatch, 4);
            backing.submit(Time::ZERO, command(1, Op::Write, 8, 7)).unwrap();
            assert_eq!(wait(&mut backing).result, Ok(()));
            backing.submit(Time::ZERO, command(2, Op::Read, 8, 0)).unwrap();
            let done = wait(&mut backing);
            let mut data = [0; 4096];
            backing.take_read(&done, &mut data).unwrap();
            assert_eq!(data, [7; 4096]);
            drop(backing);
            assert_eq!(std::fs::read(&path).unwrap()[4096..8192], [7; 4096]);
            std::fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn after_a_reset_only_later_commands_are_answered() {
        let path = file("reset");
        let mut backing = backing(&path, Dispatch::Shared, 2);
        for token in 0..8 {
            backing.submit(Time::ZERO, command(token, Op::Write, token * 8, 1)).unwrap();
        }
        backing.reset().unwrap();
        assert_eq!(backing.in_flight(), 0);
        backing.submit(Time::ZERO, command(99, Op::Read, 0, 0)).unwrap();
        assert_eq!(wait(&mut backing).token, 99);
        assert_eq!(backing.in_flight(), 0);
        drop(backing);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn with_one_tag_requests_are_answered_in_their_order() {
        let path = file("order");
        let mut backing = backing(&path, Dispatch::Single, 32);
        for token in 0..20 {
            let op = if token % 2 == 0 { Op::Read } else { Op::Write };
            backing.submit(Time::ZERO, command(token, op, token * 8, 1)).unwrap();
        }
        let mut done = Vec::new();
        while done.len() < 20 {
            backing.advance(Time::ZERO, &mut done).unwrap();
            std::thread::yield_now();
        }
        let order: Vec<u64> = done.iter().map(|done| done.token).collect();
        assert_eq!(order, (0..20).collect::<Vec<u64>>());
        std::fs::remove_file(&path).unwrap();
    }
}
