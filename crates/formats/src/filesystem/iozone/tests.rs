//! Tables in the form of iozone 3.482.

use super::*;

const RUN: &str = "\
	        Version $Revision: 3.482 $
	O_DIRECT feature enabled
	Command line used: iozone -a -I
	Output is in kBytes/sec
                                                              random    random     bkwd    record    stride
              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   fwrite frewrite    fread  freread
              64       4      538      838    29036     2868    32241    11070    15079     13490      7753  1143223  1828508  4018152  3541098
              64       8    23469    23409    55406    58080    61954     1300    49961     24530     51743  1421755  2379626  3958892  3541098

iozone test complete.
\"Writer report\"
        \"4\"  \"8\"
\"64\"   538  23469
";
const THROUGHPUT: &str = "\
	Version $Revision: 3.489 $
	Command line used: iozone -t 4 -i 0
	Children see throughput for  4 initial writers 	=  500.50 kB/sec
	Parent sees throughput for  4 initial writers 	=  400.00 kB/sec
";

fn values(text: &str) -> Vec<(String, f64, Nature)> {
    let imported = parse(text).unwrap();
    let phases = imported.runs.iter().flat_map(|run| &run.phases);
    phases.flat_map(Phase::metrics).map(|it| (it.name, it.value, it.nature.unwrap())).collect()
}

#[test]
fn every_cell_is_a_rate_in_bytes() {
    let found = values(RUN);
    assert_eq!(found.len(), 26);
    let cell = |name: &str, kib: f64, nature| (format!("64k_4k.{name}"), kib * 1024.0, nature);
    assert_eq!(found[0], cell("write", 538.0, Nature::Disk));
    assert_eq!(found[4], cell("random_read", 32_241.0, Nature::Disk));
    assert_eq!(found[12], cell("freread", 3_541_098.0, Nature::PageCache));
    let cached = values(&RUN.replace("O_DIRECT feature enabled", ""));
    assert_eq!(cached[0].2, Nature::PageCache);
    let synced = RUN.replace("O_DIRECT feature enabled", "Include fsync in write timing");
    assert_eq!((values(&synced)[0].2, values(&synced)[2].2), (Nature::Disk, Nature::PageCache));
    assert_eq!(parse(RUN).unwrap().tool_version, "3.482");
    assert_eq!(parse(&RUN.repeat(2)).unwrap().runs.len(), 2);
}

#[test]
fn chosen_tests_fill_only_their_columns() {
    let text = "Version $Revision: 3.489 $\nCommand line used: iozone -e -I -i 0 -i 2 -s 80M\n\
                    KB  reclen   write rewrite    read    reread\n 81920 4 2073 2276 7173 3880\n";
    let names: Vec<String> = values(text).into_iter().map(|it| it.0).collect();
    let expected = ["write", "rewrite", "random_read", "random_write"];
    assert_eq!(names, expected.map(|name| format!("81920k_4k.{name}")));
    let error = parse(&text.replace(" 3880", "")).unwrap_err().to_string();
    assert!(error.starts_with("it contains no results of iozone"), "{error}");
}

#[test]
fn throughput_mode_is_the_sum_of_the_children() {
    assert!(is_iozone(THROUGHPUT));
    let name = "initial-writers.bytes_per_s".to_owned();
    assert_eq!(values(THROUGHPUT), [(name, 500.5 * 1024.0, Nature::PageCache)]);
    assert!(!is_iozone("a kB reclen\n"));
}

#[test]
fn operations_and_times_are_no_bytes() {
    let figure = |text: &str| parse(text).unwrap().runs[0].phases[0].figures[0].clone();
    let with = |mode: &str| RUN.replace("Output is in kBytes/sec", mode);
    let ops = figure(&with("OPS Mode. Output is in operations per second."));
    assert_eq!((ops.value, ops.unit.as_str(), ops.better), (538.0, "1/s", Better::More));
    let times = figure(&with("Microseconds/op Mode. Output is in microseconds per operation."));
    assert_eq!((times.value, times.unit.as_str(), times.better), (538e3, "ns", Better::Less));
    let ops = figure(&THROUGHPUT.replace("kB/sec", "ops/sec"));
    assert_eq!((ops.name.as_str(), ops.value, ops.unit.as_str()), ("iops", 500.5, "1/s"));
}

#[test]
fn streams_go_through_the_page_cache_in_every_mode() {
    let direct = THROUGHPUT.replace("\tCommand", "\tO_DIRECT feature enabled\n\tCommand");
    assert_eq!(values(&direct)[0].2, Nature::Disk);
    for mode in ["fwriters", "re-fwriters", "freaders"] {
        assert_eq!(values(&direct.replace("initial writers", mode))[0].2, Nature::PageCache);
    }
    // A flush reaches the disk also behind `fwrite`; opening with `O_SYNC` does not concern it.
    let flushed = RUN.replace("Output is", "Include fsync in write timing\nOutput is");
    assert_eq!((values(&flushed)[9].2, values(&flushed)[11].2), (Nature::Disk, Nature::PageCache));
    let opened = RUN.replace("Output is", "SYNC Mode.\nOutput is");
    assert_eq!(values(&opened)[9].2, Nature::PageCache);
}

#[test]
fn options_may_be_joined_to_their_values() {
    let text = "Version $Revision: 3.263 $\nCommand line used: iozone -i0 -i2 -I -s4g -r128k\n\
                KB  reclen   write rewrite    read   write\n 4194304 128 999 1165 246 1107\n";
    assert_eq!(values(text).len(), 4);
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text: String, put in "[0-9.a-zA-Z:=\" \n-]{0,30}") {
        let _ = parse(&text);
        let _ = parse(&RUN.replace("32241", &put));
        let _ = parse(&RUN.replace("reclen", &put));
        let _ = parse(&THROUGHPUT.replace("500.50", &put));
    }

    #[test]
    fn what_is_written_comes_back(kib in 1_u32..99_999_999) {
        let value = values(&RUN.replace("32241", &kib.to_string()))[4].1;
        proptest::prop_assert_eq!(value.to_bits(), (f64::from(kib) * 1024.0).to_bits());
    }
}

#[test]
fn a_row_may_have_a_label_before_its_numbers() {
    let text = RUN.replace("              64       4", "raid 5 old   64       4");
    let names: Vec<String> = values(&text).into_iter().map(|it| it.0).collect();
    assert_eq!((names.len(), names[0].as_str()), (26, "raid-5-old_64k_4k.write"));
    assert_eq!(names[13], "64k_8k.write");
    // A number more than the columns is no label, and four words are a sentence.
    for before in ["7 64       4", "of a row as here 64       4"] {
        let text = RUN.replace("              64       4", before);
        assert_eq!(values(&text).len(), 13, "{before}");
    }
}

fn is_row(line: &str) -> bool {
    line.trim_start().starts_with(|c: char| c.is_ascii_digit())
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]

    #[test]
    fn a_drawn_table_comes_back_and_a_cut_row_never_has_another_number(
        rates: [u32; 13],
        scale in 6..32_u32,
    ) {
        let rates = rates.map(|rate| (rate >> scale).max(1));
        let row = rates.map(|rate| format!(" {rate:8}")).concat();
        let old = RUN.lines().nth(6).unwrap();
        let text = RUN.replacen(old, &format!("{:16} {:7}{row}", 64, 4), 1);
        let found = values(&text);
        for (at, (rate, (column, _))) in rates.iter().zip(COLUMNS).enumerate() {
            proptest::prop_assert_eq!(&found[at].0, &format!("64k_4k.{column}"));
            let expected = f64::from(*rate) * 1024.0;
            proptest::prop_assert_eq!(found[at].1.to_bits(), expected.to_bits());
        }
        let wrong = crate::found::damage::misread(&text, is_row, parse);
        proptest::prop_assert!(wrong.is_empty(), "{:?}", wrong);
    }
}

#[test]
fn squeezed_columns_are_read() {
    let squeezed = RUN.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let squeezed = squeezed.replace("\n ", "\n");
    assert_eq!(values(&squeezed).len(), 26, "{squeezed}");
}
