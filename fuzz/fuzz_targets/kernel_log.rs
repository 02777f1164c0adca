//! No kernel log may panic, and what an inspection makes of one must be text and JSON again.
#![no_main]

use drivelab_host::{Inspection, KernelLog, Options, Root, inspect, outline};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Any format, compressed or not; what is no log is refused.
    let Ok(log) = KernelLog::read(bytes) else { return };
    // A folder that is not there: the log is all there is to go by.
    let root = Root::new("/nonexistent");
    let options = Options { log: Some(log), ..Options::default() };
    let found = inspect(&root, &[], &options).expect("nothing was asked for by name");
    let json = serde_json::to_string(&found).expect("plain data is always JSON");
    assert_eq!(serde_json::from_str::<Inspection>(&json).expect("our own JSON"), found);
    outline(&found);
});
