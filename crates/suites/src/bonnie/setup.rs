//! Settings as bonnie++ 2.00 writes them into its CSV, by the names of that file's header.

use std::collections::BTreeMap;

use drivelab_core::Bytes;

use super::{Bonnie, Filling, UNIT};

/// Of one read or write, where none is given.
const USUAL_CHUNK: Bytes = Bytes::kib(8);

impl Bonnie {
    /// Returns the settings of a run with `seed` on a machine with so much memory, if that is
    /// known.
    pub(super) fn settings(&self, seed: u64, memory: Option<Bytes>) -> BTreeMap<String, String> {
        let has_file = self.size.0 != Some(Bytes::ZERO);
        let of_file = if has_file { large(self, memory) } else { Vec::new() };
        let of_names = if self.n.count == 0 { Vec::new() } else { small(self) };
        let all = [("seed", seed.to_string())].into_iter().chain(of_file).chain(of_names);
        // What was not set has an empty field there, and is left out here.
        let given = all.filter(|(_, value)| !value.is_empty());
        given.map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

fn large(plan: &Bonnie, memory: Option<Bytes>) -> Vec<(&'static str, String)> {
    let size = plan.size.0.or(memory).map(|known| plan.file_size(known));
    vec![
        ("file_size", size.map_or_else(String::new, size_of_file)),
        ("io_chunk_size", chunk(plan.chunk)),
        ("seeks", plan.seeks.to_string()),
        ("seek_procs", plan.seekers.to_string()),
    ]
}

fn small(plan: &Bonnie) -> Vec<(&'static str, String)> {
    let [max, min] = match plan.n.filling {
        Filling::HardLinks => ["link".to_owned(), String::new()],
        Filling::SymbolicLinks => ["symlink".to_owned(), String::new()],
        Filling::Bytes { min, max } => [max, min].map(not_zero),
    };
    let folders = if plan.n.folders > 1 { plan.n.folders.to_string() } else { String::new() };
    vec![
        ("num_files", (plan.n.count / UNIT).to_string()),
        ("max_size", max),
        ("min_size", min),
        ("num_dirs", folders),
        ("file_chunk_size", chunk(plan.n.chunk)),
    ]
}

fn not_zero(bytes: u64) -> String {
    if bytes == 0 { String::new() } else { bytes.to_string() }
}

/// A size in the largest unit that it is whole in. The original has whole MiB alone; what is not
/// even whole in KiB has no spelling there.
fn size_of_file(size: Bytes) -> String {
    let is_whole = size.get().is_multiple_of(1024);
    if is_whole { scaled(size.get() / 1024, &["K", "M", "G"]) } else { String::new() }
}

/// The size of a chunk, where it is not the usual one.
fn chunk(size: Bytes) -> String {
    if size == USUAL_CHUNK { String::new() } else { scaled(size.get(), &["", "k", "m"]) }
}

/// A number in the largest of `units`, each 1024 of the one before, in which it is whole.
fn scaled(mut number: u64, units: &[&str]) -> String {
    debug_assert!(!units.is_empty(), "the first unit is that of the number");
    let mut power = 0;
    while number.is_multiple_of(1024) && power + 1 < units.len() {
        number /= 1024;
        power += 1;
    }
    format!("{number}{}", units[power])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_spelled_as_the_original_spells_them() {
        let check = |options: &str, memory: Option<Bytes>, expected: &str| {
            let mut plan = Bonnie::default();
            for (key, value) in options.split(',').filter_map(|it| it.split_once('=')) {
                assert_eq!(plan.set_option(key, value), Ok(true), "{key}");
            }
            let setup = plan.settings(7, memory).into_iter();
            let setup: Vec<String> = setup.map(|(name, value)| format!("{name}={value}")).collect();
            assert_eq!(setup.join(" "), expected, "{options}");
        };
        check("size=4G,n=0", None, "file_size=4G seed=7 seek_procs=5 seeks=8192");
        check("n=0", None, "seed=7 seek_procs=5 seeks=8192");
        check("n=0", Some(Bytes::mib(1536)), "file_size=3G seed=7 seek_procs=5 seeks=8192");
        check(
            "size=100M,chunk=64k,seeks=10,seekers=2,n=0",
            Some(Bytes::gib(1)),
            "file_size=100M io_chunk_size=64k seed=7 seek_procs=2 seeks=10",
        );
        check(
            "size=3k,chunk=256,putc=0,seeks=0,n=0",
            None,
            "file_size=3K io_chunk_size=256 \
               seed=7 seek_procs=5 seeks=0",
        );
        check(
            "size=3328,chunk=256,putc=0,n=0",
            None,
            "io_chunk_size=256 seed=7 seek_procs=5 seeks=8192",
        );
        check("size=0,n=16", None, "num_files=16 seed=7");
        check(
            "size=0,n=2:4k:1k:3:1m",
            None,
            "file_chunk_size=1m max_size=4096 min_size=1024 \
               num_dirs=3 num_files=2 seed=7",
        );
        check("size=0,n=1:-1", None, "max_size=link num_files=1 seed=7");
        check("size=0,n=1:-2::4", None, "max_size=symlink num_dirs=4 num_files=1 seed=7");
    }
}
