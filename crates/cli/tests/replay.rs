//! `replay`: recorded traces against modelled drives.

use std::path::{Path, PathBuf};

use crate::common::{drivelab, file, folder};

/// Where the measured traces lie; they are not part of this repository.
#[expect(clippy::print_stderr, reason = "a test that is left out says so")]
fn measured() -> Option<PathBuf> {
    let named = std::env::var_os("DRIVELAB_DISKSIM").map(PathBuf::from);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("in crates/");
    let path = named.unwrap_or_else(|| root.join("../shared/data/disksim"));
    let there = path.join("hp_c2247a.trace").exists();
    let must = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(there || !must, "with CI=true the traces must be in {}", path.display());
    if !there {
        eprintln!("LEFT OUT: no traces in {}; name them in DRIVELAB_DISKSIM", path.display());
    }
    there.then_some(path)
}

#[test]
fn a_boot_takes_as_long_with_ahci_and_a_defragmentation_shorter_with_a_write_cache() {
    let folder = folder();
    let seconds = |shape: &str, keys: &str| {
        let drive = format!("hitachi-hts542516k9sa00,{keys}");
        let arguments = ["replay", shape, "--drive", &drive, "--json"];
        let said = drivelab(folder.path(), &arguments);
        assert_eq!(said.out, drivelab(folder.path(), &arguments).out, "the same bytes");
        let json = said.json();
        assert_eq!((&json["format"], &json["errors"]), (&"shape".into(), &0.into()), "{json}");
        json["elapsed_ns"].as_f64().unwrap() / 1e9
    };
    let boot = ["ide", "ahci"].map(|mode| seconds("shape:boot", &format!("controller={mode}")));
    assert!((boot[0] / boot[1] - 1.0).abs() < 0.02 && boot[0] > 15.0, "{boot:?}");
    let cache = |cache: &str| seconds("shape:defrag", &format!("write-cache={cache}"));
    let copy = [cache("off"), cache("on")];
    assert!(copy[0] > 1.1 * copy[1], "{copy:?}");
    let wrong = ["replay", "shape:bot", "--drive", "generic-5400"];
    drivelab(folder.path(), &wrong).failed(2, &["`bot`", "boot"]);
}

/// Demerit for all, reads and writes as `DiskSim` prints it for the same files.
const DISKSIM: [(&str, [f64; 3]); 6] = [
    ("cheetah9LP", [0.108, 0.123, 0.151]),
    ("atlas10k", [0.268, 0.385, 0.167]),
    ("barracuda", [0.348, 0.497, 0.265]),
    ("hp_c2247a", [0.094, 0.147, 0.124]),
    ("hp_c2490a", [0.255, 0.815, 1.491]),
    ("dec_rz26", [0.340, 0.272, 1.060]),
];

#[test]
fn measured_drives_are_met_as_well_as_disksim_meets_them() {
    let Some(data) = measured() else { return };
    let folder = folder();
    for (name, bars) in DISKSIM {
        let path = |ending: &str| data.join(format!("{name}.{ending}")).display().to_string();
        let (trace, drive) = (path("trace"), path("parv"));
        let arguments = ["replay", &trace, "--drive", &drive, "--score", "--json"];
        let arguments = [&arguments[..], &["--times", "times.txt"]].concat();
        let score = drivelab(folder.path(), &arguments).json()["score"].clone();
        for (which, bar) in ["all", "reads", "writes"].into_iter().zip(bars) {
            let demerit = score[which]["demerit_ms"].as_f64().unwrap();
            // The figures are printed with three digits.
            assert!(demerit < bar + 0.0005, "{name}, {which}: {demerit} against {bar}");
        }
        let theirs = std::fs::read_to_string(path("disksim_service_ms.txt")).unwrap();
        let ours = std::fs::read_to_string(folder.path().join("times.txt")).unwrap();
        assert_eq!(ours.lines().count(), theirs.lines().count(), "{name}");
        if name == "hp_c2247a" {
            same_answers(&ours, &theirs);
            let near = score["all"]["within_0_1_ms"].as_f64().unwrap();
            let far = score["all"]["within_0_5_ms"].as_f64().unwrap();
            assert!(near >= 0.565 && far >= 0.95, "{near} {far}");
        }
    }
}

/// Where phase can be recovered, the model must say what `DiskSim` says, request by request.
fn same_answers(ours: &str, theirs: &str) {
    let number = |line: &str| line.trim().parse::<f64>().unwrap();
    for (request, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
        let (ours, theirs) = (number(ours), number(theirs));
        assert!((ours - theirs).abs() < 0.02, "request {request}: {ours} against {theirs} ms");
    }
}

#[test]
fn times_come_in_the_order_of_the_trace() {
    let folder = folder();
    // On a drive that sorts its queue the nearest is served first; the times stay in order.
    let mut trace = String::from("fio version 3 iolog\n");
    for request in 0..200_u64 {
        let offset = (request * 7_919_999 % 200_000) * 4_000_000 / 512 * 512;
        trace.push_str(&format!("{request} f read {offset} 4096\n"));
    }
    file(folder.path(), "sorted.log", &trace);
    let drive = "seagate-st31000333as";
    let arguments = ["replay", "sorted.log", "--drive", drive, "--times", "times.txt", "--json"];
    let said = drivelab(folder.path(), &arguments);
    // 200 requests within 200 us: no drive keeps up, and the times are those of the queue.
    assert_eq!(said.code, 4, "{said:?}");
    let said: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((&said["requests"], &said["errors"]), (&200.into(), &0.into()));
    assert_eq!((&said["lat_ns"], &said["withheld"][0]["id"]), (&().into(), &"late".into()));
    assert_eq!((&said["loop"], &said["format"]), (&"open".into(), &"fio".into()));
    let times = std::fs::read_to_string(folder.path().join("times.txt")).unwrap();
    let times: Vec<f64> = times.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(times.len(), 200);
    assert!(times.iter().all(|ms| *ms * 1e6 <= said["elapsed_ns"].as_f64().unwrap()));
    assert!(times.windows(2).any(|pair| pair[0] > pair[1]), "the drive did not sort");
}

#[test]
fn wrong_requests_are_answered_with_the_place() {
    let folder = folder();
    let check = |content: &str, more: &[&str], words: &[&str]| {
        file(folder.path(), "a.trace", content);
        let arguments = [&["replay", "a.trace", "--drive", "generic-10k"][..], more].concat();
        drivelab(folder.path(), &arguments).failed(2, words);
    };
    check("R Hit 1 8 1 1\nR Hit 1 eight 1 1\n", &[], &["a.trace, line 2", "`eight`"]);
    check("", &[], &["contains no requests"]);
    check("0,1,512,R,0.1\n", &["--score"], &["no measured times"]);
    check("R Hit 1 8 1 1\n", &["--format", "tape"], &["tape"]);
    drivelab(folder.path(), &["replay", "none.trace", "--drive", "generic-10k"])
        .failed(2, &["none.trace"]);
    file(folder.path(), "bad.parv", "topology disksim_disk disk0 [] ]");
    drivelab(folder.path(), &["replay", "none.trace", "--drive", "bad.parv"])
        .failed(2, &["bad.parv:1:"]);
}

#[test]
fn the_report_of_a_score_is_one_page() {
    let folder = folder();
    file(folder.path(), "a.trace", &"R Hit 4096 8 5000 100\nW Hit 99 8 4000 100\n".repeat(50));
    let arguments =
        ["replay", "a.trace", "--drive", "generic-10k", "--score", "--report", "a.html"];
    let said = drivelab(folder.path(), &arguments);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("demerit ms") && said.out.contains("closed loop"), "{said:?}");
    let page = std::fs::read_to_string(folder.path().join("a.html")).unwrap();
    assert_eq!(page.matches("<figure>").count(), 4, "two each for in use by");
}

/// A trace of SPC: reads one after the other, `apart_us` apart, of `unit`.
fn spc(requests: u64, apart_us: u64, lba: impl Fn(u64) -> u64) -> String {
    let line = |request| {
        let us = request * apart_us;
        format!("0,{},4096,r,{}.{:06}\n", lba(request), us / 1_000_000, us % 1_000_000)
    };
    (0..requests).map(line).collect()
}

#[test]
fn requests_of_other_units_are_never_dropped_silently() {
    let folder = folder();
    file(folder.path(), "spc", "0,100,4096,r,0.0\n1,200,4096,r,0.1\n0,300,4096,r,0.2\n");
    let replay = ["replay", "spc", "--drive", "generic-10k", "--json"];
    drivelab(folder.path(), &replay).failed(2, &["line 2", "0 and 1", "`--device 0`"]);
    let one = drivelab(folder.path(), &[&replay[..], &["--device", "0"]].concat()).json();
    assert_eq!(one["requests"], 2);
    let notes = one["notes"].to_string();
    assert!(notes.contains("1 requests of other devices were left out"), "{notes}");
    let none = drivelab(folder.path(), &[&replay[..], &["--device", "7"]].concat());
    none.failed(2, &["none of `7`", "`--device 0`"]);
}

#[test]
fn a_drive_that_does_not_keep_up_or_refuses_requests_has_no_latency() {
    let folder = folder();
    let scattered = |request| request * 7_919_999 % 40_000_000;
    file(folder.path(), "slow", &spc(300, 100_000, scattered));
    file(folder.path(), "fast", &spc(3000, 1000, scattered));
    let past_end = |request| if request == 7 { 1 << 40 } else { scattered(request) };
    file(folder.path(), "past", &spc(300, 100_000, past_end));
    let replay = |trace: &str, more: &[&str]| {
        let arguments = [&["replay", trace, "--drive", "generic-10k"][..], more].concat();
        drivelab(folder.path(), &arguments)
    };
    let slow = replay("slow", &["--json"]).json();
    assert!(slow["lat_ns"]["mean"].as_u64() > Some(0), "{slow}");
    assert_eq!(slow["withheld"].as_array().map(Vec::len), Some(0));
    let check = |trace: &str, id: &str, words: [&str; 2]| {
        let said = replay(trace, &[]);
        assert_eq!(said.code, 4, "{said:?}");
        let flat = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("latency withheld"), "{said:?}");
        assert!(words.iter().all(|words| flat.contains(words)), "{said:?}");
        let json: serde_json::Value =
            serde_json::from_str(&replay(trace, &["--json"]).out).unwrap();
        assert_eq!((&json["lat_ns"], &json["withheld"][0]["id"]), (&().into(), &id.into()));
    };
    check("fast", "late", ["did not keep up", "`--loop closed`"]);
    check("past", "errors", ["1 of 300 requests are past the end", "a drive of at least"]);
    let closed = replay("fast", &["--loop", "closed"]);
    assert_eq!(closed.code, 0, "one at a time, each has the drive's own latency: {closed:?}");
}

#[test]
fn a_trace_of_a_real_drive_is_scored_with_the_times_between_issue_and_completion() {
    let folder = folder();
    let mut trace = String::new();
    for request in 0..100_u64 {
        let (second, lba) = (request, request * 7_919_999 % 40_000_000);
        let mut event = |cpu: u64, action: &str, us: u64, end: &str| {
            trace += &format!(
                "  8,0 {cpu} {request} {second}.{us:06} 697 {action} R {lba} + 8 [{end}]\n"
            );
        };
        event(1, "Q", 0, "a");
        event(1, "D", 100, "a");
        event(0, "C", 6100, "0");
    }
    file(folder.path(), "sda.txt", &trace);
    let replay = ["replay", "sda.txt", "--drive", "generic-10k", "--json"];
    let scored = drivelab(folder.path(), &[&replay[..], &["--score"]].concat()).json();
    assert_eq!(scored["score"]["reads"]["n"], 100);
    assert_eq!(scored["score"]["reads"]["measured_mean_ms"], 6.0);
    let queued = [&replay[..], &["--score", "--events", "queued"]].concat();
    drivelab(folder.path(), &queued).failed(2, &["no measured times", "`--events issued`"]);
}
