//! The histogram of a job in a form that is a fraction of the text it was read from.

/// Latencies, each with its number of requests, in the order of the file. A file of 100 MB has
/// millions of them, which take three or four bytes each: the step from the latency before, and the
/// number, in seven bits a byte.
#[derive(Debug, Default)]
pub(super) struct Bins {
    bytes: Vec<u8>,
    count: usize,
    last_ns: u64,
}

impl Bins {
    pub(super) fn push(&mut self, ns: u64, requests: u64) {
        // Modulo 2^64: latencies of a damaged file need not rise.
        put(&mut self.bytes, ns.wrapping_sub(self.last_ns));
        put(&mut self.bytes, requests);
        self.last_ns = ns;
        self.count += 1;
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.bytes.shrink_to_fit();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut rest = self.bytes.iter();
        let mut ns = 0_u64;
        std::iter::from_fn(move || {
            ns = ns.wrapping_add(take(&mut rest)?);
            Some((ns, take(&mut rest)?))
        })
    }
}

/// Bits of a number in a byte; the highest bit says that more follow.
const BITS: u32 = 7;
const MORE: u8 = 1 << BITS;

#[expect(clippy::cast_possible_truncation, reason = "the lowest byte is meant")]
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= u64::from(MORE) {
        bytes.push(number as u8 | MORE);
        number >>= BITS;
    }
    bytes.push(number as u8);
}

fn take<'a>(bytes: &mut impl Iterator<Item = &'a u8>) -> Option<u64> {
    let mut number = 0;
    let mut shift = 0;
    loop {
        let byte = bytes.next()?;
        number |= u64::from(byte & !MORE) << shift;
        if byte & MORE == 0 {
            return Some(number);
        }
        shift += BITS;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bins_come_back_in_their_order(
            list in proptest::collection::vec(any::<(u64, u64)>(), 0..9)
        ) {
            let mut bins = Bins::default();
            for (ns, requests) in &list {
                bins.push(*ns, *requests);
            }
            prop_assert_eq!(bins.len(), list.len());
            prop_assert_eq!(bins.iter().collect::<Vec<_>>(), list);
        }
    }

    #[test]
    fn neighbouring_bins_take_few_bytes() {
        let mut bins = Bins::default();
        for step in 1000..3000 {
            bins.push(step * 32, 100);
        }
        assert!(bins.bytes.len() <= 2 * bins.len() + 2, "{}", bins.bytes.len());
    }
}
