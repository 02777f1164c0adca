//! No result of another tool may panic, hang or allocate without bound, every figure is a number,
//! and no run is without figures.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(imported) = drivelab_formats::results::parse(text) else { return };
    assert!(!imported.runs.is_empty());
    for run in imported.runs {
        for figure in run.phases.iter().flat_map(|phase| phase.metrics()) {
            assert!(figure.value.is_finite() && figure.value >= 0.0, "{figure:?}");
        }
    }
});
