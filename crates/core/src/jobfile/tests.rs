//! Job files as guides have them.

use super::{FileJob, parse};
use crate::polling::Polling;
use crate::units::{Bytes, Span};
use crate::workload::Rw;

fn read(text: &str) -> Vec<FileJob> {
    parse("test.fio", text, &|_| None).unwrap()
}

fn check_error(text: &str, line: usize, message: &str, hint: &str) {
    let error = parse("test.fio", text, &|_| None).unwrap_err();
    assert_eq!(error.line, line, "{error}");
    assert!(error.message.contains(message), "{error}");
    assert!(error.hint.as_deref().unwrap_or_default().contains(hint), "{error:?}");
}

#[test]
fn sections_inherit_what_global_said_before_them() {
    let jobs = read(
        "; comment\n[global]\nioengine=libaio\ndirect=1\nbs=4k\nruntime=60\ntime_based\n\
         [reader]\nrw=randread\niodepth=32\n# comment\n[global]\nbs=128k\n\
         [writer]\nrw=write\nstonewall\nfilename=/tmp/x\nnumjobs=2\n",
    );
    let [reader, writer] = &jobs[..] else { panic!("{jobs:?}") };
    assert_eq!((reader.name.as_str(), reader.group, reader.direct), ("reader", 0, true));
    assert_eq!(reader.target, "reader.0.0");
    assert_eq!(reader.workload.rw, Some(Rw::RandRead));
    assert_eq!((reader.workload.iodepth, reader.workload.bs), (Some(32), Some(Bytes::kib(4))));
    assert_eq!(reader.workload.runtime, Some(Span::from_secs(60)));
    assert_eq!((reader.ioengine, reader.notes.len()), (Some("io_uring"), 1));
    assert_eq!((writer.group, writer.numjobs, writer.target.as_str()), (1, 2, "/tmp/x"));
    assert_eq!((writer.workload.bs, writer.workload.iodepth), (Some(Bytes::kib(128)), None));
}

#[test]
fn without_time_a_job_transfers_its_size_once() {
    let job = |text: &str| read(&format!("[a]\n{text}")).remove(0);
    let once = job("rw=write\nbs=64k\nsize=1m");
    assert_eq!((once.workload.number_ios, once.workload.runtime), (Some(16), Some(Span::ZERO)));
    let more = job("size=1m\nbs=64k\nio_size=4m\nruntime=10");
    assert_eq!(more.workload.number_ios, Some(64));
    let time = job("size=1m\ntime_based=1\nruntime=1m");
    let minute = Some(Span::from_secs(60));
    assert_eq!((time.workload.number_ios, time.workload.runtime), (None, minute));
    assert!(job("runtime=5").once);
}

#[test]
fn units_are_those_of_fio() {
    let job =
        read("[a]\nsize=1gb\nbs=4K\nruntime=2m\ntime_based\nthinktime=500\nrate=10m").remove(0);
    assert_eq!((job.workload.size, job.workload.bs), (Some(Bytes::gib(1)), Some(Bytes::kib(4))));
    assert_eq!(job.workload.runtime, Some(Span::from_secs(120)));
    assert_eq!(job.workload.thinktime, Some(Span::from_us(500)));
    assert_eq!(job.workload.rate, Some(Bytes::mib(10)));
    check_error("[a]\nsize=1gib", 2, "thousands", "1024");
}

#[test]
fn variables_come_from_the_caller() {
    let variable = |name: &str| (name == "DISK").then(|| "/dev/sdx".to_owned());
    let jobs = parse("f", "[a]\nfilename=${DISK}\nruntime=1", &variable).unwrap();
    assert_eq!(jobs[0].target, "/dev/sdx");
    check_error("[a]\nfilename=${DISK}\n", 2, "not set", "");
}

#[test]
fn what_cannot_be_done_is_named_with_what_to_write() {
    check_error("[a]\nverify=crc32c", 2, "`verify`", "--verify");
    check_error("[a]\niodpeth=4", 2, "`iodpeth`", "`iodepth`");
    check_error("[a]\nioengine=mmap", 2, "`mmap`", "psync");
    check_error("[a]\nbs=4k,8k", 2, "differs", "a section each");
    check_error("[a]\nfilename=/dev/a:/dev/b", 2, "several", "together");
    check_error("[a]\nrw=randread\n", 1, "nothing says when", "runtime");
    check_error("[a]\ntime_based\n", 1, "needs a `runtime`", "runtime");
    check_error("bs=4k\n", 1, "before the first section", "[global]");
    check_error("[global]\nbs=4k\n", 1, "no job section", "[job]");
}

#[test]
fn a_block_of_no_whole_sectors_is_rounded_up_and_told() {
    let job = read("[wal]\nrw=write\nioengine=sync\nfdatasync=1\nsize=22m\nbs=2300\n").remove(0);
    assert_eq!(job.workload.bs, Some(Bytes::new(2560)));
    assert!(job.notes[0].contains("2300 bytes are rounded up"), "{:?}", job.notes);
}

#[test]
fn polling_order_and_steady_state_are_read_under_both_of_their_names() {
    let job = |text: &str| read(&format!("[a]\nrw=randwrite\nruntime=9\n{text}")).remove(0);
    let long = "steadystate=iops_slope:0.3%\nsteadystate_duration=10\nsteadystate_ramp_time=2m";
    let short = "ss=iops_slope:0.3%\nss_dur=10\nss_ramp=120";
    assert_eq!(job(long).workload, job(short).workload);
    assert_eq!(job(short).workload.ss_ramp, Some(Span::from_secs(120)));
    assert_eq!(job("percentage_random=30").workload.percentage_random, Some(30));
    let polling = Polling { completions: true, submissions: true };
    assert_eq!(job("hipri\nsqthread_poll=1").polling, polling);
}

#[test]
fn flushes_with_and_without_metadata_are_kept_apart() {
    let job = |text: &str| read(&format!("[a]\nrw=write\nruntime=9\n{text}")).remove(0);
    let flush =
        |text| job(text).workload.check().map(|workload| (workload.fsync, workload.fdatasync));
    assert_eq!(flush("fsync=8"), Ok((8, false)));
    assert_eq!(flush("fdatasync=8"), Ok((8, true)));
    let error = flush("fsync=8\nfdatasync=8").unwrap_err().to_string();
    assert!(error.contains("`fsync` and `fdatasync` cannot be used together"), "{error}");
}

#[test]
fn a_synchronous_engine_keeps_one_request_outstanding() {
    let job = read("[a]\nioengine=sync\niodepth=32\nruntime=1").remove(0);
    assert_eq!((job.ioengine, job.workload.iodepth), (Some("psync"), None));
    assert!(job.notes[0].contains("one request"), "{:?}", job.notes);
}
