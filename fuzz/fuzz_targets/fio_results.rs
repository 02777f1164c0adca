//! No result of fio may panic, hang or allocate without bound, and every figure is one.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(imported) = drivelab_formats::fio::results::parse(text) else { return };
    for result in imported.results {
        assert!(result.value.is_finite() && result.value > 0.0, "{result:?}");
    }
});
