//! Requests become jobs, jobs become commands, and what is done is answered.

mod job;
mod queue;

use std::io;

use drivelab_core::disk::{Answer, Command, CommandError};
use drivelab_core::units::SECTOR_BYTES;
use drivelab_core::{Bytes, IoError, Lba, Op, Sectors, Time};

pub(crate) use job::Task;
pub(super) use job::{Asker, Job};
pub(super) use queue::JobQueue;

use super::client::Protocol;
use super::{Backend, Server};
use crate::fuse::Asked;
use crate::nbd::{self, Kind, WireError};

/// Extents in one answer about block status.
const MOST_EXTENTS: usize = 1_024;

/// Requests taken from the kernel before others get their turn.
const FILE_TURN: usize = 64;

impl<B: Backend> Server<B> {
    /// Takes a request of an NBD client.
    pub(super) fn ask_nbd(
        &mut self,
        now: Time,
        place: usize,
        generation: u64,
        mut request: nbd::Request,
    ) -> io::Result<()> {
        let (task, data) = match &mut request.kind {
            Kind::BlockStatus { one } => {
                let limit = if *one { 1 } else { MOST_EXTENTS };
                return self.answer_extents(place, generation, &request, limit);
            }
            Kind::Write(bytes) => (Task::Write, Some(std::mem::take(bytes))),
            Kind::Read => (Task::Read, None),
            Kind::WriteZeroes { hole: false } => (Task::Zero, None),
            Kind::WriteZeroes { hole: true } | Kind::Trim => (Task::Free, None),
            Kind::Flush => (Task::Flush, None),
        };
        let (range, fua) = ((request.offset, u64::from(request.length)), request.fua);
        let asker = Asker::Nbd { place, generation, request };
        self.start(now, Job::new(asker, task, range, fua, data))
    }

    fn answer_extents(
        &mut self,
        place: usize,
        generation: u64,
        request: &nbd::Request,
        limit: usize,
    ) -> io::Result<()> {
        let lba = Lba::at_byte(Bytes::new(request.offset));
        let sectors = Sectors::holding(Bytes::new(u64::from(request.length)));
        let extents = self.drive.extents(lba, sectors, limit)?;
        if let Some(client) = self.client(place, generation)
            && let Protocol::Nbd(session) = &mut client.protocol
        {
            session.reply_extents(request, &extents);
        }
        Ok(())
    }

    pub(super) fn start(&mut self, now: Time, mut job: Job) -> io::Result<()> {
        job.asked = now;
        self.spin.asked(now);
        self.cpu_latency.busy(now);
        if let Some(command) = self.jobs.take(job) {
            self.submit(now, command)?;
        }
        self.in_flight_max = self.in_flight_max.max(self.drive.in_flight());
        Ok(())
    }

    fn submit(&mut self, now: Time, command: Command) -> io::Result<()> {
        if let Some(cutting) = self.cut.as_mut().filter(|_| command.op == Op::Write) {
            cutting.cut.saw_write();
        }
        self.drive.submit(now, command)
    }

    /// A command is answered: the next of its job, or the answer to whoever asked.
    pub(super) fn finish(&mut self, now: Time, answer: Answer) -> io::Result<()> {
        if answer.result.is_ok() {
            let mut sector = [0; 512];
            let reads_edge = self.jobs.reads_edge(answer.token);
            if reads_edge {
                self.drive.take_read(&answer, &mut sector)?;
            }
            let found = reads_edge.then_some(&sector);
            if let Some(next) = self.jobs.next(answer.token, found) {
                return self.submit(now, next);
            }
        }
        self.ios += 1;
        let Job { asker, task, offset, length, asked, .. } = self.jobs.remove(answer.token);
        self.modelled.record(answer.due.since(asked));
        match asker {
            Asker::Nbd { place, generation, request } => {
                self.answer_nbd(place, generation, &request, &answer)?;
            }
            Asker::Fuse { unique } => self.answer_file(unique, task, (offset, length), &answer)?,
            #[cfg(feature = "ublk")]
            Asker::Ublk { tag } => self.answer_block(tag, (task, length), &answer)?,
        }
        while let Some(command) = self.jobs.admit() {
            self.submit(now, command)?;
        }
        Ok(())
    }

    fn answer_nbd(
        &mut self,
        place: usize,
        generation: u64,
        request: &nbd::Request,
        answer: &Answer,
    ) -> io::Result<()> {
        let place_of = self.clients.get_mut(place).and_then(Option::as_mut);
        let client = place_of.filter(|client| client.generation == generation);
        let Some(client) = client else {
            self.memory.forget(nbd::weight(request));
            return Ok(());
        };
        let Protocol::Nbd(session) = &mut client.protocol else { return Ok(()) };
        match answer.result {
            Err(error) => {
                let first_bad = error.lba.map(|lba| lba.byte_offset().get());
                session.reply_error(request, wire_error(error), first_bad);
            }
            Ok(()) if request.kind == Kind::Read => {
                self.drive.take_read(answer, session.reply_read(request))?;
            }
            Ok(()) => session.reply_done(request),
        }
        client.due.push(answer.due);
        self.touched.push(place);
        Ok(())
    }

    /// Takes requests from the kernel.
    pub(super) fn serve_file(&mut self) -> io::Result<()> {
        for _ in 0..FILE_TURN {
            let Some(mounted) = &mut self.fuse else { return Ok(()) };
            let Some((unique, wanted)) = mounted.next(&mut self.buffer)? else { return Ok(()) };
            let now = self.clock.now();
            self.advance(now)?;
            let (task, range, data) = match wanted {
                Asked::Read { offset, length } => (Task::Read, (offset, length), None),
                Asked::Write { offset, data } => {
                    (Task::Write, (offset, data.len() as u64), Some(data))
                }
                Asked::Free { offset, length } => (Task::Free, (offset, length), None),
                Asked::Zero { offset, length } => (Task::Zero, (offset, length), None),
                Asked::Flush => (Task::Flush, (0, 0), None),
            };
            self.start(now, Job::new(Asker::Fuse { unique }, task, range, false, data))?;
            self.advance(now)?;
        }
        Ok(())
    }

    fn answer_file(
        &mut self,
        unique: u64,
        task: Task,
        (offset, length): (u64, u64),
        answer: &Answer,
    ) -> io::Result<()> {
        let Some(mounted) = &mut self.fuse else { return Ok(()) };
        match (answer.result, task) {
            (Err(_), _) => mounted.reply_error(unique),
            (Ok(()), Task::Read) => {
                let bytes = |count: u64| {
                    usize::try_from(count).expect("the kernel asks for little at once")
                };
                // Whole sectors were read, of which the asker wants a part.
                let data = mounted.read_buffer(bytes(answer.sectors.bytes().get()));
                self.drive.take_read(answer, data)?;
                mounted.reply_read(unique, bytes(offset % SECTOR_BYTES), bytes(length));
            }
            (Ok(()), Task::Write) => mounted.reply_written(unique, length),
            (Ok(()), _) => mounted.reply_done(unique),
        }
        let now = self.clock.now();
        self.lateness.record(now.since(answer.due));
        self.spin.answered(now);
        Ok(())
    }
}

fn wire_error(error: CommandError) -> WireError {
    match error.kind {
        IoError::OutOfRange => WireError::Invalid,
        IoError::Medium | IoError::Short(_) | IoError::Os(_) => WireError::Io,
    }
}
