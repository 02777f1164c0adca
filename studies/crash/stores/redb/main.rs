//! redb: a commit with `Durability::Immediate`, its default, is its promise.

use std::path::Path;

use ledger::{Mode, Must as _, Put, Store, corrupt};
use redb::{Database, Durability, ReadableDatabase as _, TableDefinition};

const KEPT: TableDefinition<&str, &[u8]> = TableDefinition::new("kept");

struct Redb {
    db: Database,
    mode: &'static Mode,
}

impl Store for Redb {
    const NAME: &'static str = "redb";
    const MODES: &'static [Mode] = &[
        Mode { name: "immediate", sleeps: false },
        Mode { name: "two-phase", sleeps: false },
        Mode { name: "none", sleeps: true },
    ];

    fn open(folder: &Path, mode: &'static Mode) -> Self {
        std::fs::create_dir_all(folder).must("create_dir_all");
        let db = Database::create(folder.join("kept.redb")).must("create");
        let store = Self { db, mode };
        store.write(&[]);
        store
    }

    fn commit(&mut self, puts: &[Put]) {
        self.write(puts);
    }

    fn get(&self, key: &str) -> Option<Vec<u8>> {
        let transaction = self.db.begin_read().must("begin_read");
        let table = transaction.open_table(KEPT).must("open_table");
        table.get(key).must("get").map(|value| value.value().to_vec())
    }

    fn verify(&mut self) {
        if !self.db.check_integrity().must("check_integrity") {
            corrupt("check_integrity found damage and repaired it");
        }
    }
}

impl Redb {
    fn write(&self, puts: &[Put]) {
        let mut transaction = self.db.begin_write().must("begin_write");
        match self.mode.name {
            "none" => transaction.set_durability(Durability::None).must("set_durability"),
            name => transaction.set_two_phase_commit(name == "two-phase"),
        }
        let mut table = transaction.open_table(KEPT).must("open_table");
        for (key, value) in puts {
            table.insert(&key[..], &value[..]).must("insert");
        }
        drop(table);
        transaction.commit().must("commit");
    }
}

fn main() {
    ledger::main::<Redb>();
}
