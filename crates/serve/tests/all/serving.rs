//! A server in a thread of its own, as a program beside it meets it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use drivelab_core::{Bytes, Sectors, Span};
use drivelab_serve::drive::{Null, ServedDrive};
use drivelab_serve::medium::Memory;
use drivelab_serve::nbd::Export;
use drivelab_serve::server::{Server, Settings, Spin, Summary};
use drivelab_serve::store::Store;

pub(crate) struct Serving {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Summary>,
}

impl Serving {
    /// Serves a drive that takes no time, with physical sectors of that size, or says why not.
    pub(crate) fn start(settings: Settings, sector: Sectors) -> Result<Self, String> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let held = Bytes::new(settings.export.bytes);
            let capacity = Sectors::holding(held);
            let store = Store::new(Box::new(Memory::new(capacity, held)), sector);
            let drive = ServedDrive::new(Null::new(capacity), store, 1);
            let server = Server::new(drive, settings);
            ready.send(server.as_ref().err().map(ToString::to_string)).unwrap();
            server.unwrap().run(&stopped, &mut |_| {}).unwrap()
        });
        is_ready.recv().unwrap().map_or(Ok(Self { stop, thread }), Err)
    }

    /// Ends it as Ctrl-C does.
    pub(crate) fn stop(self) -> Summary {
        self.stop.store(true, Ordering::Relaxed);
        self.wait()
    }

    /// Waits until it ends by itself.
    pub(crate) fn wait(self) -> Summary {
        self.thread.join().unwrap()
    }
}

/// Settings of a server of so many bytes.
pub(crate) fn settings(capacity: Bytes) -> Settings {
    Settings {
        spin: Spin::Fixed(Span::ZERO),
        ..Settings::new(Export {
            name: "drive".into(),
            bytes: capacity.get(),
            rotational: false,
            sector_bytes: 512,
        })
    }
}
