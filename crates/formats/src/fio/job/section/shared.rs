//! Rates, latencies, locks and the space of a file system, which jobs share.

use drivelab_core::Refusal;

use super::Section;

impl Section {
    /// Sets the shared rate of a job of `parts` files, and notes where a lock or a full file system
    /// differs from fio.
    pub(super) fn shared(&mut self, parts: u32) -> Result<(), Refusal> {
        self.conduct.flow = self.flow.share();
        self.conduct.latency = self.latency.goal();
        if parts > 1 && self.conduct.latency.is_some() {
            let wrong = format!("`latency_target`: the job `{}` uses several files", self.name);
            return Err(Refusal::request(wrong).hint("give each file a section"));
        }
        if parts > 1 && self.conduct.flow.is_some() {
            let wrong = format!("`flow`: the job `{}` uses several files", self.name);
            return Err(Refusal::request(wrong).hint("give each file a section with its `flow`"));
        }
        if !self.conduct.lock.is_none() && !super::is_synchronous(self.ioengine) {
            let why = "an engine with a queue locks nothing, as in fio, where the lock is held \
                       while a request is queued";
            self.note("lockfile", why);
        }
        if self.extent.fills && self.extent.size.is_none() {
            let why = "a file takes the free space of its file system, except for a part of 256 \
                       and at least 1 MiB; fio writes until there is none";
            self.note("fill_device", why);
        }
        Ok(())
    }
}
