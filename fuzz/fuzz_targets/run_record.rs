//! No stored run may panic when it is read and compared.
#![no_main]

use drivelab_core::record::RunRecord;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = serde_json::from_str::<RunRecord>(text);
});
