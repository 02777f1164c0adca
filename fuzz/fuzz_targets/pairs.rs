//! No file of paired values may panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = drivelab_analysis::pairs::parse(text);
});
