//! sled: `flush` is its promise.

use std::path::Path;

use ledger::{Mode, Must as _, Put, Store};

struct Sled {
    db: sled::Db,
    mode: &'static Mode,
}

impl Store for Sled {
    const NAME: &'static str = "sled";
    const MODES: &'static [Mode] =
        &[Mode { name: "flush", sleeps: false }, Mode { name: "noflush", sleeps: true }];

    fn open(folder: &Path, mode: &'static Mode) -> Self {
        // Segments that end while power is cut; the default is 512 KiB.
        let db = sled::Config::new().path(folder).segment_size(64 << 10).cache_capacity(4 << 20);
        Self { db: db.open().must("open"), mode }
    }

    fn commit(&mut self, puts: &[Put]) {
        let mut batch = sled::Batch::default();
        for (key, value) in puts {
            batch.insert(key.as_bytes(), &value[..]);
        }
        self.db.apply_batch(batch).must("apply_batch");
        if !self.mode.sleeps {
            self.db.flush().must("flush");
        }
    }

    fn get(&self, key: &str) -> Option<Vec<u8>> {
        self.db.get(key).must("get").map(|value| value.to_vec())
    }
}

fn main() {
    ledger::main::<Sled>();
}
