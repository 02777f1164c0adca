//! The ranks of MPI: the thinnest layer, all else is `drivelab_study::ranks`.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU64;
use std::thread;
use std::time::Duration;

use drivelab_core::units::{Span, Time};

use drivelab_study::ranks::Ranks;
use mpi::Threading;
use mpi::environment::Universe;
use mpi::point_to_point::MatchedReceiveVec as _;
use mpi::request::{Request, StaticScope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator as _, Destination as _, Source as _};

use crate::interrupt;
use crate::stage::hardware::start::monotonic;
use drivelab_core::Refusal;

/// Longest message of MPI. Up to here every transport hands it over by itself, without help of
/// the other rank: shared memory has the lowest limit, 4,096 bytes with its header (Open MPI,
/// `btl_vader_eager_limit`).
const PIECE: usize = 2048;
/// A rank that waits polls without a pause for this long: an answer from a host that is idle.
const EAGER: Span = Span::from_us(20);
/// Then, up to this time, so often, as for the answer of a clock. On a busy host a thread that
/// sleeps gets a processor as soon as it wakes; one that yields waits until all others have used
/// theirs.
const SOON: Span = Span::from_ms(5);
const NAP: Duration = Duration::from_micros(20);
/// Then so often.
const PAUSE: Duration = Duration::from_micros(200);
/// The wait for messages after an interruption, which reaches all ranks: what they have is
/// gathered before the launcher ends them, after one second (`odls_base_sigkill_timeout` of Open
/// MPI).
const LAST: Span = Span::from_ms(700);

/// A piece of a message that was handed over and may not have been taken yet.
type Piece = Request<'static, [u8], StaticScope>;

/// The last message to each rank. Messages not received in the end are left to the library.
#[derive(Default)]
struct UnderWay(RefCell<BTreeMap<u32, Vec<Piece>>>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        let pieces = self.0.take().into_values().flatten();
        pieces.for_each(std::mem::forget);
    }
}

/// The processes that `mpirun` or `srun` has started.
pub struct Mpi {
    universe: Universe,
    world: SimpleCommunicator,
    /// A message is taken when its rank next calls the library, and one that is at work does not
    /// (Open MPI, shared memory, from 256 bytes on).
    under_way: UnderWay,
    /// The time after which no message is awaited, once interrupted.
    last: Cell<Option<Time>>,
}

impl Mpi {
    /// Joins them.
    pub fn start() -> Result<Self, Refusal> {
        // Jobs have separate threads, which never call MPI.
        let started = mpi::initialize_with_threading(Threading::Funneled);
        let (universe, level) = started.expect("it is called once");
        if level < Threading::Funneled {
            return Err(Refusal::machine("this MPI library allows no threads beside it")
                .hint("use Open MPI or MPICH as the distribution ships it"));
        }
        let world = universe.world();
        refuse_alone(world.size(), |name| std::env::var(name).ok())?;
        // By default a timer may expire up to 50 us late (`man 2 prctl`, PR_SET_TIMERSLACK).
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        Ok(Self { universe, world, under_way: UnderWay::default(), last: Cell::new(None) })
    }

    /// Ends this rank, whose outcome also says whether all ranks may end the library together.
    pub fn end<T>(self, outcome: Result<(T, bool), Refusal>) -> Result<T, Refusal> {
        match outcome {
            Ok((ended, true)) => Ok(ended),
            other => {
                self.abandon();
                other.map(|(ended, _)| ended)
            }
        }
    }

    /// Leaves the library as it is: its end would wait for ranks that have died.
    pub fn abandon(self) {
        std::mem::forget(self.universe);
    }
}

/// Refuses ranks of one step of Slurm's that the library takes for one process each: each would
/// measure by itself, over the files of the others.
fn refuse_alone(size: i32, variable: impl Fn(&str) -> Option<String>) -> Result<(), Refusal> {
    // What `mpirun` has started it counts itself.
    let is_counted =
        ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"].into_iter().any(|it| variable(it).is_some());
    let tasks = variable("SLURM_STEP_NUM_TASKS").and_then(|tasks| tasks.parse::<i32>().ok());
    match tasks {
        Some(tasks) if tasks > 1 && size == 1 && !is_counted => {
            let message = format!("srun started {tasks} tasks, and MPI counts one rank in each");
            Err(Refusal::machine(message)
                .hint("with Open MPI: srun --mpi=pmix ...; with MPICH: srun --mpi=pmi2 ..."))
        }
        _ => Ok(()),
    }
}

impl fmt::Debug for Mpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mpi").field("rank", &self.world.rank()).finish_non_exhaustive()
    }
}

impl Ranks for Mpi {
    fn rank(&self) -> u32 {
        u32::try_from(self.world.rank()).expect("ranks are not negative")
    }

    fn size(&self) -> u32 {
        u32::try_from(self.world.size()).expect("sizes are not negative")
    }

    fn now(&self) -> Time {
        monotonic()
    }

    fn send(&self, to: u32, message: &[u8], deadline: Time) -> bool {
        if !self.is_taken(to, deadline) {
            return false;
        }
        // In a fixed byte order, as hosts may differ.
        let length = (message.len() as u64).to_le_bytes();
        let whole = [&length[..], message].concat();
        let pieces = whole.chunks(PIECE).map(|piece| self.send_piece(to, piece)).collect();
        self.under_way.0.borrow_mut().insert(to, pieces);
        true
    }

    fn receive(&self, from: u32, deadline: Time) -> Option<Vec<u8>> {
        let mut whole = self.receive_piece(from, deadline)?;
        let length = u64::from_le_bytes(whole.get(..8)?.try_into().ok()?);
        let length = usize::try_from(length).ok()?.checked_add(8)?;
        while whole.len() < length {
            whole.extend(self.receive_piece(from, deadline)?);
        }
        whole.drain(..8);
        Some(whole)
    }
}

impl Mpi {
    fn send_piece(&self, to: u32, piece: &[u8]) -> Piece {
        let peer = self.world.process_at_rank(to.cast_signed());
        // It outlives a request that may never end; a few pieces for each rank and run.
        let piece: &'static [u8] = Box::leak(piece.to_vec().into_boxed_slice());
        peer.immediate_send(StaticScope, piece)
    }

    /// Waits until a rank has taken what it was sent; false where it has not by `deadline`.
    fn is_taken(&self, by: u32, deadline: Time) -> bool {
        let since = self.now();
        let mut under_way = self.under_way.0.borrow_mut();
        let Some(pieces) = under_way.get_mut(&by) else { return true };
        loop {
            *pieces = pieces.drain(..).filter_map(|piece| piece.test().err()).collect();
            if pieces.is_empty() {
                return true;
            }
            if !self.waits(since, deadline) {
                return false;
            }
        }
    }

    fn receive_piece(&self, from: u32, deadline: Time) -> Option<Vec<u8>> {
        let peer = self.world.process_at_rank(from.cast_signed());
        let since = self.now();
        loop {
            // A probe that finds nothing has the library take in what has arrived since, which only
            // the next one finds (Open MPI, `mca_pml_ob1_improbe`).
            let found = peer.immediate_matched_probe().or_else(|| peer.immediate_matched_probe());
            if let Some(message) = found {
                return Some(message.matched_receive_vec().0);
            }
            if !self.waits(since, deadline) {
                return None;
            }
        }
    }

    /// Lets others have the processor; false where there is nothing to wait for any more.
    fn waits(&self, since: Time, deadline: Time) -> bool {
        let now = self.now();
        if interrupt::requested() && self.last.get().is_none() {
            self.last.set(Some(now + LAST));
        }
        if now >= deadline || self.last.get().is_some_and(|last| now >= last) {
            return false;
        }
        match now.since(since) {
            waited if waited < EAGER => std::hint::spin_loop(),
            waited if waited < SOON => thread::sleep(NAP),
            _ => thread::sleep(PAUSE),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::refuse_alone;

    #[test]
    fn tasks_that_do_not_know_of_one_another_are_refused() {
        let check = |size, variables: &[(&str, &str)], is_refused| {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            let refused = refuse_alone(size, variable);
            assert_eq!(refused.is_err(), is_refused, "{size} {variables:?}");
        };
        let four = ("SLURM_STEP_NUM_TASKS", "4");
        check(1, &[four], true);
        check(4, &[four], false);
        check(1, &[], false);
        check(1, &[("SLURM_STEP_NUM_TASKS", "1")], false);
        // One rank of `mpirun` in a step of Slurm's.
        check(1, &[four, ("OMPI_COMM_WORLD_SIZE", "1")], false);
    }
}
