//! A store of keys and values: a log that is synced with each key, and a table that replaces it.
//!
//! `store put N [SYNC]` puts N keys, and syncs the log after each (`each`, the default) or once
//! (`once`). After 64 keys the table is written anew and the log begins again.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};

const KEYS_IN_LOG_MAX: usize = 64;

struct Store {
    table: BTreeMap<String, String>,
    log: File,
    in_log: usize,
    syncs_each: bool,
}

impl Store {
    fn open(syncs_each: bool) -> io::Result<Self> {
        let log = OpenOptions::new().create(true).append(true).open("store.log")?;
        Ok(Self { table: BTreeMap::new(), log, in_log: 0, syncs_each })
    }

    #[inline(never)]
    fn put(&mut self, key: &str, value: &str) -> io::Result<()> {
        self.log.write_all(format!("{key}={value}\n").as_bytes())?;
        if self.syncs_each {
            self.log.sync_data()?;
        }
        self.table.insert(key.into(), value.into());
        self.in_log += 1;
        if self.in_log == KEYS_IN_LOG_MAX { self.compact() } else { Ok(()) }
    }

    #[inline(never)]
    fn compact(&mut self) -> io::Result<()> {
        let mut table = File::create("store.new")?;
        for (key, value) in &self.table {
            table.write_all(format!("{key}={value}\n").as_bytes())?;
        }
        table.sync_all()?;
        fs::rename("store.new", "store.table")?;
        // The new name must be on the disk before the log is emptied.
        File::open(".")?.sync_all()?;
        self.log.set_len(0)?;
        self.in_log = 0;
        Ok(())
    }
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let count: usize = words.get(2).and_then(|word| word.parse().ok()).unwrap_or(100);
    let syncs_each = words.get(3).is_none_or(|word| word == "each");
    let mut store = Store::open(syncs_each)?;
    for number in 0..count {
        store.put(&format!("key{number:05}"), &"value ".repeat(10))?;
    }
    store.log.sync_data()
}
