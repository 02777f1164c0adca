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
    let said = drivelab(folder.path(), &arguments).json();
    assert_eq!((&said["requests"], &said["errors"]), (&200.into(), &0.into()));
    assert_eq!((&said["loop"], &said["format"]), (&"open".into(), &"fio".into()));
    let times = std::fs::read_to_string(folder.path().join("times.txt")).unwrap();
    let times: Vec<f64> = times.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(times.len(), 200);
    let longest = times.iter().copied().fold(0.0, f64::max);
    assert!((longest - said["lat_ns"]["max"].as_f64().unwrap() / 1e6).abs() < 1e-6);
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
