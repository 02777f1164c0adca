//! What a unit reads, it prints back to the same value.
#![no_main]

use drivelab_core::units::{Bytes, Ratio, Span};

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(span) = text.parse::<Span>() {
        assert_eq!(span.to_string().parse(), Ok(span));
    }
    if let Ok(bytes) = text.parse::<Bytes>() {
        assert_eq!(bytes.to_string().parse(), Ok(bytes));
    }
    if let Ok(ratio) = text.parse::<Ratio>() {
        assert_eq!(ratio.to_string().parse(), Ok(ratio));
    }
});
