//! Bytes in a sparse file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use drivelab_core::disk::{Extent, Medium};
use drivelab_core::{Lba, Sectors};
use rustix::fs::{FallocateFlags, FlockOperation, SeekFrom};

/// A drive's contents in a sparse file, which survive the server.
#[derive(Debug)]
pub struct Image {
    capacity: Sectors,
    file: File,
}

impl Image {
    /// Keeps the contents in `file`, which is open to read and write and may be empty; no other
    /// process can use it then.
    pub fn new(file: File, capacity: Sectors) -> io::Result<Self> {
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|error| {
            match error {
                rustix::io::Errno::WOULDBLOCK => io::Error::new(
                    io::ErrorKind::ResourceBusy,
                    "another server has it open: end that server, or name another image",
                ),
                other => other.into(),
            }
        })?;
        let (found, wanted) = (file.metadata()?.len(), capacity.bytes().get());
        if found == 0 {
            file.set_len(wanted)?;
        } else if found != wanted {
            let what = format!(
                "the image has {found} bytes, the drive {wanted}: serve the drive the image was \
                 made for, or name another image"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        Ok(Self { capacity, file })
    }

    /// The beginning of the next data (or hole) at or after byte `at`; `None` after the last.
    fn seek(&self, to: SeekFrom) -> io::Result<Option<u64>> {
        match rustix::fs::seek(&self.file, to) {
            Ok(found) => Ok(Some(found)),
            Err(rustix::io::Errno::NXIO) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Medium for Image {
    fn capacity(&self) -> Sectors {
        self.capacity
    }

    fn read(&self, lba: Lba, data: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(data, lba.byte_offset().get())
    }

    fn write(&mut self, lba: Lba, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, lba.byte_offset().get())
    }

    fn free(&mut self, lba: Lba, sectors: Sectors) -> io::Result<()> {
        // fallocate(2) refuses an empty range with EINVAL.
        if sectors == Sectors::ZERO {
            return Ok(());
        }
        let (at, length) = (lba.byte_offset().get(), sectors.bytes().get());
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        // A signal may interrupt fallocate(2).
        rustix::io::retry_on_intr(|| rustix::fs::fallocate(&self.file, flags, at, length))?;
        Ok(())
    }

    fn extents(&self, lba: Lba, sectors: Sectors, limit: usize) -> io::Result<Vec<Extent>> {
        let mut extents = Vec::new();
        let (mut at, end) = (lba.get(), lba.get() + sectors.get());
        while at < end && extents.len() < limit {
            let byte = Lba::new(at).byte_offset().get();
            let data = self.seek(SeekFrom::Data(byte))?.map_or(end, |byte| byte / 512);
            let hole = data > at;
            let next = if hole {
                data.min(end)
            } else {
                let hole = self.seek(SeekFrom::Hole(byte))?.map_or(end, |byte| byte.div_ceil(512));
                // If data begins within this sector, the seek finds the hole in front of it: the
                // sector counts as data.
                hole.clamp(at + 1, end)
            };
            Extent { sectors: Sectors::new(next - at), hole }.push_to(&mut extents);
            at = next;
        }
        Ok(extents)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
}
