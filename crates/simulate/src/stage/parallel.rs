//! Work on all processors.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The results of `make` for each item, in the order of the items; made on `threads` threads.
pub fn map<T: Sync, R: Send>(
    threads: NonZeroUsize,
    items: &[T],
    make: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    const HELD: &str = "no thread panics while it holds the results";
    let next = AtomicUsize::new(0);
    let results = Mutex::new(items.iter().map(|_| None).collect::<Vec<Option<R>>>());
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return };
            let result = make(item);
            results.lock().expect(HELD)[index] = Some(result);
        }
    };
    thread::scope(|scope| {
        // This thread works, too, and no thread is started for which there is no item.
        for _ in 1..threads.get().min(items.len()) {
            scope.spawn(work);
        }
        work();
    });
    let results = results.into_inner().expect(HELD).into_iter();
    results.map(|result| result.expect("every item was taken")).collect()
}
