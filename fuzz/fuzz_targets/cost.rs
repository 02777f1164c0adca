//! No list of calls, no map of files, no bill and no file system on a disk may panic, hang or
//! allocate without bound.
#![no_main]

use drivelab_analysis::cost::{Bill, Tolerance};
use drivelab_core::Lba;
use drivelab_guest::cost::{Calls, Chunks, extents};
use drivelab_study::cost::CostFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = Calls::parse(text.lines());
        let _ = extents(text.lines());
        let _ = CostFile::parse("fuzz.toml", text);
        let _ = serde_json::from_str::<Bill>(text);
        let _ = Tolerance::parse(text);
    }
    let read = |lba: Lba, into: &mut [u8]| {
        let at = usize::try_from(lba.byte_offset().get()).unwrap_or(usize::MAX);
        for (byte, from) in into.iter_mut().zip(data.iter().cycle().skip(at % data.len().max(1))) {
            *byte = *from;
        }
        Ok(())
    };
    let _ = Chunks::read(&read).physical(1 << 20);
});
