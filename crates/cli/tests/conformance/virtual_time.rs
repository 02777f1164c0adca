//! A served drive, its data included, in virtual time.

use drivelab_core::disk::{Answer, Command, Data};
use drivelab_core::record::{Stamp, Tally};
use drivelab_core::workload::Workload;
use drivelab_core::{
    Bytes, Completion, Disk, Lba, Op, Rejected, Request, RequestId, Sectors, ServedBy, Target,
    TargetError, Time,
};
use drivelab_load::{self as load, Job};
use drivelab_serve::drive::ServedDrive;

use super::Arm;

/// Jumps from event to event.
pub(crate) struct VirtualTime {
    drive: ServedDrive,
    now: Time,
    done: Vec<Answer>,
}

impl VirtualTime {
    pub(crate) fn new(drive: ServedDrive) -> Self {
        Self { drive, now: Time::ZERO, done: Vec::new() }
    }

    fn hand_over(&mut self, op: Op, lba: Lba, sectors: Sectors, data: Option<Data>, token: u64) {
        let command = Command { token, op, lba, sectors, fua: false, submitter: 0, data };
        self.drive.submit(self.now, command).expect("memory does not fail");
    }

    /// One command, waited for.
    fn carry_out(&mut self, op: Op, at: u64, data: Option<&[u8]>, length: usize) {
        let sectors = Sectors::holding(Bytes::new(length as u64));
        let data = data.map(|data| Data::Bytes(data.into()));
        self.hand_over(op, Lba::at_byte(Bytes::new(at)), sectors, data, 0);
        while self.done.is_empty() {
            self.step(Time::MAX);
        }
        assert_eq!(self.done.drain(..).map(|done| done.result).collect::<Vec<_>>(), [Ok(())]);
    }

    /// Goes to the next event, or to `until` if that is sooner.
    fn step(&mut self, until: Time) {
        let next = self.drive.next_event().unwrap_or(Time::MAX).max(self.now);
        self.now = next.min(until);
        self.drive.advance(self.now, &mut self.done).expect("memory does not fail");
    }
}

impl Target for VirtualTime {
    fn now(&mut self) -> Time {
        self.now
    }

    fn capacity(&self) -> Bytes {
        self.drive.capacity().bytes()
    }

    fn submit(&mut self, request: Request) -> Result<(), Rejected> {
        let data = (request.op == Op::Write).then(|| Data::Bytes(vec![0; 4096].into()));
        self.hand_over(request.op, request.lba, request.sectors, data, request.id.0);
        Ok(())
    }

    fn wait(&mut self, until: Time, completed: &mut Vec<Completion>) -> Result<(), TargetError> {
        let until = until.max(self.now);
        while self.done.is_empty() && (self.drive.in_flight() > 0 || self.now < until) {
            self.step(until);
            if self.now >= until {
                break;
            }
        }
        completed.extend(self.done.drain(..).map(|done| Completion {
            id: RequestId(done.token),
            at: done.due,
            result: done.result.map_err(|error| error.kind),
            served_by: ServedBy::Unknown,
        }));
        Ok(())
    }
}

impl Arm for VirtualTime {
    fn write(&mut self, at: u64, data: &[u8]) {
        self.carry_out(Op::Write, at, Some(data), data.len());
    }

    fn read(&mut self, at: u64, data: &mut [u8]) {
        self.carry_out(Op::Read, at, None, data.len());
        self.drive.read(Lba::at_byte(Bytes::new(at)), data).expect("memory does not fail");
    }

    fn flush(&mut self) {
        self.carry_out(Op::Flush, 0, None, 0);
    }

    fn load(&mut self, workload: &Workload, seed: u64) -> Tally {
        let job = Job { workload, seed, stamp: Stamp::Io, flow: None, latency: None };
        let stop = std::sync::atomic::AtomicBool::new(false);
        let mut control = drivelab_core::Control::silent(&stop);
        load::run(self, job, &mut control).expect("the workload fits").tally
    }
}
