//! The trace of a guest's requests to its drive, in virtual time.

use std::io::{self, Write};

use drivelab_core::hexadecimal;
use sha2::{Digest as _, Sha256};

use crate::machine::TraceEntry;

/// Hashes every request, and writes it to a file if there is one.
///
/// A line holds submission and answer in nanoseconds, the virtio request type, first sector,
/// number of sectors and status; with several disks the number of the disk follows. The hash is
/// that of the lines, as `sha256sum` prints it.
pub struct Trace<'a> {
    hash: Sha256,
    requests: u64,
    has_disks: bool,
    file: Option<&'a mut dyn Write>,
}

impl std::fmt::Debug for Trace<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trace").field("requests", &self.requests).finish_non_exhaustive()
    }
}

impl<'a> Trace<'a> {
    /// A trace that is also written to `file`, where one is given.
    pub fn new(file: Option<&'a mut dyn Write>) -> Self {
        Self { hash: Sha256::new(), requests: 0, has_disks: false, file }
    }

    /// The same for several disks, whose numbers the lines hold.
    #[must_use]
    pub fn with_disks(self) -> Self {
        Self { has_disks: true, ..self }
    }

    /// Adds a request.
    pub fn add(&mut self, done: &TraceEntry) -> io::Result<()> {
        debug_assert!(done.submitted <= done.at, "a request is answered after its submission");
        let (submitted, at) = (done.submitted.ns(), done.at.ns());
        let (lba, sectors) = (done.lba.get(), done.sectors.get());
        let mut line = format!("{submitted} {at} {} {lba} {sectors} {}", done.kind, done.status);
        if self.has_disks {
            line.push_str(&format!(" {}", done.disk));
        }
        line.push('\n');
        // The file gets the bytes that are hashed: `sha256sum` of it gives the same hash.
        self.hash.update(&line);
        self.requests += 1;
        match &mut self.file {
            Some(file) => file.write_all(line.as_bytes()),
            None => Ok(()),
        }
    }

    /// The number of requests.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The hash of all lines.
    pub fn finish(self) -> String {
        hexadecimal(&self.hash.finalize())
    }
}

/// The SHA-256 of `bytes`.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use drivelab_core::{Lba, Sectors, Time};

    use super::*;

    #[test]
    fn the_hash_is_that_of_the_lines() {
        let (submitted, at) = (Time::from_ns(5), Time::from_ns(8_000));
        let (lba, sectors) = (Lba::new(77), Sectors::new(8));
        let done = TraceEntry { disk: 3, submitted, at, kind: 1, lba, sectors, status: 0 };
        let mut lines = Vec::new();
        let mut trace = Trace::new(Some(&mut lines));
        trace.add(&done).unwrap();
        trace.add(&TraceEntry { kind: 0, ..done }).unwrap();
        let (requests, hash) = (trace.requests(), trace.finish());
        assert_eq!(lines, b"5 8000 1 77 8 0\n5 8000 0 77 8 0\n");
        assert_eq!((requests, hash), (2, sha256(&lines)));
        let mut lines = Vec::new();
        Trace::new(Some(&mut lines)).with_disks().add(&done).unwrap();
        assert_eq!(lines, b"5 8000 1 77 8 0 3\n");
    }
}
