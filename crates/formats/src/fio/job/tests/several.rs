//! Several files of a job, its flushes, and the limits of its steady state.

use super::*;

#[test]
fn several_files_share_the_work_of_a_job() {
    let of = |text: &str| job(&format!("ioengine=libaio\ndirect=1\nfilename=a:b\n{text}"));
    let both = of("iodepth=8\nsize=8m\nio_size=2m\nrate_iops=100\niodepth_batch=8");
    assert_eq!(
        (both.targets.as_slice(), both.parts),
        (["a".to_owned(), "b".to_owned()].as_slice(), 2)
    );
    assert_eq!((both.workload.iodepth, both.workload.rate_iops), (Some(4), Some(50)));
    assert_eq!(both.workload.iodepth_batch_submit, Some(4));
    let options = both.workload(None).unwrap();
    assert_eq!((options.size, options.number_ios), (Some(Bytes::mib(4)), Some(256)));
    assert!(both.notes.iter().any(|note| note.contains("4 of 8 outstanding")), "{:?}", both.notes);
    assert_eq!(of("iodepth=2\nnumber_ios=9").workload.number_ios, Some(5));
    let odd = of("iodepth=5\nfilename=c");
    assert_eq!((odd.workload.iodepth, odd.parts, odd.deeper), (Some(1), 3, 2));
    assert!(odd.notes.iter().any(|note| note.contains("1 or 2 of 5")), "{:?}", odd.notes);
    check_error("[a]\niodepth=2\nfilename=a:b", 1, "1 outstanding", "at least `iodepth=2`");
}

#[test]
fn flushes_are_between_writes_and_at_the_end_as_in_fio() {
    let flushed = |text: &str| {
        let job = job(&format!("rw=write\nsize=1m\n{text}"));
        (job.workload.check().is_ok_and(|it| it.fsync_between), job.conduct.end_fsync)
    };
    assert_eq!(flushed("fsync=4\nnumber_ios=1"), (true, false));
    assert_eq!(flushed("fdatasync=4\nnumber_ios=1\nend_fsync=1"), (true, true));
    assert_eq!(flushed("number_ios=1\nfsync_on_close=1"), (false, true));
    let loops = job("rw=write\nsize=1m\nend_fsync=1\nloops=2");
    assert!(loops.notes.iter().any(|note| note.starts_with("`end_fsync`")), "{:?}", loops.notes);
}

#[test]
fn a_limit_of_the_steady_state_may_have_a_unit() {
    let criterion = |text: &str| job(text).workload.ss.unwrap().to_string();
    assert_eq!(criterion("size=1m\nss_dur=9s\nss=bw_slope:4k"), "bw_slope:4096");
    assert_eq!(criterion("size=1m\nss_dur=9s\nsteadystate=lat:50"), "lat:50000ns");
    assert_eq!(criterion("size=1m\nss_dur=9s\nss=iops:50"), "iops:50");
}

fn sized(value: &str) -> FileJob {
    job(&format!("nrfiles=4\nfilesize={value}"))
}

#[test]
fn a_range_of_file_sizes_is_its_mean() {
    for range in ["4k-12k", "4k,12k", "4k:12k"] {
        let read = sized(range);
        assert_eq!(read.workload(None).unwrap().size, Some(Bytes::kib(32)), "{range}");
        assert!(read.notes.iter().any(|note| note.contains("mean of the range, 8k")), "{range}");
    }
    assert!(!sized("8k").notes.iter().any(|note| note.starts_with("`filesize`")));
    check_error("[a]\nfilesize=2m-1m", 2, "ends before it begins", "");
    check_error("[a]\nfilesize=1m-", 2, "not a number", "");
}
