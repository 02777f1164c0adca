//! The data of a command, between a disk and the pieces of guest memory that an adapter found.

use std::io;

use drivelab_core::Op;
use drivelab_core::disk::{Answer, Command, Data, Disk};

use super::SECTOR_BYTES;
use super::task::MediumCommand;
use crate::machine::chain::{self, Segment};
use crate::memory::{Memory, Outside};

impl MediumCommand {
    /// Bytes between host and drive.
    pub(in crate::machine) fn bytes(&self) -> u64 {
        if self.op.transfers() { self.sectors.get() * SECTOR_BYTES } else { 0 }
    }

    fn buffer(&self) -> Vec<u8> {
        vec![0; usize::try_from(self.bytes()).expect("at most 32 MiB")]
    }

    /// Returns the command for a disk, with the data in `segments` if it writes.
    pub(in crate::machine) fn gathered(
        &self,
        token: u64,
        segments: &[Segment],
        memory: &impl Memory,
    ) -> Result<Command, Outside> {
        // The guest controls both numbers: a list that is too short must not reach the medium.
        if chain::length(segments) < self.bytes() {
            return Err(Outside { address: 0, length: 0 });
        }
        let &Self { op, lba, sectors, fua, .. } = self;
        let mut data = None;
        if op == Op::Write {
            let mut bytes = self.buffer();
            // Copied once, now: the guest may change its buffer while the drive works.
            chain::gather(memory, segments, 0, &mut bytes)?;
            data = Some(Data::Bytes(bytes.into_boxed_slice()));
        }
        Ok(Command { token, op, lba, sectors, fua, submitter: 0, data })
    }

    /// Copies the data of a completed read to `segments`.
    pub(in crate::machine) fn scattered(
        &self,
        disk: &mut impl Disk,
        answer: &Answer,
        segments: &[Segment],
        memory: &mut impl Memory,
    ) -> io::Result<Result<(), Outside>> {
        if self.op != Op::Read {
            return Ok(Ok(()));
        }
        let mut bytes = self.buffer();
        disk.take_read(answer, &mut bytes)?;
        Ok(chain::scatter(memory, segments, 0, &bytes))
    }
}
