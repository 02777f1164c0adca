//! Files that runs leave behind and read again: ledgers of `durability`, state files of `--verify`.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use drivelab_engine::verify::State;
use drivelab_serve::durability::Ledger;

static FILE: LazyLock<PathBuf> =
    LazyLock::new(|| std::env::temp_dir().join(format!("drivelab-fuzz-{}", std::process::id())));

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    std::fs::write(&*FILE, bytes).expect("the folder for temporary files can be written");
    let _ = Ledger::read(&FILE);
    let _ = State::open(&FILE);
});
