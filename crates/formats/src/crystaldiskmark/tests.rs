//! Reports of each generation, in the format that their source prints.

use super::*;
use drivelab_core::record::{Figure, Label, Nature, Phase};

pub(crate) const V22: &str = "--------------------------------------------------\r
CrystalDiskMark 2.2 (C) 2007-2008 hiyohiyo\r
      Crystal Dew World : http://crystalmark.info/\r
--------------------------------------------------\r
\r
   Sequential Read :   50.123 MB/s\r
  Sequential Write :   48.456 MB/s\r
 Random Read 512KB :   25.789 MB/s\r
Random Write 512KB :   30.012 MB/s\r
   Random Read 4KB :    0.345 MB/s\r
  Random Write 4KB :    1.234 MB/s\r
\r
         Test Size : 100 MB\r
              Date : 2008/06/01 9:05:07\r
::Comment::\r
AHCI, caching off: 5 MB/s\r
";
const V3: &str = "* MB/s = 1,000,000 byte/s [SATA/300 = 300,000,000 byte/s]
CrystalDiskMark 3.0.1 x64 (C) 2007-2010 hiyohiyo
                           Crystal Dew World : http://crystalmark.info/
           Sequential Read :   250.000 MB/s
   Random Read 4KB (QD=1) :    20.480 MB/s [  5000.0 IOPS]
  Random Read 4KB (QD=32) :   204.800 MB/s [ 50000.0 IOPS]
  Test : 1000 MB [C: 33.0% (39.3/119.1 GB)] (x5)
  Date : 2011/01/02 3:04:05
    OS : Windows 7 SP1 [6.1 Build 7601] (x64)
";
const V5: &str = "CrystalDiskMark 5.1.2 x64 (C) 2007-2016 hiyohiyo
   Sequential Read (Q= 32,T= 1) :   554.872 MB/s
  Random Read 4KiB (Q= 32,T= 1) :   281.610 MB/s [ 68752.4 IOPS]
";
const V8: &str = "------------------------------------------------------------------------------
CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo
                                  Crystal Dew World: https://crystalmark.info/
------------------------------------------------------------------------------
* MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]
* KB = 1000 bytes, KiB = 1024 bytes

[Read]
  SEQ    1MiB (Q=  8, T= 1):   562.130 MB/s [    536.1 IOPS] < 14899.10 us>
  RND    4KiB (Q= 32, T=16):   281.610 MB/s [  68752.4 IOPS] <   463.90 us>

[Write]
  SEQ    1MiB (Q=  8, T= 1):   530.420 MB/s [    505.8 IOPS] < 15779.33 us>

[Mix] Read 70%/Write 30%
  SEQ    1MiB (Q=  8, T= 1):   540.000 MB/s [    515.0 IOPS] < 15500.00 us>

Profile: Default
   Test: 1 GiB (x5) [C: 33% (39/119GB)]
   Mode: [Admin]
   Time: Measure 5 sec / Interval 5 sec 
   Date: 2022/02/03 4:05:06
     OS: Windows 10 Professional [10.0 Build 19044] (x64)
Comment: SEQ 1MiB (Q= 8, T= 1): 1.0 MB/s
";

fn metrics(imported: &Imported) -> Vec<Figure> {
    imported.runs.iter().flat_map(|run| &run.phases).flat_map(Phase::metrics).collect()
}

#[track_caller]
fn check(text: &str, version: &str, expected: &[(&str, f64)]) {
    let imported = parse(text).unwrap();
    assert_eq!(
        (imported.tool.as_str(), imported.tool_version.as_str()),
        ("CrystalDiskMark", version)
    );
    let metrics = metrics(&imported);
    let found: Vec<_> = metrics.iter().map(|f| (f.name.as_str(), f.value)).collect();
    assert_eq!(found, expected);
    assert_eq!((imported.runs.len(), &imported.unknown), (1, &vec![]));
    let labels = metrics.iter().flat_map(|f| &f.remarks).map(|remark| remark.label);
    assert!(labels.into_iter().all(|label| label == Label::SingleRun));
}

#[test]
fn version_2_has_six_rows() {
    let expected = [
        ("seq_read", 50.123),
        ("seq_write", 48.456),
        ("rnd512k_read", 25.789),
        ("rnd512k_write", 30.012),
        ("rnd4k_read", 0.345),
        ("rnd4k_write", 1.234),
    ];
    check(V22, "2.2", &expected);
}

#[test]
fn versions_3_and_5_name_the_queue() {
    let expected = [
        ("seq_read", 250.0),
        ("rnd4k_q1t1_read", 20.48),
        ("rnd4k_q1t1_read_iops", 5000.0),
        ("rnd4k_q32t1_read", 204.8),
        ("rnd4k_q32t1_read_iops", 50_000.0),
    ];
    check(V3, "3.0.1", &expected);
    let expected = [
        ("seq_q32t1_read", 554.872),
        ("rnd4k_q32t1_read", 281.61),
        ("rnd4k_q32t1_read_iops", 68_752.4),
    ];
    check(V5, "5.1.2", &expected);
}

/// Two names may have one line in an early version: read again, it would be one test.
#[test]
fn what_the_lines_of_a_version_cannot_name_is_left_out() {
    let check = |version: &str, lines: &str, left_out: &[&str]| {
        let text = format!("CrystalDiskMark {version} x64\n{lines}");
        let once = super::write(&parse(&text).unwrap()).unwrap();
        assert_eq!(once.left_out.iter().collect::<Vec<_>>(), left_out, "{}", once.text);
        let twice = super::write(&parse(&once.text).unwrap()).unwrap();
        assert_eq!((twice.text, twice.left_out.len()), (once.text, 0));
    };
    let [plain, queue, threads] = ["", " (QD=32)", " (Q= 32,T= 2)"]
        .map(|depth| format!("Random Read 4KB{depth} : 2.0 MB/s\n"));
    check("2.2", &format!("{plain}{queue}"), &["rnd4k_q32t1_read"]);
    check("4.0", &format!("{plain}{queue}{threads}"), &["rnd4k_q32t2_read"]);
    check("5.1", &format!("{plain}{queue}{threads}"), &[]);
    let mix = format!("[Mix]\n RND 4KiB (Q=  1, T= 1): 1.0 MB/s\n{plain}");
    check("5.1", &mix, &["rnd4k_q1t1_mix"]);
}

#[test]
fn version_8_has_sections_and_latencies() {
    let expected = [
        ("seq1m_q8t1_read", 562.13),
        ("seq1m_q8t1_read_iops", 536.1),
        ("seq1m_q8t1_read_latency", 14_899.1),
        ("rnd4k_q32t16_read", 281.61),
        ("rnd4k_q32t16_read_iops", 68_752.4),
        ("rnd4k_q32t16_read_latency", 463.9),
        ("seq1m_q8t1_write", 530.42),
        ("seq1m_q8t1_write_iops", 505.8),
        ("seq1m_q8t1_write_latency", 15_779.33),
        ("seq1m_q8t1_mix", 540.0),
        ("seq1m_q8t1_mix_iops", 515.0),
        ("seq1m_q8t1_mix_latency", 15_500.0),
    ];
    check(V8, "8.0.4", &expected);
}

#[test]
fn each_report_of_a_file_is_a_run() {
    let imported = parse(&format!("{V5}{V5}")).unwrap();
    assert_eq!(imported.runs.iter().map(|run| run.line).collect::<Vec<_>>(), [1, 4]);
    let labels = |figure: &Figure| figure.remarks.iter().map(|it| it.label).collect::<Vec<_>>();
    assert!(metrics(&imported).iter().all(|figure| labels(figure) == [Label::SingleRun]));
}

#[test]
fn impossible_rates_are_memory() {
    let imported = parse(&V8.replace("  562.130", "62000.130")).unwrap();
    let first = &metrics(&imported)[0];
    assert_eq!(first.nature, Some(Nature::PageCache));
    assert_eq!(first.remarks[1].label, Label::NotDisk);
}

#[test]
fn a_report_has_each_test_once() {
    let row = "  SEQ    1MiB (Q=  8, T= 1):   500.000 MB/s\n";
    let imported = parse(&V8.replacen("\n[Write]", &format!("{row}\n[Write]"), 1)).unwrap();
    let names: Vec<_> = imported.runs[0].phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names.iter().filter(|name| **name == "seq1m_q8t1_read").count(), 1, "{names:?}");
    assert_eq!(imported.unknown, ["line 11: `SEQ    1MiB (Q=  8, T= 1):   500.000 MB/...`"]);
}

#[test]
fn damage_is_named_with_its_line() {
    let check = |text: &str, expected: &str| {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    check(&V5.replace("554.872", "55x.872"), "line 2: `55x.872` is not a number; check whether");
    check(&V8.replace("[Read]", ""), "line 9: `SEQ    1MiB (Q=  8, T= 1)` is in no section; keep");
    check("CrystalDiskMark 8.0.4\n", "it contains no results of CrystalDiskMark; save");
    let imported = parse(&V5.replace("4KiB", "4XiB")).unwrap();
    assert_eq!(imported.unknown, ["line 3: `Random Read 4XiB (Q= 32,T= 1) :   281.61...`"]);
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text: String) {
        let _ = parse(&text);
    }

    #[test]
    fn no_damage_panics(at in 0..900_usize, cut in 0..30_usize, put in "[SEQRND0-9.:()=\\[\\]<>]{0,8}") {
        let mut text = V8.to_owned();
        let at = at.min(text.len());
        let end = (at + cut).min(text.len());
        text.replace_range(at..end, &put);
        if let Ok(imported) = parse(&text) {
            for figure in metrics(&imported) {
                proptest::prop_assert!(figure.value.is_finite() && figure.value >= 0.0);
            }
        }
    }
}

#[test]
fn version_2_is_known_to_send_one_request_at_a_time() {
    let notes = parse(V22).unwrap().notes;
    assert!(notes[1].contains("one request at a time"), "{notes:?}");
}

#[test]
fn a_report_without_its_first_lines_is_read() {
    let text = "[Read]\n  SEQ    1MiB (Q=  8, T= 1):  7079.188 MB/s [   6751.2 IOPS] <  1184.00 us>\n\n\
                [Write]\n  RND    4KiB (Q=  1, T= 1):    79.188 MB/s [  19333.0 IOPS] <    51.10 us>\n";
    assert!(is_crystaldiskmark(text));
    let imported = parse(text).unwrap();
    let names: Vec<_> = imported.runs[0].phases.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["seq1m_q8t1_read", "rnd4k_q1t1_write"]);
    assert_eq!((imported.runs[0].line, imported.tool_version.as_str()), (2, ""));
    assert!(imported.notes[0].contains("version is unknown"), "{:?}", imported.notes);
    assert!(!is_crystaldiskmark(&format!("disk-mark-me v1\n{text}")));
}
