//! One thread, one loop: sockets, the kernel's requests and the drive's own clock.

mod backend;
mod client;
mod endpoint;
mod fronts;
mod jobs;
mod kernel;
mod lending;
mod memory;
mod realtime;
mod shutdown;
mod sockets;
mod status;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use drivelab_core::disk::Answer;
use drivelab_core::{Bytes, Histogram, Refusal, Span, Time};
use rustix::event::epoll;

pub use backend::Backend;
pub use endpoint::Endpoint;
pub use realtime::{LatenessBound, Spin, falls_short, least_answer_time, typical_read, why_void};
pub use shutdown::ForcedUnmount;
pub use status::{Stats, Stopped, Summary};

use crate::control::Response;
use crate::drive::{Attributes, PowerCut, ServedDrive};
use crate::fault::Listed;
use crate::fuse::Mounted;
use crate::nbd::Export;
use client::{Client, ClientId};
use endpoint::Listener;
use fronts::Fronts;
use jobs::{Front, JobQueue};
use memory::Memory;
use realtime::{Clock, Timing};

/// The settings of a server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Address for NBD clients.
    pub nbd: Option<Endpoint>,
    /// A file that becomes the drive.
    pub fuse: Option<PathBuf>,
    /// Become a block device with these attributes; only with the feature `ublk`.
    pub ublk: Option<Attributes>,
    /// Address of the control port.
    pub control: Option<Endpoint>,
    /// The export as announced to NBD clients.
    pub export: Export,
    /// Ask the host for real-time scheduling and for processors that do not sleep.
    pub real_time: bool,
    /// Time before a deadline at which the loop stops sleeping and spins.
    pub spin: Spin,
    /// Time to continue after a request to end while a process has the file open.
    pub grace: Span,
    /// The lateness that makes a run void.
    pub lateness: LatenessBound,
    /// Memory for all clients together, beyond a little for each.
    pub client_memory: Bytes,
}

impl Settings {
    /// For a drive without an export yet, without real-time scheduling.
    pub fn new(export: Export) -> Self {
        Self {
            nbd: None,
            fuse: None,
            ublk: None,
            control: None,
            export,
            real_time: false,
            spin: Spin::Auto,
            grace: GRACE,
            lateness: LatenessBound::OfTypicalRead(Span::ZERO),
            client_memory: CLIENT_MEMORY,
        }
    }
}

/// Default of [`Settings::grace`]: with the other steps of a shutdown it stays within two seconds,
/// in which every verb ends.
pub const GRACE: Span = Span::from_ms(1500);

/// Memory for all clients together: two of them with the maximum that one may have in progress.
const CLIENT_MEMORY: Bytes = Bytes::mib(256);

/// Maximum number of clients; further ones are refused.
const CLIENTS_MAX: usize = 256;
/// Maximum number of clients of the control port, which are counted separately: the power can be
/// cut however many clients the drive has.
const CONTROL_CLIENTS_MAX: usize = 64;

/// Interval at which the loop checks whether it must stop, and whether clients are idle, in ns.
const POLL_INTERVAL_NS: i64 = 100_000_000;

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
    timing: Timing,
    nbd: Option<Listener>,
    control: Option<Listener>,
    fronts: Fronts,
    clients: Vec<Option<Client>>,
    /// Clients whose state changed in this iteration.
    touched: Vec<usize>,
    generation: u64,
    memory: Memory,
    /// Time until which no new client is accepted.
    accept_again_at: Option<Time>,
    jobs: JobQueue,
    answers: Vec<Answer>,
    since: Time,
    ios: u64,
    in_flight_max: usize,
    cut: Option<Cutting>,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct Cutting {
    cut: PowerCut,
    client: ClientId,
}

fn cannot_begin(error: io::Error) -> Refusal {
    Refusal::machine("cannot start serving").because(error)
}

impl<B: Backend> Server<B> {
    /// Opens the sockets and mounts the file; from now on clients can connect.
    pub fn new(drive: B, settings: Settings) -> Result<Self, Refusal> {
        let timing = Timing::new(settings.real_time, settings.spin, settings.lateness);
        let nbd = settings.nbd.as_ref().map(Listener::bind).transpose()?;
        let control = settings.control.as_ref().map(Listener::bind).transpose()?;
        let bytes = drive.capacity().bytes();
        let mounted = settings.fuse.as_ref().map(|path| Mounted::new(path, bytes));
        let fronts = Fronts::new(mounted.transpose()?);
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC);
        let poll = poll.map_err(|error| cannot_begin(error.into()))?;
        #[cfg_attr(not(feature = "ublk"), expect(unused_mut, reason = "plugged in with ublk"))]
        let mut server = Self {
            drive,
            poll,
            clock: Clock::new().map_err(cannot_begin)?,
            timing,
            nbd,
            control,
            fronts,
            clients: Vec::new(),
            touched: Vec::new(),
            generation: 0,
            memory: Memory::new(settings.client_memory.get()),
            settings,
            accept_again_at: None,
            jobs: JobQueue::default(),
            answers: Vec::new(),
            since: Time::ZERO,
            ios: 0,
            in_flight_max: 0,
            cut: None,
            buffer: vec![0; client::TURN],
        };
        server.add_to_poll().map_err(cannot_begin)?;
        if server.nbd.is_some() || server.control.is_some() {
            // A server without a descriptor for a client would refuse every client without a
            // message.
            rustix::io::dup(&server.poll).map_err(|error| {
                Refusal::machine("out of file descriptors for clients")
                    .because(error)
                    .hint("raise the limit: ulimit -n 1024")
            })?;
        }
        #[cfg(feature = "ublk")]
        if let Some(attributes) = server.settings.ublk {
            server.attach_block(attributes)?;
        }
        Ok(server)
    }

    /// Polls all descriptors that exist for the life of the server.
    fn add_to_poll(&self) -> io::Result<()> {
        self.poll_for_input(self.clock.alarm(), ALARM)?;
        for (token, listener) in self.listeners() {
            self.poll_for_input(listener, token)?;
        }
        if let Some(wakes) = self.drive.wakes() {
            self.poll_for_input(wakes, WORKERS)?;
        }
        if let Some(mounted) = &self.fronts.fuse {
            self.poll_for_input(mounted.device(), FUSE)?;
        }
        Ok(())
    }

    fn poll_for_input(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        Ok(epoll::add(&self.poll, fd, data, epoll::EventFlags::IN)?)
    }

    /// Serves until `stop` is set or the power is cut; `report` receives the incidents of faults.
    pub fn run(mut self, stop: &AtomicBool, report: &mut dyn FnMut(&str)) -> io::Result<Summary> {
        let mut events = Vec::with_capacity(64);
        while !stop.load(Ordering::Relaxed) {
            self.poll_once(&mut events)?;
            self.report_incidents(report);
            let now = self.clock.now();
            if self.cut.as_ref().is_some_and(|cutting| cutting.cut.is_due(now)) {
                return self.cut_power(now, report);
            }
            self.disconnect_idle(now);
            self.resume_accepting(now);
            if self.drive.in_flight() == 0 {
                self.timing.cpu_latency.idle(now);
            }
        }
        let forced_unmount = self.wait_for_release(report)?;
        self.stop(forced_unmount)
    }

    fn report_incidents(&mut self, report: &mut dyn FnMut(&str)) {
        let incidents = self.drive.modelled().map(ServedDrive::take_incidents);
        incidents.into_iter().flatten().for_each(|incident| report(&incident.to_string()));
    }

    fn poll_once(&mut self, events: &mut Vec<epoll::Event>) -> io::Result<()> {
        debug_assert!(self.touched.is_empty(), "every iteration settles all clients");
        self.wait(events)?;
        // Answers that are due leave before new requests are read: they are late already.
        let now = self.clock.now();
        self.advance(now)?;

        for event in events.drain(..) {
            self.handle(event.data.u64(), event.flags)?;
        }
        #[cfg(feature = "ublk")]
        {
            self.settle_block()?;
            self.serve_kernel(Front::Ublk)?;
        }
        self.settle_touched()?;
        #[cfg(feature = "ublk")]
        self.settle_block()?;
        Ok(())
    }

    fn wait(&mut self, events: &mut Vec<epoll::Event>) -> io::Result<()> {
        let cut = self.cut.as_ref().and_then(|cutting| cutting.cut.at());
        let next = self.drive.next_event().into_iter().chain(cut).min();
        let awake = self.timing.spin.is_awake(self.clock.now(), next);
        let sleep_ns = if awake { 0 } else { POLL_INTERVAL_NS };
        if !awake {
            self.clock.set_alarm(next.map(|next| self.timing.spin.alarm(next)))?;
        }
        debug_assert!((0..1_000_000_000).contains(&sleep_ns), "below a second");
        let timeout = Some(rustix::time::Timespec { tv_sec: 0, tv_nsec: sleep_ns });
        match epoll::wait(&self.poll, rustix::buffer::spare_capacity(events), timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn handle(&mut self, data: u64, flags: epoll::EventFlags) -> io::Result<()> {
        match data {
            ALARM => self.wake_up(),
            NBD_LISTENER | CONTROL_LISTENER => self.accept(data),
            FUSE => self.serve_kernel(Front::Fuse)?,
            // Their completions are fetched in every iteration.
            WORKERS => {}
            #[cfg(feature = "ublk")]
            DISK => {}
            client => {
                let slot = usize::try_from(client - FIRST_CLIENT).expect("an index of a Vec");
                self.serve_client(slot, flags)?;
            }
        }
        Ok(())
    }

    fn wake_up(&mut self) {
        if let Some(set) = self.clock.acknowledge() {
            self.timing.spin.woke(self.clock.now().since(set));
        }
    }

    /// Moves the drive to `now` and sends the answers that are due.
    fn advance(&mut self, now: Time) -> io::Result<()> {
        loop {
            let mut answers = std::mem::take(&mut self.answers);
            self.drive.advance(now, &mut answers)?;
            // An answer may start the next command of a job, which a fast drive answers at once.
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

    fn stats(&self) -> Stats {
        Stats {
            served: self.timing.served(self.ios),
            in_flight_max: self.in_flight_max,
            lateness_bound_from: self.timing.lateness.bound_from(),
            since_ns: self.since.ns(),
            pending_bytes: self.drive.pending().get(),
            clients: self.clients.iter().flatten().count(),
            clients_bytes: self.clients_bytes(),
            keeps_awake: self.timing.cpu_latency.is_permitted(),
            early_ns: self.timing.spin.early().ns(),
        }
    }

    /// Resets the counts at `now`; returns them as counted until then.
    fn reset_stats(&mut self, now: Time) -> Stats {
        let before = self.stats();
        self.timing.lateness.reset();
        self.timing.modelled = Histogram::new();
        (self.ios, self.in_flight_max, self.since) = (0, self.drive.in_flight(), now);
        before
    }

    fn list_faults(&mut self) -> Vec<Listed> {
        self.drive.modelled().map(|drive| drive.list_faults()).unwrap_or_default()
    }

    /// An orderly shutdown: everything acknowledged or in flight is written.
    fn stop(mut self, forced_unmount: Option<ForcedUnmount>) -> io::Result<Summary> {
        #[cfg(feature = "ublk")]
        self.detach()?;
        let (stats, faults) = (self.stats(), self.list_faults());
        self.drive.power_off()?;
        Ok(Summary { stopped: Stopped::Asked, stats, faults, forced_unmount })
    }

    fn cut_power(mut self, now: Time, report: &mut dyn FnMut(&str)) -> io::Result<Summary> {
        let last_stats = self.stats();
        let cutting = self.cut.take().expect("the caller has checked");
        let drive = self.drive.modelled().expect("only a modelled drive is asked to cut its power");
        // The statistics were read before: a cut is not part of the load.
        let survival = drive.cut(now, &mut cutting.cut.dice())?;
        self.report_incidents(report);
        if let Some(client) = self.client(cutting.client) {
            client.answer(&Response::ok(&survival));
            // The answer fits any socket buffer; a disconnected client does not need it.
            let _ = client.send();
        }
        let (seed, faults) = (cutting.cut.seed(), self.list_faults());
        Ok(Summary {
            stopped: Stopped::PowerCut { survival, at: now, seed },
            stats: last_stats,
            faults,
            forced_unmount: None,
        })
    }

    fn client(&mut self, id: ClientId) -> Option<&mut Client> {
        self.clients.get_mut(id.slot)?.as_mut().filter(|client| client.id == id)
    }
}
