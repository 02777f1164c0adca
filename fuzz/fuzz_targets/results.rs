//! No result of another tool may panic, hang or allocate without bound when it is only read: as
//! `foreign_results`, a hundred times as fast.
#![no_main]

use drivelab_formats::results;

libfuzzer_sys::fuzz_target!(|text: &str| {
    // A text that no signature fits goes to the reader that its first character chooses.
    let mut characters = text.chars();
    let Some(first) = characters.next() else { return };
    let which = (first as usize).checked_sub('A' as usize);
    let named = which.and_then(|which| results::formats().nth(which));
    let read = match named.filter(|_| !results::is_known(text)) {
        Some(format) => results::parse_as(format, characters.as_str()),
        None => results::parse(text),
    };
    let Ok(imported) = read else { return };
    for figure in imported.runs.iter().flat_map(|run| &run.phases).flat_map(|it| it.metrics()) {
        assert!(figure.value.is_finite() && figure.value >= 0.0, "{figure:?}");
    }
});
