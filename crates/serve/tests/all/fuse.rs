//! The drive as a file, through the kernel: what a file answers, it answers.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

use drivelab_core::{Bytes, Rng, Sectors};
use drivelab_serve::server::Settings;
use rustix::fs::{FallocateFlags, OFlags, fallocate};

use crate::serving::{Serving, settings};

const CAPACITY: Bytes = Bytes::mib(8);
const SIZE: usize = 8 << 20;

struct Running {
    path: PathBuf,
    serving: Serving,
}

impl Running {
    /// Serves a drive that takes no time as a file; `None` where this host does not let us mount.
    #[expect(clippy::print_stderr, reason = "what is left out is said")]
    fn start(test: &str) -> Option<Self> {
        let name = format!("drivelab-fuse-{}-{test}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let settings = Settings { fuse: Some(path.clone()), ..settings(CAPACITY) };
        match Serving::start(settings, Sectors::new(8)) {
            Ok(serving) => Some(Self { path, serving }),
            Err(why) => {
                eprintln!("LEFT OUT: this host does not let us mount: {why}");
                None
            }
        }
    }

    fn open(&self, flags: OFlags) -> File {
        let flags = i32::try_from(flags.bits()).unwrap();
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(flags).open(&self.path).unwrap()
    }
}

/// A place of a drive and how many bytes from there on, of every size and alignment.
fn anywhere(rng: &mut Rng) -> (usize, usize) {
    const SIZES: &[u64] = &[1, 3, 100, 511, 512, 513, 4095, 4096, 4097, 65_537, 1 << 20, 3 << 20];
    let most = SIZES[usize::try_from(rng.below(SIZES.len() as u64)).unwrap()];
    let length = if rng.below(2) == 0 { most } else { rng.between(1, most) };
    let place = rng.below(SIZE as u64 - length + 1);
    let place = if rng.below(2) == 0 { place } else { place / 512 * 512 };
    (usize::try_from(place).unwrap(), usize::try_from(length).unwrap())
}

fn fill(rng: &mut Rng, bytes: &mut [u8]) {
    for piece in bytes.chunks_mut(8) {
        piece.copy_from_slice(&rng.bits().to_le_bytes()[..piece.len()]);
    }
}

#[test]
fn every_size_and_alignment_is_answered_as_by_a_file() {
    let Some(running) = Running::start("shadow") else { return };
    let file = running.open(OFlags::empty());
    let seed = 20;
    let mut rng = Rng::new(seed);
    let mut shadow = vec![0; SIZE];
    // Odd places in memory, too: the kernel cuts direct requests at its pages.
    let mut memory = vec![0; SIZE + 4096];
    for step in 0..1500 {
        let (place, length) = anywhere(&mut rng);
        let at = usize::try_from(rng.below(4096)).unwrap();
        let bytes = &mut memory[at..at + length];
        let range = place..place + length;
        let (offset, count) = (place as u64, length as u64);
        match rng.below(5) {
            0 | 1 => {
                fill(&mut rng, bytes);
                file.write_all_at(bytes, offset).unwrap();
                shadow[range].copy_from_slice(bytes);
            }
            2 => {
                let mode = match rng.below(2) {
                    0 => FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
                    _ => FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE,
                };
                fallocate(&file, mode, offset, count).unwrap();
                shadow[range].fill(0);
            }
            _ => {
                file.read_exact_at(bytes, offset).unwrap();
                assert!(*bytes == shadow[range], "seed {seed}, step {step}: {place}+{length}");
            }
        }
    }
    let whole = std::fs::read(&running.path).unwrap();
    assert!(whole == shadow, "seed {seed}: the file as a whole");
    drop(file);
    running.serving.stop();
}

#[test]
fn neighbours_within_a_sector_do_not_overwrite_each_other() {
    const WRITERS: usize = 8;
    const PIECE: usize = 100;
    let Some(running) = Running::start("neighbours") else { return };
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let file = running.open(OFlags::empty());
            scope.spawn(move || {
                for round in 0..200 {
                    let place = (round * WRITERS + writer) * PIECE;
                    let byte = u8::try_from(writer + 1).unwrap();
                    file.write_all_at(&[byte; PIECE], place as u64).unwrap();
                }
            });
        }
    });
    let found = std::fs::read(&running.path).unwrap();
    for (number, piece) in found[..200 * WRITERS * PIECE].chunks(PIECE).enumerate() {
        let byte = u8::try_from(number % WRITERS + 1).unwrap();
        assert!(piece.iter().all(|found| *found == byte), "piece {number}");
    }
    running.serving.stop();
}

#[test]
fn the_file_ends_where_the_drive_ends() {
    let Some(running) = Running::start("end") else { return };
    let file = running.open(OFlags::empty());
    let end = CAPACITY.get();
    assert_eq!(file.read_at(&mut [0; 4096], end - 100).unwrap(), 100);
    assert_eq!(file.read_at(&mut [0; 4096], end).unwrap(), 0);
    assert_eq!(file.write_at(&[1; 4096], end - 100).unwrap(), 100, "what fits is written");
    assert_eq!(file.write_at(&[1; 4096], end).unwrap_err().kind(), ErrorKind::StorageFull);
    assert!(file.set_len(1).is_err(), "a drive keeps its size");
    drop(file);
    running.serving.stop();
}

#[test]
fn with_direct_io_sectors_are_asked_for_as_of_a_disk() {
    let Some(running) = Running::start("direct") else { return };
    let file = running.open(OFlags::DIRECT);
    let invalid = Some(rustix::io::Errno::INVAL.raw_os_error());
    assert_eq!(file.write_at(&[1; 100], 0).unwrap_err().raw_os_error(), invalid);
    assert_eq!(file.read_at(&mut [1; 512], 100).unwrap_err().raw_os_error(), invalid);
    drop(file);
    running.serving.stop();
}
