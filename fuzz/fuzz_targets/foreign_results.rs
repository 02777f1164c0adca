//! No result of another tool may panic, hang or allocate without bound, every figure is a number,
//! and no run is without figures. What can be exported can be read again, and then gives the same
//! bytes.
#![no_main]

use drivelab_formats::export::{Format, write};
use drivelab_formats::results;

libfuzzer_sys::fuzz_target!(|text: &str| {
    for log in ["a_bw.1.log", "a_lat.1.log"] {
        let _ = results::parse_file(log, text);
    }
    let Ok(imported) = results::parse(text) else { return };
    assert!(!imported.runs.is_empty());
    for run in &imported.runs {
        for figure in run.phases.iter().flat_map(|phase| phase.metrics()) {
            assert!(figure.value.is_finite() && figure.value >= 0.0, "{figure:?}");
        }
    }
    for format in [Format::Csv, Format::Markdown, Format::Benchstat] {
        let _ = write(&imported, format);
    }
    for format in [Format::Bonnie, Format::Phoronix, Format::CrystalDiskMark] {
        let Ok(once) = write(&imported, format) else { continue };
        let Ok(again) = results::parse(&once.text) else { continue };
        let twice = write(&again, format).expect("what was written can be written again");
        let third = results::parse(&twice.text).expect("what was read can be read again");
        let thrice = write(&third, format).expect("what was written can be written again");
        assert_eq!(twice.text, thrice.text, "{format}");
    }
});
