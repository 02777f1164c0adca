//! Reading that cannot hang: a file below the root that does not answer is skipped.
//!
//! The kernel answers most attributes from memory, and some by asking a device, which may be dead;
//! a captured tree may be on a file system whose server is dead. Such a read cannot be interrupted.
//! So a thread does all reading and records the path that it waits for. If it waits too long, it is
//! abandoned, and reading begins again in a new thread that skips the silent file. This costs
//! nothing if all files answer, and needs no thread per file.

use std::any::Any;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use super::waiting::Waiting;
use super::{Recording, Root};

/// Time limit of a file: ten times what a sleeping disk needs to answer from its electronics, and
/// less than a user waits for a list of disks.
pub const DEADLINE: Duration = Duration::from_secs(2);
/// Number of checks per deadline.
const POLLS: u32 = 8;
/// Maximum number of skipped files; each of them occupies a thread.
pub const SILENT_MAX: usize = 8;

/// The answer of a reader, of any type.
type Answer = Box<dyn Any + Send>;
/// A reader of a root.
type Work = dyn Fn(Root) -> Answer + Send + Sync;

/// Reads a tree, and records the files that did not answer.
#[derive(Debug, Clone)]
pub struct Reader {
    pub(super) base: PathBuf,
    pub(super) memory: Option<Arc<Recording>>,
    pub(super) records: bool,
    pub(super) deadline: Duration,
    pub(super) silent: BTreeSet<String>,
}

/// More files than can be skipped do not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("more than {SILENT_MAX} files below `{}` do not respond, e.g. `{last}`", base.display())]
pub struct Unanswered {
    /// The path of the tree.
    pub base: PathBuf,
    /// The last file that was tried.
    pub last: String,
}

impl Reader {
    /// A reader of the tree below `base`.
    pub fn new(base: impl Into<PathBuf>) -> Self {
        let silent = BTreeSet::new();
        Self { base: base.into(), memory: None, records: false, deadline: DEADLINE, silent }
    }

    /// A reader of a tree in memory, which is called `name`.
    pub fn of(name: impl Into<PathBuf>, tree: Recording) -> Self {
        Self { memory: Some(Arc::new(tree)), ..Self::new(name) }
    }

    /// The reader with roots that record all that is read.
    #[must_use]
    pub fn recording(self) -> Self {
        Self { records: true, ..self }
    }

    /// The reader with another deadline.
    #[must_use]
    pub fn within(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// The path of the tree.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// Runs `work` with a new root; repeats it if it met a file that does not answer, which is then
    /// a problem of that root. The receiver's time-out serves as the clock; no clock is read.
    pub fn read<T: Send + 'static>(
        &mut self,
        work: impl Fn(Root) -> T + Send + Sync + 'static,
    ) -> Result<T, Unanswered> {
        let work: Arc<Work> = Arc::new(move |root| Box::new(work(root)));
        let found = self.read_any(&work)?;
        Ok(*found.downcast().expect("`work` returned it"))
    }

    /// As above for answers of any type, so that threads and channels are compiled once.
    fn read_any(&mut self, work: &Arc<Work>) -> Result<Answer, Unanswered> {
        loop {
            let waiting = Arc::new(Waiting::default());
            let (sender, answer) = sync_channel(1);
            let (work, reader, waits) = (Arc::clone(work), self.clone(), Arc::clone(&waiting));
            // Abandoned if it hangs: it ends with the process.
            let thread = std::thread::spawn(move || {
                let root = Root::watched(&reader, waits);
                let _ = sender.send(work(root));
            });
            match self.wait(&answer, &waiting) {
                Ok(found) => return Ok(found),
                Err(None) => match thread.join() {
                    Err(panic) => std::panic::resume_unwind(panic),
                    Ok(()) => unreachable!("a thread that ends in order has sent its answer"),
                },
                Err(Some(path)) if self.silent.len() >= SILENT_MAX => {
                    return Err(Unanswered { base: self.base.clone(), last: path });
                }
                // From now on the file is skipped, also by the readings to come.
                Err(Some(path)) => self.silent.insert(path),
            };
        }
    }

    /// The answer; or the path that has been waited for too long; or nothing if the thread ended
    /// without an answer.
    fn wait(&self, answer: &Receiver<Answer>, waiting: &Waiting) -> Result<Answer, Option<String>> {
        let (mut before, mut polls) = (waiting.moment(), 0);
        loop {
            match answer.recv_timeout(self.deadline / POLLS) {
                Ok(found) => return Ok(found),
                Err(RecvTimeoutError::Disconnected) => return Err(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = waiting.moment();
            // The count distinguishes one long wait from many short ones for the same file.
            polls = if now.waits && now == before { polls + 1 } else { 0 };
            if polls >= POLLS {
                return Err(Some(now.path));
            }
            before = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::OpenOptionsExt as _;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A tree with a file that answers, and a pipe that never does.
    fn tree() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("sys/block/sda")).unwrap();
        fs::write(folder.path().join("sys/block/sda/size"), "8\n").unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let kind = rustix::fs::FileType::Fifo;
        let pipe = folder.path().join("sys/block/sda/model");
        rustix::fs::mknodat(rustix::fs::CWD, pipe, kind, mode, 0).unwrap();
        folder
    }

    /// Waits for the pipe as for an attribute whose device is dead.
    fn hang(root: &Root, path: &str) {
        root.ask(path, || drop(fs::File::open(root.base().join(path))));
    }

    /// Releases the threads that hang.
    fn release(folder: &tempfile::TempDir, pipe: &str) {
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let mut options = fs::File::options();
        let _ = options.write(true).custom_flags(nonblocking).open(folder.path().join(pipe));
    }

    #[test]
    fn what_does_not_answer_is_named_and_the_rest_is_read() {
        let folder = tree();
        let mut reader = Reader::new(folder.path()).within(Duration::from_millis(40));
        let tries = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&tries);
        let look = move |root: Root| {
            count.fetch_add(1, Ordering::Relaxed);
            if !root.is_silent("sys/block/sda/model") {
                hang(&root, "sys/block/sda/model");
            }
            let node = root.node("sys/block/sda").unwrap();
            (node.number::<u64>("size"), node.text("model"), root.problems())
        };
        let (size, model, problems) = reader.read(look.clone()).unwrap();
        assert_eq!((size, model), (Some(8), None));
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].path, "sys/block/sda/model");
        assert_eq!(problems[0].message, "did not answer within 0.04 s");
        assert!(problems[0].is_silence());
        assert_eq!(tries.load(Ordering::Relaxed), 2);
        // A file that did not answer once is not waited for again.
        reader.read(look).unwrap();
        assert_eq!(tries.load(Ordering::Relaxed), 3);
        release(&folder, "sys/block/sda/model");
    }

    #[test]
    fn a_tree_in_which_nothing_answers_is_given_up() {
        let folder = tree();
        let mut reader = Reader::new(folder.path()).within(Duration::from_millis(8));
        let look = |root: Root| {
            for number in 0.. {
                let path = format!("file-{number}");
                if !root.is_silent(&path) {
                    let pipe = root.base().join("sys/block/sda/model");
                    root.ask(&path, || drop(fs::File::open(&pipe)));
                }
            }
        };
        let error = reader.read(look).unwrap_err();
        assert_eq!(error.last, format!("file-{SILENT_MAX}"));
    }

    #[test]
    fn a_panic_of_the_reading_thread_is_a_panic() {
        let mut reader = Reader::new("/nonexistent");
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = reader.read(|_| panic!("as if by a bug"));
        }));
        assert!(caught.is_err());
    }
}
