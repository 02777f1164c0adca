//! Reports in the form of procps 2 to 4.

use super::*;
use drivelab_core::record::Phase;

const RUN: &str = "\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 1  0      0 794436 129908 650172    0    0  9999  8888  120  250  1  1 98  0  0
 2  1      0 794300 129908 650180    0    0   100    40  130  260 10  5 80  5  0
 2  3      0 794200 129908 650190    0    0   300    80  130  260 20  5 60 15  0
";

fn values(text: &str) -> Vec<Vec<(String, f64)>> {
    let imported = parse(text).unwrap();
    let metrics = |phases: &[Phase]| {
        phases.iter().flat_map(Phase::metrics).map(|it| (it.name, it.value)).collect()
    };
    imported.runs.iter().map(|run| metrics(&run.phases)).collect()
}

fn get(text: &str, name: &str) -> f64 {
    values(text)[0].iter().find(|(it, _)| it == name).unwrap().1
}

#[test]
fn means_are_over_the_reports_without_the_first() {
    let names: Vec<String> = values(RUN)[0].iter().map(|(name, _)| name.clone()).collect();
    let expected = [
        "read_bytes_per_s",
        "write_bytes_per_s",
        "blocked",
        "cpu_iowait",
        "cpu_user",
        "cpu_system",
    ];
    assert_eq!(names, expected);
    assert_eq!(get(RUN, "read_bytes_per_s").to_bits(), (200.0 * KIB).to_bits());
    assert_eq!(get(RUN, "write_bytes_per_s").to_bits(), (60.0 * KIB).to_bits());
    assert_eq!(get(RUN, "blocked").to_bits(), 2.0_f64.to_bits());
    assert_eq!(get(RUN, "cpu_iowait").to_bits(), 10.0_f64.to_bits());
    let notes = parse(RUN).unwrap().notes;
    assert!(notes.iter().any(|note| note.contains("since the boot, is left out")), "{notes:?}");
}

#[test]
fn the_first_report_counts_with_y_and_where_it_is_the_only_one() {
    let all = format!("vmstat -y 1 3\n{RUN}");
    let mean = (9999.0 + 100.0 + 300.0) / 3.0 * KIB;
    assert!((get(&all, "read_bytes_per_s") / mean - 1.0).abs() < 1e-12);
    let one: String = RUN.lines().take(3).flat_map(|line| [line, "\n"]).collect();
    assert_eq!(get(&one, "read_bytes_per_s").to_bits(), (9999.0 * KIB).to_bits());
    assert!(parse(&one).unwrap().notes[1].contains("the mean since the boot of the system"));
}

#[test]
fn a_heading_is_repeated_within_a_call() {
    let heading: String = RUN.lines().take(2).flat_map(|line| [line, "\n"]).collect();
    let row = " 2  1      0 794300 129908 650180    0    0   500    40  130  260 10  5 80  5  0\n";
    let long = format!("{RUN}{heading}{row}");
    assert_eq!(values(&long).len(), 1);
    assert_eq!(get(&long, "read_bytes_per_s").to_bits(), (300.0 * KIB).to_bits());
    assert_eq!(values(&format!("{RUN}\n{RUN}")).len(), 2);
    assert_eq!(values(&format!("{RUN}done\n{RUN}")).len(), 2);
    assert_eq!(values(&format!("vmstat 1 3\n{RUN}vmstat 1 3\n{RUN}")).len(), 2);
}

#[test]
fn other_versions_have_other_columns() {
    let old = "   procs                      memory    swap          io     system         cpu\n \
                r  b  w   swpd   free   buff  cache  si  so    bi    bo   in    cs  us  sy  id\n \
                1  0  0      0   5148   1276  50180   0   0     7     3  101    12   1   1  98\n";
    assert_eq!(get(old, "read_bytes_per_s").to_bits(), (7.0 * KIB).to_bits());
    assert!(!values(old)[0].iter().any(|(name, _)| name == "cpu_iowait"));
    let new = "procs -----------memory---------- ---swap-- -----io---- -system-- ----cpu----\n \
               r b swpd free inact active si so bi bo in cs us sy id wa st gu UTC\n \
               0 0 0 944404 5000 50844 0 0 8 3 100 4 0 0 99 1 0 0 2026-11-28 02:05:00\n";
    assert_eq!(get(new, "write_bytes_per_s").to_bits(), (3.0 * KIB).to_bits());
    assert_eq!(get(new, "cpu_iowait").to_bits(), 1.0_f64.to_bits());
}

#[test]
fn other_tables_are_not_results() {
    for text in ["r b si so\n", " bi and bo are blocks\n", "r cs bi bo x\n"] {
        assert!(!is_vmstat(text), "{text}");
    }
    let heading: String = RUN.lines().take(2).flat_map(|line| [line, "\n"]).collect();
    let error = parse(&format!("{heading}1 2 3\n")).unwrap_err().to_string();
    assert!(error.starts_with("it contains no results of vmstat"), "{error}");
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text: String, put in "[0-9.a-z \n]{0,30}") {
        let _ = parse(&text);
        for part in ["650172", "bi", " r  b", "98  0  0", "procs"] {
            let _ = parse(&RUN.replace(part, &put));
        }
        let _ = parse(&format!("{RUN}{text}"));
    }

    #[test]
    fn what_is_written_comes_back(kib in 0_u32..99_999_999) {
        let text = RUN.replace("   100    40", &format!(" {kib} 40"));
        let text = text.replace("   300    80", &format!(" {kib} 80"));
        let expected = f64::from(kib) * KIB;
        proptest::prop_assert_eq!(get(&text, "read_bytes_per_s").to_bits(), expected.to_bits());
    }
}

#[test]
fn a_row_that_is_cut_off_never_has_another_number() {
    let wrong = crate::found::damage::misread(RUN, |line| line.starts_with(" 2"), parse);
    assert!(wrong.is_empty(), "{wrong:?}");
    let imported = parse(&RUN.replace(" 60 15  0", " 60")).unwrap();
    assert_eq!(imported.unknown, ["line 5: a row that is cut off"]);
}
