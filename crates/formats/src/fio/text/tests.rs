//! Reports in the form of fio 2.14 and 3.28, written for these tests.

use super::*;
use drivelab_core::record::{Better, Figure, Flaw, Label, Nature, Phase};

const NEW: &str = "\
$ fio --name=mix --filename=/dev/sdx --direct=1 --rw=randrw --bs=4k --iodepth=32
mix: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=32
...
fio-3.28
Starting 1 process

mix: (groupid=0, jobs=1): err= 0: pid=4711: Thu Dec 21 11:05:31 2023
  read: IOPS=67.4k, BW=263MiB/s (276MB/s)(7900MiB/30001msec)
    slat (nsec): min=1765, max=478k, avg=2703.41, stdev=1047.69
    clat (usec): min=139, max=1090.1k, avg=474.25, stdev=57.50
     lat (usec): min=141, max=1090.2k, avg=477.00, stdev=57.50
    clat percentiles (usec):
     |  1.00th=[   62], 50.00th=[  450], 90.00th=[  500], 95.00th=[  650],
     | 99.00th=[  873], 99.50th=[ 1352], 99.90th=[ 2401], 99.95th=[ 2631],
   bw (  KiB/s): min=   24, max=  272, per=25.54%, avg=148.40, stdev=77.02, samples=83
  write: IOPS=990, BW=3960KiB/s (4055kB/s)(116MiB/30001msec); 0 zone resets
    clat (nsec): min=900, max=2000, avg=1500.50, stdev=5.00
     lat (nsec): min=900, max=2100, avg=1600.50, stdev=5.00
  sync (usec): min=534, max=15766, avg=1273.08, stdev=1084.70
  sync percentiles (usec):
   |  50.00th=[  783], 99.00th=[ 2376],
  lat (usec)   : 250=0.06%, 500=0.19%
  cpu          : usr=0.01%, sys=0.14%, ctx=1547, majf=0, minf=11
     issued rwts: total=2022067,29700,0,29700 short=0,0,0,0 dropped=0,0,0,0

Run status group 0 (all jobs):
   READ: bw=263MiB/s (276MB/s), 263MiB/s-263MiB/s (276MB/s-276MB/s), io=7900MiB, run=30001-30001msec
";

#[test]
fn jobs_of_one_name_that_ran_one_after_the_other_are_apart() {
    let of = |group: u32, bs: &str, iops: u32| {
        (
            format!(
                "r: (g={group}): rw=randread, bs=(R) {bs}-{bs}, (W) {bs}-{bs}, (T) {bs}-{bs}, \
                 ioengine=libaio, iodepth=1\n"
            ),
            format!(
                "r: (groupid={group}, jobs=1): err= 0: pid={group}: Mon Jul  2 01:01:41 2018\n  \
                 read: IOPS={iops}, BW=1MiB/s (1MB/s)(9MiB/1000msec)\n"
            ),
        )
    };
    let parts = [of(0, "8192B", 400), of(1, "16.0KiB", 300)];
    let heads: String = parts.iter().map(|(head, _)| head.as_str()).collect();
    let reports: String = parts.iter().map(|(_, report)| report.as_str()).collect();
    let imported = parse(&format!("{heads}fio-3.7\n{reports}")).unwrap();
    let run = &imported.runs[0];
    let iops: Vec<f64> = run.phases.iter().map(|phase| phase.figures[0].value).collect();
    assert_eq!(iops, [400.0, 300.0]);
    assert_eq!(run.phases[1].name, "r_g1");
    assert_eq!((run.work.get("r_g0.bs"), run.work.get("r_g1.bs")), (Some("8k"), Some("16k")));
}

const OLD: &str = "\
seq: (g=0): rw=read, bs=1M-1M/1M-1M/1M-1M, ioengine=sync, iodepth=1
fio-2.14
seq: (groupid=0, jobs=1): err= 0: pid=1: Sun Jan  4 09:35:11 1998
  read : io=1104.8GB, bw=2,500KB/s, iops=314, runt=3600299msec
    clat (msec): min=48, max=10371, avg=223.98, stdev=106.05
    clat percentiles (msec):
     | 50.00th=[  212], 99.00th=[  529], 99.90th=[>=2000]
seq: (groupid=0, jobs=1): err= 5 (file:filesetup.c:1, func=open, error=I/O): pid=2: Sun Jan  4
  read : io=1104.8GB, bw=1024KB/s, iops=100, runt= 30029msec
    clat (msec): min=48, max=10371, avg=100.00, stdev=106.05
     issued    : total=r=100/w=0/d=0, short=r=0/w=0/d=0, drop=r=0/w=0/d=0
";

fn metrics(imported: &Imported) -> Vec<Figure> {
    imported.runs.iter().flat_map(|run| &run.phases).flat_map(Phase::metrics).collect()
}

#[track_caller]
fn value(imported: &Imported, name: &str) -> f64 {
    let metrics = metrics(imported);
    let names: Vec<_> = metrics.iter().map(|figure| &figure.name).collect();
    let found = metrics.iter().find(|figure| figure.name == name);
    found.unwrap_or_else(|| panic!("{name} is not among {names:?}")).value
}

#[test]
fn a_command_without_direct_is_buffered_where_its_engine_is() {
    let check = |command: &str, engine: &str, nature: Option<Nature>| {
        let text = format!(
            "{command}\na: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) \
             4096B-4096B, ioengine={engine}, iodepth=1\nfio-3.33\na: (groupid=0, jobs=1): err= 0: \
             pid=1: Fri Nov 27 11:12:00 2026\n  read: IOPS=100, BW=400KiB/s (410kB/s)(4000KiB/10000msec)\n"
        );
        let imported = parse(&text).unwrap();
        let phase = &imported.runs[0].phases[0];
        let unknown = imported.notes.iter().any(|note| note.contains("does not say whether"));
        assert_eq!((!unknown).then_some(phase.nature), nature, "{text}");
    };
    let (cache, disk) = (Some(Nature::PageCache), Some(Nature::Disk));
    check("$ fio --name=a --rw=randread --ioengine=libaio", "libaio", cache);
    check("$ fio --name=a --rw=randread --direct=1", "psync", disk);
    check("$ fio --name=a --rw=randread \\\n  --direct=1", "psync", disk);
    check("$ fio --name=a --rw=randread \\\n  --direct=0", "psync", cache);
    // Its requests do not reach the page cache of this machine.
    check("$ fio --name=a --rw=randread", "rbd", None);
    // What a job file says is not known.
    check("$ fio --output=x a.fio", "psync", None);
    check("", "psync", None);
}

#[test]
fn both_directions_and_the_sync_are_read() {
    let imported = parse(NEW).unwrap();
    assert_eq!((imported.tool.as_str(), imported.tool_version.as_str()), ("fio", "3.28"));
    let check = |name: &str, expected: f64| {
        assert_eq!(value(&imported, name).to_bits(), expected.to_bits(), "{name}");
    };
    check("read_iops", 67_400.0);
    check("write_iops", 990.0);
    check("iops", 68_390.0);
    check("read_bytes_per_s", 263.0 * 1_048_576.0);
    check("write_bytes_per_s", 3960.0 * 1024.0);
    check("read_lat_mean_ns", 477e3);
    check("read_clat_p99_ns", 873e3);
    check("read_clat_p99_9_ns", 2401e3);
    check("write_lat_mean_ns", 1600.5);
    check("sync_lat_mean_ns", 1273.08 * 1e3);
    check("sync_lat_p99_ns", 2376e3);
    let sync = metrics(&imported).into_iter().find(|it| it.name == "sync_lat_mean_ns").unwrap();
    assert_eq!(sync.nature, Some(Nature::JournalSync));
    assert_eq!(imported.unknown, Vec::<String>::new());
    let work = &imported.runs[0].work;
    assert_eq!(work.to_string(), "rw=randrw bs=4k iodepth=32 ioengine=libaio direct=1");
}

#[test]
fn the_old_form_has_kilobytes_of_1024_bytes() {
    let imported = parse(OLD).unwrap();
    assert_eq!(value(&imported, "bytes_per_s").to_bits(), (3524.0 * 1024.0_f64).to_bits());
    assert_eq!(value(&imported, "iops").to_bits(), 414.0_f64.to_bits());
    assert!(matches!(imported.runs[0].flaws[..], [Flaw::Error { .. }]));
    let listed = imported.unknown.join("\n");
    assert!(listed.contains("percentiles of several jobs cannot be combined"), "{listed}");
    assert!(listed.contains("line 7: `| 50.00th="), "{listed}");
    assert!(imported.notes.iter().any(|note| note.contains("does not say")));
}

#[test]
fn snapshots_of_a_call_are_one_run_and_calls_are_several() {
    let report = &NEW[NEW.find("mix: (groupid").unwrap()..];
    let imported = parse(&format!("{NEW}{}", report.replace("67.4k", "70.0k"))).unwrap();
    assert_eq!(imported.runs.len(), 1);
    assert_eq!(value(&imported, "read_iops").to_bits(), 70_000.0_f64.to_bits());
    assert!(imported.notes[0].contains("several times by one call"), "{:?}", imported.notes);
    let other = parse(&format!("{NEW}{}", report.replace("pid=4711", "pid=4712"))).unwrap();
    assert_eq!(other.runs.len(), 2);
    assert_eq!(parse(&NEW.repeat(2)).unwrap().runs.len(), 2);
}

#[test]
fn lines_that_notes_quote_below_a_report_are_calls_of_their_own() {
    let iops = |text: &str| {
        let imported = parse(text).unwrap();
        let rate = |run: &drivelab_core::foreign::ImportedRun| {
            run.phases[0].figures.iter().find(|it| it.name == "iops").unwrap().value
        };
        imported.runs.iter().map(rate).collect::<Vec<f64>>()
    };
    let head = "test: (groupid=0, jobs=1): err= 0: pid=1559: Mon Jan  5 20:39:06 2026\n";
    let read = "  read: IOPS=45, BW=45.7MiB/s (47.9MB/s)(958MiB/20975msec)\n";
    let write = "  write: IOPS=86, BW=346KiB/s (354kB/s)(3576KiB/10344msec); 0 zone resets\n";
    assert_eq!(
        iops(&format!("{head}{read}with a cache:\n{}", read.replace("45,", "94,"))),
        [45.0, 94.0]
    );
    assert_eq!(iops(&format!("{head}{read}{write}")), [131.0]);
    assert_eq!(iops(&format!("{head}{read}{}{write}", "note\n".repeat(80))), [45.0, 86.0]);
    let end = "  cpu          : usr=0.01%, sys=0.14%, ctx=1547, majf=0, minf=11\n";
    assert_eq!(iops(&format!("{head}{read}{end}{write}")), [45.0, 86.0]);
    // Copies of a job are printed together.
    let copy = head.replace("1559", "1560").replace("39:06", "39:07");
    assert_eq!(iops(&format!("{head}{read}{copy}{read}")), [90.0]);
    let later = copy.replace("20:39", "20:52");
    assert_eq!(iops(&format!("{head}{read}{later}{read}")), [45.0, 45.0]);
    let next_day = copy.replace("Jan  5", "Jan  6");
    assert_eq!(iops(&format!("{head}{read}{next_day}{read}")), [45.0, 45.0]);
    let before = head.replace("20:39:06", "23:59:58");
    let after = next_day.replace("20:39:07", "00:00:01");
    assert_eq!(iops(&format!("{before}{read}{after}{read}")), [90.0]);
}

#[test]
fn a_report_without_its_head_is_read() {
    let from = NEW.find("  read: IOPS").unwrap();
    let pasted = &NEW[from..NEW.find("Run status").unwrap()];
    assert!(is_fio_text(pasted));
    let imported = parse(&pasted.repeat(2)).unwrap();
    assert_eq!(imported.runs.len(), 2);
    assert_eq!(value(&imported, "read_iops").to_bits(), 67_400.0_f64.to_bits());
    let sync = &pasted[pasted.find("  sync (usec)").unwrap()..];
    assert!(is_fio_text(sync) && !is_fio_text("read: IOPS are many\n"));
    let expected = 1273.08 * 1e3;
    assert_eq!(value(&parse(sync).unwrap(), "sync_lat_mean_ns").to_bits(), f64::to_bits(expected));
}

#[test]
fn the_page_cache_is_named_where_the_command_says_so() {
    let imported = parse(&NEW.replace("--direct=1", "--direct=0")).unwrap();
    let labels: Vec<Label> =
        metrics(&imported)[0].remarks.iter().map(|remark| remark.label).collect();
    assert_eq!(labels, [Label::Nature(Nature::PageCache), Label::SingleRun]);
    let null = parse(&NEW.replace("libaio", "null")).unwrap();
    assert_eq!(null.runs[0].phases[0].nature, Nature::Cpu);
}

/// The labels of a figure of writes that ran with these options.
fn labels(options: &str, name: &str) -> Vec<Label> {
    let text = NEW.replace("--direct=1", options).replace("  read: IOPS", "  odd: IOPS");
    let imported = parse(&text).unwrap();
    let figure = metrics(&imported).into_iter().find(|it| it.name == name).unwrap();
    figure.remarks.iter().map(|remark| remark.label).collect()
}

#[test]
fn options_of_the_command_decide_what_was_measured() {
    let (cache, single) = (Label::Nature(Nature::PageCache), Label::SingleRun);
    assert_eq!(labels("--direct 0", "iops"), [cache, single]);
    assert_eq!(labels("--direct 1", "iops"), [single]);
    assert_eq!(labels("--direct", "iops"), [single]);
    assert_eq!(labels("--direct=1 --rate_iops=50", "iops"), [single, Label::SetRate]);
    assert_eq!(labels("--direct=0 --fsync=1", "iops"), [single]);
    assert_eq!(labels("--direct=0 --fsync=1", "lat_mean_ns"), [single, cache]);
    assert_eq!(labels("--direct=0 --sync=1", "lat_mean_ns"), [single]);
}

#[test]
fn the_sum_of_clients_is_read_where_it_is_alone() {
    let imported = parse(&NEW.replace("mix: (groupid", "All clients: (groupid")).unwrap();
    assert_eq!(value(&imported, "read_iops").to_bits(), 67_400.0_f64.to_bits());
}

#[test]
fn percentiles_of_few_requests_are_left_out() {
    let imported = parse(&NEW.replace("total=2022067", "total=9000")).unwrap();
    let names: Vec<String> = metrics(&imported).into_iter().map(|it| it.name).collect();
    assert!(names.contains(&"read_clat_p50_ns".to_owned()), "{names:?}");
    assert!(!names.contains(&"read_clat_p99_ns".to_owned()), "{names:?}");
}

proptest::proptest! {
    #[test]
    fn no_damage_panics(at in 0..2600_usize, cut in 0..30_usize, put in "[0-9.,=(\\[|: a-zK\n]{0,8}") {
        let mut text = NEW.to_owned() + OLD;
        let at = at.min(text.len());
        let end = (at + cut).min(text.len());
        text.replace_range(at..end, &put);
        if let Ok(imported) = parse(&text) {
            for figure in metrics(&imported) {
                proptest::prop_assert!(figure.value.is_finite() && figure.value >= 0.0);
            }
        }
    }

    #[test]
    fn no_text_panics(text: String) {
        let _ = parse(&format!("a: (groupid=0, jobs=1): err= 0:\n{text}"));
    }

    #[test]
    fn what_is_written_comes_back(iops in 1_u32..2_000_000, kib in 1_u32..9_999_999, us in 1_u32..9_999) {
        let text = format!(
            "j: (groupid=0, jobs=1): err= 0: pid=1: now\n  read: IOPS={iops}, BW={kib}KiB/s (1MB/s)\
             (1MiB/1msec)\n     lat (usec): min=1, max=9, avg={us}.00, stdev=1\n"
        );
        let imported = parse(&text).unwrap();
        assert_eq!(value(&imported, "iops").to_bits(), f64::from(iops).to_bits());
        assert_eq!(value(&imported, "bytes_per_s").to_bits(), (f64::from(kib) * 1024.0).to_bits());
        assert_eq!(value(&imported, "lat_mean_ns").to_bits(), (f64::from(us) * 1e3).to_bits());
        assert_eq!(metrics(&imported)[0].better, Better::More);
    }
}
