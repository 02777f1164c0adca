//! No drive profile may panic, hang or allocate without bound.
#![no_main]

use drivelab_model::profile::Profile;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = Profile::parse("fuzz.toml", text, |base| {
        drivelab_model::profile::text(base).map(str::to_owned)
    });
});
