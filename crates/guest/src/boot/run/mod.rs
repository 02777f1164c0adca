//! The loop that gives a guest its turns.

mod connected;
mod talk;
mod wait;
mod wires;

use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use drivelab_core::disk::Disk;
use drivelab_core::{Span, Time};

use super::about::{CLOCK, End, Guest, GuestError, ROOT, RunResult, START_NS, find_program};
use super::folder::RunFolder;
use super::meter::Meter;
use super::observer::Observer;
use super::process::{Output, Pinned, Process};
use super::terminal::{Attached, Terminal};
use crate::calendar::{Calendar, PAGE_BYTES, Page, Turn};
use crate::machine::{Adapter, Hardware, TraceEntry};
use crate::mapped::SharedMemory;
use crate::trace::Trace;
use connected::Connected;
use wires::{GuestSocket, Stop};

/// Virtual time that a guest with a terminal may run ahead: a tick of its kernel.
const TICK: Span = Span::from_ms(10);
/// Functions on the bus of a guest (`MAX_DEVICES` of Linux' `virt-pci.c`).
pub const ADAPTERS_MAX: usize = 8;

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
        let adapter = Adapter::of(disk, hardware);
        Ok(only(self.run_at(vec![adapter], Trace::new(trace_file), Observers::default())?))
    }

    /// Runs the guest on several disks, which come back in the order of their adapters.
    ///
    /// With more than one disk each line of the trace ends with the number of its disk.
    pub fn run_all<D: Disk + 'static>(
        &self,
        adapters: Vec<Adapter<D>>,
        trace_file: Option<&mut dyn Write>,
    ) -> Result<(RunResult, Vec<D>), GuestError> {
        let disks: usize = adapters.iter().map(|adapter| adapter.disks.len()).sum();
        let trace = Trace::new(trace_file);
        let trace = if disks > 1 { trace.with_disks() } else { trace };
        self.run_at(adapters, trace, Observers::default())
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
        Ok(only(self.run_at(vec![Adapter::of(disk, hardware)], Trace::new(None), observers)?))
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
        Ok(only(self.run_at(vec![Adapter::of(disk, hardware)], Trace::new(None), observers)?))
    }

    fn run_at<'t, D: Disk + 'static>(
        &self,
        adapters: Vec<Adapter<D>>,
        trace: Trace<'t>,
        observers: Observers<'t, D>,
    ) -> Result<(RunResult, Vec<D>), GuestError> {
        let folder = RunFolder::new().map_err(GuestError::at("make a folder for the guest"))?;
        let root = folder.folder().write_new(ROOT, self.initramfs);
        root.map_err(GuestError::at("write the guest's root"))?;
        Run::start(self, folder.path(), adapters, trace, observers)?.finish()
    }
}

/// The only disk of a guest.
fn only<D>((ended, disks): (RunResult, Vec<D>)) -> (RunResult, D) {
    let disk = disks.into_iter().next().expect("the guest was given a disk");
    (ended, disk)
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

/// Listens for the driver of each adapter.
fn connect<D: Disk>(
    adapters: Vec<Adapter<D>>,
    folder: &Path,
) -> Result<Vec<Connected<D>>, GuestError> {
    let mut disks = 0;
    let connected = adapters.into_iter().enumerate().map(|(number, adapter)| {
        let first = disks;
        disks += u16::try_from(adapter.disks.len()).expect("one or two");
        Connected::new(adapter, folder, (number, first))
    });
    connected.collect()
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
    /// The times of the guest's lines do not matter, so that its messages may come later.
    patient: bool,
    /// Time by which the guest must send the next message.
    check_at: Time,
    clock: GuestSocket,
    /// In the order of the kernel command line.
    adapters: Vec<Connected<D>>,
    calendar: Calendar,
    page: Page<SharedMemory>,
    trace: Trace<'t>,
    done: Vec<TraceEntry>,
}

impl<'a, 't, D: Disk + 'static> Run<'a, 't, D> {
    /// Starts the guest.
    fn start(
        guest: &'a Guest<'a>,
        folder: &Path,
        adapters: Vec<Adapter<D>>,
        trace: Trace<'t>,
        mut observers: Observers<'t, D>,
    ) -> Result<Self, GuestError> {
        for program in ["setarch", "setpriv"] {
            find_program(program)?;
        }
        assert!((1..=ADAPTERS_MAX).contains(&adapters.len()), "a guest has one to eight adapters");
        let clock = GuestSocket::new(&folder.join(CLOCK))?;
        let hardware: Vec<Hardware> = adapters.iter().map(|it| it.hardware.clone()).collect();
        let adapters = connect(adapters, folder)?;
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
        let line = guest.command_line(&hardware, observers.terminal.is_some());
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
            patient: guest.tick.is_none()
                && observers.terminal.is_none()
                && observers.observer.is_none(),
            observers,
            check_at: Time::ZERO,
            clock,
            adapters,
            calendar: Calendar::new(START_NS),
            page,
            trace,
            done: Vec::new(),
        })
    }

    /// Gives the guest its turns until it ends, or must.
    fn finish(mut self) -> Result<(RunResult, Vec<D>), GuestError> {
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
        let disks = self.adapters.into_iter().flat_map(|it| it.front.into_disks()).collect();
        Ok((ended, disks))
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
        let events = self.adapters.iter().filter_map(Connected::next_event);
        events.chain(check_at).min()
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
        self.receive_driver_messages(ready)
    }
}
