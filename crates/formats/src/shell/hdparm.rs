//! `hdparm -t` and `-T`, also with `--direct`, versions 6 to 9.
//!
//! Its MB are 2²⁰ bytes. Each test runs for two or three seconds, at the beginning of the device
//! unless `--offset` was given.

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Label, Nature, Phase, Remark};

use crate::found::{Found, figure, labelled, put, transfer};
use crate::quantity::{Comma, bytes_per_s};
use crate::sign::in_a_line;

/// The tests, as a line names them after `Timing`.
const TESTS: [(&str, &str); 4] = [
    ("cached reads:", "cached_reads"),
    ("buffered disk reads:", "buffered_disk_reads"),
    ("O_DIRECT cached reads:", "direct_cached_reads"),
    ("O_DIRECT disk reads:", "direct_disk_reads"),
];

/// The test of a line, and the rest of it.
fn test(line: &str) -> Option<(&'static str, &str)> {
    let rest = line.trim().strip_prefix("Timing ")?;
    TESTS.iter().find_map(|(printed, name)| Some((*name, rest.strip_prefix(printed)?)))
}

/// True if a text contains such a line.
pub fn is_hdparm(text: &str) -> bool {
    in_a_line(text, "Timing ", |line| test(line).is_some())
}

/// Reads every line of a text; each device, and each repetition of a test, begins a run.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("hdparm");
    let (mut begin, mut device, mut phases) = (0, "", Vec::new());
    for line in lines(text)? {
        let text = line.text.trim();
        if let Some((name, rest)) = test(text) {
            // `hdparm` is repeated by hand, as its manual asks for.
            if phases.iter().any(|phase: &Phase| phase.name == name) {
                found.run(begin, device, std::mem::take(&mut phases));
            }
            begin = if phases.is_empty() { line.number } else { begin };
            add(line, name, rest, &mut phases, &mut found)?;
        } else if let Some(name) = text.strip_suffix(':').filter(|it| it.starts_with("/dev/")) {
            found.run(begin, device, std::mem::take(&mut phases));
            device = name;
        }
    }
    found.run(begin, device, phases);
    found.finish("give the complete output of `hdparm -tT`")
}

/// ` 362 MB in  3.01 seconds = 120.33 MB/sec`.
fn add(
    line: Line,
    name: &str,
    rest: &str,
    phases: &mut Vec<Phase>,
    found: &mut Found,
) -> Result<(), ParseError> {
    let printed = rest.rsplit('=').next().filter(|_| rest.contains('=')).unwrap_or_default();
    match bytes_per_s(printed, 1024.0, Comma::Decimal) {
        Some(rate) if rate > 0.0 => put(phases, phase(name, rate), line.number),
        _ => {
            found.unknown(line.number, line.text);
            Ok(())
        }
    }
}

fn phase(name: &str, rate: f64) -> Phase {
    let figures = vec![figure("bytes_per_s", rate, "", Better::More)];
    match name {
        "cached_reads" => {
            let why = "the same 2 MiB are read again and again from the page cache: it measures \
                       memory and processor";
            let mut phase = labelled(name, Nature::PageCache, why, figures);
            phase.remarks.push(Remark::new(Label::NotDisk, "no disk is read"));
            phase
        }
        "direct_cached_reads" => {
            let why = "the same 2 MiB are read again and again: the cache of the drive answers";
            labelled(name, Nature::DriveCache, why, figures)
        }
        _ => transfer(name, rate, figures),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "\
/dev/sda:
 Timing cached reads:   15596 MB in  2.00 seconds = 7805.35 MB/sec
 Timing buffered disk reads: 362 MB in  3.01 seconds = 120.33 MB/sec
 Timing O_DIRECT cached reads:   724 MB in  2.00 seconds = 361.84 MB/sec
 Timing O_DIRECT disk reads: 406 MB in  3.01 seconds = 512.00 kB/sec
";

    #[test]
    fn each_test_says_what_it_measures() {
        let imported = parse(RUN).unwrap();
        assert_eq!((imported.runs.len(), imported.runs[0].arm.as_str()), (1, "/dev/sda"));
        let found: Vec<_> = imported.runs[0]
            .phases
            .iter()
            .map(|phase| (phase.name.as_str(), phase.figures[0].value, phase.nature))
            .collect();
        let mib = 1_048_576.0;
        let expected = [
            ("cached_reads", 7805.35 * mib, Nature::PageCache),
            ("buffered_disk_reads", 120.33 * mib, Nature::Disk),
            ("direct_cached_reads", 361.84 * mib, Nature::DriveCache),
            ("direct_disk_reads", 512.0 * 1024.0, Nature::Disk),
        ];
        assert_eq!(found, expected);
        assert_eq!(imported.runs[0].phases[0].remarks[1].label, Label::NotDisk);
    }

    #[test]
    fn repetitions_and_devices_are_runs() {
        let check = |text: &str, expected: &[&str]| {
            let imported = parse(text).unwrap();
            let arms: Vec<&str> = imported.runs.iter().map(|run| run.arm.as_str()).collect();
            assert_eq!(arms, expected);
        };
        check(&RUN.repeat(2), &["/dev/sda", "/dev/sda"]);
        check(&format!("{RUN}{}", RUN.replace("sda", "sdb")), &["/dev/sda", "/dev/sdb"]);
        let line = RUN.lines().nth(2).unwrap();
        check(&format!("{line}\n{line}\n"), &["", ""]);
    }

    #[test]
    fn damage_is_named_with_its_line() {
        let imported = parse(&RUN.replace("120.33", "12x.33")).unwrap();
        assert!(imported.unknown[0].starts_with("line 3: `Timing buffered"), "{imported:?}");
        assert!(!is_hdparm("Timing is everything\n"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text: String, put in "[0-9.,=MB/sec ]{0,20}") {
            let _ = parse(&text);
            let _ = parse(&RUN.replace("120.33", &put));
        }

        #[test]
        fn what_is_written_comes_back(cents in 1_u32..9_999_999) {
            let rate = format!("{}.{:02}", cents / 100, cents % 100);
            let imported = parse(&RUN.replace("120.33", &rate)).unwrap();
            let expected = rate.parse::<f64>().unwrap() * 1_048_576.0;
            let value = imported.runs[0].phases[1].figures[0].value;
            proptest::prop_assert_eq!(value.to_bits(), expected.to_bits());
        }
    }
}
