//! What the tests of the suite measure.

use drivelab_core::record::{Figure, Label, Nature, Phase, ReadBack, Remark, WrittenFiles};

use crate::found::{labelled, phase, transfer};

/// What one test measures, and why.
pub(super) struct Meaning {
    nature: Nature,
    why: &'static str,
    /// No disk is involved.
    not_disk: Option<&'static str>,
    defect: Option<&'static str>,
    /// Bytes per unit of its figure, if that is a transfer rate.
    unit_bytes: Option<f64>,
}

const DISK: Meaning =
    Meaning { nature: Nature::Disk, why: "", not_disk: None, defect: None, unit_bytes: None };

impl Meaning {
    pub(super) fn phase(&self, name: &str, value: f64, figures: Vec<Figure>) -> Phase {
        let mut phase = match (self.nature, self.unit_bytes) {
            (Nature::Disk, Some(bytes)) => transfer(name, value * bytes, figures),
            (Nature::Disk, None) => phase(name, Nature::Disk, figures),
            (nature, _) => labelled(name, nature, self.why, figures),
        };
        let not_disk = self.not_disk.map(|why| Remark::new(Label::NotDisk, why));
        let defect = self.defect.map(|why| Remark::new(Label::ToolDefect, why));
        phase.remarks.extend(not_disk.into_iter().chain(defect));
        phase
    }
}

/// What a test measures, from its identifier and description; `None` if its profile is unknown.
pub(super) fn of(identifier: &str, description: &str) -> Option<Meaning> {
    let profile = identifier.rsplit('/').next().unwrap_or("");
    // The version follows the last hyphen.
    let (name, version) = match profile.rsplit_once('-') {
        Some((name, version)) if version.starts_with(|c: char| c.is_ascii_digit()) => {
            (name, version)
        }
        _ => (profile, ""),
    };
    match name {
        "sqlite" => Some(Meaning {
            nature: Nature::JournalSync,
            why: "each INSERT is a transaction of its own, which waits for its sync",
            ..DISK
        }),
        "fs-mark" if description.contains("No Sync") => Some(Meaning {
            nature: WrittenFiles::NotSynced.nature(),
            why: WrittenFiles::NOT_SYNCED,
            ..DISK
        }),
        "fs-mark" => Some(Meaning {
            nature: WrittenFiles::Synced.nature(),
            why: "each file is synced before it is closed",
            ..DISK
        }),
        "blogbench" => Some(Meaning {
            nature: WrittenFiles::NotSynced.nature(),
            why: "nothing is synced: memory answers until it is full",
            ..DISK
        }),
        "apache" => Some(Meaning {
            nature: Nature::Cpu,
            why: "one small page is served from memory: it measures the CPU",
            not_disk: Some("the page is served from memory"),
            ..DISK
        }),
        "tiobench" => Some(tiobench(description, version)),
        "fio" | "iozone" | "dbench" | "postmark" | "compilebench" | "aio-stress" => Some(DISK),
        _ => None,
    }
}

fn tiobench(description: &str, version: &str) -> Meaning {
    let test = description.to_lowercase();
    let mut meaning = Meaning { unit_bytes: Some(f64::from(1_u32 << 20)), ..DISK };
    // `Thread` contains the letters of `read`.
    if test.split(|c: char| !c.is_alphanumeric()).any(|word| word == "read") {
        meaning.nature = ReadBack::default().nature();
        meaning.why = ReadBack::WHY;
        meaning.not_disk = Some("memory answered");
    }
    if test.contains("random") && version.starts_with("1.3") {
        meaning.defect = Some(
            "this version credits random phases with the whole file instead of the operations \
             done, so the rate is too high",
        );
    }
    meaning
}
