//! The speed of the link to a drive.

use drivelab_core::choice_as_text;
use drivelab_core::config::Choice;
use drivelab_core::units::Span;

/// The speed of a SATA link, or generation and lanes of a PCI Express link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// 1.5 Gb/s, 150 MB/s of data.
    Sata1,
    /// 3 Gb/s, 300 MB/s of data.
    Sata2,
    /// 6 Gb/s, 600 MB/s of data.
    Sata3,
    /// PCI Express.
    Pcie {
        /// 1 to 5.
        generation: u8,
        /// 1 to 8.
        lanes: u8,
    },
}

const fn pcie(generation: u8, lanes: u8) -> Link {
    Link::Pcie { generation, lanes }
}

impl Choice for Link {
    const WHAT: &'static str = "link (Gb/s of SATA, or generation and lanes of PCI Express)";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("1.5", Self::Sata1),
        ("3", Self::Sata2),
        ("6", Self::Sata3),
        ("pcie1x1", pcie(1, 1)),
        ("pcie1x2", pcie(1, 2)),
        ("pcie1x4", pcie(1, 4)),
        ("pcie2x1", pcie(2, 1)),
        ("pcie2x2", pcie(2, 2)),
        ("pcie2x4", pcie(2, 4)),
        ("pcie3x1", pcie(3, 1)),
        ("pcie3x2", pcie(3, 2)),
        ("pcie3x4", pcie(3, 4)),
        ("pcie4x1", pcie(4, 1)),
        ("pcie4x2", pcie(4, 2)),
        ("pcie4x4", pcie(4, 4)),
        ("pcie5x1", pcie(5, 1)),
        ("pcie5x2", pcie(5, 2)),
        ("pcie5x4", pcie(5, 4)),
        ("3.0", Self::Sata2),
        ("6.0", Self::Sata3),
    ];
}
choice_as_text!(Link);

impl Link {
    /// Returns true for a SATA link.
    pub fn is_sata(self) -> bool {
        !matches!(self, Self::Pcie { .. })
    }

    /// Returns the fastest link that both ends support; `None` if the kinds differ.
    pub(crate) fn common(self, other: Self) -> Option<Self> {
        match (self, other) {
            // A link trains to the lower generation and width of its two ends.
            (Self::Pcie { generation, lanes }, Self::Pcie { generation: g, lanes: l }) => {
                Some(pcie(generation.min(g), lanes.min(l)))
            }
            (Self::Pcie { .. }, _) | (_, Self::Pcie { .. }) => None,
            (one, other) => Some(if one.bytes_per_s() < other.bytes_per_s() { one } else { other }),
        }
    }

    /// Returns the data rate in one direction.
    ///
    /// SATA after 8b/10b coding. PCI Express yields nine tenths: 256 bytes of data, the payload
    /// limit of chipsets, come with 26 of framing, header and checksum.
    pub(crate) fn bytes_per_s(self) -> u64 {
        match self {
            Self::Sata1 => 150_000_000,
            Self::Sata2 => 300_000_000,
            Self::Sata3 => 600_000_000,
            Self::Pcie { generation, lanes } => pcie_lane(generation) * u64::from(lanes) / 10 * 9,
        }
    }

    /// Returns the overhead of a data frame: primitives, header, checksum, and the handshake before
    /// the next one.
    pub(crate) fn per_frame(self) -> Span {
        match self {
            // Data sheets and tests of solid-state drives end at 540 to 560 MB/s on 6 Gb/s, and at
            // 275 to 285 MB/s on 3 Gb/s; the slowest in bit times.
            Self::Sata1 => Span::from_ns(2_800),
            Self::Sata2 => Span::from_ns(1_600),
            Self::Sata3 => Span::from_ns(1_000),
            // Part of its data rate.
            Self::Pcie { .. } => Span::ZERO,
        }
    }

    /// Returns the overhead of a command, without its data; its first frame is part of it.
    pub(crate) fn per_command(self) -> Span {
        match self {
            // Measured on chipset ports: 5.3-5.5 us at 3 Gb/s, 3.3 us at 6 Gb/s
            // (docs/internals/drive-facts.md); the line through both, in bit times, gives the
            // slowest.
            Self::Sata1 => Span::from_ns(9_600),
            Self::Sata2 => Span::from_ns(5_400),
            Self::Sata3 => Span::from_ns(3_300),
            // An entry of 64 bytes fetched and one of 16 written: 80 bytes at the data rate.
            Self::Pcie { .. } => Span::from_ns(80_000_000_000 / self.bytes_per_s()),
        }
    }
}

/// Bytes a second of one lane and direction after its coding: 8b/10b at 2.5 and 5 GT/s, 128b/130b
/// from 8 GT/s on (PCI Express Base Specification 5.0, section 4.2).
pub(crate) fn pcie_lane(generation: u8) -> u64 {
    match generation {
        1 => 250_000_000,
        2 => 500_000_000,
        3 => 984_615_384,
        4 => 1_969_230_769,
        _ => 3_938_461_538,
    }
}
