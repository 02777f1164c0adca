//! Files written, read and copied with plain system calls, chunk by chunk.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use drivelab_core::Rng;
use rustix::fs::{Mode, OFlags};

use super::halt::{At as _, Done};

/// Bytes that no file system compresses, the same for a seed.
#[derive(Debug)]
pub(crate) struct Content(Vec<u8>);

/// Enough that a file system which looks for equal blocks within a file finds few.
const CONTENT_BYTES: usize = 1 << 20;

impl Content {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        Self((0..CONTENT_BYTES / 8).flat_map(|_| rng.bits().to_le_bytes()).collect())
    }

    /// What the block of that number holds.
    pub(crate) fn block(&self, number: u64, length: usize) -> &[u8] {
        let length = length.min(CONTENT_BYTES);
        let from = usize::try_from(number % (CONTENT_BYTES / length) as u64).expect("below 1 MiB");
        let from = from * length;
        &self.0[from..from + length]
    }
}

/// Makes a file of `size` bytes in writes of at most `chunk`.
pub(crate) fn write_file(path: &Path, size: u64, chunk: usize, content: &Content) -> Done<File> {
    let mut file = File::create_new(path).at("create", path)?;
    let chunk = chunk.min(CONTENT_BYTES);
    let (mut left, mut number) = (size, 0);
    while left > 0 {
        let block = content.block(number, chunk);
        let length = usize::try_from(left).map_or(block.len(), |left| left.min(block.len()));
        file.write_all(&block[..length]).at("write", path)?;
        number += 1;
        left -= length as u64;
    }
    Ok(file)
}

/// Reads an open file to its end in reads of `buffer`; how much there was.
pub(crate) fn read_whole(file: &mut File, path: &Path, buffer: &mut [u8]) -> Done<u64> {
    let mut bytes = 0;
    loop {
        match file.read(buffer).at("read", path)? {
            0 => return Ok(bytes),
            length => bytes += length as u64,
        }
    }
}

/// Copies a file in reads and writes of `buffer`; how much there was. A large one takes seconds, so
/// `check` is asked after each of them.
pub(crate) fn copy_file(
    from: &Path,
    to: &Path,
    buffer: &mut [u8],
    check: &dyn Fn() -> Done,
) -> Done<u64> {
    let mut source = File::open(from).at("read", from)?;
    let mut target = File::create(to).at("create", to)?;
    let mut bytes = 0;
    loop {
        let length = source.read(buffer).at("read", from)?;
        if length == 0 {
            return Ok(bytes);
        }
        target.write_all(&buffer[..length]).at("write", to)?;
        bytes += length as u64;
        check()?;
    }
}

/// Opens a folder, for names relative to it.
pub(crate) fn open_folder(path: &Path) -> Done<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).at("open", path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_and_copied() {
        let dir = tempfile::tempdir().unwrap();
        let content = Content::new(&mut Rng::new(1));
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        for size in [0, 1, 100_000, 3 << 20] {
            drop(write_file(&one, size, 32 << 10, &content).unwrap());
            let mut buffer = vec![0; 32 << 10];
            assert_eq!(copy_file(&one, &two, &mut buffer, &|| Ok(())).unwrap(), size);
            let mut file = File::open(&two).unwrap();
            assert_eq!(read_whole(&mut file, &two, &mut buffer).unwrap(), size);
            assert_eq!(std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap());
            std::fs::remove_file(&one).unwrap();
        }
    }
}
