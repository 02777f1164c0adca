//! No output of a tool may panic, and what an inspection makes of one must be text and JSON again.
#![no_main]

use drivelab_host::root::Recording;
use drivelab_host::tools::Outputs;
use drivelab_host::{Inspection, Options, Root, inspect, outline};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut outputs = Outputs::default();
    // Several files are one machine: the parts between zeros.
    for part in bytes.split(|byte| *byte == 0) {
        outputs.add("lspci_-vvnn_.dev.sda", &String::from_utf8_lossy(part));
    }
    let (tree, facts, sources) = outputs.into_tree(Recording::default());
    let options = Options { facts, sources, described: true, serials: true, ..Options::default() };
    let found = inspect(&Root::of(tree), &[], &options).expect("nothing was asked for by name");
    let json = serde_json::to_string(&found).expect("plain data is always JSON");
    assert_eq!(serde_json::from_str::<Inspection>(&json).expect("our own JSON"), found);
    outline(&found);
});
