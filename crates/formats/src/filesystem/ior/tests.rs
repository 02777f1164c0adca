//! Tables in the form of IOR 3.3.

use super::*;

const RUN: &str = "\
IOR-3.3.0: MPI Coordinated Test of Parallel I/O
Command line        : ior -w -r -e -t 256k
api                 : POSIX
tasks               : 8
xfersize            : 262144 bytes
blocksize           : 1 MiB

access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
write     912.40     4282       0.001868    1024.00    256.00     0.001203   0.007473   0.000973   0.008768   0
read      495.76     2259.33    0.000031    1024.00    256.00     0.015838   0.014163   0.014007   0.016137   0
write     913.40     4283       0.001868    1024.00    256.00     0.001203   0.007473   0.000973   0.008768   1
remove    -          -          -           -          -          -          -          -          0.006066   0
Max Write: 912.40 MiB/sec (956.72 MB/sec)

Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev
write         912.40     912.40     912.40       0.00
";

fn values(text: &str) -> Vec<(String, f64, Nature)> {
    let imported = parse(text).unwrap();
    let phases = imported.runs.iter().flat_map(|run| &run.phases);
    phases.flat_map(Phase::metrics).map(|it| (it.name, it.value, it.nature.unwrap())).collect()
}

#[test]
fn every_row_is_a_trial_and_the_summary_is_not() {
    let (disk, cache) = (Nature::Disk, Nature::PageCache);
    let expected = [
        ("write.bytes_per_s".to_owned(), 912.4 * MIB, disk),
        ("write.iops".to_owned(), 4282.0, disk),
        ("read.bytes_per_s".to_owned(), 495.76 * MIB, cache),
        ("read.iops".to_owned(), 2259.33, cache),
        ("write.bytes_per_s".to_owned(), 913.4 * MIB, disk),
        ("write.iops".to_owned(), 4283.0, disk),
    ];
    assert_eq!(values(RUN), expected);
    let imported = parse(RUN).unwrap();
    assert!(imported.runs.iter().all(|run| run.line == 8), "one table");
    assert_eq!(imported.runs[0].work.to_string(), "bs=256k size=1M api=POSIX tasks=8");
}

#[test]
fn what_bypasses_the_cache_is_in_the_command() {
    let natures = |text: &str| -> Vec<Nature> {
        values(text).iter().map(|(_, _, nature)| *nature).step_by(2).collect()
    };
    let (disk, cache) = (Nature::Disk, Nature::PageCache);
    assert_eq!(natures(&RUN.replace("-e ", "")), [cache, cache, cache]);
    assert_eq!(natures(&RUN.replace("-e ", "--posix.odirect ")), [disk, disk, disk]);
    let old = RUN.replace("IOPS       ", "").replace("4282       ", "");
    assert_eq!(values(&old)[0].1.to_bits(), (912.4 * MIB).to_bits());
    assert!(!is_ior("access and bw(MiB/s)\n") && is_ior(RUN));
}

#[test]
fn a_parallel_file_system_may_be_faster_than_a_device() {
    let imported = parse(&RUN.replace("912.40", "991240.00")).unwrap();
    assert_eq!(imported.runs[0].phases[0].nature, Nature::Disk);
}

#[test]
fn damage_is_named_with_its_line() {
    let imported = parse(&RUN.replace("495.76 ", "49x.76 ")).unwrap();
    assert!(imported.unknown[0].starts_with("line 11: `read"), "{:?}", imported.unknown);
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text: String, put in "[0-9.a-z:() \n]{0,30}") {
        let _ = parse(&text);
        let _ = parse(&RUN.replace("912.40", &put));
        let _ = parse(&RUN.replace("IOPS", &put));
    }

    #[test]
    fn what_is_written_comes_back(iops in 1_u32..99_999_999) {
        let value = values(&RUN.replace("4282", &iops.to_string()))[1].1;
        proptest::prop_assert_eq!(value.to_bits(), f64::from(iops).to_bits());
    }
}

fn is_row(line: &str) -> bool {
    line.starts_with("write ") || line.starts_with("read ")
}

#[test]
fn a_row_that_is_cut_off_never_has_another_number() {
    let wrong = crate::found::damage::misread(RUN, is_row, parse);
    assert!(wrong.is_empty(), "{wrong:?}");
}
