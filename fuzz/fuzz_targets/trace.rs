//! Recorded traces: no line may panic.
#![no_main]

use drivelab_formats::trace::Parser;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut parser = Parser::new(None);
    let mut last = None;
    for line in text.lines() {
        for entry in parser.line(line).into_iter().flatten() {
            assert!(entry.at >= last || entry.at.is_none(), "times run backwards");
            last = entry.at.or(last);
        }
    }
});
