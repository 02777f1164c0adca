//! The buffers of one request of a virtqueue.

use crate::memory::{Memory, Outside};

/// A piece of guest memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Its guest-physical address.
    pub address: u64,
    /// Its length in bytes.
    pub length: u32,
}

/// A chain of descriptors: buffers that the device reads, then buffers that it writes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chain {
    /// The number that names the chain in the used ring.
    pub head: u16,
    /// Buffers with data for the device.
    pub readable: Vec<Segment>,
    /// Buffers for data of the device.
    pub writable: Vec<Segment>,
}

/// The bytes of `segments` together.
pub(super) fn length(segments: &[Segment]) -> u64 {
    segments.iter().map(|segment| u64::from(segment.length)).sum()
}

/// Copies the bytes from `skip` on out of `segments`, as many as `into` holds.
pub(super) fn gather(
    memory: &(impl Memory + ?Sized),
    segments: &[Segment],
    skip: u64,
    into: &mut [u8],
) -> Result<(), Outside> {
    let mut rest = into;
    for piece in pieces(segments, skip, rest.len()) {
        let (now, later) = rest.split_at_mut(piece.length as usize);
        memory.read(piece.address, now)?;
        rest = later;
    }
    Ok(())
}

/// Copies `from` into `segments`, from byte `skip` of them on.
pub(super) fn scatter(
    memory: &mut (impl Memory + ?Sized),
    segments: &[Segment],
    skip: u64,
    from: &[u8],
) -> Result<(), Outside> {
    let mut rest = from;
    for piece in pieces(segments, skip, rest.len()) {
        let (now, later) = rest.split_at(piece.length as usize);
        memory.write(piece.address, now)?;
        rest = later;
    }
    Ok(())
}

/// Returns the parts of `segments` that contain `length` bytes from `skip` on. The caller checked
/// that they are long enough.
fn pieces(segments: &[Segment], skip: u64, length: usize) -> impl Iterator<Item = Segment> {
    let (mut skip, mut left) = (skip, length as u64);
    segments.iter().filter_map(move |segment| {
        let before = skip.min(u64::from(segment.length));
        skip -= before;
        let length = (u64::from(segment.length) - before).min(left);
        left -= length;
        // An address near the end of the range fails in `Memory`, which checks every access.
        let address = segment.address.wrapping_add(before);
        let length = u32::try_from(length).expect("at most that of the segment");
        (length > 0).then_some(Segment { address, length })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_pass_through_segments_of_any_size() {
        let mut memory: Vec<u8> = vec![0; 64];
        let segments = [(10, 3), (40, 1), (20, 6)];
        let segments = segments.map(|(address, length)| Segment { address, length });
        assert_eq!(length(&segments), 10);
        let sent: Vec<u8> = (1..=10).collect();
        scatter(&mut memory, &segments, 0, &sent).unwrap();
        assert_eq!((&memory[10..13], memory[40]), (&[1, 2, 3][..], 4));
        assert_eq!(memory[20..26], [5, 6, 7, 8, 9, 10]);
        for skip in 0..10_u8 {
            let mut found = vec![0; 10 - usize::from(skip)];
            gather(&memory, &segments, u64::from(skip), &mut found).unwrap();
            assert_eq!(found, sent[usize::from(skip)..], "from byte {skip}");
        }
        scatter(&mut memory, &segments, 3, &[99]).unwrap();
        assert_eq!(memory[40], 99);
        let outside = [Segment { address: 60, length: 5 }];
        assert!(gather(&memory, &outside, 0, &mut [0; 5]).is_err());
    }
}
