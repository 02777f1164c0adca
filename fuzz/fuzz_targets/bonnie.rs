//! No bonnie++ CSV may panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = drivelab_formats::bonnie::parse(text);
});
