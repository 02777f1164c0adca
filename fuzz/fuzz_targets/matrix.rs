//! No matrix may panic, hang or allocate without bound.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(matrix) = drivelab_core::matrix::Matrix::parse("fuzz.toml", text) {
        let _ = matrix.cells();
    }
});
