//! Tables and documents in the form of yabs.sh.

use super::*;

const TEXT: &str = "\
# ## ## ## ## ## ## ## ## ## ## #
#     Yet-Another-Bench-Script    #
#                     v2021-06-05                    #
fio Disk Speed Tests (Mixed R/W 50/50):
---------------------------------
Block Size | 4k            (IOPS) | 64k           (IOPS)
  ------   | ---            ----  | ----           ----
Read       | 5.28 MB/s     (1.3k) | 1.17 GB/s     (997)
Write      | 5.30 MB/s     (1.3k) | 64.27 MB/s    (1.0k)
Total      | 10.59 MB/s    (2.6k) | 128.10 MB/s   (2.0k)
           |                      |
iperf3 Network Speed Tests (IPv4):
Provider        | Location (Link)           | Send Speed      | Recv Speed
Clouvider       | London, UK (10G)          | 197 Mbits/sec   | 200 Mbits/sec
";
const JSON: &str = r#"{"version": "v2023-04-23", "time": "20230423-1200", "os": {"arch": "x64"},
"fio": [{"bs": "4k", "speed_r": 5280, "iops_r": 1320, "speed_w": 5300, "iops_w": 1325,
"speed_rw": 10580, "iops_rw": 2645, "speed_units": "KBps"}]}"#;

fn values(text: &str) -> Vec<(String, f64)> {
    let imported = parse(text).unwrap();
    let phases = imported.runs.iter().flat_map(|run| &run.phases);
    phases.flat_map(Phase::metrics).map(|it| (it.name, it.value)).collect()
}

#[test]
fn the_table_is_read_in_bytes() {
    assert!(is_yabs(TEXT));
    let found = values(TEXT);
    let get = |name: &str| found.iter().find(|(it, _)| it == name).unwrap().1;
    assert_eq!(found.len(), 12);
    assert_eq!(get("4k.read_iops").to_bits(), 1300.0_f64.to_bits());
    assert!((get("4k.read_bytes_per_s") - 5.28 * 1_024_000.0).abs() < 1e-3);
    assert!((get("64k.read_bytes_per_s") - 1.17 * 1.024e9).abs() < 1.0);
    assert_eq!(get("64k.iops").to_bits(), 2000.0_f64.to_bits());
    let imported = parse(TEXT).unwrap();
    assert_eq!(imported.tool_version, "v2021-06-05");
    assert_eq!(imported.unknown, Vec::<String>::new());
    assert_eq!(parse(&TEXT.repeat(2)).unwrap().runs.len(), 2);
}

#[test]
fn the_document_has_the_same_figures() {
    assert!(is_yabs(JSON));
    let found = values(JSON);
    assert_eq!(found[0], ("4k.read_iops".to_owned(), 1320.0));
    assert_eq!(found[1], ("4k.read_bytes_per_s".to_owned(), 5280.0 * 1024.0));
    assert_eq!(found.len(), 6);
    let error = parse(&JSON[..200]).unwrap_err().to_string();
    assert!(error.contains("not a result of yabs.sh"), "{error}");
}

#[test]
fn a_table_of_a_fio_that_did_not_run_has_no_result() {
    let empty = "fio Disk Speed Tests (Mixed R/W 50/50):\nBlock Size | 4k (IOPS)\n\
                 Read | ()\nTotal | 0.00 KB/s (0)\n";
    let error = parse(empty).unwrap_err().to_string();
    let expected = "it contains no results of yabs.sh: line 3: `()` is not a rate";
    assert!(error.starts_with(expected), "{error}");
    let error = parse(&empty.replace("Read | ()\n", "")).unwrap_err().to_string();
    assert!(error.contains("line 3: no requests: fio did not run"), "{error}");
}

#[test]
fn cells_that_are_no_rates_are_listed() {
    let imported = parse(&TEXT.replace("1.17 GB/s", "fast")).unwrap();
    assert_eq!(imported.unknown, ["line 8: `fast     (997)` is not a rate"]);
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text: String, put in "[0-9.|()MB/sk \n]{0,30}") {
        let _ = parse(&text);
        let _ = parse(&TEXT.replace("1.17 GB/s", &put));
        let _ = parse(&JSON.replace("5280", &put));
    }

    #[test]
    fn what_is_written_comes_back(kib in 1_u32..9_999_999, iops in 1_u32..9_999_999) {
        let text = JSON.replace("\"speed_r\": 5280", &format!("\"speed_r\": {kib}"));
            let text = text.replace("\"iops_r\": 1320", &format!("\"iops_r\": {iops}"));
        let found = values(&text);
        proptest::prop_assert_eq!(found[0].1.to_bits(), f64::from(iops).to_bits());
        proptest::prop_assert_eq!(found[1].1.to_bits(), (f64::from(kib) * 1024.0).to_bits());
    }
}
