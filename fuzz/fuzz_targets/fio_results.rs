//! No result of fio may panic, hang or allocate without bound, and every figure is one.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(imported) = drivelab_formats::fio::results::parse(text) else { return };
    for figure in imported.runs.iter().flat_map(|run| &run.phases).flat_map(|phase| phase.metrics())
    {
        assert!(figure.value.is_finite() && figure.value > 0.0, "{figure:?}");
    }
});
