//! The nature of the suite's tests.

use drivelab_core::record::{Figure, Label, Nature, Phase, ReadBack, Remark, WrittenFiles};

use crate::found::{labelled, phase, transfer};

/// The nature of one test, and the reason.
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

/// The nature of a test, from its identifier and description; `None` if its profile is unknown.
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
        "fs-mark" if description.contains("No Sync") => Some(not_synced()),
        "fs-mark" => Some(Meaning {
            nature: WrittenFiles::Synced.nature(),
            why: "each file is synced before it is closed",
            ..DISK
        }),
        "blogbench" => Some(Meaning {
            why: "nothing is synced: memory answers until it is full",
            ..not_synced()
        }),
        "apache" => Some(Meaning {
            nature: Nature::Cpu,
            why: "one small page is served from memory: it measures the CPU",
            not_disk: Some("the page is served from memory"),
            ..DISK
        }),
        "tiobench" => Some(tiobench(description, version)),
        "fio" if description.contains("Direct: No") => Some(through_memory(description)),
        "iozone" | "compilebench" if reads(description) => Some(read_back()),
        "dbench" | "postmark" => Some(not_synced()),
        "fio" | "iozone" | "compilebench" | "aio-stress" => Some(DISK),
        _ => None,
    }
}

/// Returns the meaning of files that are written and not synced.
fn not_synced() -> Meaning {
    let nature = WrittenFiles::NotSynced.nature();
    Meaning { nature, why: WrittenFiles::NOT_SYNCED, ..DISK }
}

/// Returns the meaning of files that are read after they were written.
fn read_back() -> Meaning {
    let not_disk = Some("memory answered");
    Meaning { nature: ReadBack::default().nature(), why: ReadBack::WHY, not_disk, ..DISK }
}

/// Returns the meaning of requests of fio that pass through the page cache.
fn through_memory(description: &str) -> Meaning {
    if reads(description) { read_back() } else { not_synced() }
}

/// True if a description names a read. `Thread` contains the letters of `read`.
fn reads(description: &str) -> bool {
    let test = description.to_lowercase();
    test.split(|c: char| !c.is_alphanumeric()).any(|word| word == "read")
}

fn tiobench(description: &str, version: &str) -> Meaning {
    let test = description.to_lowercase();
    let unit_bytes = Some(f64::from(1_u32 << 20));
    let base = if reads(description) { read_back() } else { DISK };
    let mut meaning = Meaning { unit_bytes, ..base };
    if test.contains("random") && version.starts_with("1.3") {
        meaning.defect = Some(
            "this version credits random phases with the whole file instead of the operations \
             done, so the rate is too high",
        );
    }
    meaning
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_through_memory_are_not_of_a_disk() {
        let check = |profile: &str, description: &str, expected| {
            let nature = of(profile, description).unwrap().nature;
            assert_eq!(nature, expected, "{profile} {description}");
        };
        let random = "Type: Random Read - Engine: Sync - Direct";
        check("pts/fio-1.8.2", &format!("{random}: No - Block Size: 4KB"), Nature::PageCache);
        check("pts/fio-1.8.2", &format!("{random}: Yes - Block Size: 4KB"), Nature::Disk);
        check("pts/fio-1.8.2", "Type: Random Write - Direct: No", Nature::PageCache);
        let iozone = "Record Size: 4Kb - File Size: 512MB - Disk Test";
        check("pts/iozone-1.9.6", &format!("{iozone}: Read Performance"), Nature::PageCache);
        check("pts/iozone-1.9.6", &format!("{iozone}: Write Performance"), Nature::Disk);
        check("pts/compilebench-1.0.3", "Test: Read Compiled Tree", Nature::PageCache);
        check("pts/dbench-1.0.2", "12 Clients", Nature::PageCache);
        check("pts/postmark-1.1.2", "Disk Transaction Performance", Nature::PageCache);
    }
}
