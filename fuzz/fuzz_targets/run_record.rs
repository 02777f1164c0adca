//! No stored run may panic when it is read and compared.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = drivelab_report::run::parse(text);
});
