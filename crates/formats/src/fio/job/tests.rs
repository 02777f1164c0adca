//! Job files as found in guides.

mod kinds;
mod several;
mod shared;
mod whole;

use super::{FileJob, Reading, Verify, parse};
use drivelab_core::Polling;
use drivelab_core::config::ConfigError;
use drivelab_core::units::{Bytes, Ratio, Span};
use drivelab_core::workload::{Pace, Rw, Workload, WorkloadOptions};

fn read(text: &str) -> Vec<FileJob> {
    parse("test.fio", text, &Reading::new(&|_| None)).unwrap()
}

/// The only job of `[a]` and `text`.
fn job(text: &str) -> FileJob {
    read(&format!("[a]\n{text}")).remove(0)
}

/// Its workload for a target that does not exist yet.
fn options(text: &str) -> WorkloadOptions {
    job(text).workload(None).unwrap()
}

/// The same, checked; it may have no end condition.
fn workload(text: &str) -> Workload {
    options(&format!("runtime=9\nsize=1g\n{text}")).check().unwrap()
}

/// Why it is refused; the text accepted instead would fill the screen.
fn refused(text: &str) -> ConfigError {
    let Err(mut errors) = parse("test.fio", text, &Reading::new(&|_| None)) else {
        panic!("taken: {}", text.chars().take(200).collect::<String>())
    };
    errors.remove(0)
}

fn check_error(text: &str, line: usize, message: &str, hint: &str) {
    let error = refused(text);
    assert_eq!(error.line, line, "{error}");
    assert!(error.message.contains(message), "{error}");
    assert!(error.hint.as_deref().unwrap_or_default().contains(hint), "{error:?}");
}

#[test]
fn sections_inherit_what_global_said_before_them() {
    let jobs = read(
        "; comment\n[global]\nioengine=libaio\ndirect=1\nbs=4k\nruntime=60\ntime_based\n\
         [reader]\nrw=randread\niodepth=32 ; as deep as that\n# comment\n[global]\nbs=128k\n\
         [writer]\nrw=write\nstonewall\nfilename=/tmp/x\nnumjobs=2\n",
    );
    let [reader, writer] = &jobs[..] else { panic!("{jobs:?}") };
    assert_eq!((reader.name.as_str(), reader.group, reader.direct), ("reader", 0, true));
    assert_eq!(reader.targets, ["reader.0.0"]);
    assert_eq!(reader.workload.rw, Some(Rw::RandRead));
    assert_eq!((reader.workload.iodepth, reader.workload.bs), (Some(32), Some(Bytes::kib(4))));
    assert_eq!(reader.workload.runtime, Some(Span::from_secs(60)));
    assert_eq!((reader.ioengine, reader.notes.len()), ("libaio", 0));
    assert_eq!((writer.group, writer.numjobs), (1, 2));
    assert_eq!(writer.targets, ["/tmp/x"]);
    assert_eq!((writer.workload.bs, writer.workload.iodepth), (Some(Bytes::kib(128)), Some(1)));
}

#[test]
fn what_is_not_said_is_as_in_fio() {
    let job = job("size=1m");
    let workload = job.workload(None).unwrap().check().unwrap();
    assert_eq!((workload.rw, job.ioengine, job.direct), (Rw::Read, "psync", false));
    let one = Pace::Closed { iodepth: 1, think_time: Span::ZERO };
    assert_eq!((workload.pace, workload.number_ios), (one, Some(256)));
    let rate = self::workload("ioengine=libaio\nrate_iops=1k");
    assert_eq!(rate.pace, Pace::Fixed { per_s: 1024, iodepth: 1 });
}

#[test]
fn without_time_a_job_transfers_its_size_once() {
    let once = options("rw=write\nbs=64k\nsize=1m");
    assert_eq!((once.number_ios, once.runtime), (Some(16), Some(Span::ZERO)));
    let more = options("size=1m\nbs=64k\nio_size=4m\nruntime=10");
    assert_eq!(more.number_ios, Some(64));
    let time = options("size=1m\ntime_based=1\nruntime=1m\nnumber_ios=5");
    assert_eq!((time.number_ios, time.runtime), (None, Some(Span::from_secs(60))));
    assert_eq!(options("size=1m\nloops=3").number_ios, Some(768));
    assert_eq!(options("size=1m\nloops=2\nnumber_ios=100").number_ios, Some(200));
    assert_eq!(options("size=1m\nloops=2\nnumber_ios=1000").number_ios, Some(512));
    assert_eq!(options("size=1m\nloops=2\nio_size=512k").number_ios, Some(256));
    assert_eq!(options("size=1m\nloops=2\nio_size=3m").number_ios, Some(768));
    assert_eq!(options("size=1m\nnumber_ios=5").number_ios, Some(5));
    assert_eq!(options("size=1m\nnumber_ios=5k").number_ios, Some(256));
    let endless = job("size=1m\ntime_based");
    assert!(endless.notes[0].contains("without `runtime`"), "{:?}", endless.notes);
    assert_eq!(endless.workload(None).unwrap().number_ios, Some(256));
}

#[test]
fn sizes_are_taken_from_the_target_where_they_are_shares_of_it_or_absent() {
    let of = |text: &str| {
        let workload = job(text).workload(Some(Bytes::mib(16))).unwrap();
        (workload.offset, workload.size, workload.number_ios)
    };
    assert_eq!(of("bs=64k"), (None, None, Some(256)));
    assert_eq!(of("bs=64k\noffset=12m"), (Some(Bytes::mib(12)), None, Some(64)));
    let tenth = Bytes::new(25 * 65_536);
    assert_eq!(of("bs=64k\nsize=10%\noffset=50%"), (Some(Bytes::mib(8)), Some(tenth), Some(25)));
    assert_eq!(of("size=100%"), (None, None, Some(4096)));
    assert_eq!(of("size=100%%"), of("size=100%"));
    assert_eq!(of("bs=1m\nio_size=200%"), (None, None, Some(32)));
    assert_eq!(of("size=1m\nio_size=50%").2, Some(128), "of the job's size");
    assert_eq!(of("filesize=1m\nsize=8m").1, Some(Bytes::mib(1)));
    assert_eq!(of("filesize=1g\noffset=4m").1, Some(Bytes::mib(12)));
    let missing = |text: &str| job(text).workload(None).unwrap_err().to_string();
    assert!(missing("runtime=5").contains("size of the target is unknown"));
    assert!(missing("size=10%").contains("`size` is a percentage"));
}

#[test]
fn units_are_those_of_fio() {
    let job = job("size=1gb\nbs=4K\nruntime=2m\ntime_based\nthinktime=500");
    assert_eq!(job.workload.bs, Some(Bytes::kib(4)));
    assert_eq!(job.workload.runtime, Some(Span::from_secs(120)));
    assert_eq!(job.workload.thinktime, Some(Span::from_us(500)));
    let thousands = self::job("size=1GiB\nbs=1MB");
    assert!(thousands.notes[0].contains("power of ten"), "{:?}", thousands.notes);
    let options = thousands.workload(None).unwrap();
    assert_eq!(options.size, Some(Bytes::new(1_000_000_000)));
    let standard = self::options("kb_base=1000\nsize=1GiB");
    assert_eq!(standard.size, Some(Bytes::gib(1)));
    assert_eq!(self::options("size=1Mi").size, Some(Bytes::mib(1)));
    let without = self::job("kb_base=1000\nsize=1Mi");
    assert!(without.notes[0].contains("power of ten under"), "{:?}", without.notes);
    // The base holds for the whole section, regardless of the order, and not for others.
    let late = "[global]\nsize=1m\n[a]\nio_size=1m\nkb_base=1000\n[b]\nsize=2m";
    let sizes = |job: &FileJob| job.workload(None).unwrap().number_ios;
    assert_eq!(read(late).iter().map(sizes).collect::<Vec<_>>(), [Some(245), Some(512)]);
}

#[test]
fn variables_come_from_the_caller() {
    let variable = |name: &str| match name {
        "DISK" => Some("/dev/sdx".to_owned()),
        "$ncpus" => Some("4".to_owned()),
        _ => None,
    };
    let jobs =
        parse("f", "[a]\nfilename=${DISK}\nnumjobs=$ncpus", &Reading::new(&variable)).unwrap();
    assert_eq!((jobs[0].targets[0].as_str(), jobs[0].numjobs), ("/dev/sdx", 4));
    let text = "[a]\nsize=10*1000*$ncpus\nnumjobs=$ncpus";
    let jobs = parse("f", text, &Reading::new(&variable)).unwrap();
    assert_eq!(jobs[0].workload(None).unwrap().size, Some(Bytes::new(40_000)));
    check_error("[a]\nsize=2*1024", 2, "`2*1024` is not a number", "");
    check_error("[a]\nfilename=${DISK}\n", 2, "not set", "");
}

#[test]
fn what_cannot_be_done_is_named_with_what_to_write() {
    check_error("[a]\nverify=crc32c", 1, "`verify`", "--verify-only");
    let other = "[w]\nrw=write\nfilename=g\nsize=1m\n[r]\nstonewall\nverify=md5\nfilename=f";
    check_error(other, 5, "no earlier one writes", "--verify-only");
    check_error("[a]\niodpeth=4", 2, "`iodpeth`", "`iodepth`");
    check_error("[a]\nzonemod=zbd", 2, "neither drivelab's nor", "`zonemode`");
    check_error("[a]\nioengine=mmap", 2, "`mmap`", "psync");
    check_error("[a]\nrw=rw\nbs=4k,8k", 1, "differs", "separate sections");
    check_error("[a]\nbssplit=4k/60:8k/60", 2, "add up to 120", "");
    check_error("[a]\nfilename=/dev/a:/dev/b", 1, "several", "together");
    check_error("[a]\nrw=randread:8", 2, "every 8 requests", "percentage_random");
    check_error("[a]\nrw=read:-4k", 1, "twice", "`read:-8192`");
    for rate in ["rate_iops=,5", "rate_iops=100,0", "rate=0,400k"] {
        check_error(&format!("[a]\nrw=rw\n{rate}"), 1, "only one", "separate sections");
    }
    check_error("[a]\nthinktime=5\nthinktime_blocks=4", 3, "after every request", "thinktime");
    check_error("[a]\nwait_for=b", 1, "named `b`", "");
    check_error("[a]\n[b]\n[c]\nwait_for=b", 3, "would not wait", "stonewall");
    check_error("[a]\ninclude other.fio", 2, "`other.fio`", "into this file");
    check_error("[a]\nsync=2", 2, "`sync` is", "");
    check_error("bs=4k\n", 1, "precedes the first section", "[global]");
    check_error("[global]\nbs=4k\n", 1, "no job section", "[job]");
}

#[test]
fn what_is_written_is_noted() {
    for option in ["zero_buffers", "buffer_pattern=0xff", "dedupe_percentage=50"] {
        let written = job(&format!("size=1m\nrw=write\n{option}"));
        let [note] = &written.notes[..] else { panic!("{:?}", written.notes) };
        assert!(note.contains("written data is random"), "{note}");
    }
}

#[test]
fn what_is_refused_may_be_switched_off() {
    let off = job("size=1m\nverify=0\ndo_verify=0\nzonemode=none\nzero_buffers=0\natomic=0");
    assert!(off.notes.is_empty(), "{:?}", off.notes);
    let off = "rate=0\nio_size=0\nnumber_ios=0\nsize=0\nbs=64k";
    let all = job(off).workload(Some(Bytes::mib(1))).unwrap().check().unwrap();
    let one = Pace::Closed { iodepth: 1, think_time: Span::ZERO };
    assert_eq!((all.pace, all.size, all.number_ios), (one, None, Some(16)));
}

#[test]
fn the_verify_family_is_a_verification_of_ours() {
    let of = |text: &str| {
        let job = job(&format!("size=1m\nrw=randwrite\n{text}"));
        (job.verify, job.notes.len())
    };
    assert_eq!(of("verify=crc32c\nverify_fatal=1\nverify_backlog=64"), (Verify::Written, 3));
    assert_eq!(of("verify=md5\ndo_verify=0"), (Verify::Later, 2));
    assert_eq!(of("verify=0"), (Verify::No, 0));
    let later = read(
        "[global]\nfilename=f\nsize=1m\nverify=md5\n[w]\nrw=write\ndo_verify=0\n[r]\nstonewall",
    );
    assert_eq!(later[1].verify, Verify::Earlier);
}

#[test]
fn overlaps_are_held_back_only_where_there_are_none() {
    let text =
        "[a]\nsize=1m\nrw=randwrite\nioengine=libaio\ndirect=1\nserialize_overlap=1\niodepth=8";
    assert_eq!(read(text).len(), 1);
    check_error(&format!("{text}\nnorandommap"), 1, "may overlap", "norandommap");
}

#[test]
fn linux_aio_is_an_engine_and_says_where_it_waits() {
    let of = |text: &str| {
        let job = job(&format!("size=1m\nioengine=libaio\niodepth=8\n{text}"));
        (job.ioengine, job.notes.concat())
    };
    assert_eq!(of("direct=1"), ("libaio", String::new()));
    assert!(of("").1.contains("waited for where it is submitted"));
    assert_eq!(of("direct=1\nhipri").0, "io_uring");
}

#[test]
fn a_block_of_no_whole_sectors_is_rounded_up_and_told() {
    let job = job("rw=write\nioengine=sync\nfdatasync=1\nsize=22m\nbs=2300\n");
    assert_eq!(job.workload.bs, Some(Bytes::new(2560)));
    assert!(job.notes[1].contains("2300 bytes rounded up"), "{:?}", job.notes);
}

#[test]
fn block_sizes_may_be_shared_out_or_range() {
    let sizes = |text: &str| workload(text).blocks.to_string();
    assert_eq!(sizes("bssplit=4k/60:64k/40"), "4k/60:64k/40");
    assert_eq!(sizes("bssplit=4k/50:64k/:32k/"), "4k/100:64k/50:32k/50");
    assert_eq!(sizes("bssplit=4k:64k"), "4k/100:64k/100");
    assert_eq!(sizes("bssplit=4K/100:64k/0"), "4k");
    assert_eq!(sizes("bsrange=4k-16k"), "4k-16k");
    assert_eq!(sizes("bsrange=4k-4k,4k-4k"), "4k");
    assert_eq!(sizes("rw=write\nbs=4k,64k"), "64k");
    assert_eq!(sizes("rw=trim\nbs=4k,8k,1m"), "1M");
    // As in fio, sizes by share hold regardless of `bs`, and of the order.
    assert_eq!(sizes("bs=8k\nbssplit=4k/100"), "4k");
    assert_eq!(sizes("bssplit=4k/100\nbs=8k"), "4k");
    assert_eq!(sizes("bsrange=4k-16k\nbs=8k"), "4k-16k");
    assert_eq!(sizes("bssplit=4k/50:8k/50\nbsrange=4k-16k"), "4k/50:8k/50");
    assert_eq!(sizes("bssplit=4k/50:8k/50\nbsrange=16k-16k"), "16k");
    let inherited = read("[global]\nbssplit=8k/100\nsize=1m\n[a]\nbs=16k").remove(0);
    assert!(inherited.notes[0].contains("overrides `bs`"), "{:?}", inherited.notes);
}

#[test]
fn a_rate_is_one_for_reads_and_one_for_writes() {
    let both = workload("rw=randrw\nrwmixread=70\nrate_iops=100");
    assert_eq!((both.pace, both.read_share), fixed(200, Ratio::percent(50)));
    let apart = workload("rw=randrw\nrate=3m,1m\nbs=4k");
    assert_eq!((apart.pace, apart.read_share), fixed(1024, Ratio::percent(75)));
    let writes = workload("rw=write\nrate_iops=10,20");
    assert_eq!(writes.pace, Pace::Fixed { per_s: 20, iodepth: 1 });
    let coarse = job("size=1m\nrate=2500k\nbs=1m");
    assert!(coarse.notes[0].contains("2 requests per second"), "{:?}", coarse.notes);
}

fn fixed(per_s: u64, share: Ratio) -> (Pace, Ratio) {
    (Pace::Fixed { per_s, iodepth: 1 }, share)
}

#[test]
fn random_blocks_come_once_each_unless_that_is_turned_off() {
    assert!(workload("rw=randwrite").each_once);
    assert!(workload("rw=randwrite\nnorandommap=0").each_once);
    assert!(!workload("rw=randwrite\nnorandommap").each_once);
    assert!(!workload("rw=randwrite\nrandom_distribution=zipf:1.1").each_once);
    assert!(!workload("rw=randwrite\nbssplit=4k/50:8k/50").each_once);
}

#[test]
fn sequential_blocks_may_leave_gaps_or_go_backwards() {
    let order = |text: &str| {
        let workload = workload(text);
        (workload.stride, workload.backwards)
    };
    assert_eq!(order("rw=read:4k\nbs=4k"), (Some(Bytes::kib(8)), false));
    assert_eq!(order("rw=read:-8k\nbs=4k"), (None, true));
    assert_eq!(order("rw=read:-12k\nbs=4k"), (Some(Bytes::kib(8)), true));
    let within = job("rw=read:4k\nbs=4k\nsize=64k").workload(Some(Bytes::mib(1))).unwrap();
    assert_eq!(within.number_ios, Some(8));
    // A gap at the end of the file leads to its beginning.
    assert_eq!(options("rw=read:4k\nbs=4k\nsize=64k").number_ios, Some(16));
    assert_eq!(options("rw=read:4k\nbs=4k\nsize=64k\nio_size=128k").number_ios, Some(32));
}

#[test]
fn copies_of_a_job_have_files_of_their_own_unless_one_is_named() {
    assert_eq!(job("size=1m\nnumjobs=2").targets, ["a.0.0", "a.1.0"]);
    let spread = job("size=1m\nnumjobs=3\ndirectory=/x:/y").targets;
    assert_eq!(spread, ["/x/a.0.0", "/y/a.1.0", "/x/a.2.0"]);
    let named = job("size=1m\nnumjobs=2\nfilename_format=$jobname-$jobnum.dat").targets;
    assert_eq!(named, ["a-0.dat", "a-1.dat"]);
    let shared = job("size=1m\nnumjobs=2\nfilename=x\nrw=write");
    assert_eq!(shared.targets, ["x"]);
    assert!(shared.notes[0].contains("offset_increment=0"), "{:?}", shared.notes);
    let small = job("filesize=64k\nbs=64k\nnumjobs=2\nfilename=x\nrw=read");
    assert_eq!(small.conduct.offset_increment, Some(Bytes::ZERO));
    assert!(small.notes[0].contains("all jobs use the same blocks"), "{:?}", small.notes);
    let asked = job("size=1m\nnumjobs=2\nfilename=x\nrw=write\noffset_increment=0");
    assert_eq!((asked.conduct.offset_increment, asked.notes.len()), (Some(Bytes::ZERO), 0));
}

#[test]
fn several_files_are_parts_of_one() {
    let sequential = job("rw=read\nnrfiles=4\nfilesize=1m");
    assert_eq!(sequential.workload.streams, Some(4));
    assert_eq!(sequential.workload(None).unwrap().size, Some(Bytes::mib(4)));
    assert_eq!(job("rw=read\nnrfiles=4\nsize=1m\nfilename=x").workload.streams, None);
}

#[test]
fn each_filename_adds_a_file_and_lies_in_the_directory_of_its_section() {
    let several = "uses several files, `p0` and `p1`";
    check_error("[a]\nfilename=p0\nfilename=p1\nfilename=p2", 1, several, "a section");
    check_error("[global]\nfilename=p0\n[a]\nfilename=p1", 3, several, "a section");
    check_error("[global]\nfilename=p0\n[a]\nfilename=p0", 3, "`p0` and `p0`", "a section");
    let targets = |text: &str| read(text).remove(0).targets;
    assert_eq!(targets("[a]\nsize=1m\nfilename=pci-0000\\:00"), ["pci-0000:00"]);
    assert_eq!(targets("[a]\nsize=1m\nfilename=/x\ndirectory=d"), ["d//x"]);
    assert_eq!(targets("[global]\nsize=1m\nfilename=x\n[a]\ndirectory=d"), ["x"]);
    assert_eq!(targets("[global]\nsize=1m\ndirectory=d\n[a]\nfilename=x"), ["d/x"]);
    assert_eq!(targets("[a]\nsize=1m\nnumjobs=3\nfilename=x\ndirectory=d:e"), ["d/x"]);
    let spread = targets("[a]\nsize=1m\nnumjobs=3\nfilename_format=x\ndirectory=d:d:e");
    assert_eq!(spread, ["d/x", "d/x", "e/x"]);
}

#[test]
fn jobs_are_numbered_through_the_file_and_in_each_command() {
    let numbers = |text: &str| -> Vec<u32> { read(text).iter().map(|job| job.number).collect() };
    assert_eq!(numbers("[global]\nrandseed=5\n[a]\nnumjobs=3\n[b]\n[c]\nstonewall"), [0, 3, 4]);
    assert_eq!(numbers("fio --name=a --name=b\nfio --name=c"), [0, 1, 0]);
}

#[test]
fn a_size_need_not_be_whole_blocks() {
    let of = |length, text: &str| {
        let workload = job(text).workload(length).unwrap();
        (workload.number_ios.unwrap(), workload.size.map(Bytes::get))
    };
    // As in fio, the last block begins within the size, and ends within the file.
    let file = Some(Bytes::mib(16));
    assert_eq!(of(file, "rw=read\nsize=100000"), (25, Some(25 * 4096)));
    assert_eq!(of(None, "rw=read\nsize=100000"), (24, Some(100_000)));
    assert_eq!(of(file, "rw=randread\nsize=100000"), (24, Some(100_000)));
    assert_eq!(of(file, "rw=randread\nsize=100000\nnorandommap"), (25, Some(100_000)));
    assert_eq!(of(Some(Bytes::new(100_000)), "rw=read"), (24, None));
    assert_eq!(of(file, "rw=read:512k\nbs=1m\nsize=4m").0, 3);
    assert_eq!(of(None, "rw=read:512k\nbs=1m\nsize=3584k").0, 2);
    assert_eq!(of(None, "rw=read\nbs=64k\nsize=1m\nio_size=100k").0, 2);
    assert_eq!(of(None, "rw=read\nbs=64k\nsize=100k\nio_size=300k").0, 4);
    assert_eq!(of(file, "rw=read\nsize=10000\nio_size=50000").0, 12);
    assert_eq!(of(file, "rw=randread\nnorandommap\nsize=10000\nio_size=50000").0, 13);
    assert_eq!(of(None, "rw=write\nbs=64k\nnrfiles=4\nfilesize=100k").0, 4);
    assert_eq!(of(None, "rw=randread\nbs=64k\nnrfiles=4\nsize=400k"), (4, Some(256 << 10)));
}

#[test]
fn copies_one_behind_the_other_end_with_the_target() {
    let percent = job("rw=read\nbs=4k\noffset=10%\nnumjobs=2\noffset_increment=1m\nfilename=x");
    for (copy, expected) in [(0, 410 * 4096), (1, 666 * 4096)] {
        let copy = percent.workload_of(copy, Some(Bytes::mib(16))).unwrap();
        assert_eq!(copy.offset, Some(Bytes::new(expected)), "rounded up, as fio has it");
    }
    let job = job("rw=read\nbs=64k\nnumjobs=2\noffset_increment=4m\nfilename=x");
    let of = |copy| {
        let workload = job.workload_of(copy, Some(Bytes::mib(16))).unwrap();
        (workload.offset, workload.number_ios)
    };
    assert_eq!(of(0), (None, Some(256)));
    assert_eq!(of(1), (Some(Bytes::mib(4)), Some(192)));
}

#[test]
fn a_mixture_of_one_kind_is_that_kind_also_for_its_rate() {
    let kind = |text: &str| {
        let workload = workload(text);
        (workload.rw, workload.pace)
    };
    let hundred = Pace::Fixed { per_s: 100, iodepth: 1 };
    assert_eq!(kind("rw=randrw\nrwmixread=100\nrate_iops=100"), (Rw::RandRead, hundred));
    assert_eq!(kind("rw=rw\nrwmixwrite=100\nrate_iops=100,100"), (Rw::Write, hundred));
}

#[test]
fn a_job_that_writes_is_refused_where_only_reads_are_allowed() {
    let wrong = "the job `a` writes (`rw=randrw`)";
    check_error("[global]\nreadonly\n[a]\nsize=1m\nrw=randrw", 3, wrong, "--readonly");
    check_error("fio --name=a --rw=randrw --size=1m --readonly", 1, wrong, "--readonly");
    check_error("[a]\nreadonly=1\nsize=1m\nrw=trim", 1, "`rw=trim`", "--readonly");
    assert_eq!(job("readonly\nsize=1m\nrw=randrw\nrwmixread=100").notes.len(), 0);
    assert_eq!(job("readonly=0\nsize=1m\nrw=write").workload.rw, Some(Rw::Write));
}

#[test]
fn a_difference_from_fio_is_named() {
    let noted = |text: &str, part: &str| {
        let notes = job(&format!("size=1m\n{text}")).notes;
        assert!(notes.iter().any(|note| note.contains(part)), "{part}: {notes:?}");
    };
    noted("ramp_time=1\nruntime=9", "the requests of the ramp are additional");
    noted("rw=randread\npercentage_random=85", "blocks may repeat");
    noted("rw=randread\nbsrange=4k-64k", "those between used ones are smaller");
    noted("nrfiles=4\nfile_service_type=random", "take turns");
    noted("nrfiles=4\nfile_service_type=sequential", "one after the other");
    noted("rw=randread\nnrfiles=4\nfile_service_type=sequential", "at the same time");
    noted("max_latency=1s", "does not end the job");
    noted("rate_min=1m", "does not end the job");
}

#[test]
fn groups_begin_where_a_job_waits() {
    let groups = |text: &str| -> Vec<u32> { read(text).iter().map(|job| job.group).collect() };
    assert_eq!(
        groups("[a]\n[b]\nwait_for=a\n[c]\nwait_for=a\n[d]\nwait_for_previous"),
        [0, 1, 1, 2]
    );
    assert_eq!(groups("[global]\nstonewall\n[a]\n[b]\n[c]\nstonewall=0"), [0, 1, 1]);
}

#[test]
fn what_is_arranged_around_a_job_is_kept() {
    let conduct = job("size=1m\nstartdelay=2\nend_fsync=1\nexitall").conduct;
    assert_eq!(conduct.start_delay, Span::from_secs(2));
    assert!(conduct.end_fsync && conduct.exit_all && !conduct.keep_cache);
    let keep_cache = |text: &str| (job(text).conduct.keep_cache, job(text).notes.is_empty());
    assert_eq!(keep_cache("size=1m\ninvalidate=0"), (true, true));
    assert_eq!(keep_cache("size=1m\ninvalidate=1"), (false, true));
}

#[test]
fn polling_order_and_steady_state_are_read_under_both_of_their_names() {
    let job = |text: &str| job(&format!("rw=randwrite\nruntime=9\nioengine=io_uring\n{text}"));
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
    let flush = |text: &str| {
        let workload = workload(&format!("rw=write\n{text}"));
        (workload.fsync, workload.fdatasync)
    };
    assert_eq!(flush("fsync=8"), (8, false));
    assert_eq!(flush("fdatasync=8"), (8, true));
    let both = "`fsync` and `fdatasync` cannot be used together";
    check_error("[a]\nrw=write\nfsync=8\nfdatasync=8", 1, both, "");
}

#[test]
fn one_request_is_outstanding_where_fio_has_no_more() {
    let job = |text: &str| job(&format!("iodepth=32\nruntime=1\n{text}"));
    for text in ["ioengine=sync", "", "ioengine=libaio\nthinktime=10"] {
        let job = job(text);
        assert_eq!(job.workload.iodepth, Some(1), "{text}");
        let told = |note: &String| note.contains("one request outstanding, as in fio");
        assert!(job.notes.iter().any(told), "{:?}", job.notes);
    }
    assert_eq!(job("ioengine=libaio").workload.iodepth, Some(32));
}

#[test]
fn batch_sizes_are_taken_over() {
    let sizes = "iodepth_batch=8\niodepth_batch_complete=4\niodepth_batch_complete_max=16";
    let taken = job(&format!("ioengine=libaio\niodepth=32\n{sizes}")).workload;
    assert_eq!(taken.iodepth_batch_submit, Some(8));
    assert_eq!(taken.iodepth_batch_complete_min, Some(4));
    assert_eq!(taken.iodepth_batch_complete_max, Some(16));
}

#[test]
fn command_lines_are_read_as_the_job_files_that_they_stand_for() {
    let jobs = read(
        "# as guides have it\n\
         $ sudo fio --direct=1 --size=1m --name=fill --rw=write \\\n   --bs=64k --group_reporting\n\
         fio -filename='a b' -direct 1 -thread -rw=randread -iodepth=8 -ioengine=libaio \
         -size=1m -name=mytest --output-format=json\n",
    );
    let [fill, test] = &jobs[..] else { panic!("{jobs:?}") };
    assert_eq!((fill.name.as_str(), fill.direct, fill.group), ("fill", true, 0));
    assert_eq!((fill.workload.bs, fill.workload.rw), (Some(Bytes::kib(64)), Some(Rw::Write)));
    assert_eq!((test.name.as_str(), test.direct, test.group), ("mytest", true, 1));
    assert_eq!(test.targets, ["a b"]);
    assert_eq!(test.workload.iodepth, Some(8));
    check_error("fio --rw=read", 1, "no job section", "[job]");
    check_error("fio job.fio", 1, "unexpected word `job.fio`", "--job job.fio");
    check_error("fio --name=a \\\n--bs='4k", 2, "unclosed", "");
}

#[test]
fn numbers_that_no_machine_serves_are_refused_where_they_stand() {
    for wrong in [
        "numjobs=2000",
        "numjobs=4000000000",
        "numjobs=0",
        "bssplit=4k/4294967295:64k/101",
        "bssplit=4k/101",
        "runtime=300000d",
        "runtime=9999999:00:00",
        "ramp_time=18446744073709551615d",
        "runtime=1:18446744073709551615",
        "bs=18446744073709551615",
        "rw=read:18446744073709551000",
        "random_distribution=zoned:100/0",
        "random_distribution=zoned:50/100:50/",
    ] {
        let key = wrong.split('=').next().unwrap();
        check_error(&format!("[a]\nsize=1m\n{wrong}"), 3, key, "");
    }
}

#[test]
fn sums_and_products_are_refused_with_the_section() {
    let check = |text: &str, message: &str| check_error(text, 1, message, "");
    check("[a]\nfilesize=8p\nnrfiles=4m\nrw=randread", "`filesize` times `nrfiles`");
    check("[a]\nsize=8191p\noffset=8191p", "`offset` and `size`");
    check("[a]\nsize=1m\nnumjobs=3\noffset_increment=8191p", "`offset_increment`");
}

#[test]
fn jobs_of_all_sections_are_counted_while_they_are_read() {
    let sections = |count: usize| "[a]\nsize=1m\nnumjobs=8\n".repeat(count);
    assert_eq!(read(&sections(128)).len(), 128);
    check_error(&sections(129), 1 + 128 * 3, "1024", "stonewall");
    let apart = "[a]\nsize=1m\nnumjobs=1024\n[b]\nstonewall\nsize=1m\nnumjobs=1024";
    assert_eq!(read(apart).len(), 2);
    let many = "[a]\nstonewall\nsize=1m\n".repeat(5000);
    assert!(refused(&many).message.contains("sections"));
}

#[test]
fn names_and_notes_do_not_multiply() {
    let name = "x".repeat(3000);
    let format = "$jobname".repeat(300);
    let text = format!("[{name}]\nsize=1m\nnumjobs=9\nfilename_format={format}");
    check_error(&text, 1, "longer than", "");
    check_error(&format!("[a]\nsize=1m\n{}=1", "k".repeat(40_000)), 3, "longer than", "");
    let noted: Vec<String> = (1..5000).map(|kib| format!("bs={kib}kib\n")).collect();
    let noted = noted.concat();
    assert!(job(&format!("size=1m\n{noted}")).notes.len() <= 100);
}
