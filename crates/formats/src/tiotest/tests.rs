//! Tables in the format of `tiotest` 0.3.3 and of its fork.

use super::*;

const RUN: &str = "Tiotest results for 32 concurrent io threads:
,----------------------------------------------------------------------.
| Item                  | Time     | Rate         | Usr CPU  | Sys CPU |
+-----------------------+----------+--------------+----------+---------+
| Write        2048 MBs |   30.0 s |  68.267 MB/s |   0.1 %  |   2.5 % |
| Random Write  125 MBs |  115.7 s |   1.080 MB/s |   0.0 %  |   0.3 % |
| Read         2048 MBs |    1.0 s | 2048.000 MB/s |  1.0 %  |  90.0 % |
| Random Read   125 MBs |    0.1 s | 1303.470 MB/s |   2.0 %  |  80.0 % |
`----------------------------------------------------------------------'
Tiotest latency results:
,-------------------------------------------------------------------------.
| Item         | Average latency | Maximum latency | % >2 sec | % >10 sec |
+--------------+-----------------+-----------------+----------+-----------+
| Write        |        1.234 ms |      150.012 ms |  0.00000 |   0.00000 |
| Random Write |      115.700 ms |     2500.000 ms |  0.10000 |   0.00000 |
| Read         |        0.012 ms |        9.000 ms |  0.00000 |   0.00000 |
| Random Read  |        0.001 ms |        8.000 ms |  0.00000 |   0.00000 |
|--------------+-----------------+-----------------+----------+-----------|
| Total        |       10.000 ms |     2500.000 ms |  0.00100 |   0.00000 |
`--------------+-----------------+-----------------+----------+-----------'
";
const TERSE: &str = "write:256.0,2.0,0.1,2.5,1.5,150.5,0.0,0.0
rread:256.0,0.5,2.0,80.0,0.25,8.0,0.0,0.0
total:1.0,150.5,0.0,0.0
";

fn metrics(imported: &Imported) -> Vec<Figure> {
    imported.runs.iter().flat_map(|run| &run.phases).flat_map(Phase::metrics).collect()
}

fn of<'a>(metrics: &'a [Figure], name: &str) -> &'a Figure {
    metrics.iter().find(|figure| figure.name == name).unwrap()
}

#[track_caller]
fn labels(figure: &Figure) -> Vec<Label> {
    let labels = figure.remarks.iter().map(|remark| remark.label);
    labels.filter(|label| *label != Label::SingleRun).collect()
}

#[test]
fn both_tables_are_read() {
    let imported = parse(RUN).unwrap();
    assert_eq!((imported.runs.len(), imported.tool.as_str()), (1, "tiotest"));
    assert_eq!(imported.unknown, Vec::<String>::new());
    let metrics = metrics(&imported);
    assert_eq!(metrics.len(), 4 * 7);
    let check = |name: &str, value: f64, unit: &str| {
        let figure = of(&metrics, name);
        assert_eq!((figure.value.to_bits(), figure.unit.as_str()), (value.to_bits(), unit));
    };
    check("write", 68.267, "MiB/s");
    check("random_write", 1.08, "MiB/s");
    check("random_read", 1303.47, "MiB/s");
    check("write_sys", 2.5, "%");
    check("random_write_latency_max", 2500.0, "ms");
    check("random_write_over_2s", 0.1, "%");
    assert_eq!(labels(of(&metrics, "write")), []);
    assert_eq!(labels(of(&metrics, "random_write")), []);
    assert_eq!(labels(of(&metrics, "read")), [Label::Nature(Nature::PageCache)]);
    assert_eq!(labels(of(&metrics, "random_read")), [Label::Nature(Nature::PageCache)]);
}

#[test]
fn random_phases_credited_with_the_whole_file_are_a_defect() {
    let metrics = metrics(&parse(TERSE).unwrap());
    assert_eq!(of(&metrics, "write").value.to_bits(), 128.0_f64.to_bits());
    assert_eq!(of(&metrics, "random_read_latency_avg").value.to_bits(), 0.25_f64.to_bits());
    let expected = [Label::Nature(Nature::PageCache), Label::ToolDefect];
    assert_eq!(labels(of(&metrics, "random_read")), expected);
}

#[test]
fn each_table_is_a_run() {
    let check = |text: &str, expected: &[usize]| {
        let imported = parse(text).unwrap();
        assert_eq!(imported.runs.iter().map(|run| run.line).collect::<Vec<_>>(), expected);
    };
    check(&RUN.repeat(2), &[1, 21]);
    check(&TERSE.repeat(2), &[1, 4]);
}

#[test]
fn damage_is_named_with_its_line() {
    let check = |text: &str, expected: &str| {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    check(&RUN.replace("68.267", "68,267"), "line 5: `68,267` is not a number; check whether");
    check("Tiotest results for 4 concurrent io threads:", "it contains no results of tiotest");
    let imported = parse(&RUN.replace("| Read         2048", "| Reread       2048")).unwrap();
    assert!(imported.unknown[0].starts_with("line 7: `| Reread"), "{:?}", imported.unknown);
}

proptest::proptest! {
    #[test]
    fn no_damage_panics(at in 0..1600_usize, cut in 0..30_usize, put in "[0-9.|% a-zRW:,\n]{0,8}") {
        let mut text = RUN.to_owned() + TERSE;
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
