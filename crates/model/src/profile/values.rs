//! Values of a profile with their limits, which reject impossible drives at the key.

use drivelab_core::choice_as_text;
use drivelab_core::config::{Choice, Value};
use drivelab_core::{Bytes, Invalid, Ratio, Sectors, Span, invalid};

use crate::controller::Link;
use crate::options::{Precondition, Scale, Switch, whole};
use crate::unknown::{Nature, Open};

/// Declares the types of values that may be drawn; the others identify a drive.
macro_rules! open {
    ($($($type:ty),+ => $nature:expr;)+) => {
        $($(impl Open for $type {
            const NATURE: Option<Nature> = $nature;
        })+)+
    };
}

open! {
    String, Kind, Capacity, SectorSize, Sigma, Interface, Link, Scale, Precondition => None;
    Short, Patience => Some(Nature::Time);
    Memory, SlcSize, MediaCache => Some(Nature::Memory);
    Share => Some(Nature::Share);
    Rpm, Growth, Shape, Factor => Some(Nature::Number);
    OrderName, CommitName, VictimsName, Switch => Some(Nature::Name);
}

impl<const MIN: u32, const MAX: u32> Open for Count<MIN, MAX> {
    const NATURE: Option<Nature> = Some(Nature::Whole);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Hdd,
    Ssd,
    Volume,
    Fixed,
}

impl Choice for Kind {
    const WHAT: &'static str = "kind of drive";
    const NAMES: &'static [(&'static str, Self)] =
        &[("hdd", Self::Hdd), ("ssd", Self::Ssd), ("volume", Self::Volume), ("fixed", Self::Fixed)];
}
choice_as_text!(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OrderName {
    Sptf,
    Fifo,
}

impl Choice for OrderName {
    const WHAT: &'static str = "queue order";
    const NAMES: &'static [(&'static str, Self)] = &[("sptf", Self::Sptf), ("fifo", Self::Fifo)];
}
choice_as_text!(OrderName);

/// The moment at which firmware chooses the next access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitName {
    /// At the end of the access under way.
    Early,
    /// Once the host has had time to send another request.
    Late,
}

impl Choice for CommitName {
    const WHAT: &'static str = "moment of the choice";
    const NAMES: &'static [(&'static str, Self)] = &[("early", Self::Early), ("late", Self::Late)];
}
choice_as_text!(CommitName);

/// Choice of blocks for collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VictimsName {
    Greedy,
    BestOf,
    Fifo,
    Random,
}

impl Choice for VictimsName {
    const WHAT: &'static str = "choice of victims";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("greedy", Self::Greedy),
        ("best-of", Self::BestOf),
        ("fifo", Self::Fifo),
        ("random", Self::Random),
    ];
}
choice_as_text!(VictimsName);

/// The protocol of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    /// Serial ATA.
    Sata,
    /// SCSI in any of its physical forms.
    Scsi,
    /// `NVMe` over PCI Express.
    Nvme,
}

impl Choice for Interface {
    const WHAT: &'static str = "interface";
    const NAMES: &'static [(&'static str, Self)] =
        &[("sata", Self::Sata), ("scsi", Self::Scsi), ("nvme", Self::Nvme)];
}
choice_as_text!(Interface);

/// A whole number from `MIN` to `MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count<const MIN: u32, const MAX: u32>(pub(super) u32);

impl<const MIN: u32, const MAX: u32> Value for Count<MIN, MAX> {
    fn read(text: &str) -> Result<Self, Invalid> {
        whole::<MIN, MAX>(text).map(Self)
    }
}

/// Declares types of values with limits, and the message about a text outside them.
macro_rules! limited {
    ($($(#[$doc:meta])+ $name:ident($type:ty): $limits:expr, $wrong:literal;)+) => {$(
        $(#[$doc])+
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub(super) struct $name(pub(super) $type);

        impl Value for $name {
            fn read(text: &str) -> Result<Self, Invalid> {
                let value = <$type>::read(text)?;
                let inside = ($limits).contains(&value);
                inside.then_some(Self(value)).ok_or_else(|| invalid!("`{text}` {}", $wrong))
            }
        }
    )+};
}

limited! {
    /// A time within a drive.
    Short(Span): Span::ZERO..=Span::from_secs(1),
        "is longer than a second, which no drive needs for it";
    /// A limit on waiting.
    Patience(Span): Span::from_ms(1)..=Span::from_secs(3600),
        "is not a time from 1 ms to an hour";
    /// A share of the whole.
    Share(Ratio): Ratio::ZERO..=Ratio::ONE, "is more than 100%";
    /// The deviation of a logarithm.
    Sigma(f64): 0.0..=1.0, "is not a deviation from 0 (exact) to 1";
    /// Growth of a margin, as a share of the seek.
    Growth(f64): 0.0..=10.0, "is not a share of the seek from 0 to 10";
    /// The area of a disk that takes writes before they go to overlapping tracks.
    MediaCache(Bytes): Bytes::mib(64)..=Bytes::gib(1024), "is not a size from 64 MiB to 1 TiB";
    /// A factor on all times of one kind.
    Factor(f64): 0.1..=10.0, "is not a factor from 0.1 to 10";
    /// The share of the square root in a seek curve: beyond 2 the curve would fall.
    Shape(f64): 0.0..=2.0, "is not a number from 0 (line) to 2 (steep root)";
}

impl Factor {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "ten seconds at most, and not negative"
    )]
    pub(super) fn times(self, span: Span) -> Span {
        Span::from_ns(libm::round(self.0 * span.ns() as f64) as u64)
    }
}

/// Revolutions per minute, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rpm(pub(super) u64);

impl Value for Rpm {
    fn read(text: &str) -> Result<Self, Invalid> {
        let rpm = f64::read(text).ok().filter(|rpm| (100.0..=100_000.0).contains(rpm));
        let rpm = rpm.ok_or_else(|| format!("`{text}` is not a speed from 100 to 100000 rpm"))?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 10^5 and 10^8"
        )]
        // Half a thousandth more, since a cast rounds down.
        let milli = (rpm * 1000.0 + 0.5) as u64;
        Ok(Self(milli))
    }
}

/// A capacity in bytes: whole sectors, 1 MiB to 64 TiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Capacity(pub(super) Sectors);

impl Value for Capacity {
    fn read(text: &str) -> Result<Self, Invalid> {
        // Underscores group digits, as in TOML and Rust.
        let bytes = Bytes::read(&text.replace('_', ""))?;
        let sane = (Bytes::mib(1)..=Sectors::DRIVE_MAX.bytes()).contains(&bytes);
        if !sane || !bytes.get().is_multiple_of(512) {
            return Err(invalid!("`{text}` is not a multiple of 512 from 1 MiB to 64 TiB"));
        }
        Ok(Self(Sectors::holding(bytes)))
    }
}

/// A physical sector: the unit of atomic writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SectorSize(pub(super) Sectors);

impl Value for SectorSize {
    fn read(text: &str) -> Result<Self, Invalid> {
        match text.replace('_', "").as_str() {
            "512" => Ok(Self(Sectors::new(1))),
            "4096" | "4k" => Ok(Self(Sectors::new(8))),
            _ => Err(invalid!("`{text}` is neither 512 nor 4096")),
        }
    }
}

/// Size of SLC blocks: at most a tebibyte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SlcSize(pub(super) Bytes);

impl Value for SlcSize {
    fn read(text: &str) -> Result<Self, Invalid> {
        let bytes = Bytes::read(text)?;
        if bytes > Bytes::gib(1024) {
            return Err(invalid!("`{text}` is more than 1 TiB, which no drive writes as SLC"));
        }
        Ok(Self(bytes))
    }
}

/// Memory in the drive: at most a gibibyte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Memory(pub(super) Sectors);

impl Value for Memory {
    fn read(text: &str) -> Result<Self, Invalid> {
        let bytes = Bytes::read(text)?;
        if bytes > Bytes::gib(1) {
            return Err(invalid!("`{text}` is more than 1 GiB, the limit for a drive buffer"));
        }
        // A buffer holds whole sectors: the rest has no use.
        Ok(Self(Sectors::new(bytes.get() / 512)))
    }
}
