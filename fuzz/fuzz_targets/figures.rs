//! No file of figures may panic, hang or allocate without bound.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = drivelab_analysis::explanation::question::parse("fuzz.toml", text);
});
