//! Buses shared by several drives, and their data rates.

use std::fmt;

use drivelab_core::config::Value;
use drivelab_core::{Invalid, Op, Sectors, Span, invalid};

use crate::controller::{Link, Pace, pcie_lane};

/// The bus between the drives of a shelf and the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bus {
    /// A PCI slot of 32 or 64 bits at 33, 66 or 133 MHz: one wire for both directions.
    Pci {
        /// Bytes a clock.
        bytes: u64,
        /// Clocks a second.
        hz: u64,
    },
    /// PCI Express: each direction has separate lanes.
    Pcie {
        /// 1 to 5.
        generation: u8,
        /// 1 to 16.
        lanes: u8,
    },
    /// A SATA port multiplier: one link, shared according to `switching`.
    Multiplier {
        /// The method of sharing.
        switching: Switching,
    },
}

/// A host port's method for several drives behind a port multiplier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switching {
    /// Commands to one drive at a time.
    Command,
    /// Commands to all drives at once; their frames share the link.
    Fis,
}

const PCI_NAMES: [(&str, Bus); 4] = [
    ("pci", Bus::Pci { bytes: 4, hz: 33_333_333 }),
    ("pci-66", Bus::Pci { bytes: 4, hz: 66_666_667 }),
    ("pci-64-66", Bus::Pci { bytes: 8, hz: 66_666_667 }),
    ("pci-x-133", Bus::Pci { bytes: 8, hz: 133_333_333 }),
];
const GENERATIONS: std::ops::RangeInclusive<u8> = 1..=5;
const LANES: [u8; 5] = [1, 2, 4, 8, 16];

impl fmt::Display for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pci { .. } => {
                let name = PCI_NAMES.iter().find(|(_, bus)| bus == self).map(|(name, _)| *name);
                f.write_str(name.expect("only named buses are made"))
            }
            Self::Pcie { generation, lanes } => write!(f, "pcie{generation}x{lanes}"),
            Self::Multiplier { switching: Switching::Command } => f.write_str("pmp-command"),
            Self::Multiplier { switching: Switching::Fis } => f.write_str("pmp-fis"),
        }
    }
}

impl Value for Bus {
    fn read(text: &str) -> Result<Self, Invalid> {
        let named = PCI_NAMES.iter().find(|(name, _)| *name == text).map(|(_, bus)| *bus);
        let found = named.or_else(|| match text {
            "pmp-command" => Some(Self::Multiplier { switching: Switching::Command }),
            "pmp-fis" => Some(Self::Multiplier { switching: Switching::Fis }),
            _ => pcie(text.strip_prefix("pcie")?),
        });
        found.ok_or_else(|| {
            invalid!(
                "unknown bus `{text}`: known are `pci`, `pci-66`, `pci-64-66`, `pci-x-133`, \
                 `pmp-command`, `pmp-fis`, and PCI Express as generation and lanes, `pcie1x8`"
            )
        })
    }
}

fn pcie(text: &str) -> Option<Bus> {
    let (generation, lanes) = text.split_once('x')?;
    let (generation, lanes) = (generation.parse().ok()?, lanes.parse().ok()?);
    (GENERATIONS.contains(&generation) && LANES.contains(&lanes))
        .then_some(Bus::Pcie { generation, lanes })
}

/// The data rates and overhead of a bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// Bytes a second from the drives to the host.
    pub reads: u64,
    /// Bytes a second from the host to the drives.
    pub writes: u64,
    /// Both directions use one wire.
    pub shared: bool,
    /// Overhead of a command on the bus, without its data: fetching its block and descriptors,
    /// its response and interrupt. An estimate.
    pub per_command: Span,
}

impl Bus {
    /// Returns its data rates; `link` is the uplink of a port multiplier.
    pub(crate) fn rates(self, link: Option<Link>) -> Rates {
        match self {
            // A burst is 64 words long, the usual latency timer of contemporary BIOSes. It needs
            // 8 more clocks (arbitration, address, turnaround), and another 16 if the card reads
            // memory and waits for the first word (the maximum that PCI 2.3, section 3.5.1.1,
            // allows a target). An estimate from the rules of the bus, not a measurement.
            Self::Pci { bytes, hz } => Rates {
                reads: bytes * hz / 72 * 64,
                writes: bytes * hz / 88 * 64,
                shared: true,
                per_command: Span::from_us(2),
            },
            // A fifth of each 128-byte packet's time goes to its header, checksum and flow control.
            // An estimate.
            Self::Pcie { generation, lanes } => {
                // A lane's rate is after its coding; the packets' overhead comes on top.
                let rate = pcie_lane(generation) * u64::from(lanes) / 10 * 8;
                let per_command = Span::from_ns(500);
                Rates { reads: rate, writes: rate, shared: false, per_command }
            }
            // As the link of a drive, where framing is part of the command's overhead, too.
            Self::Multiplier { .. } => {
                let rate = link.unwrap_or(Link::Sata2).bytes_per_s();
                Rates { reads: rate, writes: rate, shared: true, per_command: Span::ZERO }
            }
        }
    }

    /// Returns true if only one drive may have commands under way.
    pub(super) fn one_at_a_time(self) -> bool {
        self == Self::Multiplier { switching: Switching::Command }
    }
}

/// The paces of a bus, by direction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crossing {
    reads: Pace,
    writes: Pace,
    per_command: Span,
}

impl Crossing {
    pub(super) fn new(rates: Rates) -> Self {
        Self {
            reads: Pace::new(rates.reads),
            writes: Pace::new(rates.writes),
            per_command: rates.per_command,
        }
    }

    /// Returns the time of a command on an otherwise idle bus.
    #[inline]
    pub(super) fn time(&self, op: Op, sectors: Sectors) -> Span {
        let pace = if op == Op::Write { self.writes } else { self.reads };
        pace.time(sectors) + self.per_command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        let mut names: Vec<String> = PCI_NAMES.iter().map(|(name, _)| (*name).into()).collect();
        names.extend(["pmp-command".into(), "pmp-fis".into(), "pcie1x8".into(), "pcie5x16".into()]);
        for name in names {
            assert_eq!(Bus::read(&name).unwrap().to_string(), name);
        }
        for wrong in ["", "isa", "pcie", "pcie0x1", "pcie6x1", "pcie1x3", "pcie1x", "pciex8"] {
            assert!(Bus::read(wrong).unwrap_err().0.contains("pcie1x8"), "{wrong}");
        }
    }

    #[test]
    fn no_bus_carries_more_than_its_wires() {
        let of = |name: &str| Bus::read(name).unwrap().rates(None);
        assert!(of("pci").reads < 133_333_332 && of("pci").writes < of("pci").reads);
        assert_eq!(of("pcie1x8").reads, 1_600_000_000);
        assert_eq!(of("pcie2x1").writes * 2, of("pcie2x2").writes);
        assert!(of("pci").shared && !of("pcie1x1").shared && of("pmp-fis").shared);
    }
}
