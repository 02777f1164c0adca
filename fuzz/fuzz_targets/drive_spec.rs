//! No `drive:NAME,key=value` may panic, and what is read prints back to the same.
#![no_main]

use drivelab_model::options::DriveSpec;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(spec) = text.parse::<DriveSpec>() {
        assert_eq!(spec.to_string().parse::<DriveSpec>().ok(), Some(spec));
    }
});
