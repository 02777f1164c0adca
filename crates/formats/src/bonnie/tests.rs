//! Lines that bonnie++ really wrote, and deliberately broken lines.

use super::*;
use drivelab_core::record::Label;

/// The two lines published in 2009: 1.96, piix then ahci, `bonnie++ -n 384`.
const PIIX: &str = "1.96,1.96,kvm,1,1252886317,4G,,439,99,52686,15,27168,5,2039,99,\
    62782,4,228.9,3,384,,,,,17299,43,379058,99,777,1,24781,49,522877,100,579,1,48125us,1645ms,\
    1545ms,16144us,137ms,863ms,1773ms,169us,18519ms,1403ms,14us,14935ms";
const AHCI: &str = "1.96,1.96,kvm,1,1252887577,4G,,430,98,52639,14,27533,5,2066,99,\
    62991,4,224.5,1,384,,,,,28173,56,373407,98,1645,2,31110,61,522376,99,1026,1,50870us,1532ms,\
    1655ms,10203us,21423us,953ms,1363ms,157us,12877ms,1216ms,61us,11397ms";
/// `bonnie++ -s 64 -r 0 -n 1:4096:1024:4 -q`, 2.00a.
const V198: &str = "1.98,2.00a,vm,1,1795319432,64M,,8192,5,2366,92,+++++,+++,+++++,+++,2833,82,\
    +++++,+++,+++++,+++,1,4096,1024,,4,+++++,+++,+++++,+++,411,1,+++++,+++,+++++,+++,348,1,8179us,\
    4047us,4135us,7062us,4093us,4797us,4144us,51us,5449us,4140us,4071us,5861us";
/// `bonnie++ -s 0 -n 1 -q`, 2.00a.
const V198_FILES_ONLY: &str = "1.98,2.00a,vm,1,1795319443,,,,,,,,,,,,,,,,,1,,,,,+++++,+++,+++++,\
    +++,+++++,+++,+++++,+++,+++++,+++,+++++,+++,,,,,,,8141us,53us,245us,4103us,69us,112us";
/// `bonnie++ -s 64:64k -r 0 -n 0 -c 4 -q`, 2.00a.
const V198_CONCURRENT: &str = "1.98,2.00a,vm,4,1795319441,64M,,8192,5,2037,88,+++++,+++,+++++,+++,\
    3542,89,+++++,+++,+++++,+++,,,,,,,,,,,,,,,,,,58121us,4067us,4060us,31500us,2067us,16110us,,,,\
    ,,";
/// 1.03 in its documented order; the figures are the published ones.
const V103: &str = "kvm,4G:64k,439,99,52686,15,27168,5,2039,99,62782,4,228.9,3,16:4096:1024/4,\
    17299,43,379058,99,777,1,24781,49,522877,100,579,1";

/// Every number of every run.
fn metrics(imported: &Imported) -> Vec<Figure> {
    let phases = imported.runs.iter().flat_map(|run| &run.phases);
    phases.flat_map(Phase::metrics).collect()
}

fn value(imported: &Imported, metric: &str) -> Option<f64> {
    metrics(imported).iter().find(|figure| figure.name == metric).map(|figure| figure.value)
}

fn labels(imported: &Imported, metric: &str) -> Vec<Label> {
    let all = metrics(imported);
    let figure = all.iter().find(|figure| figure.name == metric).unwrap();
    figure.remarks.iter().map(|remark| remark.label).collect()
}

#[test]
fn the_published_lines_are_read_whole() {
    let imported = parse(&format!("{PIIX}\n{AHCI}\n")).unwrap();
    assert_eq!((imported.tool.as_str(), imported.tool_version.as_str()), ("bonnie++", "1.96"));
    assert_eq!(metrics(&imported).len(), 2 * 36);
    assert_eq!((&imported.unknown, &imported.notes), (&vec![], &vec![]));
    assert_eq!(imported.runs[1].line, 2);
    let second: Vec<Figure> = imported.runs[1].phases.iter().flat_map(Phase::metrics).collect();
    let check = |metric: &str, expected: f64| {
        let found = second.iter().find(|figure| figure.name == metric).unwrap();
        assert_eq!(found.value.to_bits(), expected.to_bits(), "{metric}");
    };
    check("put_block", 52639.0);
    check("seeks", 224.5);
    check("seeks_cpu", 1.0);
    check("seq_create", 28173.0);
    check("ran_del", 1026.0);
    check("putc_latency", 50870.0);
    check("ran_del_latency", 11_397_000.0);
}

#[test]
fn characters_of_old_versions_are_library_calls() {
    let why = |line: &str| {
        let all = metrics(&parse(line).unwrap());
        let putc = all.iter().find(|figure| figure.name == "putc").unwrap();
        putc.remarks.iter().map(|remark| remark.why.clone()).collect::<Vec<_>>()
    };
    assert!(why(V103)[0].starts_with("one library call per byte (99 % CPU)"), "{:?}", why(V103));
    assert_eq!(why(V103)[1], "it measured the CPU");
    assert!(why(PIIX)[0].starts_with("one system call per byte"), "{:?}", why(PIIX));
}

#[test]
fn columns_are_named_for_what_they_are() {
    let imported = parse(PIIX).unwrap();
    let check =
        |metric, expected: &[Label]| assert_eq!(labels(&imported, metric), expected, "{metric}");
    check("putc", &[Label::Nature(Nature::Cpu), Label::NotDisk, Label::SingleRun]);
    check("getc", &[Label::Nature(Nature::Cpu), Label::NotDisk, Label::SingleRun]);
    check("put_block", &[Label::SingleRun]);
    check("seeks", &[Label::SingleRun]);
    check("seq_create", &[Label::Nature(Nature::JournalSync), Label::SingleRun]);
    check("ran_del", &[Label::Nature(Nature::JournalSync), Label::SingleRun]);
    let stat = [
        Label::Nature(Nature::PageCache),
        Label::Nature(Nature::Cpu),
        Label::NotDisk,
        Label::SingleRun,
    ];
    check("seq_stat", &stat);
    check("ran_stat", &stat);
}

#[test]
fn columns_of_1_98_are_shifted_by_two() {
    let imported = parse(V198).unwrap();
    assert_eq!(imported.tool_version, "2.00a");
    assert_eq!(value(&imported, "putc"), Some(2366.0));
    assert_eq!(value(&imported, "putc_cpu"), Some(92.0));
    assert_eq!(value(&imported, "put_block"), None);
    assert_eq!(value(&imported, "seq_del"), Some(411.0));
    assert_eq!(value(&imported, "seq_stat_latency"), Some(51.0));
    assert_eq!(value(&imported, "ran_del_latency"), Some(5861.0));
    assert!(
        imported.unknown.iter().any(|u| u.contains("`+++++` for put_block, rewrite, get_block"))
    );
    assert!(imported.notes[0].contains("number of directories"), "{:?}", imported.notes);
    // The files contain data, so looking them up reads it.
    assert_eq!(
        labels(&imported, "seq_stat_latency"),
        [Label::Nature(Nature::PageCache), Label::SingleRun]
    );
}

#[test]
fn skipped_phases_are_no_results() {
    let files_only = parse(V198_FILES_ONLY).unwrap();
    assert_eq!(value(&files_only, "putc_latency"), None);
    assert_eq!(value(&files_only, "seq_create_latency"), Some(8141.0));
    let concurrent = parse(V198_CONCURRENT).unwrap();
    assert_eq!(value(&concurrent, "seq_create_latency"), None);
    assert!(labels(&concurrent, "getc").contains(&Label::ToolDefect));
}

#[test]
fn seek_load_of_2_00_is_a_defect() {
    let line = V198.replace("+++++,+++,1,4096", "300.1,55,1,4096");
    assert!(labels(&parse(&line).unwrap(), "seeks_cpu").contains(&Label::ToolDefect));
    assert!(!labels(&parse(&line).unwrap(), "seeks").contains(&Label::ToolDefect));
    assert!(!labels(&parse(PIIX).unwrap(), "seeks_cpu").contains(&Label::ToolDefect));
}

#[test]
fn version_1_96_miscounts_commas_of_a_skipped_file() {
    // The file phases as published, all earlier ones empty, with one comma too few.
    let files = PIIX.split(',').skip(19).collect::<Vec<_>>().join(",");
    let files = files.replace("48125us,1645ms,1545ms,16144us,137ms,863ms", ",,,,,");
    let line = format!("1.96,1.96,kvm,1,1252886317{}{files}", ",".repeat(14));
    let imported = parse(&line).unwrap();
    assert_eq!(value(&imported, "seq_create"), Some(17299.0));
    assert_eq!(value(&imported, "ran_del"), Some(579.0));
    assert_eq!(value(&imported, "putc"), None);
    assert!(imported.notes[0].contains("left out 1 comma"), "{:?}", imported.notes);
}

#[test]
fn the_old_format_is_read_too() {
    let imported = parse(V103).unwrap();
    assert_eq!(imported.tool_version, "1.03");
    assert_eq!(value(&imported, "seeks"), Some(228.9));
    assert_eq!(value(&imported, "seq_create"), Some(17299.0));
    assert_eq!(value(&imported, "ran_del_cpu"), Some(1.0));
    assert_eq!(labels(&imported, "seq_stat"), [Label::Nature(Nature::PageCache), Label::SingleRun]);
}

#[test]
fn tables_and_headers_around_it_are_passed_over() {
    let header = "format_version,bonnie_version,name,concurrency,seed,file_size,io_chunk_size,putc";
    let table = "Version  1.96       ------Sequential Output------ --Sequential Input-";
    let imported = parse(&format!("{table}\n{header}\n{PIIX}\n")).unwrap();
    assert_eq!(metrics(&imported).len(), 36);
    assert_eq!(imported.unknown, Vec::<String>::new());
    assert_eq!(parse(&format!("hello\n{PIIX}\n")).unwrap().unknown, ["line 1: `hello`"]);
}

#[test]
fn impossible_rates_are_the_page_cache() {
    let line = PIIX.replace(",62782,4,", ",40000000,4,");
    let expected = [Label::Nature(Nature::PageCache), Label::NotDisk, Label::SingleRun];
    assert_eq!(labels(&parse(&line).unwrap(), "get_block"), expected);
    let line = PIIX.replace(",62782,4,", ",62782,97,");
    assert_eq!(
        labels(&parse(&line).unwrap(), "get_block"),
        [Label::Nature(Nature::Cpu), Label::SingleRun]
    );
}

#[test]
fn broken_lines_are_named_with_their_place() {
    let check = |line: &str, expected: &str| {
        assert_eq!(parse(line).unwrap_err().to_string(), expected);
    };
    check(
        &PIIX[..60],
        "line 1: there are 15 fields, but format 1.96 has 48; check whether the line is truncated \
         or split over two lines",
    );
    check(
        &PIIX.replace("228.9", "fast"),
        "line 1, column 18: `fast` is not a number (seeks); bonnie++ writes a rate such as \
         `52686`, `228.9` or `+++++` here",
    );
    check(
        &PIIX.replace("169us", "169"),
        "line 1, column 44: `169` is not a time (seq_stat_latency); bonnie++ writes a time such \
         as `169us`, `1403ms` or `12s` here",
    );
    check(
        &PIIX.replacen("1.96", "1.99", 1),
        "line 1, column 1: unknown version `1.99` of the format; known versions: 1.96, 1.97 \
         and 1.98, and 1.03, which starts with the machine",
    );
    check(
        "nothing of it",
        "it contains no results of bonnie++; the CSV line is the last line of bonnie++'s output, or \
         its only output with `-q`",
    );
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text: String) {
        let _ = parse(&text);
    }

    #[test]
    fn no_damage_panics(
        at in 0..250_usize,
        cut in 0..20_usize,
        put in "[0-9,.+a-z:-]{0,8}",
        which in 0..4_usize,
    ) {
        let mut line = [PIIX, V198, V198_FILES_ONLY, V103][which].to_owned();
        let at = at.min(line.len());
        let end = (at + cut).min(line.len());
        line.replace_range(at..end, &put);
        if let Ok(imported) = parse(&line) {
            for result in metrics(&imported) {
                proptest::prop_assert!(result.value.is_finite() && result.value >= 0.0);
            }
        }
    }
}

/// The first published line as the tables above it show it, 1.96.
const TABLES_196: &str = "\
Version  1.96       ------Sequential Output------ --Sequential Input- --Random-
Concurrency   1     -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP
kvm              4G   439  99 52686  15 27168   5  2039  99 62782   4 228.9   3
Latency             48125us    1645ms    1545ms   16144us     137ms     863ms
Version  1.96       ------Sequential Create------ --------Random Create--------
kvm                 -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
              files  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
                384 17299  43 379058  99   777   1 24781  49 522877 100   579   1
Latency              1773ms     169us   18519ms    1403ms      14us   14935ms
";
/// Tables of `bonnie++ -s 16M -r 0 -n 1:4096:1024:4`, 2.00a; its line of CSV has 344 and 1158 files
/// deleted per second where the second table has 1024.
const TABLES_200: &str = "\
Version 2.00a       ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Name:Size etc        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
vm              16M 1093k  65 +++++ +++ +++++ +++ 1819k  63 +++++ +++ +++++ +++
Latency             21468us    8051us    8044us   10951us       5us   12288us
Version 2.00a       ------Sequential Create------ --------Random Create--------
vm                  -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
files:max:min        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
      1:4096:1024/4 +++++ +++ +++++ +++  1024   2 +++++ +++ +++++ +++  1024   6
Latency              8182us    4706us   12049us    4420us      72us   15630us
";

#[test]
fn tables_hold_what_their_line_of_csv_holds() {
    let (tables, line) = (parse(TABLES_196).unwrap(), parse(PIIX).unwrap());
    let numbers = |imported: &Imported| {
        let numbers = metrics(imported).into_iter().map(|it| (it.name, it.value, it.unit));
        numbers.collect::<Vec<_>>()
    };
    assert_eq!(numbers(&tables), numbers(&line));
    assert_eq!((&tables.runs[0].arm, &tables.tool_version), (&line.runs[0].arm, &"1.96".into()));
    assert_eq!(tables.unknown, Vec::<String>::new());
}

#[test]
fn tables_are_read_only_where_there_is_no_line_of_csv() {
    let both = parse(&format!("{TABLES_196}{AHCI}\n")).unwrap();
    assert_eq!((both.runs.len(), value(&both, "putc")), (1, Some(430.0)));
}

#[test]
fn rates_that_the_tables_of_2_00_get_wrong_are_left_out() {
    let imported = parse(TABLES_200).unwrap();
    let check = |metric: &str, expected| assert_eq!(value(&imported, metric), expected, "{metric}");
    check("putc", Some(1093.0));
    check("getc", Some(1819.0));
    check("put_block", None);
    check("seq_del", None);
    check("ran_del", None);
    check("seq_del_latency", Some(12_049.0));
    assert!(imported.notes[0].contains("show wrong rates for many files"), "{:?}", imported.notes);
    let large = TABLES_200.replace("1093k", " 1.5g");
    assert_eq!(value(&parse(&large).unwrap(), "putc"), Some(1_572_864.0));
}

#[test]
fn lines_in_a_table_that_hold_no_figure_are_no_runs() {
    let lines = "a\n".repeat(200_000);
    let imported = parse(&TABLES_196.replacen("kvm  ", &format!("{lines}kvm  "), 1)).unwrap();
    assert_eq!((imported.runs.len(), value(&imported, "putc")), (1, Some(439.0)));
    assert_eq!(imported.unknown[0], "line 4: `a`");
    assert_eq!(imported.unknown.last().unwrap(), "199900 more lines");
    let empty = format!("1.98,2.00a,vm,1,1{}\n{V198}\n", ",".repeat(45));
    let imported = parse(&empty).unwrap();
    assert_eq!(imported.runs.len(), 1);
    assert_eq!(imported.unknown[0], "line 1: a run without figures");
}

#[test]
fn a_damaged_row_of_a_table_is_left_out_and_named() {
    for (from, to, left, expected) in [
        ("27168", "2x168", 18, "line 4: `2x168` is not "),
        ("169us", "169xs", 30, "line 10: `169xs` is not "),
    ] {
        let imported = parse(&TABLES_196.replace(from, to)).unwrap();
        assert_eq!(metrics(&imported).len(), left, "{imported:?}");
        assert!(imported.unknown[0].starts_with(expected), "{:?}", imported.unknown);
    }
}

#[test]
fn a_damaged_line_leaves_the_others() {
    let damaged = format!("{PIIX}\n{}\n{AHCI}\n", &AHCI[..100]);
    let imported = parse(&damaged).unwrap();
    assert_eq!((imported.runs.len(), metrics(&imported).len()), (2, 2 * 36));
    let expected = "line 2: there are 27 fields, but format 1.96 has 48";
    assert_eq!(imported.unknown, [expected]);
}

/// True for a row of a table, or a line of CSV.
fn is_row(line: &str) -> bool {
    let is_title = line.contains("------") || line.starts_with("Concurrency");
    !is_title && line.contains(|c: char| c.is_ascii_digit())
}

/// The tables with these rates and loads of the big file, as bonnie++ aligns them.
fn drawn(rates: [u32; 6], loads: [u32; 6]) -> String {
    let pairs = rates.iter().zip(loads).map(|(rate, load)| format!(" {rate:5} {load:3}"));
    let row = format!("kvm              4G{}", pairs.collect::<String>());
    let old = TABLES_196.lines().nth(3).unwrap();
    TABLES_196.replacen(old, &row, 1)
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]

    #[test]
    fn a_drawn_table_comes_back_and_a_cut_row_never_has_another_number(
        rates: [u32; 6],
        scale in 0..32_u32,
        loads in proptest::array::uniform6(0..100_u32),
    ) {
        let rates = rates.map(|rate| (rate >> scale).max(1));
        let text = drawn(rates, loads);
        let imported = parse(&text).unwrap();
        for (phase, (rate, load)) in PHASES.iter().zip(rates.iter().zip(loads)) {
            proptest::prop_assert_eq!(value(&imported, phase.name), Some(f64::from(*rate)));
            let name = format!("{}_cpu", phase.name);
            proptest::prop_assert_eq!(value(&imported, &name), Some(f64::from(load)));
        }
        let wrong = crate::found::damage::misread(&text, is_row, parse);
        proptest::prop_assert!(wrong.is_empty(), "{:?}", wrong);
    }
}

#[test]
fn a_cut_line_never_has_another_number() {
    // The last load of 1.03 has nothing behind it that would be missing.
    for line in [PIIX, V198, V198_CONCURRENT] {
        let wrong = crate::found::damage::misread(&format!("{line}\n{AHCI}\n"), is_row, parse);
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}

/// Tables of 1.03 as notes have them: several rows below each heading, without characters (`-f`),
/// and with numbers wider than their columns.
const TABLES_103: &str = "\
Version 1.03b       ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP
box             32G           612345  71 123456 17           432109  27 654.3   2
box             32G           101010  13 40404   6           110011   7 471.4   0
The rows are those of two arrays, as above:

                    ------Sequential Create------ --------Random Create--------
                    -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
              files  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
                 16 22222  81 +++++ +++ 19191  65 20202  73 +++++ +++ 17171  71
                 16  8888  24 +++++ +++  8181  19  8282  28 +++++ +++  3434  11
";

#[test]
fn rows_of_the_second_table_belong_to_those_of_the_first_in_order() {
    const METRICS: [&str; 6] = ["putc", "put_block", "get_block", "seeks", "seq_create", "ran_del"];
    let imported = parse(TABLES_103).unwrap();
    assert_eq!((imported.runs.len(), imported.tool_version.as_str()), (2, "1.03b"));
    for (run, expected) in [
        (0, [None, Some(612_345.0), Some(432_109.0), Some(654.3), Some(22_222.0), Some(17_171.0)]),
        (1, [None, Some(101_010.0), Some(110_011.0), Some(471.4), Some(8888.0), Some(3434.0)]),
    ] {
        let run = &imported.runs[run];
        let all: Vec<Figure> = run.phases.iter().flat_map(Phase::metrics).collect();
        let found = METRICS
            .map(|metric| all.iter().find(|figure| figure.name == metric).map(|it| it.value));
        assert_eq!((found, run.arm.as_str()), (expected, "box"));
    }
    assert!(imported.unknown.iter().any(|it| it.starts_with("line 6: `The rows")));
}

#[test]
fn rows_without_headings_between_show_their_kind() {
    let rows: Vec<&str> = TABLES_103.lines().collect();
    let mixed = [&rows[..4], &rows[10..11], &rows[4..5], &rows[11..12]].concat().join("\n");
    let (mixed, whole) = (parse(&mixed).unwrap(), parse(TABLES_103).unwrap());
    assert_eq!(mixed.runs.len(), 2);
    for (found, expected) in mixed.runs.iter().zip(&whole.runs) {
        assert_eq!(found.phases, expected.phases);
    }
}
