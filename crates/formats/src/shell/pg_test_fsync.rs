//! `PostgreSQL`'s `pg_test_fsync`, 9.1 to 18: how often a small write can be made durable.

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Label, Nature, Phase, Remark, WrittenFiles};

use crate::found::{Found, decimal, figure, labelled, phase, put, slug};
use crate::sign::in_a_line;

/// The parts of a report: the begin of their first line, and the prefix of their figures.
const PARTS: [(&str, &str); 5] = [
    ("Compare file sync methods using one", "one_write"),
    ("Compare file sync methods using two", "two_writes"),
    ("Compare open_sync with different", "sizes"),
    ("Test if fsync on non-write", "descriptor"),
    ("Non-", "unsynced"),
];
/// Ways to make a write durable, of which one report always has several.
const METHODS: [&str; 5] =
    ["open_datasync", "fdatasync", "fsync", "fsync_writethrough", "open_sync"];
const RATE: &str = " ops/sec";
/// No drive answers more flushes a second: tmpfs, or a call that does nothing.
const FLUSHES_MAX: f64 = 500_000.0;

/// The name and the rate of `fdatasync   15042.152 ops/sec   66 usecs/op`.
fn row(line: &str) -> Option<(&str, &str)> {
    let (start, _) = line.trim().split_once(RATE)?;
    let (name, value) = start.trim_end().rsplit_once(char::is_whitespace)?;
    Some((name.trim(), value))
}

/// True if a text contains such a report.
pub fn is_pg_test_fsync(text: &str) -> bool {
    in_a_line(text, RATE, |line| row(line).is_some_and(|(name, _)| METHODS.contains(&name)))
}

/// Reads every report of a text, each as a run.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("pg_test_fsync");
    let (mut begin, mut part, mut phases) = (0, PARTS[0].1, Vec::new());
    for line in lines(text)? {
        let text = line.text.trim();
        if let Some((_, name)) = PARTS.iter().find(|(start, _)| text.starts_with(start)) {
            if phases.iter().any(|phase: &Phase| phase.name == *name) {
                finish(begin, std::mem::take(&mut phases), &mut found);
                begin = 0;
            }
            part = name;
        } else if let Some((name, value)) = row(text) {
            if part == "unsynced" && METHODS.contains(&name) {
                // Only a part of the next report was copied.
                part = PARTS[0].1;
                finish(begin, std::mem::take(&mut phases), &mut found);
                begin = 0;
            }
            begin = if begin == 0 { line.number } else { begin };
            match decimal(value) {
                Some(value) => add(line, part, name, value, &mut phases)?,
                None => found.unknown(line.number, text),
            }
        }
    }
    finish(begin, phases, &mut found);
    found.finish("give the complete output of `pg_test_fsync`")
}

fn add(
    line: Line,
    part: &str,
    name: &str,
    value: f64,
    phases: &mut Vec<Phase>,
) -> Result<(), ParseError> {
    let known = phases.iter().position(|phase| phase.name == part);
    let at = known.unwrap_or(phases.len());
    if known.is_none() {
        let nature = WrittenFiles::Synced.nature();
        let first = match part {
            "unsynced" => {
                let why = WrittenFiles::NOT_SYNCED;
                labelled(part, WrittenFiles::NotSynced.nature(), why, Vec::new())
            }
            _ => phase(part, nature, Vec::new()),
        };
        put(phases, first, line.number)?;
    }
    assert_eq!(phases[at].name, part, "the part of the report is a phase");
    put(&mut phases[at].figures, figure(&slug(name), value, "1/s", Better::More), line.number)
}

/// Adds a report, with remarks that only all of it gives reason for.
fn finish(line: usize, mut phases: Vec<Phase>, found: &mut Found) {
    // Only macOS and Windows have it.
    let mut figures = phases.iter().flat_map(|phase| &phase.figures);
    let has_through = figures.any(|figure| figure.name == "fsync-writethrough");
    for phase in phases.iter_mut().filter(|phase| phase.name != "unsynced") {
        for figure in &mut phase.figures {
            if figure.value > FLUSHES_MAX {
                let why = "no drive is flushed this often: memory answered";
                figure.remarks.push(Remark::new(Label::NotDisk, why));
            } else if has_through && figure.name != "fsync-writethrough" {
                figure.nature = Some(Nature::DriveCache);
                let why = "this system has `fsync_writethrough`: without it the data stays in the \
                           drive's cache";
                figure.remarks.push(Remark::new(Label::Nature(Nature::DriveCache), why));
            }
        }
    }
    found.run(line, "", phases);
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "\
5 seconds per test
O_DIRECT supported on this platform for open_datasync and open_sync.

Compare file sync methods using one 8kB write:
(in wal_sync_method preference order, except fdatasync is Linux's default)
        open_datasync                      1940.579 ops/sec     515 usecs/op
        fdatasync                           493.815 ops/sec    2025 usecs/op
        fsync_writethrough                              n/a

Compare file sync methods using two 8kB writes:
        fdatasync                           451.037 ops/sec    2217 usecs/op

Compare open_sync with different write sizes:
         2 *  8kB open_sync writes           30.327 ops/sec   32974 usecs/op

Test if fsync on non-write file descriptor is honored:
        write, fsync, close                1760.753 ops/sec     568 usecs/op

Non-sync'ed 8kB writes:
        write                           1851597.114 ops/sec       1 usecs/op
";

    fn values(text: &str) -> Vec<(String, f64)> {
        let imported = parse(text).unwrap();
        let phases = imported.runs.iter().flat_map(|run| &run.phases);
        phases.flat_map(Phase::metrics).map(|it| (it.name, it.value)).collect()
    }

    #[test]
    fn every_rate_is_a_figure() {
        let expected = [
            ("one_write.open-datasync", 1940.579),
            ("one_write.fdatasync", 493.815),
            ("two_writes.fdatasync", 451.037),
            ("sizes.2-8kb-open-sync-writes", 30.327),
            ("descriptor.write-fsync-close", 1760.753),
            ("unsynced.write", 1_851_597.114),
        ];
        let found = values(RUN);
        let found: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        assert_eq!(found, expected);
        let natures: Vec<Nature> =
            parse(RUN).unwrap().runs[0].phases.iter().map(|phase| phase.nature).collect();
        let sync = Nature::JournalSync;
        assert_eq!(natures, [sync, sync, sync, sync, Nature::PageCache]);
        assert_eq!(parse(&RUN.repeat(2)).unwrap().runs.len(), 2);
    }

    #[test]
    fn a_sync_that_does_not_reach_the_medium_says_so() {
        let check = |text: &str, label| {
            let phase = &parse(text).unwrap().runs[0].phases[0];
            let fdatasync = phase.figures.iter().find(|it| it.name == "fdatasync").unwrap();
            let labels: Vec<Label> = fdatasync.remarks.iter().map(|it| it.label).collect();
            assert_eq!(labels, [label]);
        };
        let through = "           87.954 ops/sec   11370 usecs/op";
        check(&RUN.replace("           n/a", through), Label::Nature(Nature::DriveCache));
        check(&RUN.replace("493.815", "823959.133"), Label::NotDisk);
    }

    #[test]
    fn a_second_report_without_its_headings_is_not_called_unsynced() {
        let runs = parse(&format!("{RUN}in FreeBSD:\n  fsync  6676.001 ops/sec  150 usecs/op\n"));
        let runs = runs.unwrap().runs;
        assert_eq!(runs.len(), 2);
        let phase = &runs[1].phases[0];
        assert_eq!((phase.name.as_str(), phase.nature), ("one_write", Nature::JournalSync));
    }

    #[test]
    fn one_damaged_value_leaves_the_others() {
        let text = RUN.replace("493.815", "49x.815");
        assert_eq!(values(&text).len(), values(RUN).len() - 1);
        let unknown = parse(&text).unwrap().unknown;
        assert!(unknown[0].starts_with("line 7: `fdatasync"), "{unknown:?}");
        assert!(!is_pg_test_fsync("sort 5 ops/sec\n"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text: String, put in "[0-9.n/a opsec\n]{0,30}") {
            let _ = parse(&text);
            let _ = parse(&RUN.replace("493.815", &put));
            let _ = parse(&RUN.replace("Compare", &put));
        }

        #[test]
        fn what_is_written_comes_back(mille in 1_u32..400_000_000) {
            let text = format!("{}.{:03}", mille / 1000, mille % 1000);
            let found = values(&RUN.replace("493.815", &text));
            proptest::prop_assert_eq!(found[1].1.to_bits(), text.parse::<f64>().unwrap().to_bits());
        }
    }
}
