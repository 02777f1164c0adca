//! Many hosts at the same time, bounded.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Asks all hosts, `at_once` at a time, and passes each answer to `then` as it comes, with the
/// index of its host. `then` runs on this thread; it returns whether to ask more hosts.
pub fn each<H: Sync, T: Send>(
    hosts: &[H],
    at_once: NonZeroUsize,
    ask: impl Fn(&H) -> T + Sync,
    mut then: impl FnMut(usize, T) -> bool,
) {
    let next = AtomicUsize::new(0);
    // Bounded: a slow `then` holds up the asking, so that no host is asked unnecessarily.
    let (send, answers) = mpsc::sync_channel(at_once.get());
    thread::scope(|scope| {
        for _ in 0..at_once.get().min(hosts.len()) {
            let (send, next, ask) = (send.clone(), &next, &ask);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(host) = hosts.get(index) else { return };
                    if send.send((index, ask(host))).is_err() {
                        return;
                    }
                }
            });
        }
        // The loop below ends when the last sender is dropped.
        drop(send);
        for (index, answer) in answers {
            if !then(index, answer) {
                // Answers of hosts that are still being asked are dropped.
                next.store(hosts.len(), Ordering::Relaxed);
                return;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn every_host_is_asked_once_and_no_more_than_so_many_at_a_time() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let hosts: Vec<usize> = (0..40).collect();
        let mut answers = BTreeSet::new();
        let ask = |host: &usize| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            thread::yield_now();
            now.fetch_sub(1, Ordering::SeqCst);
            *host
        };
        each(&hosts, NonZeroUsize::new(3).unwrap(), ask, |place, answer| {
            assert_eq!(place, answer);
            answers.insert(answer)
        });
        assert_eq!(answers.len(), 40);
        assert!(most.into_inner() <= 3);
    }

    #[test]
    fn no_more_hosts_are_asked_when_it_is_enough() {
        let asked = AtomicUsize::new(0);
        let ask = |(): &()| asked.fetch_add(1, Ordering::SeqCst);
        each(&[(); 100], NonZeroUsize::MIN, ask, |_, _| false);
        assert!(asked.into_inner() < 100);
    }
}
