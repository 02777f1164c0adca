//! No study file may panic, hang or allocate without bound.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = drivelab::check_study("fuzz.toml", text);
});
