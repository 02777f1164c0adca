//! The loop that gives a guest its turns.

use std::io::{Read as _, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use drivelab_core::Time;
use drivelab_core::disk::Disk;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::about::{CLOCK, DISK, End, Ended, Guest, GuestError, ROOT, START_NS, find_program};
use super::folder::Folder;
use super::process::{Output, Pinned, Process};
use super::shared::GuestMemory;
use super::sockets::{self, Received};

use crate::calendar::{
    Calendar, CalendarError, MESSAGE_BYTES, Message, Op, PAGE_BYTES, Page, Turn,
};
use crate::machine::{Block, BlockConfig, Done, Queue};
use crate::mapped::SharedMemory;
use crate::trace::Trace;
use crate::vhost::{CALLED_BYTES, Effect, Session, Step, call, was_called};

/// How often time limit, stop flag and process are looked at while nothing happens.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// How long a guest that has hung up may take to end.
const GRACE: Duration = Duration::from_secs(5);

impl Guest<'_> {
    /// Runs the guest to its end, on a drive of which it knows `config`.
    ///
    /// Every request is added to `trace_file`, where one is given. What is left of the guest when
    /// this returns is killed.
    pub fn run<D: Disk>(
        &self,
        disk: D,
        config: BlockConfig,
        trace_file: Option<&mut dyn Write>,
    ) -> Result<(Ended, D), GuestError> {
        let folder = Folder::new(&std::env::temp_dir());
        let folder = folder.map_err(GuestError::at("make a folder for the guest"))?;
        let root = folder.path().join(ROOT);
        std::fs::write(root, self.initramfs).map_err(GuestError::at("write the guest's root"))?;
        let run = Run::start(self, folder.path(), disk, config, Trace::new(trace_file))?;
        run.finish()
    }
}

/// A socket that the guest connects to once.
#[derive(Debug)]
struct Line {
    listener: UnixListener,
    stream: Option<UnixStream>,
}

impl Line {
    fn new(path: &Path) -> Result<Self, GuestError> {
        let listener = UnixListener::bind(path);
        let listener = listener.map_err(GuestError::at("listen for the guest"))?;
        Ok(Self { listener, stream: None })
    }

    /// What to wait for: messages, or the connection.
    fn poll_fd(&self) -> PollFd<'_> {
        match &self.stream {
            Some(stream) => PollFd::new(stream, PollFlags::IN),
            None => PollFd::new(&self.listener, PollFlags::IN),
        }
    }

    /// Accepts the connection; says whether there was one before, which has a message.
    fn is_connected(&mut self) -> Result<bool, GuestError> {
        if self.stream.is_some() {
            return Ok(true);
        }
        let (stream, _) = self.listener.accept().map_err(GuestError::at("hear the guest"))?;
        self.stream = Some(stream);
        Ok(false)
    }

    fn stream(&mut self) -> Result<&mut UnixStream, GuestError> {
        self.stream.as_mut().ok_or(GuestError::Early)
    }
}

/// What a guest's sockets have for us.
#[derive(Debug, Clone, Copy, Default)]
struct Ready {
    clock: bool,
    disk: bool,
    interrupts: bool,
}

/// Why the loop ends before the guest has.
enum Stop {
    /// The guest hung up: it is ending.
    HungUp,
    Ended(End),
    Failed(GuestError),
}

impl<E: Into<GuestError>> From<E> for Stop {
    fn from(error: E) -> Self {
        match error.into() {
            GuestError::Calendar(CalendarError::Deadlock) => Self::Ended(End::Deadlocked),
            error => Self::Failed(error),
        }
    }
}

struct Run<'a, 't, D> {
    guest: &'a Guest<'a>,
    begun: Instant,
    process: Process,
    _pinned: Option<Pinned>,
    outputs: [Output; 2],
    clock: Line,
    disk: Line,
    interrupts: Option<UnixStream>,
    calendar: Calendar,
    page: Page<SharedMemory>,
    session: Session,
    memory: GuestMemory,
    queue: Option<Queue>,
    block: Block<D>,
    trace: Trace<'t>,
    done: Vec<Done>,
}

impl<'a, 't, D: Disk> Run<'a, 't, D> {
    /// Starts the guest.
    fn start(
        guest: &'a Guest<'a>,
        folder: &Path,
        disk: D,
        config: BlockConfig,
        trace: Trace<'t>,
    ) -> Result<Self, GuestError> {
        for program in ["setarch", "setpriv"] {
            find_program(program)?;
        }
        let (clock, disk_line) = (Line::new(&folder.join(CLOCK))?, Line::new(&folder.join(DISK))?);
        let pipe = || Output::new().map_err(GuestError::at("make a pipe"));
        let ((console, out), (results, err)) = (pipe()?, pipe()?);
        let page = SharedMemory::new("drivelab-calendar", PAGE_BYTES);
        let page = page.map_err(GuestError::at("share memory with the guest"))?;
        let page = Page::new(page).expect("it has the length of a page");
        // A machine that forbids it only takes longer.
        let pinned = Pinned::here().ok();
        let kernel = std::path::absolute(guest.kernel);
        let kernel = kernel.map_err(GuestError::at("find the kernel"))?;
        let process = Process::start(&kernel, folder, &guest.command_line(), [out, err]);
        Ok(Self {
            guest,
            begun: Instant::now(),
            process: process.map_err(GuestError::at("start the guest"))?,
            _pinned: pinned,
            outputs: [console, results],
            clock,
            disk: disk_line,
            interrupts: None,
            calendar: Calendar::new(START_NS),
            page,
            session: Session::new(config),
            memory: GuestMemory::default(),
            queue: None,
            block: Block::new(disk, config.write_cache),
            trace,
            done: Vec::new(),
        })
    }

    /// Gives the guest its turns until it ends, or must.
    fn finish(mut self) -> Result<(Ended, D), GuestError> {
        let how = loop {
            match self.turn() {
                Ok(()) => {}
                Err(Stop::HungUp) => break self.farewell()?,
                Err(Stop::Ended(end)) => break end,
                Err(Stop::Failed(error)) => return Err(error),
            }
        };
        let wall = self.begun.elapsed();
        let status = self.process.end().map_err(GuestError::at("end the guest"))?;
        let how = match how {
            End::PoweredOff if !status.success() => End::Crashed(status),
            how => how,
        };
        for output in &mut self.outputs {
            output.take().map_err(GuestError::at("read the guest's console"))?;
        }
        let [(console, console_sha256), (results, _)] = self.outputs.map(Output::finish);
        let ended = Ended {
            how,
            took: self.page.now().since(Time::ZERO),
            wall,
            requests: self.trace.requests(),
            trace_sha256: self.trace.finish(),
            console,
            console_sha256,
            results,
        };
        Ok((ended, self.block.into_disk()))
    }

    /// One turn: of the machine, or of the guest up to its next message.
    fn turn(&mut self) -> Result<(), Stop> {
        match self.calendar.turn(&mut self.page, self.block.next_event())? {
            Turn::Machine(at) => return self.advance(at),
            Turn::Run(message) => {
                let sent = self.clock.stream()?.write_all(&message.to_bytes());
                // One that is ending no longer listens.
                sent.map_err(|_| Stop::HungUp)?;
            }
            Turn::Guest => {}
        }
        let ready = self.wait()?;
        if ready.clock {
            self.hear_clock()?;
        }
        if ready.disk {
            self.hear_disk()?;
        }
        Ok(())
    }

    /// Waits for a message.
    fn wait(&mut self) -> Result<Ready, Stop> {
        loop {
            if self.guest.stop.load(Ordering::Relaxed) {
                return Err(Stop::Ended(End::Stopped));
            }
            if self.begun.elapsed() > self.guest.limit {
                return Err(Stop::Ended(End::TimedOut));
            }
            let (ready, heard) = self.poll()?;
            if heard {
                for output in &mut self.outputs {
                    output.take().map_err(GuestError::at("read the guest's console"))?;
                }
            }
            if ready.clock || ready.disk || ready.interrupts {
                return Ok(ready);
            }
            if self.process.has_ended().map_err(GuestError::at("look after the guest"))? {
                return Err(Stop::HungUp);
            }
        }
    }

    /// What the sockets have, and whether the consoles have anything.
    fn poll(&self) -> Result<(Ready, bool), GuestError> {
        let mut fds = vec![self.clock.poll_fd(), self.disk.poll_fd()];
        let interrupts = self.interrupts.as_ref();
        fds.extend(interrupts.map(|socket| PollFd::new(socket, PollFlags::IN)));
        let sockets = fds.len();
        let open = self.outputs.iter().filter(|output| output.is_open);
        fds.extend(open.map(|output| PollFd::new(output, PollFlags::IN)));
        match poll(&mut fds, Some(&LOOK)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(GuestError::at("wait for the guest")(error.into())),
        }
        let has = |at: usize| !fds[at].revents().is_empty();
        let ready = Ready { clock: has(0), disk: has(1), interrupts: sockets > 2 && has(2) };
        Ok((ready, (sockets..fds.len()).any(has)))
    }

    fn hear_clock(&mut self) -> Result<(), Stop> {
        if !self.clock.is_connected()? {
            return Ok(());
        }
        let stream = self.clock.stream()?;
        let mut bytes = [0; MESSAGE_BYTES];
        if stream.read_exact(&mut bytes).is_err() {
            return Err(Stop::HungUp);
        }
        let Some(message) = Message::from_bytes(bytes) else {
            return Err(Stop::from(CalendarError::Unknown));
        };
        let Some(answer) = self.calendar.take(&mut self.page, message)? else { return Ok(()) };
        let answer = answer.to_bytes();
        let stream = self.clock.stream()?;
        let sent = if message.op == Op::Start {
            sockets::send_with_file_twice(stream, &answer, self.page.memory())
        } else {
            stream.write_all(&answer)
        };
        sent.map_err(|_| Stop::HungUp)
    }

    fn hear_disk(&mut self) -> Result<(), Stop> {
        if !self.disk.is_connected()? {
            return Ok(());
        }
        let message = sockets::receive(self.disk.stream()?);
        let message = message.map_err(GuestError::at("hear the guest's driver"))?;
        let Some(Received { header, payload, files }) = message else {
            return Err(Stop::HungUp);
        };
        let Step { effect, reply } = self.session.take(header, &payload, files.len())?;
        match effect {
            Effect::Nothing => {}
            Effect::Memory(regions) => {
                let memory = GuestMemory::new(regions, files);
                self.memory = memory.map_err(GuestError::at("map the guest's memory"))?;
            }
            Effect::Interrupts => self.interrupts = files.into_iter().next().map(Into::into),
            Effect::Queue(ring) => self.queue = Some(Queue::new(ring)?),
            Effect::WriteCache(on) => self.block.set_write_cache(on),
            Effect::Kick => {
                let queue = self.queue.as_mut().ok_or(GuestError::Early)?;
                self.block.kick(self.page.now(), queue, &self.memory)?;
                self.calendar.planned(&mut self.page, self.block.next_event())?;
            }
        }
        let Some(reply) = reply else { return Ok(()) };
        self.disk.stream()?.write_all(&reply).map_err(|_| Stop::HungUp)
    }

    /// Moves the drive to `at`, and interrupts the guest if that answered any request.
    fn advance(&mut self, at: Time) -> Result<(), Stop> {
        let queue = self.queue.as_mut().ok_or(GuestError::Early)?;
        let wanted = self.block.advance(at, queue, &mut self.memory, &mut self.done)?;
        for done in self.done.drain(..) {
            self.trace.add(&done).map_err(GuestError::at("write the trace"))?;
        }
        if wanted { self.interrupt() } else { Ok(()) }
    }

    /// Sends an interrupt and waits until the guest has it; meanwhile it may ask for the time.
    fn interrupt(&mut self) -> Result<(), Stop> {
        let socket = self.interrupts.as_mut().ok_or(GuestError::Early)?;
        socket.write_all(&call()).map_err(|_| Stop::HungUp)?;
        loop {
            let ready = self.wait()?;
            if ready.clock {
                self.hear_clock()?;
            }
            if ready.interrupts {
                let socket = self.interrupts.as_mut().ok_or(GuestError::Early)?;
                let mut bytes = [0; CALLED_BYTES];
                socket.read_exact(&mut bytes).map_err(|_| Stop::HungUp)?;
                return if was_called(&bytes) { Ok(()) } else { Err(GuestError::Interrupt.into()) };
            }
            if ready.disk && !ready.clock {
                self.hear_disk()?;
            }
        }
    }

    /// Waits for a guest that hung up to end; its exit status says later how it did.
    fn farewell(&mut self) -> Result<End, GuestError> {
        let since = Instant::now();
        while since.elapsed() < GRACE {
            for output in &mut self.outputs {
                output.take().map_err(GuestError::at("read the guest's console"))?;
            }
            if self.process.has_ended().map_err(GuestError::at("look after the guest"))? {
                return Ok(End::PoweredOff);
            }
            // Wakes up when the consoles close, which the end of the guest does.
            let open = self.outputs.iter().filter(|output| output.is_open);
            let mut fds: Vec<_> = open.map(|it| PollFd::new(it, PollFlags::IN)).collect();
            let pause = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
            let _ = poll(&mut fds, Some(&pause));
        }
        Ok(End::TimedOut)
    }
}
