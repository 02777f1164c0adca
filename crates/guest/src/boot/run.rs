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

use super::about::{CLOCK, DISK, End, Guest, GuestError, ROOT, RunResult, START_NS, find_program};
use super::folder::RunFolder;
use super::meter::Meter;
use super::observer::{Observer, Reaction};
use super::process::{Output, Pinned, Process};
use super::shared::GuestMemory;
use super::sockets::{self, Received};
use super::terminal::{Attached, Terminal};

use crate::calendar::{
    Calendar, CalendarError, MESSAGE_BYTES, Message, Op, PAGE_BYTES, Page, Turn,
};
use crate::machine::{Front, Hardware, Queue, Queues, TraceEntry};
use crate::mapped::SharedMemory;
use crate::trace::Trace;
use crate::vhost::{CALLED_BYTES, Effect, Session, Step, call, was_called};

/// Interval at which time limit, stop flag and process are checked while nothing happens.
const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// Virtual time that a guest with a terminal may run ahead: a tick of its kernel.
const TICK: Span = Span::from_ms(10);
/// Time that a guest that closed its connection may take to end.
const GRACE: Duration = Duration::from_secs(5);

impl Guest<'_> {
    /// Runs the guest to its end, on a drive that it knows as `hardware`.
    ///
    /// Every request is added to `trace_file`, if given. Remaining processes of the guest are
    /// killed when this returns.
    pub fn run<D: Disk + 'static>(
        &self,
        disk: D,
        hardware: &Hardware,
        trace_file: Option<&mut dyn Write>,
    ) -> Result<(RunResult, D), GuestError> {
        self.run_at(disk, hardware, Trace::new(trace_file), Observers::default())
    }

    /// Runs the guest while `observer` receives the lines that it prints, and may exchange its
    /// disk.
    pub fn run_watched<D: Disk + 'static>(
        &self,
        disk: D,
        hardware: &Hardware,
        observer: &mut dyn Observer<D>,
    ) -> Result<(RunResult, D), GuestError> {
        let observers = Observers { observer: Some(observer), terminal: None };
        self.run_at(disk, hardware, Trace::new(None), observers)
    }

    /// Runs the guest for the user of a terminal, no faster than real time.
    pub fn attend<D: Disk + 'static>(
        &self,
        disk: D,
        hardware: &Hardware,
        terminal: Terminal<'_>,
    ) -> Result<(RunResult, D), GuestError> {
        let attached = Attached::new(terminal).map_err(GuestError::at("use the terminal"))?;
        let observers = Observers { terminal: Some(attached), observer: None };
        self.run_at(disk, hardware, Trace::new(None), observers)
    }

    fn run_at<'t, D: Disk + 'static>(
        &self,
        disk: D,
        hardware: &Hardware,
        trace: Trace<'t>,
        observers: Observers<'t, D>,
    ) -> Result<(RunResult, D), GuestError> {
        let folder = RunFolder::new().map_err(GuestError::at("make a folder for the guest"))?;
        let root = folder.folder().write_new(ROOT, self.initramfs);
        root.map_err(GuestError::at("write the guest's root"))?;
        Run::start(self, folder.path(), disk, hardware, trace, observers)?.finish()
    }
}

/// Observers of a running guest: terminal and line observer.
struct Observers<'t, D: 'static> {
    terminal: Option<Attached<'t>>,
    observer: Option<&'t mut dyn Observer<D>>,
}

impl<D: 'static> Default for Observers<'_, D> {
    fn default() -> Self {
        Self { terminal: None, observer: None }
    }
}

/// A socket that the guest connects to once.
#[derive(Debug)]
struct GuestSocket {
    listener: UnixListener,
    stream: Option<UnixStream>,
}

impl GuestSocket {
    fn new(path: &Path) -> Result<Self, GuestError> {
        let listener = UnixListener::bind(path);
        let listener = listener.map_err(GuestError::at("listen for the guest"))?;
        Ok(Self { listener, stream: None })
    }

    /// Returns the event to wait for: a message, or the connection.
    fn poll_fd(&self) -> PollFd<'_> {
        match &self.stream {
            Some(stream) => PollFd::new(stream, PollFlags::IN),
            None => PollFd::new(&self.listener, PollFlags::IN),
        }
    }

    /// Accepts the connection; returns whether it existed before, so that a message has arrived.
    fn accept_once(&mut self) -> Result<bool, GuestError> {
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

/// The sockets of a guest that are readable.
#[derive(Debug, Clone, Copy, Default)]
struct Ready {
    clock: bool,
    disk: bool,
    interrupts: bool,
}

/// The reason why the loop ends before the guest.
enum Stop {
    /// The guest closed a connection: it is ending.
    HungUp,
    /// The run ends in this way.
    Ended(End),
    /// The guest or this machine failed.
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
    observers: Observers<'t, D>,
    /// The longest virtual time without a message.
    tick: Option<Span>,
    /// Time by which the guest must send the next message.
    check_at: Time,
    clock: GuestSocket,
    disk: GuestSocket,
    interrupts: Option<UnixStream>,
    calendar: Calendar,
    page: Page<SharedMemory>,
    session: Session,
    memory: GuestMemory,
    queues: Queues,
    front: Front<D>,
    trace: Trace<'t>,
    done: Vec<TraceEntry>,
}

impl<'a, 't, D: Disk + 'static> Run<'a, 't, D> {
    /// Starts the guest.
    fn start(
        guest: &'a Guest<'a>,
        folder: &Path,
        disk: D,
        hardware: &Hardware,
        trace: Trace<'t>,
        mut observers: Observers<'t, D>,
    ) -> Result<Self, GuestError> {
        for program in ["setarch", "setpriv"] {
            find_program(program)?;
        }
        let (clock, disk_line) =
            (GuestSocket::new(&folder.join(CLOCK))?, GuestSocket::new(&folder.join(DISK))?);
        let (console, out) = Output::new().map_err(GuestError::at("make a pipe"))?;
        let (results, err) = Output::new().map_err(GuestError::at("make a pipe"))?;
        let page = SharedMemory::new("drivelab-calendar", PAGE_BYTES);
        let page = page.map_err(GuestError::at("share memory with the guest"))?;
        let page = Page::new(page).expect("it has the length of a page");
        // A machine that forbids it only takes longer.
        let pinned = Pinned::here().ok();
        let kernel = std::path::absolute(guest.kernel);
        let kernel = kernel.map_err(GuestError::at("find the kernel"))?;
        // Taken before the start, so that the guest inherits its end of the pipe.
        let input = observers.terminal.as_mut().and_then(Attached::guest_input);
        let line = guest.command_line(hardware, observers.terminal.is_some());
        let process = Process::start(&kernel, folder, &line, input, [out, err]);
        let begun = Instant::now();
        Ok(Self {
            guest,
            begun,
            meter: Meter::new(guest.limit, begun, Duration::ZERO),
            process: process.map_err(GuestError::at("start the guest"))?,
            _pinned: pinned,
            outputs: [console, results],
            tick: observers.terminal.as_ref().map_or(guest.tick, |_| Some(TICK)),
            observers,
            check_at: Time::ZERO,
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
    fn finish(mut self) -> Result<(RunResult, D), GuestError> {
        let how = loop {
            match self.step() {
                Ok(()) => {}
                Err(Stop::HungUp) => break self.wait_for_exit()?,
                Err(Stop::Ended(end)) => break end,
                Err(Stop::Failed(error)) => return Err(error),
            }
        };
        // Before `end`, which reaps the process and with it the record of its processor time.
        let (wall, processor) = (self.begun.elapsed(), self.process.processor_time());
        let status = self.process.end().map_err(GuestError::at("end the guest"))?;
        let how = match how {
            // UML ends with success after a shutdown, and with a signal or an error after a panic.
            End::PoweredOff if !status.success() => End::Crashed(status),
            how => how,
        };
        self.take_outputs()?;
        let [_, results] = &mut self.outputs;
        let ended_at = self.calendar.checked_now(&self.page)?;
        results.note(ended_at);
        let lines = results.lines();
        let [(console, console_sha256), (results, _)] = self.outputs.map(Output::finish);
        let ended = RunResult {
            how,
            took: ended_at.since(Time::ZERO),
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

    /// Reads the output of the guest, and shows its console on the terminal, if there is one.
    fn take_outputs(&mut self) -> Result<(), GuestError> {
        for output in &mut self.outputs {
            output.take().map_err(GuestError::at("read the guest's console"))?;
        }
        let Some(terminal) = &mut self.observers.terminal else { return Ok(()) };
        let shown = terminal.show(&self.outputs[0].drain());
        shown.map_err(GuestError::at("write to the terminal"))
    }

    /// Delays the next turn until real time has reached it, and forwards typed keys.
    fn keep_pace(&mut self) -> Result<(), Stop> {
        let due = self.calendar.due(&self.page, self.next_event());
        let Some(due) = due.filter(|_| self.observers.terminal.is_some()) else { return Ok(()) };
        let due = Duration::from_nanos(due.ns());
        loop {
            self.take_outputs()?;
            let Some(terminal) = &mut self.observers.terminal else { return Ok(()) };
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

    /// Returns the machine's next event; with a tick there always is one, so that the guest cannot
    /// run ahead.
    fn next_event(&self) -> Option<Time> {
        let check_at = self.tick.map(|_| self.check_at.max(self.page.now()));
        self.front.next_event().into_iter().chain(check_at).min()
    }

    /// Carries out one turn: of the machine, or of the guest up to its next message.
    fn step(&mut self) -> Result<(), Stop> {
        self.keep_pace()?;
        let event = self.next_event();
        match self.calendar.turn(&mut self.page, event)? {
            Turn::Machine(at) => return self.advance(at),
            Turn::Run(message) => {
                let sent = self.clock.stream()?.write_all(&message.to_bytes());
                // A guest that is ending no longer reads.
                sent.map_err(|_| Stop::HungUp)?;
            }
            Turn::Guest => {}
        }
        let ready = self.wait()?;
        if ready.clock {
            self.receive_clock_message()?;
        }
        if ready.disk {
            self.receive_driver_message()?;
        }
        Ok(())
    }

    /// Waits for a message.
    fn wait(&mut self) -> Result<Ready, Stop> {
        loop {
            if self.guest.stop.load(Ordering::Relaxed) {
                return Err(Stop::Ended(End::Stopped));
            }
            let process = &self.process;
            if let Some(end) = self.meter.over(Instant::now(), || process.processor_time()) {
                return Err(Stop::Ended(end));
            }
            let (ready, heard) = self.poll()?;
            if heard {
                self.take_outputs()?;
            }
            if ready.clock || ready.disk || ready.interrupts {
                // A guest prints before it sends a message and waits, so the pipe holds all of it.
                self.outputs[1].note(self.calendar.checked_now(&self.page)?);
                self.show_lines()?;
                return Ok(ready);
            }
            if self.process.has_ended().map_err(GuestError::at("look after the guest"))? {
                return Err(Stop::HungUp);
            }
        }
    }

    /// Passes complete lines to the observer.
    fn show_lines(&mut self) -> Result<(), Stop> {
        let Some(observer) = &mut self.observers.observer else { return Ok(()) };
        while let Some(line) = self.outputs[1].next_line() {
            match observer.line(&line, self.front.idle_disk()) {
                Reaction::Continue => {}
                Reaction::Exchanged => {
                    let used = self.process.processor_time();
                    self.meter = Meter::new(self.guest.limit, Instant::now(), used);
                }
                Reaction::Stop => return Err(Stop::Ended(End::Stopped)),
            }
        }
        Ok(())
    }

    /// Returns the readable sockets, and whether a console is readable.
    fn poll(&self) -> Result<(Ready, bool), GuestError> {
        let mut fds = vec![self.clock.poll_fd(), self.disk.poll_fd()];
        let interrupts = self.interrupts.as_ref();
        fds.extend(interrupts.map(|socket| PollFd::new(socket, PollFlags::IN)));
        let sockets = fds.len();
        let open = self.outputs.iter().filter(|output| output.is_open);
        fds.extend(open.map(|output| PollFd::new(output, PollFlags::IN)));
        match poll(&mut fds, Some(&POLL_INTERVAL)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(GuestError::at("wait for the guest")(error.into())),
        }
        debug_assert!((2..=3).contains(&sockets), "clock, disk and perhaps interrupts");
        let has_event: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let (sockets, consoles) = has_event.split_at(sockets);
        // The socket for interrupts exists only after the guest's driver has passed it.
        let interrupts = sockets.get(2).copied().unwrap_or(false);
        let ready = Ready { clock: sockets[0], disk: sockets[1], interrupts };
        Ok((ready, consoles.contains(&true)))
    }

    fn receive_clock_message(&mut self) -> Result<(), Stop> {
        if !self.clock.accept_once()? {
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
        // Notices in the page came before the message, and the drive must see them first.
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

    /// Handles the queues that the guest has filled without a message.
    fn take_kicks(&mut self) -> Result<(), Stop> {
        let kicks = self.page.take_kicks();
        if kicks == 0 {
            return Ok(());
        }
        let now = self.calendar.checked_now(&self.page)?;
        // In the order of the queues, so that a run can be repeated.
        for index in (0..u64::BITS).filter(|index| kicks & 1 << index != 0) {
            let index = u16::try_from(index).expect("below 64");
            self.front.kick(now, index, &mut self.queues, &mut self.memory)?;
        }
        let event = self.next_event();
        Ok(self.calendar.noticed(&mut self.page, event)?)
    }

    fn receive_driver_message(&mut self) -> Result<(), Stop> {
        if !self.disk.accept_once()? {
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
                // The guest fills the queue of interrupts ahead of time; a kick for each buffer
                // would cost a turn.
                if self.front.is_silent(index) {
                    queue.silence(&mut self.memory)?;
                }
                self.queues.set(index, queue);
            }
            Effect::WriteCache(on) => self.front.set_write_cache(on),
            Effect::Kick(index) => {
                let now = self.calendar.checked_now(&self.page)?;
                self.front.kick(now, index, &mut self.queues, &mut self.memory)?;
                let event = self.next_event();
                self.calendar.planned(&mut self.page, event)?;
            }
        }
        let Some(reply) = reply else { return Ok(()) };
        self.disk.stream()?.write_all(&reply).map_err(|_| Stop::HungUp)
    }

    /// Advances the drive to `at`, and interrupts the guest if that completed a request.
    fn advance(&mut self, at: Time) -> Result<(), Stop> {
        // The next forced message is a tick after this turn, not a tick after the last message.
        self.check_at = self.tick.map_or(self.check_at, |tick| self.check_at.max(at + tick));
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

    /// Sends an interrupt and waits for its acknowledgement; meanwhile the guest may ask for the
    /// time.
    fn interrupt(&mut self, index: u16) -> Result<(), Stop> {
        let socket = self.interrupts.as_mut().ok_or(GuestError::Early)?;
        socket.write_all(&call(index)).map_err(|_| Stop::HungUp)?;
        loop {
            let ready = self.wait()?;
            if ready.clock {
                self.receive_clock_message()?;
            }
            if ready.interrupts {
                let socket = self.interrupts.as_mut().ok_or(GuestError::Early)?;
                let mut bytes = [0; CALLED_BYTES];
                socket.read_exact(&mut bytes).map_err(|_| Stop::HungUp)?;
                // Nothing else arrives here: the guest acknowledges one interrupt before the next
                // is sent.
                return if was_called(&bytes) { Ok(()) } else { Err(GuestError::Interrupt.into()) };
            }
            if ready.disk && !ready.clock {
                self.receive_driver_message()?;
            }
        }
    }

    /// Waits for a guest that closed its connection to end; its exit status is read later.
    fn wait_for_exit(&mut self) -> Result<End, GuestError> {
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
            // Without an open console this is a sleep; an interrupted one only checks earlier.
            let _ = poll(&mut fds, Some(&pause));
        }
        Ok(End::TimedOut)
    }
}
