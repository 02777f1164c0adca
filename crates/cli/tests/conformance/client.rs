//! A client of NBD as a target of the load loop, written from the protocol's description
//! (`doc/proto.md` of the NBD project) and not from our server.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use drivelab_core::record::{Stamp, Tally};
use drivelab_core::workload::Workload;
use drivelab_core::{
    Bytes, Completion, IoError, Op, Rejected, Request, RequestId, ServedBy, Span, Target,
    TargetError, Time,
};
use drivelab_load::{self as load, Job};

use super::Arm;

const REQUEST_MAGIC: u32 = 0x2560_9513;
const REPLY_MAGIC: u32 = 0x6744_6698;

/// `NBD_CMD_READ`, `NBD_CMD_WRITE` and `NBD_CMD_FLUSH`.
const READ: u16 = 0;
const WRITE: u16 = 1;
const FLUSH: u16 = 3;

/// A connection with simple replies.
#[derive(Debug)]
pub(crate) struct Client {
    stream: UnixStream,
    began: Instant,
    capacity: Bytes,
    /// Of each read on its way, how many bytes its reply brings.
    expected: BTreeMap<u64, usize>,
    input: Vec<u8>,
    /// What the last read brought.
    data: Vec<u8>,
}

impl Client {
    /// Connects and haggles, in the shortest way there is.
    pub(crate) fn connect(path: &Path) -> Self {
        let mut stream = UnixStream::connect(path).expect("somebody serves");
        // Fixed newstyle without zeroes; `NBD_OPT_EXPORT_NAME` of the default export.
        stream.write_all(&[0, 0, 0, 3]).expect("somebody listens");
        stream.write_all(b"IHAVEOPT\0\0\0\x01\0\0\0\0").expect("somebody listens");
        let mut greeting = [0; 18 + 10];
        stream.read_exact(&mut greeting).expect("a greeting, and the export");
        let capacity = u64::from_be_bytes(greeting[18..26].try_into().expect("eight bytes"));
        Self {
            stream,
            began: Instant::now(),
            capacity: Bytes::new(capacity),
            expected: BTreeMap::new(),
            input: Vec::new(),
            data: Vec::new(),
        }
    }

    fn send(&mut self, kind: u16, cookie: u64, at: u64, length: usize, data: &[u8]) {
        let length32 = u32::try_from(length).expect("a small request");
        let mut message = Vec::with_capacity(28 + data.len());
        message.extend(REQUEST_MAGIC.to_be_bytes());
        message.extend([0, 0]);
        message.extend(kind.to_be_bytes());
        message.extend(cookie.to_be_bytes());
        message.extend(at.to_be_bytes());
        message.extend(length32.to_be_bytes());
        message.extend_from_slice(data);
        let before = self.expected.insert(cookie, if kind == READ { length } else { 0 });
        assert_eq!(before, None, "two requests of one name are on their way");
        self.stream.write_all(&message).expect("the server takes requests");
    }

    /// The replies that are whole: each to a request that is on its way.
    fn replies(&mut self, completed: &mut Vec<Completion>) {
        let at = Time::from_ns(u64::try_from(self.began.elapsed().as_nanos()).expect("centuries"));
        let mut rest = &self.input[..];
        while let Some((head, after)) = rest.split_at_checked(16) {
            assert_eq!(head[..4], REPLY_MAGIC.to_be_bytes(), "a reply begins as one");
            let error = u32::from_be_bytes(head[4..8].try_into().expect("four bytes"));
            let cookie = u64::from_be_bytes(head[8..].try_into().expect("eight bytes"));
            let length = if error == 0 { self.expected[&cookie] } else { 0 };
            let Some((data, after)) = after.split_at_checked(length) else { break };
            self.expected.remove(&cookie).expect("each request is answered once");
            self.data.clear();
            self.data.extend_from_slice(data);
            let failed = IoError::Os(error.try_into().expect("a small number"));
            let result = if error == 0 { Ok(()) } else { Err(failed) };
            let (id, served_by) = (RequestId(cookie), ServedBy::Unknown);
            completed.push(Completion { id, at, result, served_by });
            rest = after;
        }
        let taken = self.input.len() - rest.len();
        self.input.drain(..taken);
    }

    /// One request, waited for.
    fn carry_out(&mut self, kind: u16, at: u64, length: usize, data: &[u8]) {
        self.send(kind, u64::MAX, at, length, data);
        let mut completed = Vec::new();
        while completed.is_empty() {
            self.wait(Time::MAX, &mut completed).expect("the server lives");
        }
        assert_eq!(completed[0].result, Ok(()));
    }
}

impl Target for Client {
    fn now(&mut self) -> Time {
        Time::from_ns(u64::try_from(self.began.elapsed().as_nanos()).expect("centuries"))
    }

    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn submit(&mut self, request: Request) -> Result<(), Rejected> {
        let (at, length) = (request.lba.byte_offset().get(), request.sectors.bytes().get());
        let length = usize::try_from(length).expect("a small request");
        match request.op {
            Op::Read => self.send(READ, request.id.0, at, length, &[]),
            Op::Write => self.send(WRITE, request.id.0, at, length, &vec![0; length]),
            Op::Flush => self.send(FLUSH, request.id.0, 0, 0, &[]),
            Op::Trim => unreachable!("no workload here trims"),
        }
        Ok(())
    }

    fn wait(&mut self, until: Time, completed: &mut Vec<Completion>) -> Result<(), TargetError> {
        let broken = |source| TargetError { operation: "read", source };
        let left = until.since(self.now()).max(Span::from_us(1)).min(Span::from_secs(60));
        let left = Duration::from_nanos(left.ns());
        self.stream.set_read_timeout(Some(left)).map_err(broken)?;
        let mut buffer = [0; 16 << 10];
        match self.stream.read(&mut buffer) {
            Ok(0) => return Err(broken(io::ErrorKind::UnexpectedEof.into())),
            Ok(count) => self.input.extend_from_slice(&buffer[..count]),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(broken(error)),
        }
        self.replies(completed);
        Ok(())
    }
}

impl Arm for Client {
    fn write(&mut self, at: u64, data: &[u8]) {
        self.carry_out(WRITE, at, data.len(), data);
    }

    fn read(&mut self, at: u64, data: &mut [u8]) {
        self.carry_out(READ, at, data.len(), &[]);
        data.copy_from_slice(&self.data);
    }

    fn flush(&mut self) {
        self.carry_out(FLUSH, 0, 0, &[]);
    }

    fn load(&mut self, workload: &Workload, seed: u64) -> Tally {
        let job = Job { workload, seed, stamp: Stamp::Io, flow: None, latency: None };
        let stop = std::sync::atomic::AtomicBool::new(false);
        let mut control = drivelab_core::Control::silent(&stop);
        load::run(self, job, &mut control).expect("the server lives").tally
    }
}
