//! Zones of a job, and distributions of its addresses.

use drivelab_core::Refusal;
use drivelab_core::workload::Distribution;

use super::super::number::differs;
use super::super::section::Section;

pub(super) fn set_mode(section: &mut Section, value: &str) -> Result<(), Refusal> {
    section.zones.is_strided = match value {
        "none" => Some(false),
        "strided" => Some(true),
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
