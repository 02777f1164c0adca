//! The threads of a phase: all have started before the first begins.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, Builder, ScopedJoinHandle, Thread};

use drivelab_core::Refusal;

use super::halt::{Done, Halt};

/// Starts `count` threads, has each `prepare`, and then lets them `work`: they are woken in the
/// order of their numbers. Returns what they came to, in that order.
///
/// If others already work, the last one of a hundred begins up to half a second after the
/// first, which may be most of what a phase measures: a thread maps memory when it begins, for
/// which it needs a lock that all of the process share.
pub(crate) fn in_order<P, T: Send>(
    count: u32,
    prepare: impl Fn() -> P + Sync,
    work: impl Fn(u32, P) -> Done<T> + Sync,
) -> Vec<Done<T>> {
    let gate = Gate { there: AtomicU32::new(0), keeper: thread::current(), opens: OnceLock::new() };
    thread::scope(|scope| {
        let (gate, prepare, work) = (&gate, &prepare, &work);
        let started = (0..count).map(|number| {
            let thread = Builder::new().spawn_scoped(scope, move || {
                let prepared = prepare();
                if gate.wait() { work(number, prepared) } else { Err(Halt::Interrupted) }
            });
            thread.map_err(|error| cannot_start(count, error))
        });
        let started: Vec<Done<_>> = started.collect();
        assert_eq!(started.len(), count as usize, "one handle for each thread");
        gate.open(&started);
        let panicked = "a panic of a thread is a panic of the suite";
        started.into_iter().map(|thread| thread?.join().expect(panicked)).collect()
    })
}

fn cannot_start(count: u32, error: std::io::Error) -> Halt {
    Halt::from(
        Refusal::machine(format_args!("cannot start {count} threads"))
            .because(error)
            .hint("ask for fewer threads, or raise the limit of processes (`ulimit -u`)"),
    )
}

/// A gate at which threads wait until all have arrived.
struct Gate {
    there: AtomicU32,
    /// The thread that opens it.
    keeper: Thread,
    /// True if they are to work; empty while it is shut.
    opens: OnceLock<bool>,
}

impl Gate {
    /// Waits until it opens; returns true if the thread is to work.
    fn wait(&self) -> bool {
        self.there.fetch_add(1, Ordering::Relaxed);
        self.keeper.unpark();
        loop {
            // A thread may wake without reason: only the gate counts.
            match self.opens.get() {
                Some(works) => return *works,
                None => thread::park(),
            }
        }
    }

    /// Opens once all threads wait, at once if one of them could not be started: then none works.
    fn open<T>(&self, started: &[Done<ScopedJoinHandle<'_, T>>]) {
        debug_assert!(self.opens.get().is_none(), "it opens once");
        let all = started.iter().all(Result::is_ok);
        // Each thread unparks the keeper when it arrives; a wakeup too many only looks again.
        while all && (self.there.load(Ordering::Relaxed) as usize) < started.len() {
            thread::park();
        }
        self.opens.get_or_init(|| all);
        started.iter().flatten().for_each(|thread| thread.thread().unpark());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn all_are_prepared_before_one_works() {
        let prepared = AtomicU32::new(0);
        let prepare = || prepared.fetch_add(1, Ordering::Relaxed);
        let seen =
            in_order(20, prepare, |number, _| Ok((number, prepared.load(Ordering::Relaxed))));
        let seen: Vec<_> = seen.into_iter().map(Result::unwrap).collect();
        assert_eq!(seen, (0..20).map(|number| (number, 20)).collect::<Vec<_>>());
    }

    #[test]
    fn one_that_cannot_be_started_ends_the_others() {
        let gate =
            Gate { there: AtomicU32::new(0), keeper: thread::current(), opens: OnceLock::new() };
        let told = Mutex::new(Vec::new());
        thread::scope(|scope| {
            let waiting = scope.spawn(|| told.lock().unwrap().push(gate.wait()));
            gate.open(&[Ok(waiting), Err(Refusal::machine("no more threads").into())]);
        });
        assert_eq!(told.into_inner().unwrap(), [false]);
    }
}
