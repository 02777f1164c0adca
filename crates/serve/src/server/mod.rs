//! One thread, one loop: sockets, the kernel's file requests and the drive's own clock.

mod backend;
#[cfg(feature = "ublk")]
mod block;
mod client;
mod endpoint;
mod error;
mod farewell;
mod jobs;
mod memory;
mod realtime;
mod sockets;
mod status;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use drivelab_core::disk::Answer;
use drivelab_core::{Bytes, Span, Time};
use rustix::event::epoll;

pub use backend::{Backend, Modelled};
pub use endpoint::Endpoint;
pub use error::ServeError;
pub use farewell::{Notice, TakenAway};
pub use realtime::{LatenessBound, LatenessNs, Scheduling, Spin, typical_read, wakeup_latency};
pub use status::{Stats, Stopped, Summary};

use crate::control::Response;
use crate::drive::PowerCut;
use crate::fault::Listed;
use crate::fuse::Mounted;
use crate::nbd::Export;
#[cfg(feature = "ublk")]
use block::Block;
use client::Client;
use endpoint::Listener;
use jobs::JobQueue;
#[cfg(feature = "ublk")]
pub(crate) use jobs::Task;
use memory::Memory;
use realtime::{Clock, CpuLatencyRequest, Lateness, SpinPolicy};

/// How a drive is served.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where NBD clients connect.
    pub nbd: Option<Endpoint>,
    /// A file that becomes the drive.
    pub fuse: Option<PathBuf>,
    /// Where the drive is controlled.
    pub control: Option<Endpoint>,
    /// What NBD clients are told.
    pub export: Export,
    /// Ask the host for real-time scheduling and for processors that do not sleep.
    pub real_time: bool,
    /// How long before a deadline the loop stops sleeping and spins.
    pub spin: Spin,
    /// How long to go on after the end was asked for while somebody has the file open.
    pub grace: Span,
    /// What lateness voids a run.
    pub lateness: LatenessBound,
    /// What all clients together may hold beyond a little for each.
    pub client_memory: Bytes,
}

impl Settings {
    /// Of a drive that is reached by nobody yet, without real-time scheduling.
    pub fn new(export: Export) -> Self {
        let (nbd, fuse, control) = (None, None, None);
        Self {
            nbd,
            fuse,
            control,
            export,
            real_time: false,
            spin: Spin::Auto,
            grace: GRACE,
            lateness: LatenessBound::OfTypicalRead(Span::ZERO),
            client_memory: CLIENT_MEMORY,
        }
    }
}

/// With what else an end takes, within the two seconds in which every verb ends.
pub const GRACE: Span = Span::from_ms(1500);

/// What clients may hold together: two of them with as much under way as one may have.
const CLIENT_MEMORY: Bytes = Bytes::mib(256);

/// Clients at once; further ones are turned away.
const MOST_CLIENTS: usize = 256;

/// How often the loop looks whether it is to stop, and whether clients are idle, in ns.
const LOOK_ROUND_NS: i64 = 100_000_000;

/// What an event of the poll is about.
const ALARM: u64 = 0;
const NBD_LISTENER: u64 = 1;
const CONTROL_LISTENER: u64 = 2;
const FUSE: u64 = 3;
const WORKERS: u64 = 4;
#[cfg(feature = "ublk")]
const DISK: u64 = 5;
const FIRST_CLIENT: u64 = 16;

/// A drive on its sockets.
#[derive(Debug)]
pub struct Server<B> {
    drive: B,
    settings: Settings,
    poll: OwnedFd,
    clock: Clock,
    spin: SpinPolicy,
    cpu_latency: CpuLatencyRequest,
    nbd: Option<Listener>,
    control: Option<Listener>,
    fuse: Option<Mounted>,
    #[cfg(feature = "ublk")]
    block: Option<Block>,
    clients: Vec<Option<Client>>,
    /// Clients whose state changed in this turn.
    touched: Vec<usize>,
    generation: u64,
    memory: Memory,
    /// Until then nobody new is let in.
    rests_until: Option<Time>,
    jobs: JobQueue,
    answers: Vec<Answer>,
    lateness: Lateness,
    /// Since when it is counted.
    since: Time,
    scheduling: Scheduling,
    ios: u64,
    in_flight_max: usize,
    cut: Option<Cutting>,
    buffer: Vec<u8>,
}

fn bind(endpoint: Option<&Endpoint>) -> Result<Option<Listener>, ServeError> {
    let Some(endpoint) = endpoint else { return Ok(None) };
    let refused = |source| ServeError::Listen { endpoint: endpoint.clone(), source };
    Listener::bind(endpoint).map(Some).map_err(refused)
}

fn mount(path: Option<&Path>, bytes: Bytes) -> Result<Option<Mounted>, ServeError> {
    let Some(path) = path else { return Ok(None) };
    let refused = |source| ServeError::Mount { path: path.to_owned(), source };
    Mounted::new(path, bytes).map(Some).map_err(refused)
}

/// A power cut that was asked for, and by whom.
#[derive(Debug)]
struct Cutting {
    cut: PowerCut,
    client: usize,
    generation: u64,
}

impl<B: Backend> Server<B> {
    /// Opens the sockets and mounts the file; from now on clients can connect.
    ///
    /// # Errors
    /// One of them cannot be had.
    pub fn new(drive: B, settings: Settings) -> Result<Self, ServeError> {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(io::Error::from)?;
        let clock = Clock::new()?;
        let scheduling = if settings.real_time {
            Scheduling::ask_for_fifo()
        } else {
            Scheduling::Normal("real-time scheduling was not requested".to_owned())
        };
        let lateness = Lateness::new(settings.lateness, scheduling == Scheduling::Fifo);
        let (nbd, control) = (bind(settings.nbd.as_ref())?, bind(settings.control.as_ref())?);
        let fuse = mount(settings.fuse.as_deref(), drive.capacity().bytes())?;
        let memory = Memory::new(settings.client_memory.get());
        let server = Self {
            drive,
            spin: SpinPolicy::new(settings.spin),
            cpu_latency: CpuLatencyRequest::new(settings.real_time),
            settings,
            poll,
            clock,
            nbd,
            control,
            fuse,
            #[cfg(feature = "ublk")]
            block: None,
            clients: Vec::new(),
            touched: Vec::new(),
            generation: 0,
            memory,
            rests_until: None,
            jobs: JobQueue::default(),
            answers: Vec::new(),
            lateness,
            since: Time::ZERO,
            scheduling,
            ios: 0,
            in_flight_max: 0,
            cut: None,
            buffer: vec![0; crate::fuse::BUFFER_BYTES],
        };
        server.watch_all()?;
        if server.nbd.is_some() || server.control.is_some() {
            // A server without a descriptor for a client would turn away everybody, unheard.
            rustix::io::dup(&server.poll).map_err(|error| ServeError::Descriptors(error.into()))?;
        }
        Ok(server)
    }

    /// Has the poll tell of everything but clients.
    fn watch_all(&self) -> io::Result<()> {
        let input = epoll::EventFlags::IN;
        let watch = |fd: &dyn AsFd, data| {
            epoll::add(&self.poll, fd.as_fd(), epoll::EventData::new_u64(data), input)
        };
        watch(self.clock.alarm(), ALARM)?;
        if let Some(listener) = &self.nbd {
            watch(listener, NBD_LISTENER)?;
        }
        if let Some(listener) = &self.control {
            watch(listener, CONTROL_LISTENER)?;
        }
        if let Some(wakes) = self.drive.wakes() {
            watch(&wakes, WORKERS)?;
        }
        if let Some(mounted) = &self.fuse {
            watch(&mounted.device(), FUSE)?;
        }
        Ok(())
    }

    /// Where NBD clients connect, with the port that was given out where 0 was asked for.
    pub fn nbd_endpoint(&self) -> Option<Endpoint> {
        self.nbd.as_ref().and_then(|listener| listener.endpoint().ok())
    }

    /// Where the drive is controlled.
    pub fn control_endpoint(&self) -> Option<Endpoint> {
        self.control.as_ref().and_then(|listener| listener.endpoint().ok())
    }

    /// How the loop is scheduled.
    pub fn scheduling(&self) -> &Scheduling {
        &self.scheduling
    }

    /// Whether the host keeps its processors awake for us.
    pub fn keeps_awake(&self) -> bool {
        self.cpu_latency.is_permitted()
    }

    /// Serves until `stop` is set or the power is cut; `report` hears what faults do.
    ///
    /// # Errors
    /// The medium or the poll failed: nothing can be served any more.
    pub fn run(mut self, stop: &AtomicBool, report: &mut dyn FnMut(Notice)) -> io::Result<Summary> {
        let mut events = Vec::with_capacity(64);
        while !stop.load(Ordering::Relaxed) {
            self.turn(&mut events)?;
            self.report_incidents(report);
            let now = self.clock.now();
            if self.cut.as_ref().is_some_and(|cutting| cutting.cut.is_due(now)) {
                return self.cut_power(now, report);
            }
            self.turn_out_idlers(now);
            self.listen_again(now);
            if self.drive.in_flight() == 0 {
                self.cpu_latency.idle(now);
            }
        }
        let taken_away = self.say_farewell(report)?;
        self.stop(taken_away)
    }

    fn report_incidents(&mut self, report: &mut dyn FnMut(Notice)) {
        let incidents = self.drive.modelled().map(Modelled::take_incidents);
        incidents.into_iter().flatten().map(Notice::Fault).for_each(report);
    }

    /// Waits until there is something to do, and does it.
    fn turn(&mut self, events: &mut Vec<epoll::Event>) -> io::Result<()> {
        self.wait(events)?;
        let now = self.clock.now();
        self.advance(now)?;
        for event in events.drain(..) {
            self.handle(event.data.u64(), event.flags)?;
        }
        #[cfg(feature = "ublk")]
        self.serve_block()?;
        self.settle_touched()?;
        #[cfg(feature = "ublk")]
        self.settle_block()?;
        Ok(())
    }

    /// Waits for the next event of a socket or of the drive.
    fn wait(&mut self, events: &mut Vec<epoll::Event>) -> io::Result<()> {
        let cut = self.cut.as_ref().and_then(|cutting| cutting.cut.at());
        let next = self.drive.next_event().into_iter().chain(cut).min();
        let awake = self.spin.is_awake(self.clock.now(), next);
        let sleep_ns = if awake { 0 } else { LOOK_ROUND_NS };
        if !awake {
            self.clock.set_alarm(next.map(|next| self.spin.alarm(next)))?;
        }
        let timeout = Some(rustix::time::Timespec { tv_sec: 0, tv_nsec: sleep_ns });
        match epoll::wait(&self.poll, rustix::buffer::spare_capacity(events), timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn handle(&mut self, data: u64, flags: epoll::EventFlags) -> io::Result<()> {
        match data {
            ALARM => self.wake_up(),
            NBD_LISTENER => self.accept(true),
            CONTROL_LISTENER => self.accept(false),
            FUSE => self.serve_file()?,
            // What they have done is taken in every turn.
            WORKERS => {}
            #[cfg(feature = "ublk")]
            DISK => {}
            client => {
                let place = usize::try_from(client - FIRST_CLIENT).expect("a place in a Vec");
                self.serve_client(place, flags)?;
            }
        }
        Ok(())
    }

    /// Learns from an alarm how late they ring.
    fn wake_up(&mut self) {
        if let Some(set) = self.clock.acknowledge() {
            self.spin.woke(self.clock.now().since(set));
        }
    }

    /// Moves the drive to `now` and answers what is due.
    fn advance(&mut self, now: Time) -> io::Result<()> {
        loop {
            let mut answers = std::mem::take(&mut self.answers);
            self.drive.advance(now, &mut answers)?;
            let is_quiet = answers.is_empty();
            for answer in answers.drain(..) {
                self.finish(now, answer)?;
            }
            self.answers = answers;
            if is_quiet {
                return Ok(());
            }
        }
    }

    /// How the server is doing.
    pub fn stats(&self) -> Stats {
        Stats {
            ios: self.ios,
            in_flight_max: self.in_flight_max,
            lateness_ns: self.lateness.quantiles(),
            lateness_bound_ns: self.lateness.bound().ns(),
            lateness_bound_from: self.lateness.bound_from(),
            late: self.lateness.late(),
            valid: self.lateness.is_valid(),
            since_ns: self.since.ns(),
            pending_bytes: self.drive.pending().get(),
            clients: self.clients.iter().flatten().count(),
            clients_bytes: self.clients_bytes(),
            keeps_awake: self.cpu_latency.is_permitted(),
            early_ns: self.spin.early().ns(),
            scheduling: if self.scheduling == Scheduling::Fifo { "fifo" } else { "normal" },
        }
    }

    /// Counts anew from `now` on; gives what was counted until then.
    fn reset_stats(&mut self, now: Time) -> Stats {
        let stats = self.stats();
        self.lateness.reset();
        (self.ios, self.in_flight_max, self.since) = (0, self.drive.in_flight(), now);
        stats
    }

    fn list_faults(&mut self) -> Vec<Listed> {
        self.drive.modelled().map(|drive| drive.list_faults()).unwrap_or_default()
    }

    /// An orderly end: everything that was acknowledged, and what was on its way, is written.
    fn stop(mut self, taken_away: Option<TakenAway>) -> io::Result<Summary> {
        #[cfg(feature = "ublk")]
        self.unplug()?;
        let (stats, faults) = (self.stats(), self.list_faults());
        self.drive.power_off()?;
        Ok(Summary { stopped: Stopped::Asked, stats, faults, taken_away })
    }

    fn cut_power(mut self, now: Time, report: &mut dyn FnMut(Notice)) -> io::Result<Summary> {
        let stats = self.stats();
        let cutting = self.cut.take().expect("the caller has looked");
        let drive = self.drive.modelled().expect("only a modelled drive is asked to cut its power");
        let survival = drive.cut(now, &mut cutting.cut.dice())?;
        self.report_incidents(report);
        if let Some(client) = self.client(cutting.client, cutting.generation) {
            client.answer(&Response::ok(&survival));
            // The answer fits any socket buffer; a client that has gone does not want it.
            let _ = client.send();
        }
        let (seed, faults) = (cutting.cut.seed(), self.list_faults());
        Ok(Summary {
            stopped: Stopped::PowerCut { survival, at: now, seed },
            stats,
            faults,
            taken_away: None,
        })
    }

    /// The client in `place`, if it is still the one of that generation.
    fn client(&mut self, place: usize, generation: u64) -> Option<&mut Client> {
        let client = self.clients.get_mut(place)?.as_mut()?;
        (client.generation == generation).then_some(client)
    }
}
