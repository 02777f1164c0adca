//! Strips the sections of programs: a guest keeps its root in memory.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// `Elf64_Ehdr`, after the identification.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Header {
    identification: [u8; 16],
    kind: U16,
    machine: U16,
    version: U32,
    entry: U64,
    segments_at: U64,
    sections_at: U64,
    flags: U32,
    own_bytes: U16,
    segment_bytes: U16,
    segments: U16,
    section_bytes: U16,
    sections: U16,
    names: U16,
}

/// `Elf64_Phdr`.
#[derive(FromBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Segment {
    kind: U32,
    flags: U32,
    at: U64,
    address: U64,
    physical: U64,
    file_bytes: U64,
    memory_bytes: U64,
    alignment: U64,
}

/// `PT_INTERP`: names the loader.
const INTERPRETER: u32 = 3;
/// `\x7fELF`, 64 bits, least significant byte first.
const MAGIC: &[u8] = b"\x7fELF\x02\x01";

/// Truncates a program after its last segment; other files stay unchanged.
///
/// A kernel and a loader read segments only, so that the program runs as before; sections are for
/// linkers and debuggers.
pub(super) fn without_sections(mut bytes: Vec<u8>) -> Vec<u8> {
    let Some(end) = end_of_segments(&bytes) else { return bytes };
    bytes.truncate(end);
    if let Ok((header, _)) = Header::mut_from_prefix(&mut bytes) {
        (header.sections_at, header.sections, header.names) = (0.into(), 0.into(), 0.into());
    }
    bytes
}

/// Returns whether a program needs no loader, and so no library.
pub(super) fn is_static(bytes: &[u8]) -> bool {
    segments(bytes).is_some_and(|segments| segments.iter().all(|it| it.kind.get() != INTERPRETER))
}

/// Returns the offset of the end of the last segment; `None` if this is not a program.
fn end_of_segments(bytes: &[u8]) -> Option<usize> {
    let table = segments(bytes)?;
    // Segments may overlap and come in any order: the highest end counts.
    let ends = table.iter().map(|it| it.at.get().checked_add(it.file_bytes.get()));
    let last = ends.collect::<Option<Vec<u64>>>()?.into_iter().max()?;
    let end = usize::try_from(last).ok()?.max(size_of::<Header>());
    (end <= bytes.len()).then_some(end)
}

/// Returns the segments of a program; `None` if this is none.
fn segments(bytes: &[u8]) -> Option<&[Segment]> {
    let (header, _) = Header::ref_from_prefix(bytes).ok()?;
    let is_program =
        bytes.starts_with(MAGIC) && usize::from(header.segment_bytes.get()) == size_of::<Segment>();
    let table = bytes.get(usize::try_from(header.segments_at.get()).ok()?..)?;
    let count = usize::from(header.segments.get());
    let (segments, _) = <[Segment]>::ref_from_prefix_with_elems(table, count).ok()?;
    is_program.then_some(segments)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_program_without_its_sections_still_runs() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let whole = own.len();
        let cut = without_sections(own);
        assert!(cut.len() < whole, "{} of {whole} bytes", cut.len());
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        // A child writes it: a descriptor of ours, inherited by a child of another test, would
        // make the program busy.
        let source = folder.path().join("source");
        std::fs::write(&source, &cut).unwrap();
        let made = Command::new("install").args(["-m", "755"]).args([&source, &program]).status();
        assert!(made.unwrap().success());
        let output = Command::new(&program).arg("--list").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("a_program_without_its_sections_still_runs"), "{text}");
        assert!(!is_static(&cut), "the tests are linked with libraries");
        assert_eq!(without_sections(cut.clone()), cut);
    }

    #[test]
    fn what_is_no_program_stays_as_it_is() {
        for bytes in [b"#!/bin/sh\n".to_vec(), MAGIC.to_vec(), [MAGIC, &[255; 90]].concat()] {
            assert_eq!(without_sections(bytes.clone()), bytes);
            assert!(!is_static(&bytes));
        }
    }
}
