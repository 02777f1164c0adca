//! No bytes that someone pastes may panic, hang or allocate without bound: neither when they are made
//! text nor when the readers see it. The lines stay, and so does text that is made again.
#![no_main]

use drivelab_formats::{paste, results};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let once = paste::clean(bytes.to_vec());
    let _ = results::parse(&once.text);
    assert!(once.text.len() <= 3 * bytes.len() + 3);
    let lines = once.text.matches('\n').count();
    let twice = paste::clean(once.text.into_bytes());
    assert_eq!(twice.text.matches('\n').count(), lines);
});
