//! Virtual time, read without a system call.

use std::cell::Cell;
use std::fs::File;
use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Instant;

use crate::sys::time_page::{self, TimePage};

/// A device of the kernel for guests (`crates/guest/kernel/patches/virtual-clock.patch`).
const DEVICE: &str = "/dev/virtual-clock";

/// Readings of one instant between two system calls: a completion, and the next request.
const READINGS: u32 = 2;

/// The time that a guest's kernel keeps in a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page(TimePage);

/// The latest reading of a thread, and how often it was read.
#[derive(Debug, Clone, Copy)]
struct Latest {
    ns: u64,
    readings: u32,
}

thread_local! {
    static LATEST: Cell<Latest> = const { Cell::new(Latest { ns: 0, readings: 0 }) };
}

impl Page {
    /// The page of this machine, if it is a guest that has one.
    pub(super) fn of_this_machine() -> Option<Self> {
        static PAGE: OnceLock<Option<Page>> = OnceLock::new();
        *PAGE.get_or_init(|| File::open(DEVICE).ok().as_ref().and_then(time_page::map).map(Self))
    }

    /// Nanoseconds since the guest started.
    #[inline]
    pub(super) fn now(self) -> u64 {
        LATEST.with(|latest| {
            let (now, next) = read(
                || self.0.ns(),
                latest.get(),
                || {
                    black_box(Instant::now());
                },
            );
            latest.set(next);
            now
        })
    }
}

/// Reads the page. To read it takes no time, while the clock's system call takes some: a program
/// that only looks at the page would wait for ever for it to change, so a thread that has seen one
/// instant often enough makes `call`.
#[inline]
fn read(page: impl Fn() -> u64, latest: Latest, call: impl FnOnce()) -> (u64, Latest) {
    let mut ns = page();
    if ns == latest.ns {
        if latest.readings < READINGS {
            return (ns, Latest { ns, readings: latest.readings + 1 });
        }
        call();
        ns = page();
    }
    (ns, Latest { ns, readings: 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_only_looks_at_the_clock_makes_it_move() {
        let page = Cell::new(1_000);
        let calls = Cell::new(0);
        let mut latest = Latest { ns: 0, readings: 0 };
        let mut now = || {
            let (now, next) = read(
                || page.get(),
                latest,
                || {
                    calls.set(calls.get() + 1);
                    page.set(page.get() + 256);
                },
            );
            latest = next;
            now
        };
        assert_eq!([now(), now()], [1_000; 2]);
        assert_eq!(calls.get(), 0, "a completion and the next request");
        assert_eq!([now(), now(), now()], [1_256, 1_256, 1_512]);
        assert_eq!(calls.get(), 2);
        page.set(9_000);
        assert_eq!([now(), now()], [9_000; 2]);
        assert_eq!(calls.get(), 2, "it moved by itself");
    }

    #[test]
    fn only_a_guest_has_the_page() {
        let has_it = std::path::Path::new(DEVICE).exists();
        assert_eq!(Page::of_this_machine().is_some(), has_it);
    }
}
