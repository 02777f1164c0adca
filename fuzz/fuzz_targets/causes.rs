//! No library of causes may panic, hang or allocate without bound.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = drivelab_simulate::explain::library::parse("fuzz.toml", text);
});
