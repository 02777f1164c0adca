//! Who looks whether there is something to do, instead of being told.

/// What is polled on the way to a target and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Polling {
    /// We look for completions ourselves, without interrupts (`IORING_SETUP_IOPOLL`; fio's
    /// `hipri`). The device must have queues for it.
    pub completions: bool,
    /// A thread of the kernel looks for requests, so that sending them takes no system call
    /// (`IORING_SETUP_SQPOLL`; fio's `sqthread_poll`). It takes a processor of its own.
    pub submissions: bool,
}

impl Polling {
    /// What is polled, under fio's names.
    pub fn names(self) -> Vec<String> {
        let asked = [(self.completions, "hipri"), (self.submissions, "sqthread_poll")];
        asked.iter().filter(|(asked, _)| *asked).map(|(_, name)| (*name).to_owned()).collect()
    }
}
