//! Kinds of requests, their pace and their addresses.

use super::*;

fn zones_of(text: &str) -> Option<String> {
    workload(text).strided.map(|zones| zones.to_string())
}

fn check_distribution(given: &str, read: &str) {
    let distribution = workload(&format!("rw=randread\nrandom_distribution={given}"));
    assert_eq!(distribution.distribution.to_string(), read, "{given}");
    assert!(!distribution.each_once || read == "random", "{given}");
}

fn check_engine(given: &str, engine: &str, noted: bool) {
    let read = job(&format!("size=1m\niodepth=8\nhipri=1\nioengine={given}"));
    assert_eq!((read.ioengine, note_of(&read, "ioengine")), (engine, noted), "{given}");
    assert_eq!((read.workload.iodepth, read.polling), (Some(1), Polling::default()));
    assert!(note_of(&read, "iodepth") && note_of(&read, "hipri"), "{:?}", read.notes);
}

fn note_of(job: &FileJob, key: &str) -> bool {
    job.notes.iter().any(|note| note.starts_with(&format!("`{key}`")))
}

#[test]
fn each_trimmed_block_is_written() {
    let rw = workload("rw=randtrimwrite");
    assert_eq!(rw.rw, Rw::RandTrimWrite);
    assert!(rw.rw.trims() && rw.rw.sends() && !rw.rw.reads() && rw.rw.is_random());
    // Sixteen blocks, each trimmed and written.
    assert_eq!(options("rw=trimwrite\nsize=64k").number_ios, Some(32));
    assert_eq!(options("rw=trimwrite\nsize=64k\nnumber_ios=10").number_ios, Some(10));
    let half = options("rw=trimwrite\nsize=64k\nio_size=32k");
    assert_eq!(half.number_ios, Some(16));
    check_error("[a]\nrw=trimwrite\nsize=1m\nbs=4k,4k,8k", 1, "`bs` differs", "");
    check_error("[a]\nrw=trimwrite\nsize=1m\nverify=md5", 1, "`verify`", "rw=write");
}

#[test]
fn a_rate_may_be_less_than_a_block_per_second() {
    let slow = Pace::Slow { rate: Bytes::kib(1), block: Bytes::kib(4), iodepth: 1 };
    let read = job("rw=read\nsize=1m\nrate=1024\nbs=4k");
    assert_eq!(read.workload(None).unwrap().check().unwrap().pace, slow);
    assert!(!note_of(&read, "rate"), "{:?}", read.notes);
    check_error("[a]\nsize=1m\nrate=1k\nrate_process=poisson", 1, "0 requests per second", "");
    let without = job("rw=read\nsize=1m\nrate_process=poisson");
    assert!(note_of(&without, "rate_process") && without.workload.check().is_ok());
}

#[test]
fn zones_are_used_one_after_the_other() {
    let three = "zonemode=strided\nzonesize=64k\nzonerange=1m\nzoneskip=3m";
    assert_eq!(zones_of(three).as_deref(), Some("64k/1M/3M"));
    assert_eq!(zones_of("zonesize=64k").as_deref(), Some("64k/64k/0"), "as before `zonemode`");
    assert_eq!(zones_of("zonemode=none\nzoneskip=1m"), None);
    // Zones reach to the end of a file that exists; what is moved is the size.
    let read = job(&format!("size=1m\n{three}"));
    let options = read.workload(Some(Bytes::gib(1))).unwrap();
    assert_eq!((options.size, options.number_ios), (Some(Bytes::gib(1)), Some(256)));
    check_error("[a]\nsize=1m\nzonemode=none\nzonesize=64k", 1, "contradicts", "omit");
    for size in ["", "\nzonesize=0"] {
        check_error(&format!("[a]\nsize=1m\nzonemode=strided{size}"), 1, "needs `zonesize`", "1m");
    }
    check_error("[a]\nsize=1m\nzonemode=zbd\nzonesize=64k", 3, "zoned device", "strided");
    check_error("[a]\nsize=1m\nzonesize=1k", 1, "no room for a block", "");
}

#[test]
fn distributions_have_the_defaults_of_fio() {
    check_distribution("random", "random");
    check_distribution("zipf", "zipf:1.1");
    check_distribution("zipf:1.2:0.5", "zipf:1.2");
    check_distribution("pareto", "pareto:0.2");
    check_distribution("normal", "normal:0");
    check_distribution("normal:2.5:0.3", "normal:2.5");
    check_distribution("zoned:60/10:40/", "zoned:60/10:40/");
    check_distribution("zoned_abs:60/20G:40/,60/20G:40/", "zoned_abs:60/20G:40/");
    let two = "[a]\nsize=1m\nrandom_distribution=zoned:60/10:40/,50/10:50/";
    check_error(two, 3, "differs between reads and writes", "separate sections");
    check_error("[a]\nrandom_distribution=normal:101", 2, "percentage from 0 to 100", "");
    check_error("[a]\nrandom_distribution=sequence:1,2", 2, "unknown distribution", "");
}

#[test]
fn a_system_call_is_an_engine_of_its_own() {
    check_engine("psync", "psync", false);
    check_engine("pvsync", "pvsync", false);
    check_engine("pvsync2", "pvsync2", false);
    check_engine("sync", "psync", true);
    check_engine("vsync", "psync", true);
}

#[test]
fn several_jobs_each_find_their_steady_state() {
    let read = job("size=1g\nnumjobs=4\nss=iops:5%\nss_dur=10\nruntime=60\ntime_based");
    assert!(read.workload(None).unwrap().check().unwrap().steady.is_some());
    assert!(note_of(&read, "ss"), "{:?}", read.notes);
}

#[test]
fn a_flag_with_any_number_but_none_is_set() {
    for (given, expected) in [("=600", true), ("=0", false), ("", true), ("=1", true)] {
        let read = job(&format!("size=1m\nruntime=9\ntime_based{given}"));
        let ends = read.workload(None).unwrap().number_ios.is_some();
        assert_eq!(ends, !expected, "{given}");
    }
    check_error("[a]\ntime_based=soon", 2, "neither `on` nor `off`", "");
}

#[test]
fn locked_memory_changes_nothing_without_the_page_cache() {
    assert!(note_of(&job("size=1m\ndirect=1\nlockmem=1g"), "lockmem"));
    assert!(!note_of(&job("size=1m\nlockmem=0"), "lockmem"));
    check_error("[a]\nsize=1m\nlockmem=1g", 1, "uses the page cache", "direct=1");
}

#[test]
fn names_and_options_that_fio_takes_are_taken() {
    for name in ["aio", "linuxaio"] {
        assert_eq!(job(&format!("size=1m\nioengine={name}")).ioengine, "libaio", "{name}");
    }
    // Without the bracket fio cuts off a character.
    for (line, name) in [("[job]", "job"), ("[jobs", "job"), ("[größe", "größ")] {
        assert_eq!(read(&format!("{line}\nsize=1m"))[0].name, name, "{line}");
    }
    check_error("[", 1, "first section", "[global]");
    for key in ["replay_no_stall", "softrandommap"] {
        let read = job(&format!("size=1m\n{key}=1"));
        assert!(note_of(&read, key), "{:?}", read.notes);
    }
    check_error("[a]\nreplay_no_stall=1\nread_iolog=t", 3, "read_iolog", "drivelab replay");
}
