//! Zones of a job, and distributions of its addresses.

use drivelab_core::units::Bytes;
use drivelab_core::workload::{Distribution, Strided};
use drivelab_core::{Invalid, Refusal};

use super::super::number::differs;
use super::Section;

/// The options of `zonemode=strided`.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Zones {
    /// Not used, although there are sizes (`zonemode=none`).
    is_off: bool,
    pub(super) size: Option<Bytes>,
    pub(super) range: Option<Bytes>,
    pub(super) gap: Option<Bytes>,
}

impl Zones {
    /// The zones; as in fio, a size alone makes some, whose length it is.
    pub(in super::super) fn strided(&self) -> Result<Option<Strided>, Refusal> {
        let Some(size) = self.size.filter(|size| *size > Bytes::ZERO) else { return Ok(None) };
        if self.is_off {
            let wrong = "`zonesize` contradicts `zonemode=none`";
            return Err(Refusal::request(wrong).hint("omit one of them"));
        }
        // An absent range is that of `zonesize`, as before there was `zonemode`.
        let length = self.range.filter(|range| *range > Bytes::ZERO).unwrap_or(size);
        let zones = Strided::new(size, length, self.gap.unwrap_or_default());
        zones.map(Some).map_err(|Invalid(wrong)| Refusal::request(wrong))
    }
}

pub(super) fn set_mode(section: &mut Section, value: &str) -> Result<(), Refusal> {
    section.zones.is_off = match value {
        "none" => true,
        "strided" => false,
        _ => {
            return Err(Refusal::request(format!("`zonemode={value}` needs a zoned device"))
                .hint("drivelab does not support zoned devices; `zonemode=strided` needs none"));
        }
    };
    Ok(())
}

/// The distribution of random addresses; as in fio, those of reads and of writes may differ, which
/// here only a job of one kind can use.
pub(super) fn set_distribution(
    section: &mut Section,
    key: &str,
    value: &str,
) -> Result<(), Refusal> {
    let (kind, rest) = value.split_once(':').unwrap_or((value, ""));
    if kind.starts_with("zoned") {
        let sides: Vec<&str> = rest.split(',').collect();
        if sides.iter().any(|side| *side != sides[0]) {
            return Err(differs(key));
        }
        return store(section, &format!("{kind}:{}", sides[0]));
    }
    // The hot blocks are scattered, so that the centre of the distribution changes nothing.
    let parameter = rest.split(':').next().unwrap_or_default();
    let parameter = match (kind, parameter) {
        ("zipf", "") => "1.1",
        ("pareto", "") => "0.2",
        ("normal", "") => "0",
        (_, given) => given,
    };
    let joined = if parameter.is_empty() { kind } else { &format!("{kind}:{parameter}") };
    store(section, joined)
}

fn store(section: &mut Section, distribution: &str) -> Result<(), Refusal> {
    let read = distribution.parse::<Distribution>();
    let read = read.map_err(|wrong| Refusal::request(format!("`random_distribution`: {wrong}")))?;
    section.workload.random_distribution = Some(read);
    Ok(())
}
