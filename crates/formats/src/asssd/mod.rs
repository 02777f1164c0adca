//! AS SSD Benchmark's text, versions 1.x and 2.0, with rates or with operations a second.
//!
//! The program is closed source. A report with rates and one of the same test with operations show
//! that its MB are 2²⁰ bytes: 60.63 MB/s and 15521 iops of 4096 bytes. The test of 16 MB has one
//! request outstanding; the cache of Windows is bypassed.

use drivelab_core::csv::{Line, ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, Figure, Nature, Phase};

use crate::found::{Found, detail, figure, phase, put, transfer};
use crate::quantity::{Comma, MIB, split};
use crate::sign::in_a_line;

const BANNER: &str = "AS SSD Benchmark ";
/// The tests by their headings, with the bytes of a request; the last has no rate.
const TESTS: [(&str, &str, f64); 6] = [
    ("Sequential", "seq16m_q1t1", 16.0 * MIB),
    ("16MB", "seq16m_q1t1", 16.0 * MIB),
    ("4K", "rnd4k_q1t1", 4096.0),
    ("4K-64Threads", "rnd4k_64_threads", 4096.0),
    ("512B", "rnd512_q1t1", 512.0),
    ("Access Times", "access", 0.0),
];

/// The version in its banner.
fn version(line: &str) -> Option<&str> {
    let version = line.trim_start_matches('\u{feff}').trim().strip_prefix(BANNER)?;
    version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.trim())
}

/// True if a text contains its banner.
pub fn is_asssd(text: &str) -> bool {
    in_a_line(text, BANNER, |line| version(line).is_some())
}

/// Reads every report of a text, each as a run of the drive that it names.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("AS SSD Benchmark");
    let (mut begin, mut arm, mut phases, mut kind) = (0, "", Vec::new(), None);
    for line in lines(text)? {
        let text = line.text.trim();
        if let Some(version) = version(text) {
            found.run(begin, arm, std::mem::take(&mut phases));
            found.version(version);
            (begin, arm, kind) = (line.number, "", None);
        } else if let Some(model) = text.strip_prefix("Name:") {
            arm = model.trim();
        } else if let Some(known) = TESTS.iter().find(|it| it.0 == text.trim_end_matches(':')) {
            kind = Some(known);
        } else if text == "Score:" {
            // Its lines have the names of rates, but no unit.
            kind = None;
        } else if let Some((name, value)) = text.split_once(':') {
            let direction = match name {
                "Read" => Some("read"),
                "Write" => Some("write"),
                _ => None,
            };
            let of = kind.zip(direction);
            match of.and_then(|((_, kind, size), to)| row(&format!("{kind}_{to}"), value, *size)) {
                Some(phase) => put(&mut phases, phase, line.number)?,
                None if kind.is_some() || !is_known(line) => {
                    found.unknown(line.number, line.text);
                }
                None => {}
            }
        }
    }
    found.run(begin, arm, phases);
    found.note("MB of AS SSD Benchmark are 1,048,576 bytes.".to_owned());
    found.finish("copy the text of a test that finished")
}

/// True for lines about the drive, and for scores, which are weighted sums of rates.
fn is_known(line: Line) -> bool {
    let name = line.text.trim().split(':').next().unwrap_or_default();
    let score = ["Read", "Write", "Total"];
    ["Firmware", "Controller", "Offset", "Size", "Date"].iter().chain(&score).any(|it| *it == name)
}

/// The figures of `2468.65 MB/s`, `15521 iops` or `0.098 ms`.
fn row(name: &str, value: &str, bytes: f64) -> Option<Phase> {
    // The language of Windows decides between comma and point; a test left out has zero.
    let (value, unit) = split(value, Comma::Decimal).filter(|(value, _)| *value > 0.0)?;
    match unit {
        "ms" => {
            let figures = vec![figure(&format!("{name}_time"), value, "ms", Better::Less)];
            Some(phase(&format!("{name}_time"), Nature::Disk, figures))
        }
        "MB/s" => {
            // In bytes, so that the same test in operations compares with it.
            let rate = value * MIB;
            let figures = vec![figure(name, rate, "B/s", Better::More), iops(name, rate / bytes)];
            (bytes > 0.0).then(|| transfer(name, rate, figures))
        }
        "iops" => {
            let rate = value * bytes;
            let figures = vec![figure(name, rate, "B/s", Better::More), iops(name, value)];
            (bytes > 0.0).then(|| transfer(name, rate, figures))
        }
        _ => None,
    }
}

fn iops(name: &str, value: f64) -> Figure {
    detail(&format!("{name}_iops"), value, "1/s", Better::More)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: &str = "\
AS SSD Benchmark 2.0.1.2
------------------------------
Name: A drive
Firmware: 1
Date: 01.02.2024 10:00:00
------------------------------
Sequential:
------------------------------
Read: 512,00 MB/s
Write: 256.00 MB/s
Total: 768.00 MB/s
------------------------------
4K:
------------------------------
Read: 40.00 MB/s
------------------------------
4K-64Threads:
------------------------------
Write: 0.00 MB/s
------------------------------
Access Times:
------------------------------
Read: 0.050 ms
------------------------------
Score:
------------------------------
Read: 100
Total: 300
";

    fn figures(text: &str) -> Vec<(String, f64)> {
        let imported = parse(text).unwrap();
        let figures = imported.runs.iter().flat_map(|run| &run.phases).flat_map(|it| &it.figures);
        figures.map(|figure| (figure.name.clone(), figure.value)).collect()
    }

    #[test]
    fn rates_are_in_mebibytes() {
        let found = figures(RATES);
        let expected = [
            ("seq16m_q1t1_read", 512.0 * MIB),
            ("seq16m_q1t1_read_iops", 32.0),
            ("seq16m_q1t1_write", 256.0 * MIB),
            ("seq16m_q1t1_write_iops", 16.0),
            ("rnd4k_q1t1_read", 40.0 * MIB),
            ("rnd4k_q1t1_read_iops", 10_240.0),
            ("access_read_time", 0.05),
        ];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value)));
        let imported = parse(RATES).unwrap();
        assert_eq!((imported.runs.len(), imported.runs[0].arm.as_str()), (1, "A drive"));
        // A test that was not made has a rate of zero, and is quoted.
        // A line of a test that is neither a read nor a write has no figure.
        assert_eq!(
            imported.unknown,
            ["line 11: `Total: 768.00 MB/s`", "line 19: `Write: 0.00 MB/s`"]
        );
    }

    #[test]
    fn operations_of_the_same_tests_have_the_same_names() {
        let text = "AS SSD Benchmark 1.9.2\n16MB\nRead: 32 iops\n4K:\nRead: 10240 iops\n\
                    512B\nWrite: 20000 iops\nScore:\nRead: 100\n";
        let found = figures(text);
        assert_eq!(
            found[..4],
            figures(RATES)[..2].iter().chain(&figures(RATES)[4..6]).cloned().collect::<Vec<_>>()[..]
        );
        assert_eq!(found[4], ("rnd512_q1t1_write".to_owned(), 20_000.0 * 512.0));
    }

    #[test]
    fn a_report_without_tests_is_refused() {
        let error = parse("AS SSD Benchmark 2.0.1\nName: a\n").unwrap_err().to_string();
        assert!(error.starts_with("it contains no results of AS SSD Benchmark"), "{error}");
        assert!(!is_asssd("AS SSD Benchmark is a program\n"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text: String, lines in "[0-9.,:A-Z4K a-z/\n-]{0,200}") {
            let _ = parse(&text);
            let _ = parse(&format!("AS SSD Benchmark 1\nSequential:\n{lines}"));
        }
    }
}
