//! The tag of a command on the wire.

/// A command's tag: an index below the number of tags of its wire, free again once it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Tag(u16);

impl Tag {
    /// The most tags of one wire.
    pub const MAX_COUNT: usize = 1 << 16;

    /// The tag with this index; panics at [`Tag::MAX_COUNT`], which no wire reaches.
    pub fn new(index: usize) -> Self {
        Self(u16::try_from(index).expect("a wire has at most 65536 tags"))
    }

    /// Its index.
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl std::fmt::Display for Tag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
