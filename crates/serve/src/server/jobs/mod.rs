//! Requests become jobs, jobs become commands, and completed jobs are answered.

mod job;
mod queue;

use std::io;

use drivelab_core::disk::{Answer, Command, CommandError};
use drivelab_core::{Bytes, IoError, Lba, Op, Sectors, Time};

pub(super) use job::{Front, Job, Requester};
pub(super) use queue::JobQueue;

use super::client::ClientId;
use super::{Backend, Server};
use crate::nbd::{self, Kind, WireError};
use crate::task::{BlockRequest, Task};

/// Maximum number of extents in one block status answer.
const EXTENTS_MAX: usize = 1_024;

impl<B: Backend> Server<B> {
    pub(super) fn start_nbd(
        &mut self,
        now: Time,
        client: ClientId,
        mut request: nbd::Request,
    ) -> io::Result<()> {
        let (task, data) = match &mut request.kind {
            Kind::BlockStatus { one } => {
                let limit = if *one { 1 } else { EXTENTS_MAX };
                return self.answer_extents(client, &request, limit);
            }
            Kind::Write(bytes) => (Task::Write, Some(std::mem::take(bytes))),
            Kind::Read => (Task::Read, None),
            Kind::WriteZeroes { hole: false } => (Task::Zero, None),
            Kind::WriteZeroes { hole: true } | Kind::Trim => (Task::Free, None),
            Kind::Flush => (Task::Flush, None),
        };
        let (offset, length, fua) = (request.offset, u64::from(request.length), request.fua);
        let requester = Requester::Nbd { client, request };
        self.start(now, Job::new(requester, BlockRequest { task, offset, length, fua, data }))
    }

    fn answer_extents(
        &mut self,
        client: ClientId,
        request: &nbd::Request,
        limit: usize,
    ) -> io::Result<()> {
        let lba = Lba::at_byte(Bytes::new(request.offset));
        // Answered at once, without the drive's queue: it costs no access to the medium.
        let sectors = Sectors::holding(Bytes::new(u64::from(request.length)));
        let extents = self.drive.extents(lba, sectors, limit)?;
        if let Some(session) = self.client(client).and_then(|client| client.session()) {
            session.reply_extents(request, &extents);
        }
        Ok(())
    }

    pub(super) fn start(&mut self, now: Time, mut job: Job) -> io::Result<()> {
        job.received = now;
        self.timing.request_arrived(now);
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

    /// Sends the next command of the job of an answered one, or the answer to the client.
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
        let job = self.jobs.remove(answer.token);
        self.timing.modelled.record(answer.due.since(job.received));
        match &job.requester {
            Requester::Nbd { client, request } => self.answer_nbd(*client, request, &answer)?,
            Requester::Kernel { front, id } => self.answer_kernel(*front, *id, &job, &answer)?,
        }
        // The end of this job may have unblocked several others.
        while let Some(command) = self.jobs.admit() {
            self.submit(now, command)?;
        }
        Ok(())
    }

    fn answer_nbd(
        &mut self,
        id: ClientId,
        request: &nbd::Request,
        answer: &Answer,
    ) -> io::Result<()> {
        let client = self.clients.get_mut(id.slot).and_then(Option::as_mut);
        let Some(client) = client.filter(|client| client.id == id) else {
            // Disconnected meanwhile; its request was still carried out, as on a real drive.
            self.memory.forget(nbd::weight(request));
            return Ok(());
        };
        // The lateness of an answer is known only when its last byte is in the socket.
        client.due.push(answer.due);
        let session = client.session().expect("only a session asks for blocks");
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
        self.touched.push(id.slot);
        Ok(())
    }
}

fn wire_error(error: CommandError) -> WireError {
    match error.kind {
        IoError::OutOfRange => WireError::Invalid,
        IoError::Medium | IoError::Short(_) | IoError::Os(_) => WireError::Io,
    }
}
