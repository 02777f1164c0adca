//! Recorded traces: no line may panic, and times never run backwards.
#![no_main]

use drivelab_formats::trace::{Parser, Selection};
use libfuzzer_sys::fuzz_target;

fn check<T: PartialOrd + Copy>(last: &mut Option<T>, at: Option<T>) {
    assert!(at >= *last || at.is_none(), "times run backwards");
    *last = at.or(*last);
}

fuzz_target!(|text: &str| {
    for measured in [false, true] {
        let mut parser = Parser::with(Selection { measured, ..Selection::default() });
        let mut last = None;
        for line in text.lines() {
            parser.line(line).into_iter().flatten().for_each(|entry| check(&mut last, entry.at));
        }
        parser.end().into_iter().flatten().for_each(|entry| check(&mut last, entry.at));
    }
});
