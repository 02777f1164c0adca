//! A drive served by a thread of the test's own.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use drivelab_core::Control;
use drivelab_core::record::Tally;
use drivelab_core::workload::Workload;
use drivelab_core::{Bytes, Disk as _, Span};
use drivelab_engine::RunPlan;
use drivelab_serve::nbd::Export;
use drivelab_serve::server::{Endpoint, Server, Settings, Spin, Summary};
use tempfile::TempDir;

use super::{Arm, Kind};

/// A server on its socket, and as a file where that was asked for.
#[derive(Debug)]
pub(crate) struct Served {
    nbd: PathBuf,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Summary>>,
    _folder: TempDir,
}

impl Served {
    /// Serves a drive; with real-time scheduling and `spin` where that is given.
    pub(crate) fn start(kind: &Kind, seed: u64, spin: Option<Spin>) -> Self {
        Self::serve(kind, seed, spin, false).expect("a socket in a folder of our own")
    }

    fn serve(kind: &Kind, seed: u64, spin: Option<Spin>, file: bool) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let nbd = folder.path().join("nbd");
        let settings = Settings {
            nbd: Some(Endpoint::Unix(nbd.clone())),
            fuse: file.then(|| folder.path().join("drive")),
            real_time: spin.is_some(),
            spin: spin.unwrap_or(Spin::Fixed(Span::ZERO)),
            ..Settings::new(Export {
                name: "drive".into(),
                bytes: 0,
                rotational: true,
                sector_bytes: 512,
            })
        };
        let stop = Arc::new(AtomicBool::new(false));
        let (kind, stopped) = (kind.clone(), Arc::clone(&stop));
        let (ready, is_ready) = channel();
        let thread = std::thread::spawn(move || {
            let drive = kind.build(seed);
            let bytes = drive.capacity().bytes().get();
            let export = Export { bytes, ..settings.export.clone() };
            let server = Server::new(drive, Settings { export, ..settings });
            let failed = server.as_ref().err().map(ToString::to_string);
            ready.send(failed).expect("the test waits for it");
            server.expect("the test has given up").run(&stopped, &mut |_| ()).expect("it serves")
        });
        match is_ready.recv().expect("it says so") {
            Some(failed) => Err(failed),
            None => Ok(Self { nbd, stop, thread: Some(thread), _folder: folder }),
        }
    }

    /// Where clients connect.
    pub(crate) fn nbd(&self) -> &Path {
        &self.nbd
    }

    /// Ends it; says what it did.
    pub(crate) fn stop(mut self) -> Summary {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("it is stopped once");
        thread.join().expect("the server does not panic")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // A test that failed leaves nothing mounted behind.
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A drive as a file, read and written by the engine.
#[derive(Debug)]
pub(crate) struct Mounted {
    file: File,
    path: PathBuf,
    served: Served,
}

impl Mounted {
    /// Whether this host lets us mount, and if not, why.
    pub(crate) fn is_possible() -> Result<(), String> {
        Served::serve(&Kind::Null, 1, None, true).map(|served| {
            served.stop();
        })
    }

    pub(crate) fn start(kind: &Kind, seed: u64) -> Self {
        Self::start_with(kind, seed, None)
    }

    /// As [`Self::start`], with real-time scheduling.
    pub(crate) fn start_with(kind: &Kind, seed: u64, spin: Option<Spin>) -> Self {
        let served = Served::serve(kind, seed, spin, true).expect("it was possible before");
        let path = served.nbd.with_file_name("drive");
        let file = OpenOptions::new().read(true).write(true).open(&path).expect("it is there");
        Self { file, path, served }
    }

    pub(crate) fn stop(self) -> Summary {
        let Self { file, served, .. } = self;
        drop(file);
        served.stop()
    }
}

impl Arm for Mounted {
    fn write(&mut self, at: u64, data: &[u8]) {
        self.file.write_all_at(data, at).expect("the file takes it");
    }

    fn read(&mut self, at: u64, data: &mut [u8]) {
        self.file.read_exact_at(data, at).expect("the file has it");
    }

    fn flush(&mut self) {
        self.file.sync_data().expect("the file is synced");
    }

    fn load(&mut self, workload: &Workload, seed: u64) -> Tally {
        let stop = AtomicBool::new(false);
        let control = Control::silent(&stop);
        let linux = drivelab_host::Linux::below("/");
        let plan = RunPlan { seed, ..RunPlan::new(self.path.clone(), workload.clone()) };
        let outcome =
            drivelab_engine::run(&plan, &linux, &control).expect("the file can be measured");
        assert!(outcome.capacity > Bytes::ZERO);
        outcome.total
    }
}
