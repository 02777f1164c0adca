//! The functions in a stack, by the symbols of programs and libraries on this machine.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use drivelab_guest::cost::Frame;
use drivelab_guest::initramfs::PROGRAMS;
use object::read::elf::ElfFile64;
use object::{Object as _, ObjectSegment as _, ObjectSymbol as _, SymbolKind};

use crate::stage::kernel::program_here;

/// The folder in which distributions keep the symbols that they take out of programs.
const DEBUG_FILES: &str = "/usr/lib/debug/.build-id";
/// The most functions of a stack that are named.
const FUNCTIONS_MAX: usize = 16;
/// The function that a program begins with; what calls it is the same in each program.
const FIRST: &str = "main";
/// The beginning of the names of what calls it, for programs whose first function has no name.
const BEFORE_FIRST: &str = "__libc_start";

/// The functions of programs and libraries, read when a stack first has them.
#[derive(Debug)]
pub(super) struct Symbols {
    /// The path in the guest and the one here, where they differ.
    programs: BTreeMap<String, PathBuf>,
    files: BTreeMap<String, Functions>,
}

/// The functions of a file.
#[derive(Debug, Default)]
struct Functions {
    /// The parts of the file that are loaded, with the address of each.
    loaded: Vec<(Range<u64>, u64)>,
    /// Sorted by their first address.
    functions: Vec<(Range<u64>, String)>,
}

impl Symbols {
    /// The symbols of these programs, as they were named, and of any library.
    pub(super) fn new(programs: impl Iterator<Item = PathBuf>) -> Self {
        let programs = programs.filter_map(|program| {
            let name = program.file_name()?.to_str()?;
            Some((format!("/{PROGRAMS}/{name}"), program_here(&program)?))
        });
        Self { programs: programs.collect(), files: BTreeMap::new() }
    }

    /// The functions of a stack, the innermost first. A file stands for its functions whose names
    /// are not known.
    pub(super) fn names(&mut self, stack: &[Frame]) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for frame in stack {
            let name = self.function(frame);
            if name.starts_with(BEFORE_FIRST) {
                break;
            }
            // Several functions without names are one entry.
            if names.last() != Some(&name) {
                names.push(name);
            }
            if names.len() == FUNCTIONS_MAX || names.last().is_some_and(|name| name == FIRST) {
                break;
            }
        }
        debug_assert!(names.len() <= stack.len(), "a frame has one name");
        names
    }

    fn function(&mut self, frame: &Frame) -> String {
        let here = self.programs.get(&frame.file).map_or(Path::new(&frame.file), PathBuf::as_path);
        let functions = self.files.entry(frame.file.clone()).or_insert_with(|| Functions::of(here));
        // The instruction after a call may be that of another function.
        let name = functions.at(frame.offset.saturating_sub(1));
        match name {
            Some(name) => name.to_owned(),
            None => here.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        }
    }
}

impl Functions {
    /// The functions of a file and of its debug file; none where neither can be read.
    fn of(path: &Path) -> Self {
        let mut found = Self::default();
        let Ok(bytes) = std::fs::read(path) else { return found };
        let Ok(file) = ElfFile64::<object::Endianness>::parse(&*bytes) else { return found };
        found.loaded = file
            .segments()
            .map(|segment| {
                let (start, size) = segment.file_range();
                (start..start.saturating_add(size), segment.address())
            })
            .collect();
        found.add(&file);
        // Where the distribution took the symbols out, they may be in a file of another package.
        let debug = file.build_id().ok().flatten().and_then(debug_file);
        if let Some(bytes) = debug.and_then(|path| std::fs::read(path).ok())
            && let Ok(file) = ElfFile64::<object::Endianness>::parse(&*bytes)
        {
            found.add(&file);
        }
        found.functions.sort_by_key(|(range, _)| (range.start, range.end));
        found
    }

    fn add(&mut self, file: &ElfFile64<'_>) {
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let functions = symbols.filter(|it| it.kind() == SymbolKind::Text && it.size() > 0);
        self.functions.extend(functions.filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| !name.is_empty())?;
            let range = symbol.address()..symbol.address().saturating_add(symbol.size());
            Some((range, format!("{:#}", rustc_demangle::demangle(name))))
        }));
    }

    /// The function that an instruction is in.
    fn at(&self, offset: u64) -> Option<&str> {
        let (loaded, address) = self.loaded.iter().find(|(range, _)| range.contains(&offset))?;
        let address = address + (offset - loaded.start);
        // A symbol says where its function ends: without one the nearest name would be a guess.
        let after = self.functions.partition_point(|(range, _)| range.start <= address);
        let before = self.functions[..after].iter().rev().take(NEIGHBOURS);
        let mut found = before.filter(|(range, _)| range.contains(&address));
        found.next().map(|(_, name)| name.as_str())
    }
}

/// The most functions before an address that are looked at: several names have one function, and
/// parts of a function can be elsewhere.
const NEIGHBOURS: usize = 8;

/// The path of a debug file.
fn debug_file(build_id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build_id.split_first()?;
    let rest = rest.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    Some(Path::new(DEBUG_FILES).join(format!("{first:02x}")).join(format!("{rest}.debug")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn functions() -> Functions {
        let function = |range: Range<u64>, name: &str| (range, name.to_owned());
        Functions {
            loaded: vec![(0..0x1000, 0), (0x1000..0x2000, 0x2000)],
            functions: vec![
                function(0x100..0x180, "save"),
                function(0x180..0x190, "sync_log"),
                function(0x200..0x210, "__libc_start_call_main"),
                function(0x2010..0x2020, "main"),
            ],
        }
    }

    #[test]
    fn a_function_is_found_by_its_offset_in_the_file() {
        let app = functions();
        assert_eq!(app.at(0x100), Some("save"));
        assert_eq!(app.at(0x17f), Some("save"));
        assert_eq!(app.at(0x180), Some("sync_log"));
        assert_eq!(app.at(0x190), None, "behind the end of the last one");
        assert_eq!(app.at(0x1010), Some("main"), "at another address than in the file");
        assert_eq!(app.at(0x2010), None, "outside the file");
    }

    #[test]
    fn a_stack_ends_at_main_and_names_files_for_what_is_unknown() {
        let mut symbols = Symbols { programs: BTreeMap::new(), files: BTreeMap::new() };
        symbols.files.insert("/bin/app".into(), functions());
        let frame = |offset| Frame { file: "/bin/app".into(), offset };
        let stack =
            [frame(0x181), frame(0x101), frame(0x501), frame(0x601), frame(0x1011), frame(0x101)];
        assert_eq!(symbols.names(&stack), ["sync_log", "save", "app", "main"]);
        let stripped = [frame(0x181), frame(0x501), frame(0x201), frame(0x501)];
        assert_eq!(
            symbols.names(&stripped),
            ["sync_log", "app"],
            "the start of the C library ends it"
        );
        assert!(symbols.names(&[]).is_empty());
    }

    #[test]
    fn this_program_has_symbols() {
        let path = std::env::current_exe().unwrap();
        let functions = Functions::of(&path);
        let own =
            functions.functions.iter().find(|(_, name)| name.contains("this_program_has_symbols"));
        let (range, name) = own.expect("a test is built with symbols");
        let (loaded, address) = functions
            .loaded
            .iter()
            .find(|(file, address)| {
                (*address..address + (file.end - file.start)).contains(&range.start)
            })
            .unwrap();
        assert_eq!(functions.at(range.start - address + loaded.start), Some(name.as_str()));
        assert!(Functions::of(Path::new("/nonexistent")).functions.is_empty());
    }

    #[test]
    fn debug_files_are_below_their_first_byte() {
        let path = debug_file(&[0xab, 0xcd, 0x01]).unwrap();
        assert_eq!(path, Path::new("/usr/lib/debug/.build-id/ab/cd01.debug"));
        assert_eq!(debug_file(&[]), None);
    }
}
