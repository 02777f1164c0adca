//! Exports and imports again: nothing changes.

use super::*;
use crate::crystaldiskmark::tests::V22;
use crate::kdiskmark;
use crate::results;

const BONNIE: &str = "1.98,2.00a,vm,1,1795413536,1600M,,8192,5,1288,72,916396,53,1261681,53,1980,\
    70,+++++,+++,438.0,47,1,4096,1024,,4,298,2,+++++,+++,323,2,298,2,+++++,+++,323,2,12610us,\
    4062us,1645ms,12514us,3121us,123s,4115us,56us,4076us,8063us,5us,4194us\n";

const OLD: &str = "1.96,1.96,kvm,1,1252886317,4G,,439,99,52686,15,27168,5,2039,99,\
    62782,4,228.9,3,384,,,,,17299,43,379058,99,777,1,24781,49,522877,100,579,1,48125us,1645ms,\
    1545ms,16144us,137ms,863ms,1773ms,169us,18519ms,1403ms,14us,14935ms";

const DISKMARK: &str = "\
------------------------------------------------------------------------------\r
CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo\r
                                  Crystal Dew World: https://crystalmark.info/\r
------------------------------------------------------------------------------\r
* MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]\r
* KB = 1000 bytes, KiB = 1024 bytes\r
\r
[Read]\r
  SEQ    1MiB (Q=  8, T= 1):   562.130 MB/s [    536.1 IOPS] < 14899.10 us>\r
  RND    4KiB (Q= 32, T=16):   281.610 MB/s [  68752.4 IOPS] <   463.90 us>\r
\r
[Write]\r
  SEQ    1MiB (Q=  8, T= 1):   530.420 MB/s [    505.8 IOPS] < 15779.33 us>\r
\r
Profile: Default\r
   Test: 1 GiB (x5) [C: 33% (39/119GB)]\r
   Mode: [Admin]\r
   Time: Measure 5 sec / Interval 5 sec\r
   Date: 2022/02/03 4:05:06\r
     OS: Windows 10 Professional [10.0 Build 19044] (x64)\r
Comment: AHCI\r
";

/// A report of version 2.2 with a comment of two lines.
fn diskmark_2() -> String {
    V22.replace("AHCI, caching off: 5 MB/s", "AHCI\r\ncaching off")
}

/// Exports the text, and again the result of reading that.
fn twice(text: &str, format: Format) -> (String, String) {
    let first = write(&results::parse(text).unwrap(), format).unwrap().text;
    let second = write(&results::parse(&first).unwrap(), format).unwrap().text;
    (first, second)
}

#[test]
fn what_a_tool_wrote_is_written_again_byte_by_byte() {
    let check = |text: &str, format| {
        assert_eq!(twice(text, format).0, text);
        let imported = results::parse(text).unwrap();
        assert_eq!(results::parse(&twice(text, format).0).unwrap(), imported);
    };
    check(BONNIE, Format::Bonnie);
    check(DISKMARK, Format::CrystalDiskMark);
    check(&diskmark_2(), Format::CrystalDiskMark);
}

#[test]
fn every_format_that_goes_both_ways_gives_the_same_bytes() {
    let check = |text: &str, format| {
        let (first, second) = twice(text, format);
        assert_eq!(first, second);
    };
    let both = format!("{OLD}\n{BONNIE}");
    let hyperfine = "{\"results\": [{\"command\": \"a <b> & \\\"c\\\"\", \"mean\": 1.5, \
                     \"times\": [1.4, 1.6]}, {\"command\": \"d\", \"mean\": 2}]}";
    check(&both, Format::Bonnie);
    for text in [&both, DISKMARK, &diskmark_2(), hyperfine] {
        check(text, Format::Phoronix);
    }
    check(&DISKMARK.replace("[Admin]\r\n", "\r\n"), Format::CrystalDiskMark);
    // Of another program, in its form.
    check(kdiskmark::tests::RUN, Format::CrystalDiskMark);
    let (in_its_form, _) = twice(kdiskmark::tests::RUN, Format::CrystalDiskMark);
    let read = results::parse(&in_its_form).unwrap();
    assert_eq!(read.tool_version, "8");
    assert!(read.notes[0].contains("another program measured"), "{:?}", read.notes);
    // A comment has no end but the line above the next report, or what is too long of it.
    for comment in ["caching off".to_owned(), "x".repeat(990), "x".repeat(999), "x".repeat(2000)] {
        let commented = &diskmark_2().replace("caching off", &comment);
        check(&commented.repeat(2), Format::CrystalDiskMark);
        check(&format!("{commented}\r\n{commented}"), Format::CrystalDiskMark);
    }
}

#[test]
fn labels_units_and_trials_survive_the_suite() {
    let imported = results::parse(OLD).unwrap();
    let exported = write(&imported, Format::Phoronix).unwrap().text;
    let again = results::parse(&exported).unwrap();
    let figures = |imported: &Imported| {
        let phases = imported.runs.iter().flat_map(|run| &run.phases);
        phases.flat_map(drivelab_core::record::Phase::metrics).collect::<Vec<_>>()
    };
    let labels = |figure: &drivelab_core::record::Figure| {
        drivelab_core::record::label_names(&figure.remarks)
    };
    for (one, other) in figures(&imported).iter().zip(figures(&again)) {
        assert_eq!((&one.name, one.value, &one.unit), (&other.name, other.value, &other.unit));
        assert_eq!(labels(one), labels(&other), "{}", one.name);
        assert_eq!((one.is_detail, one.nature), (other.is_detail, other.nature));
    }
    assert_eq!(figures(&again).len(), 36);
}

#[test]
fn elements_stand_in_the_order_of_the_schema() {
    let exported = write(&results::parse(OLD).unwrap(), Format::Phoronix).unwrap().text;
    let places = |names: &[&str]| {
        let mut from = 0;
        for name in names {
            let at = exported[from..].find(&format!("<{name}>"));
            from += at.unwrap_or_else(|| panic!("{name} is missing, or too early"));
        }
    };
    places(&["Generated", "Title", "LastModified", "TestClient", "Description"]);
    let system = ["System", "Identifier", "Hardware", "Software", "User", "TimeStamp"];
    places(&[&system[..], &["TestClientVersion", "Notes"]].concat());
    let result = ["Result", "Identifier", "Title", "AppVersion", "Arguments", "Description"];
    let data = ["Scale", "Proportion", "DisplayFormat", "Data", "Entry", "Identifier", "Value"];
    places(&[&result[..], &data[..], &["RawString", "JSON"]].concat());
}

#[test]
fn tables_hold_mean_spread_and_direction() {
    let text = "{\"results\": [{\"command\": \"a, b\", \"mean\": 1.5, \"times\": [1.4, 1.6]}]}";
    let imported = results::parse(text).unwrap();
    let written = |format| write(&imported, format).unwrap().text;
    assert_eq!(
        written(Format::Csv),
        "# wall_time: s\nblock,arm,value,metric,better\n1,\"a, b\",1.4,wall_time,less\n\
         2,\"a, b\",1.6,wall_time,less\n"
    );
    assert_eq!(
        written(Format::Benchstat),
        "Unit s better=lower\nBenchmark/wall_time/arm=a,_b 1 1.4 s\n\
         Benchmark/wall_time/arm=a,_b 1 1.6 s\n"
    );
    assert_eq!(
        written(Format::Markdown),
        "| metric | unit | better | a, b | what it is |\n| --- | --- | --- | ---: | --- |\n\
         | wall_time | s | less | 1.500 ± 0.14142 (n = 2) |  |\n"
    );
}

#[test]
fn a_format_without_a_place_for_any_figure_is_refused() {
    let imported = results::parse(OLD).unwrap();
    let error = write(&imported, Format::CrystalDiskMark).unwrap_err().to_string();
    assert!(error.starts_with("no figure is one of a test of CrystalDiskMark"), "{error}");
    let error = write(&results::parse(DISKMARK).unwrap(), Format::Bonnie).unwrap_err().to_string();
    assert!(error.starts_with("no figure has a column in bonnie++'s CSV"), "{error}");
}
