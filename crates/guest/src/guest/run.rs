//! The loop that gives a guest its turns.

use std::io::{Read as _, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use drivelab_core::disk::Disk;
use drivelab_core::{Span, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::about::{CLOCK, DISK, End, Ended, Guest, GuestError, ROOT, START_NS, find_program};
use super::folder::RunFolder;
use super::meter::Meter;
use super::process::{Output, Pinned, Process};
use super::shared::GuestMemory;
use super::sockets::{self, Received};
use super::terminal::{Attached, Terminal};
use super::watch::{Then, Watch};

use crate::calendar::{
    Calendar, CalendarError, MESSAGE_BYTES, Message, Op, PAGE_BYTES, Page, Turn,
};
use crate::machine::{Done, Front, Hardware, Queue, Queues};
use crate::mapped::SharedMemory;
use crate::trace::Trace;
use crate::vhost::{CALLED_BYTES, Effect, Session, Step, call, was_called};

/// How often time limit, stop flag and process are looked at while nothing happens.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// How far a guest with a terminal may run ahead: a tick of its kernel.
const TICK: Span = Span::from_ms(10);
/// How long a guest that has hung up may take to end.
const GRACE: Duration = Duration::from_secs(5);

impl Guest<'_> {
    /// Runs the guest to its end, on a drive that it knows as `hardware`.
    ///
    /// Every request is added to `trace_file`, where one is given. What is left of the guest when
    /// this returns is killed.
    pub fn run<D: Disk + 'static>(
        &self,
        disk: D,
        hardware: &Hardware,
        trace_file: Option<&mut dyn Write>,
    ) -> Result<(Ended, D), GuestError> {
        self.run_at(disk, hardware, Trace::new(trace_file), Beside::default())
    }

    /// Runs the guest while `watch` follows what it prints, and may exchange its disk.
    pub fn run_watched<D: Disk + 'static>(
        &self,
        disk: D,
        hardware: &Hardware,
        watch: &mut dyn Watch<D>,
    ) -> Result<(Ended, D), GuestError> {
        let beside = Beside { watch: Some(watch), terminal: None };
        self.run_at(disk, hardware, Trace::new(None), beside)
    }

    /// Runs the guest for the user of a terminal, no faster than real time.
    pub fn attend<D: Disk + 'static>(
        &self,
        disk: D,
        hardware: &Hardware,
        terminal: Terminal<'_>,
    ) -> Result<(Ended, D), GuestError> {
        let attached = Attached::new(terminal).map_err(GuestError::at("use the terminal"))?;
        let beside = Beside { terminal: Some(attached), watch: None };
        self.run_at(disk, hardware, Trace::new(None), beside)
    }

    fn run_at<'t, D: Disk + 'static>(
        &self,
        disk: D,
        hardware: &Hardware,
        trace: Trace<'t>,
        beside: Beside<'t, D>,
    ) -> Result<(Ended, D), GuestError> {
        let folder = RunFolder::new().map_err(GuestError::at("make a folder for the guest"))?;
        let root = folder.folder().write_new(ROOT, self.initramfs);
        root.map_err(GuestError::at("write the guest's root"))?;
        Run::start(self, folder.path(), disk, hardware, trace, beside)?.finish()
    }
}

/// Who is there while a guest runs.
struct Beside<'t, D: 'static> {
    terminal: Option<Attached<'t>>,
    watch: Option<&'t mut dyn Watch<D>>,
}

impl<D: 'static> Default for Beside<'_, D> {
    fn default() -> Self {
        Self { terminal: None, watch: None }
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

struct Run<'a, 't, D: 'static> {
    guest: &'a Guest<'a>,
    begun: Instant,
    meter: Meter,
    process: Process,
    _pinned: Option<Pinned>,
    outputs: [Output; 2],
    beside: Beside<'t, D>,
    /// How far the guest may run without a message, and when it must send the next one.
    tick: Option<Span>,
    look_at: Time,
    clock: Line,
    disk: Line,
    interrupts: Option<UnixStream>,
    calendar: Calendar,
    page: Page<SharedMemory>,
    session: Session,
    memory: GuestMemory,
    queues: Queues,
    front: Front<D>,
    trace: Trace<'t>,
    done: Vec<Done>,
}

impl<'a, 't, D: Disk + 'static> Run<'a, 't, D> {
    /// Starts the guest.
    fn start(
        guest: &'a Guest<'a>,
        folder: &Path,
        disk: D,
        hardware: &Hardware,
        trace: Trace<'t>,
        mut beside: Beside<'t, D>,
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
        let input = beside.terminal.as_mut().and_then(Attached::guest_input);
        let line = guest.command_line(hardware, beside.terminal.is_some());
        let process = Process::start(&kernel, folder, &line, input, [out, err]);
        let begun = Instant::now();
        Ok(Self {
            guest,
            begun,
            meter: Meter::new(guest.limit, begun, Duration::ZERO),
            process: process.map_err(GuestError::at("start the guest"))?,
            _pinned: pinned,
            outputs: [console, results],
            tick: beside.terminal.as_ref().map_or(guest.tick, |_| Some(TICK)),
            beside,
            look_at: Time::ZERO,
            clock,
            disk: disk_line,
            interrupts: None,
            calendar: Calendar::new(START_NS),
            page,
            session: Session::new(hardware.clone()),
            memory: GuestMemory::default(),
            queues: Queues::default(),
            front: Front::new(disk, hardware),
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
        let (wall, processor) = (self.begun.elapsed(), self.process.processor_time());
        let status = self.process.end().map_err(GuestError::at("end the guest"))?;
        let how = match how {
            End::PoweredOff if !status.success() => End::Crashed(status),
            how => how,
        };
        self.take_outputs()?;
        let [_, results] = &mut self.outputs;
        results.note(self.page.now());
        let lines = results.lines();
        let [(console, console_sha256), (results, _)] = self.outputs.map(Output::finish);
        let ended = Ended {
            how,
            took: self.page.now().since(Time::ZERO),
            wall,
            processor,
            requests: self.trace.requests(),
            trace_sha256: self.trace.finish(),
            console,
            console_sha256,
            results,
            lines,
        };
        Ok((ended, self.front.into_disk()))
    }

    /// Takes what the guest has printed, and shows its console where there is a terminal.
    fn take_outputs(&mut self) -> Result<(), GuestError> {
        for output in &mut self.outputs {
            output.take().map_err(GuestError::at("read the guest's console"))?;
        }
        let Some(terminal) = &mut self.beside.terminal else { return Ok(()) };
        let shown = terminal.show(&self.outputs[0].drain());
        shown.map_err(GuestError::at("write to the terminal"))
    }

    /// Holds the next turn back until real time has come so far, and passes on what is typed.
    fn keep_pace(&mut self) -> Result<(), Stop> {
        let due = self.calendar.due(&self.page, self.next_event());
        let Some(due) = due.filter(|_| self.beside.terminal.is_some()) else { return Ok(()) };
        let due = Duration::from_nanos(due.ns());
        loop {
            self.take_outputs()?;
            let Some(terminal) = &mut self.beside.terminal else { return Ok(()) };
            if self.guest.stop.load(Ordering::Relaxed) {
                return Err(Stop::Ended(End::Stopped));
            }
            let ahead = due.saturating_sub(self.begun.elapsed());
            terminal.pass_on(ahead).map_err(GuestError::at("read from the terminal"))?;
            if ahead.is_zero() {
                return Ok(());
            }
        }
    }

    /// The machine's next event; with a tick there is one, so that the guest cannot run ahead.
    fn next_event(&self) -> Option<Time> {
        let look_at = self.tick.map(|_| self.look_at.max(self.page.now()));
        self.front.next_event().into_iter().chain(look_at).min()
    }

    /// One turn: of the machine, or of the guest up to its next message.
    fn turn(&mut self) -> Result<(), Stop> {
        self.keep_pace()?;
        let event = self.next_event();
        match self.calendar.turn(&mut self.page, event)? {
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
            let used = || self.process.processor_time();
            if let Some(end) = self.meter.over(Instant::now(), used) {
                return Err(Stop::Ended(end));
            }
            let (ready, heard) = self.poll()?;
            if heard {
                self.take_outputs()?;
            }
            if ready.clock || ready.disk || ready.interrupts {
                // What a guest prints is in the pipe before it sends a message and waits.
                self.outputs[1].note(self.page.now());
                self.show_lines()?;
                return Ok(ready);
            }
            if self.process.has_ended().map_err(GuestError::at("look after the guest"))? {
                return Err(Stop::HungUp);
            }
        }
    }

    /// Shows what was printed to who follows it.
    fn show_lines(&mut self) -> Result<(), Stop> {
        let Some(watch) = &mut self.beside.watch else { return Ok(()) };
        while let Some(line) = self.outputs[1].next_line() {
            match watch.line(&line, self.front.idle_disk()) {
                Then::Continue => {}
                Then::Exchanged => {
                    let used = self.process.processor_time();
                    self.meter = Meter::new(self.guest.limit, Instant::now(), used);
                }
                Then::Stop => return Err(Stop::Ended(End::Stopped)),
            }
        }
        Ok(())
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
        self.take_kicks()?;
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

    /// Takes what the guest has made available without a message.
    fn take_kicks(&mut self) -> Result<(), Stop> {
        let kicks = self.page.take_kicks();
        if kicks == 0 {
            return Ok(());
        }
        let now = self.page.now();
        for index in (0..u64::BITS).filter(|index| kicks & 1 << index != 0) {
            let index = u16::try_from(index).expect("below 64");
            self.front.kick(now, index, &mut self.queues, &mut self.memory)?;
        }
        let event = self.next_event();
        Ok(self.calendar.noticed(&mut self.page, event)?)
    }

    fn hear_disk(&mut self) -> Result<(), Stop> {
        if !self.disk.is_connected()? {
            return Ok(());
        }
        self.take_kicks()?;
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
            Effect::Queue(index, ring) => {
                let queue = Queue::new(ring)?;
                if self.front.is_silent(index) {
                    queue.silence(&mut self.memory)?;
                }
                self.queues.set(index, queue);
            }
            Effect::WriteCache(on) => self.front.set_write_cache(on),
            Effect::Kick(index) => {
                let now = self.page.now();
                self.front.kick(now, index, &mut self.queues, &mut self.memory)?;
                let event = self.next_event();
                self.calendar.planned(&mut self.page, event)?;
            }
        }
        let Some(reply) = reply else { return Ok(()) };
        self.disk.stream()?.write_all(&reply).map_err(|_| Stop::HungUp)
    }

    /// Moves the drive to `at`, and interrupts the guest if that answered any request.
    fn advance(&mut self, at: Time) -> Result<(), Stop> {
        self.look_at = self.tick.map_or(self.look_at, |tick| self.look_at.max(at + tick));
        if self.front.next_event().is_none_or(|event| event > at) {
            return Ok(());
        }
        let (queues, memory) = (&mut self.queues, &mut self.memory);
        let wanted = self.front.advance(at, queues, memory, &mut self.done)?;
        for done in self.done.drain(..) {
            self.trace.add(&done).map_err(GuestError::at("write the trace"))?;
        }
        match wanted {
            None => Ok(()),
            Some(index) if self.page.guest_uses_notices() => {
                self.calendar.call(&mut self.page, index);
                Ok(())
            }
            Some(index) => self.interrupt(index),
        }
    }

    /// Sends an interrupt and waits until the guest has it; meanwhile it may ask for the time.
    fn interrupt(&mut self, index: u16) -> Result<(), Stop> {
        let socket = self.interrupts.as_mut().ok_or(GuestError::Early)?;
        socket.write_all(&call(index)).map_err(|_| Stop::HungUp)?;
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
            self.take_outputs()?;
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
