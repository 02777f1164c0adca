//! `KDiskMark`'s text, versions 1.6 to 3.2: rows in the format of `CrystalDiskMark` 7, measured by
//! fio.

use drivelab_core::csv::{ParseError, lines};
use drivelab_core::foreign::Imported;
use drivelab_core::record::{Label, Remark, Work};

use crate::crystaldiskmark::row::{Direction, Row};
use crate::crystaldiskmark::settings;
use crate::found::Found;
use crate::sign::in_a_line;

/// The beginnings of lines that describe the settings.
const SETTINGS: [&str; 9] =
    ["* ", "--", "Flexible I/O Tester", "Test:", "Mode:", "Time:", "Date:", "OS:", "Target:"];
/// fio's KiB/s divided by 1000 are labelled MB/s: 1000 of them are 1024 of a million bytes.
const SLIP: f64 = 1000.0 / 1024.0;
/// Error of the ratio of a row, as each figure is rounded to two digits.
const SLIP_TOLERANCE: f64 = 0.01;

/// The version in its banner.
fn version(line: &str) -> Option<&str> {
    let line = line.trim_start_matches('\u{feff}').trim();
    Some(line.strip_prefix("KDiskMark (")?.split_once(')')?.0)
}

/// True if a text contains its banner.
pub fn is_kdiskmark(text: &str) -> bool {
    in_a_line(text, "KDiskMark (", |line| version(line).is_some())
}

/// Reads every report of a text, each as a run.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    let mut found = Found::new("KDiskMark");
    let (mut begin, mut phases, mut work) = (0, Vec::new(), Work::default());
    let mut section = None;
    for line in lines(text)? {
        let text = line.text.trim();
        if let Some(version) = version(text) {
            found.version(version);
            found.run_of(begin, "", std::mem::take(&mut work), std::mem::take(&mut phases));
            (begin, section) = (line.number, None);
        } else if let Some(profile) = text.strip_prefix("Profile:") {
            let of_runs = if profile.contains("Default") { "mean" } else { "fastest" };
            work.set("profile", profile);
            found.note(format!("Profile{profile}: the figures are the {of_runs} of its runs."));
        } else if SETTINGS.iter().any(|start| text.starts_with(start)) {
            if let Some((name, value)) = text.split_once(':') {
                settings::read(&mut work, name.trim(), value.trim());
            }
        } else if let Some(direction) = Direction::of_section(text) {
            section = Some(direction);
            settings::mixture(&mut work, text);
        } else {
            let is_row = match Row::new(line, section)? {
                Some(row) => row.add(&mut phases, defect(&row).into_iter().collect(), line)?,
                None => false,
            };
            if !is_row {
                found.unknown(line.number, line.text);
            }
        }
    }
    found.run_of(begin, "", work, phases);
    found.finish("save the result as text after the test finished")
}

/// The row itself shows the error: its IOPS times the size of a request give another rate.
fn defect(row: &Row) -> Option<Remark> {
    let bytes_per_s = row.iops? * row.request_bytes?;
    // IOPS times size are exact; only the printed rate has the wrong unit.
    let ratio = row.rate * 1e6 / bytes_per_s;
    let why = "the rate is fio's KiB/s divided by 1000, which is 2.3 % less than MB/s";
    ((ratio - SLIP).abs() < SLIP_TOLERANCE).then(|| Remark::new(Label::ToolDefect, why))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use drivelab_core::record::{Figure, Phase};

    pub(crate) const RUN: &str =
        "                      KDiskMark (3.1.4): https://github.com/JonMagon/KDiskMark
              Flexible I/O Tester (fio-3.33): https://github.com/axboe/fio
--------------------------------------------------------------------
* MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]
* KB = 1000 bytes, KiB = 1024 bytes

[Read]
Sequential   1 MiB (Q=  8, T= 1):   494.318 MB/s [    482.7 IOPS] < 16497.09 us>
Random   4 KiB (Q= 32, T= 1):   409.600 MB/s [ 100000.0 IOPS] <   310.00 us>

[Write]
Sequential   1 MiB (Q=  8, T= 1):   450.000 MB/s [    439.5 IOPS] < 18000.00 us>

Profile: Default
   Test: 1 GiB (x5) [Interval: 5 sec]
   Date: 2022-02-03 04:05:06
     OS: debian 12 [linux 6.1.0]
";

    fn metrics(imported: &Imported) -> Vec<Figure> {
        imported.runs.iter().flat_map(|run| &run.phases).flat_map(Phase::metrics).collect()
    }

    #[test]
    fn rows_are_those_of_crystaldiskmark() {
        let imported = parse(RUN).unwrap();
        assert_eq!(
            (imported.tool.as_str(), imported.tool_version.as_str()),
            ("KDiskMark", "3.1.4")
        );
        let all = metrics(&imported);
        let found: Vec<_> = all.iter().map(|f| (f.name.as_str(), f.value)).collect();
        let expected = [
            ("seq1m_q8t1_read", 494.318),
            ("seq1m_q8t1_read_iops", 482.7),
            ("seq1m_q8t1_read_latency", 16_497.09),
            ("rnd4k_q32t1_read", 409.6),
            ("rnd4k_q32t1_read_iops", 100_000.0),
            ("rnd4k_q32t1_read_latency", 310.0),
            ("seq1m_q8t1_write", 450.0),
            ("seq1m_q8t1_write_iops", 439.5),
            ("seq1m_q8t1_write_latency", 18_000.0),
        ];
        assert_eq!(found, expected);
        assert_eq!(imported.unknown, Vec::<String>::new());
        assert_eq!(imported.notes, ["Profile Default: the figures are the mean of its runs."]);
    }

    fn has_defect(figure: &Figure) -> bool {
        figure.remarks.iter().any(|remark| remark.label == Label::ToolDefect)
    }

    #[test]
    fn the_unit_slip_is_a_defect_where_a_row_shows_it() {
        let all = metrics(&parse(RUN).unwrap());
        assert!(has_defect(&all[0]) && has_defect(&all[6]));
        assert!(!has_defect(&all[1]), "IOPS are right");
        // 100,000 requests of 4 KiB are 409.6 MB.
        assert!(!has_defect(&all[3]));
    }

    #[test]
    fn damage_is_named_with_its_line() {
        let error = parse(&RUN.replace("494.318", "49x")).unwrap_err().to_string();
        assert!(error.starts_with("line 8: `49x` is not a number; check"), "{error}");
        let error = parse("KDiskMark (3.1.4)").unwrap_err().to_string();
        assert!(error.starts_with("it contains no results of KDiskMark; save"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn no_damage_panics(at in 0..900_usize, cut in 0..30_usize, put in "[QT0-9.:()=<> ]{0,8}") {
            let mut text = RUN.to_owned();
            let at = at.min(text.len());
            let end = (at + cut).min(text.len());
            text.replace_range(at..end, &put);
            let _ = parse(&text);
        }
    }
}
