//! fjall: a batch with `PersistMode::SyncAll` is its promise.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use ledger::{Mode, Must as _, Put, Store};

struct Fjall {
    db: Database,
    kept: Keyspace,
    mode: &'static Mode,
}

impl Store for Fjall {
    const NAME: &'static str = "fjall";
    const MODES: &'static [Mode] = &[
        Mode { name: "sync-all", sleeps: false },
        Mode { name: "sync-data", sleeps: false },
        Mode { name: "buffer", sleeps: true },
    ];

    fn open(folder: &Path, mode: &'static Mode) -> Self {
        let db = Database::builder(folder).open().must("open");
        // Tables that are written while power is cut; the default is 64 MiB.
        let options = || KeyspaceCreateOptions::default().max_memtable_size(64 << 10);
        let kept = db.keyspace("kept", options).must("keyspace");
        Self { db, kept, mode }
    }

    fn commit(&mut self, puts: &[Put]) {
        let persist = match self.mode.name {
            "sync-all" => PersistMode::SyncAll,
            "sync-data" => PersistMode::SyncData,
            _ => PersistMode::Buffer,
        };
        let mut batch = self.db.batch().durability(Some(persist));
        for (key, value) in puts {
            batch.insert(&self.kept, key.as_bytes(), &value[..]);
        }
        batch.commit().must("commit");
    }

    fn get(&self, key: &str) -> Option<Vec<u8>> {
        self.kept.get(key).must("get").map(|value| value.to_vec())
    }
}

fn main() {
    ledger::main::<Fjall>();
}
