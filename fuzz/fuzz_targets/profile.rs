//! No drive profile may panic, hang or allocate without bound.
#![no_main]

use drivelab_model::profile::{BaseText, Profile};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = Profile::parse("fuzz.toml", text, &|base| {
        let text = drivelab_model::profile::text(base)?.to_owned();
        Some(BaseText { file: base.to_owned(), text })
    });
});
