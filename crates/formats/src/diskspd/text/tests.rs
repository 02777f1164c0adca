//! A report in the form of diskspd 2.0.21.

use super::*;

const RUN: &str = "\
Command Line: diskspd.exe -w50 -b4K -o32 -Sh -L -r -d600 C:\\testfile.foo

        duration: 600s
                software cache disabled
                performing mix test (read/write ratio: 50/50)
                block size: 4096
                number of outstanding I/O operations: 32
Results for timespan 1:
actual test time:       600.00s
CPU |  Usage |  User  |  Kernel |  Idle
avg.|   7.36%|   2.61%|    4.75%|  92.64%

Total IO
thread |       bytes     |     I/Os     |     MB/s   |  I/O per s |  AvgLat  | LatStdDev |  file
     0 |      1303470080 |       318230 |       2.07 |     530.37 |   60.402 |    95.289 | C:\\testfile.foo
total:        2607063040 |       636490 |       4.14 |    1060.79 |   60.403 |    93.045

Read IO
thread |       bytes     |     I/Os     |     MB/s   |  I/O per s |  AvgLat  | LatStdDev |  file
total:        1304707072 |       318532 |       2.07 |     530.88 |   32.273 |    50.914

Write IO
thread |       bytes     |     I/Os     |     MB/s   |  I/O per s |  AvgLat  | LatStdDev |  file
total:        1302355968 |       317958 |       2.07 |     529.92 |   88.584 |   114.659

  %-ile |  Read (ms) | Write (ms) | Total (ms)
   50th |     30.110 |     83.183 |     66.722
   99th |     52.576 |    116.005 |    110.148
3-nines |    207.018 |    305.691 |    295.321
    max |   8185.776 |  10815.966 |  10815.966
";

fn values(text: &str) -> Vec<(String, f64)> {
    let imported = parse(text).unwrap();
    let phases = imported.runs.iter().flat_map(|run| &run.phases);
    phases.flat_map(Phase::metrics).map(|it| (it.name, it.value)).collect()
}

#[test]
fn sizes_of_blocks_are_bytes_or_kib() {
    let size = |text: &str| parse(text).unwrap().runs[0].work.get("bs").map(str::to_owned);
    assert_eq!(size(RUN).as_deref(), Some("4k"));
    assert_eq!(size(&RUN.replace("size: 4096", "size: 64KiB")).as_deref(), Some("64k"));
}

#[test]
fn the_tables_and_percentiles_are_read() {
    let found = values(RUN);
    let found: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let expected = [
        ("iops", 1060.79),
        ("bytes_per_s", 2_607_063_040.0 / 600.0),
        ("read_iops", 530.88),
        ("read_bytes_per_s", 1_304_707_072.0 / 600.0),
        ("write_iops", 529.92),
        ("write_bytes_per_s", 1_302_355_968.0 / 600.0),
        ("cpu", 7.36),
        ("lat_mean_ms", 60.403),
        ("read_lat_mean_ms", 32.273),
        ("write_lat_mean_ms", 88.584),
        ("lat_p50_ms", 66.722),
        ("lat_p99_ms", 110.148),
        ("lat_p99_9_ms", 295.321),
        ("lat_max_ms", 10_815.966),
    ];
    assert_eq!(found, expected);
    let work = parse(RUN).unwrap().runs[0].work.to_string();
    assert_eq!(work, "rwmixread=50 bs=4k iodepth=32 direct=1 runtime=600s");
    assert_eq!(parse(&RUN.repeat(2)).unwrap().runs.len(), 2);
}

#[test]
fn a_load_of_one_direction_has_its_figures_once() {
    let zero = "total:                 0 |            0 |       0.00 |       0.00 |    0.000 | N/A";
    let text: String = RUN
        .lines()
        .map(|line| if line.contains("1302355968") { zero } else { line })
        .flat_map(|line| [line, "\n"])
        .collect();
    let names: Vec<String> = values(&text).into_iter().map(|it| it.0).collect();
    assert_eq!(names[..3], ["iops", "bytes_per_s", "cpu"], "{names:?}");
}

#[test]
fn a_table_without_the_report_around_it_has_the_printed_rate() {
    let at = RUN.find("Total IO").unwrap();
    let table = &RUN[at..RUN.find("Read IO").unwrap()];
    assert!(is_diskspd_text(table) && !is_diskspd_text("total: 5\nI/O per s"));
    let twice = values(&format!("it was slow:\n{table}Score: 5550740\n{table}"));
    let rate = ("bytes_per_s".to_owned(), 4.14 * 1_048_576.0);
    assert_eq!(twice.iter().filter(|figure| **figure == rate).count(), 2, "{twice:?}");
    assert_eq!(parse(&table.repeat(2)).unwrap().runs.len(), 2);
}

#[test]
fn the_cache_of_the_system_is_named() {
    let cached = RUN.replace("software cache disabled", "using software cache");
    let phase = &parse(&cached).unwrap().runs[0].phases[0];
    assert_eq!(phase.nature, Nature::PageCache);
    assert!(is_diskspd_text(RUN) && !is_diskspd_text("Results for timespan 1:\n"));
    let imported = parse(&RUN.replace("1060.79", "106x.79")).unwrap();
    assert!(imported.unknown[0].starts_with("line 16: `total:"), "{:?}", imported.unknown);
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text: String, put in "[0-9.a-zA-Z|:% \n-]{0,30}") {
        let _ = parse(&text);
        let _ = parse(&RUN.replace("1060.79", &put));
        let _ = parse(&RUN.replace("Total IO", &put));
        let _ = parse(&RUN.replace("600.00s", &put));
    }

    #[test]
    fn what_is_written_comes_back(cents in 1_u32..99_999_999) {
        let text = format!("{}.{:02}", cents / 100, cents % 100);
        let value = values(&RUN.replace("1060.79", &text))[0].1;
        proptest::prop_assert_eq!(value.to_bits(), text.parse::<f64>().unwrap().to_bits());
    }
}

fn is_row(line: &str) -> bool {
    line.starts_with("total:") || line.contains("th |")
}

#[test]
fn a_row_that_is_cut_off_never_has_another_number() {
    let wrong = crate::found::damage::misread(RUN, is_row, parse);
    assert!(wrong.is_empty(), "{wrong:?}");
}
