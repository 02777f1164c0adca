//! Tables in the form of elbencho 1.6 and 2.

use super::*;

const RUN: &str = "\
ISO DATE: 2022-03-09T10:43:21-0800
COMMAND LINE: \"elbencho\" \"--threads\" \"24\" \"--size\" \"1g\" \"--block\" \"1m\" \"--direct\" \"/mnt\"

OPERATION RESULT TYPE        FIRST DONE  LAST DONE
========= ================   ==========  =========
MKDIRS    Elapsed ms       :          0          8
          Dirs/s           :       1574       5547
          Dirs total       :          1          4
---
WRITE     Elapsed ms       :      84135     110109
          IOPS             :       3627       2788
          Throughput MiB/s :       3627       2789
          Total MiB        :     305224     306992
---
";
const CSV: &str = "\
ISO date,label,path type,threads,file size,block size,direct IO,IO depth,operation,time ms [first],\
time ms [last],entries/s [first],entries/s [last],IOPS [first],IOPS [last],MiB/s [first],MiB/s [last]
2021-01-05T21:48:20+0100,,dir,2,1048576,131072,0,1,WRITE,5,9,10,12.5,80,100,11,13
";

fn values(text: &str) -> Vec<(String, f64, Nature)> {
    let imported = parse(text).unwrap();
    let phases = imported.runs.iter().flat_map(|run| &run.phases);
    phases.flat_map(Phase::metrics).map(|it| (it.name, it.value, it.nature.unwrap())).collect()
}

#[test]
fn the_last_column_is_read() {
    let expected = [
        ("mkdirs.directories".to_owned(), 5547.0, Nature::PageCache),
        ("write.iops".to_owned(), 2788.0, Nature::Disk),
        ("write.bytes_per_s".to_owned(), 2789.0 * MIB, Nature::Disk),
    ];
    assert_eq!(values(RUN), expected);
    let work = parse(RUN).unwrap().runs[0].work.to_string();
    assert_eq!(work, "bs=1M threads=24 direct=1 size=1G");
    assert_eq!(values(&RUN.replace("\"--direct\"", ""))[1].2, Nature::PageCache);
    assert_eq!(parse(&RUN.repeat(2)).unwrap().runs.len(), 2);
}

#[test]
fn a_file_of_results_has_the_same_names() {
    assert!(is_elbencho(CSV));
    let cache = Nature::PageCache;
    let expected = [
        ("write.entries".to_owned(), 12.5, cache),
        ("write.iops".to_owned(), 100.0, cache),
        ("write.bytes_per_s".to_owned(), 13.0 * MIB, cache),
    ];
    assert_eq!(values(CSV), expected);
    let work = parse(CSV).unwrap().runs[0].work.to_string();
    assert_eq!(work, "bs=128k iodepth=1 threads=2 size=1M");
}

#[test]
fn a_fast_array_is_no_memory_unless_nothing_is_known() {
    let fast = RUN.replace("2789", "99000");
    assert_eq!(values(&fast)[2].2, Nature::Disk);
    let unknown = fast.replace("COMMAND LINE", "Command");
    assert_eq!(values(&unknown)[2].2, Nature::PageCache);
    let note = &parse(&RUN.replace("COMMAND LINE", "Command")).unwrap().notes[0];
    assert!(note.contains("does not say"), "{note}");
}

#[test]
fn a_heading_has_a_limit() {
    let columns = format!("{}{}", CSV.lines().next().unwrap(), ",x".repeat(100_000));
    let row = CSV.lines().nth(1).unwrap();
    let text = format!("{columns}\n{}", format!("{row}\n").repeat(10_000));
    assert_eq!(parse(&text).unwrap().runs.len(), 10_000);
}

#[test]
fn damage_is_named_with_its_line() {
    let imported = parse(&RUN.replace("2788", "27x8")).unwrap();
    assert!(imported.unknown[0].starts_with("line 11: `IOPS"), "{:?}", imported.unknown);
    assert!(!is_elbencho("an OPERATION RESULT TYPE\n"));
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text: String, put in "[0-9.a-zA-Z:,\" \n]{0,30}") {
        let _ = parse(&text);
        let _ = parse(&RUN.replace("2788", &put));
        let _ = parse(&RUN.replace("WRITE", &put));
        let _ = parse(&CSV.replace("WRITE,5", &put));
    }

    #[test]
    fn what_is_written_comes_back(iops in 1_u32..99_999_999) {
        let value = values(&RUN.replace("2788", &iops.to_string()))[1].1;
        proptest::prop_assert_eq!(value.to_bits(), f64::from(iops).to_bits());
    }
}

#[test]
fn columns_may_be_wider_and_a_log_may_precede_the_title() {
    let wide = "12:00:01 - DEBUG - stdout: OPERATION   RESULT TYPE         FIRST DONE   LAST DONE\n\
                =========== ================    ==========   =========\n\
                READ        Elapsed time     :      1.536s      2.374s\n            \
                Objects/s        :         187         168\n            \
                Throughput MiB/s :        1880        1684\n---\n";
    assert!(is_elbencho(wide));
    let names: Vec<(String, f64)> = values(wide).into_iter().map(|it| (it.0, it.1)).collect();
    let expected = [("read.objects", 168.0), ("read.bytes_per_s", 1684.0 * MIB)];
    assert_eq!(names, expected.map(|(name, value)| (name.to_owned(), value)));
}

#[test]
fn a_row_that_is_cut_off_never_has_another_number() {
    let wrong = crate::found::damage::misread(RUN, |line| line.contains(" : "), parse);
    assert!(wrong.is_empty(), "{wrong:?}");
    let imported = parse(&RUN.replace("      2788", "      27")).unwrap();
    assert_eq!(imported.unknown, ["line 11: a row that is cut off"]);
}

#[test]
fn a_command_with_quotation_marks_ends_a_line_of_results() {
    let command = "\"/bin/elbencho\" \"--hosts\" \"a b \" \"--write\" ";
    let with = CSV.replace("[last]\n", "[last],version,command\n");
    let with = with.replace("11,13\n", &format!("11,13,2.1-0,{command}\n"));
    assert_eq!(values(&with), values(CSV));
}
