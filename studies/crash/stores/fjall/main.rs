//! fjall: a batch with `PersistMode::SyncAll` is its promise.

use std::path::Path;

use fjall::{Config, Keyspace, PartitionCreateOptions, PartitionHandle, PersistMode};
use ledger::{Mode, Must as _, Put, Store};

struct Fjall {
    keyspace: Keyspace,
    partition: PartitionHandle,
    mode: &'static Mode,
}

impl Store for Fjall {
    const VERSION: &'static str = "fjall";
    const MODES: &'static [Mode] = &[
        Mode { name: "sync-all", sleeps: false },
        Mode { name: "sync-data", sleeps: false },
        Mode { name: "buffer", sleeps: true },
    ];

    fn open(folder: &Path, mode: &'static Mode) -> Self {
        let keyspace = Config::new(folder).open().must("open");
        // Tables that are written while power is cut; the default is 16 MiB.
        let options = PartitionCreateOptions::default().max_memtable_size(64 << 10);
        let partition = keyspace.open_partition("kept", options).must("open_partition");
        Self { keyspace, partition, mode }
    }

    fn commit(&mut self, puts: &[Put]) {
        let persist = match self.mode.name {
            "sync-all" => PersistMode::SyncAll,
            "sync-data" => PersistMode::SyncData,
            _ => PersistMode::Buffer,
        };
        let mut batch = self.keyspace.batch().durability(Some(persist));
        for (key, value) in puts {
            batch.insert(&self.partition, key.as_bytes(), &value[..]);
        }
        batch.commit().must("commit");
    }

    fn get(&self, key: &str) -> Option<Vec<u8>> {
        self.partition.get(key).must("get").map(|value| value.to_vec())
    }
}

fn main() {
    ledger::main::<Fjall>();
}
