//! No crash test, no name of a cut and no file system on a disk may panic, hang or allocate without
//! bound.
#![no_main]

use drivelab_core::Lba;
use drivelab_core::crash::{Cut, FileSystemKind};
use drivelab_guest::crash::Layout;
use drivelab_study::crash::CrashFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = CrashFile::parse("fuzz.toml", text);
        let _ = text.parse::<Cut>();
    }
    let read = |lba: Lba, into: &mut [u8]| {
        let at = usize::try_from(lba.byte_offset().get()).unwrap_or(usize::MAX);
        for (byte, from) in into.iter_mut().zip(data.iter().cycle().skip(at % data.len().max(1))) {
            *byte = *from;
        }
        Ok(())
    };
    for kind in [FileSystemKind::Ext4, FileSystemKind::Xfs] {
        let _ = Layout::read(kind, &read);
    }
});
