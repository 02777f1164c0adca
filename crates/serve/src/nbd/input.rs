//! Received bytes that have not been parsed yet.

/// A buffer that is filled at the back and consumed from the front.
#[derive(Debug, Default)]
pub(super) struct Input {
    bytes: Vec<u8>,
    start: usize,
}

impl Input {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
            // A large message must not occupy its memory for the life of the connection.
            self.bytes.shrink_to(1 << 20);
        } else if self.start > self.bytes.len() / 2 {
            // Moves at most as many bytes as were consumed since the last time.
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    pub(super) fn peek(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    pub(super) fn take(&mut self, count: usize) -> Option<&[u8]> {
        if self.len() < count {
            return None;
        }
        debug_assert!(self.start <= self.bytes.len(), "only received bytes are consumed");
        let taken = &self.bytes[self.start..self.start + count];
        self.start += count;
        Some(taken)
    }
}

/// Takes big-endian numbers from the front of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        // Checked: lengths in a message are the client's claim.
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.bytes(2)?.try_into().ok()?))
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.bytes(4)?.try_into().ok()?))
    }

    /// A length and a text of that many bytes.
    pub(super) fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.u32()?).ok()?;
        std::str::from_utf8(self.bytes(length)?).ok()
    }
}
