//! Studies of a matrix: several drives behind each controller, and findings held against them.

use serde_json::Value;

use crate::common::{drivelab, file, folder, left_out};

/// Three cells on three drives behind a narrow and a wide bus.
const SMALL: &str = r#"
title = "Does a narrow bus matter?"
primary = "sequential-read-1.scaling"
blocks = 6

[base]
drive = "seagate-st31000333as"
drives = 3

[[arm]]
name = "narrow"
bus = "pci"
price_usd = 100

[[arm]]
name = "wide"
bus = "pcie2x4"

[matrix]
read = [100]
random = [0]
threads = [1]
bs = ["256k", "1m", "4m"]
runtime = "2s"

[[finding]]
name = "The wide bus lets three drives work"
figure = "sequential-read-1.scaling of wide"
source = "an article"
at_least = 0.98

[[finding]]
name = "Three drives share what the narrow bus carries"
figure = "sequential-read-1.best_bytes_per_s of narrow"
at_most = 119_000_000

[[finding]]
name = "The narrow bus is enough"
figure = "sequential-read-1.scaling of narrow over wide"
at_least = 0.9
"#;

fn study(text: &str, arguments: &[&str]) -> crate::common::Said {
    let folder = folder();
    let path = file(folder.path(), "small.toml", text);
    let path = path.display().to_string();
    let mut all = vec!["study", &path];
    all.extend(arguments);
    drivelab(folder.path(), &all)
}

#[test]
fn findings_are_held_against_the_cells() {
    let said = study(SMALL, &["--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    let result = said.json();
    assert_eq!(result["schema"], "drivelab.study/1");
    let verdict = |name: &str| -> Value {
        let findings = result["findings"].as_array().unwrap();
        findings.iter().find(|it| it["name"] == name).unwrap()["verdict"].clone()
    };
    assert_eq!(verdict("The wide bus lets three drives work"), "holds");
    assert_eq!(verdict("Three drives share what the narrow bus carries"), "holds");
    assert_eq!(verdict("The narrow bus is enough"), "does-not-hold");
    let cells = result["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 6);
    for cell in cells {
        let alone: f64 =
            cell["alone_bytes_per_s"].as_array().unwrap().iter().filter_map(Value::as_f64).sum();
        let sum = cell["sum_bytes_per_s"].as_f64().unwrap();
        assert!((cell["scaling"].as_f64().unwrap() - sum / alone).abs() < 1e-12, "{cell}");
        // No cell carries more than the bus does.
        let most = if cell["arm"] == "narrow" { 119e6 } else { 1600e6 };
        assert!(sum <= most, "{cell}");
    }
    let metrics = result["metrics"].as_array().unwrap();
    let names: Vec<&str> = metrics.iter().filter_map(|metric| metric["name"].as_str()).collect();
    let group = |metric: &str| format!("sequential-read-1.{metric}");
    let metrics = drivelab_analysis::cells::METRICS;
    assert_eq!(names, metrics.iter().map(|metric| group(metric)).collect::<Vec<_>>());
    assert_eq!(result["verdict"], "faster");
    let warned = result["metrics"].to_string();
    assert!(!warned.contains("order-"), "cells in virtual time have no order: {warned}");
    assert_eq!(result["price"][0]["arms"][0]["price_usd"], 100.0);
}

#[test]
fn one_block_decides_nothing() {
    let result = study(SMALL, &["--json", "--blocks", "1"]).json();
    assert_eq!(result["verdict"], "inconclusive");
    let findings = result["findings"].as_array().unwrap();
    assert!(findings.iter().all(|one| one["verdict"] == "cannot-tell"), "{findings:?}");
}

#[test]
fn the_first_screen_says_what_holds_and_the_page_shows_the_cells() {
    let folder = folder();
    file(folder.path(), "small.toml", SMALL);
    let run =
        |out: &str| drivelab(folder.path(), &["study", "small.toml", "--explain", "--out", out]);
    let said = run("one");
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("Holds: The wide bus lets three drives work"), "{}", said.out);
    assert!(said.out.contains("Does not hold: The narrow bus is enough"), "{}", said.out);
    run("other");
    let read = |place: &str| std::fs::read_to_string(folder.path().join(place)).unwrap();
    for name in ["result.json", "report.html"] {
        let (one, other) = (read(&format!("one/{name}")), read(&format!("other/{name}")));
        assert_eq!(one, other, "{name}: the same seed, the same bytes");
    }
    assert!(read("one/report.html").contains("The wide bus lets three drives work"));
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let check = |from: &str, to: &str, words: &[&str]| {
        assert!(SMALL.contains(from), "{from}");
        study(&SMALL.replacen(from, to, 1), &[]).failed(2, words);
    };
    check("drives = 3", "drives = 1", &["`scaling`", "`bytes_per_s`"]);
    check("[matrix]", "[matrix]\ntogether = false", &["`together`"]);
    check("[matrix]", "[matrix]\ntargets = [\"a\", \"b\"]", &["2 targets", "matrix of 3"]);
    check("[matrix]", "[matrix]\ntargets = [\"drive:a\"]", &["`targets`", "modelled drive"]);
    check("scaling of wide\"", "scaling of wild\"", &["the arm `wild`", "`wide`"]);
    check("at_most = 119_000_000", "at_most = 1\nat_least = 2", &["is above `at_most`"]);
    check("scaling of wide\"", "scaling\"", &["WORKLOAD.METRIC of ARM"]);
    check("at_least = 0.98", "at_least = 0.98\ntake = \"min\"", &["`take`"]);
    check("sequential-read-1.scaling", "sequential-read-2.scaling", &["sequential-read-1"]);
    check("sequential-read-1.scaling", "sequential-read-1.iops", &["`scaling`"]);
    check("[matrix]", "[[workload]]\nname = \"w\"\n[matrix]", &["either `[matrix]` or"]);
    check("bus = \"pcie2x4\"", "bus = \"pcie9x4\"", &["`pcie1x8`"]);
    study(SMALL, &["--resume"]).failed(2, &["no study was begun"]);
    study(SMALL, &["--stage", "kernel"]).failed(2, &["3 drives", "has one", "--stage simulate"]);
    study(SMALL, &["--stage", "hardware"]).failed(2, &["needs a target"]);
    let one = ["--stage", "hardware", "--target", "file"];
    study(SMALL, &one).failed(2, &["3 drives", "as many targets", "targets = ["]);
}

#[test]
fn a_matrix_study_that_was_killed_goes_on_to_the_bytes_of_an_undisturbed_one() {
    let folder = folder();
    file(folder.path(), "small.toml", SMALL);
    let run = |more: &[&str]| {
        drivelab(folder.path(), &[&["study", "small.toml", "--blocks", "2"], more].concat())
    };
    run(&["--out", "whole"]);
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let whole = read("whole/runs.jsonl");
    assert_eq!(whole.split_inclusive(|byte| *byte == b'\n').count(), 2 * 2 * 3 * 4);
    // As a kill in the middle of a line leaves it.
    run(&["--out", "killed"]);
    for name in ["result.json", "report.html"] {
        std::fs::remove_file(folder.path().join("killed").join(name)).unwrap();
    }
    std::fs::write(folder.path().join("killed/runs.jsonl"), &whole[..whole.len() / 3]).unwrap();
    let said = run(&["--out", "killed", "--resume"]);
    assert_eq!(said.code, 0, "{said:?}");
    for name in ["runs.jsonl", "result.json", "report.html"] {
        assert!(read(&format!("whole/{name}")) == read(&format!("killed/{name}")), "{name}");
    }
}

#[test]
fn a_group_of_cells_can_be_run_alone() {
    let text = SMALL.replace("random = [0]", "random = [0, 100]");
    let all = study(&text, &["--json", "--blocks", "1"]).json();
    let only = study(&text, &["--json", "--blocks", "1", "--only", "sequential-read-1"]).json();
    assert_eq!(
        (all["cells"].as_array().unwrap().len(), all["workloads"][1].is_null()),
        (12, false)
    );
    let sequential: Vec<&Value> =
        all["cells"].as_array().unwrap().iter().filter(|cell| cell["random"] == 0).collect();
    assert_eq!(only["cells"].as_array().unwrap().iter().collect::<Vec<_>>(), sequential);
    study(&text, &["--only", "random-read-1"]).failed(2, &["`sequential-read-1` must be among"]);
}

#[test]
fn the_controller_comparison_comes_with_the_program() {
    let folder = folder();
    let said = drivelab(folder.path(), &["study", "--list"]);
    assert!(said.out.contains("two-controllers"), "{said:?}");
}

/// The cells of a result without their figures: what was measured of what.
fn shape(result: &Value) -> Vec<Value> {
    let keys = ["arm", "cursor", "read", "random", "threads", "bs_bytes"];
    let cell = |cell: &Value| {
        let lengths = ["alone_bytes_per_s", "together_bytes_per_s"]
            .map(|key| cell[key].as_array().unwrap().iter().filter(|it| it.is_f64()).count());
        serde_json::json!([keys.map(|key| cell[key].clone()), lengths])
    };
    result["cells"].as_array().unwrap().iter().map(cell).collect()
}

fn names(result: &Value) -> Vec<&str> {
    result["metrics"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect()
}

/// Two drives, with a sequential and a random group of cells.
fn two_drives() -> String {
    SMALL
        .replace("drives = 3", "drives = 2")
        .replace("random = [0]", "random = [0, 100]\ncursor = [\"shared\"]")
        .replace("threads = [1]", "threads = [2]")
        .replace("read-1.", "read-2.")
        .replace("\"256k\", \"1m\", \"4m\"", "\"256k\"")
        .replace("runtime = \"2s\"", "size = \"4m\"\nruntime = \"200ms\"")
}

#[test]
fn a_matrix_on_files_has_the_shape_of_one_in_virtual_time() {
    let simulated = study(&two_drives(), &["--json", "--blocks", "1"]).json();
    let folder = folder();
    let path = |name: &str| format!("{:?}", folder.path().join(name).display().to_string());
    let targets = |arm: &str| {
        let (one, two) = (path(&format!("{arm}-1")), path(&format!("{arm}-2")));
        format!("name = \"{arm}\"\ntargets = [{one}, {two}]")
    };
    let text = two_drives()
        .replace("name = \"narrow\"\nbus = \"pci\"", &targets("narrow"))
        .replace("name = \"wide\"\nbus = \"pcie2x4\"", &targets("wide"));
    file(folder.path(), "files.toml", &text);
    let run = |more: &[&str]| {
        let files = ["study", "files.toml", "--stage", "hardware", "--json", "--blocks", "1"];
        drivelab(folder.path(), &[&files[..], more].concat())
    };
    let said = run(&["--size", "4m"]);
    assert_eq!(said.code, 0, "{said:?}");
    let measured = said.json();
    assert_eq!(measured["stage"], "hardware");
    assert_eq!(shape(&measured), shape(&simulated));
    assert_eq!(names(&measured), names(&simulated));
    for file in ["narrow-1", "narrow-2", "wide-1", "wide-2"] {
        assert_eq!(std::fs::metadata(folder.path().join(file)).unwrap().len(), 4 << 20, "{file}");
    }
    // One file twice is no matrix of two drives.
    std::fs::remove_file(folder.path().join("wide-2")).unwrap();
    std::fs::hard_link(folder.path().join("wide-1"), folder.path().join("wide-2")).unwrap();
    run(&[]).failed(2, &["wide-2", "are the same"]);
}

#[test]
fn served_drives_of_a_matrix_are_parts_of_one_file() {
    if !std::path::Path::new("/dev/fuse").exists() {
        return left_out("stage emulate", "no /dev/fuse");
    }
    let folder = folder();
    // Random reads of whole drives: what takes a drive milliseconds no host serves too late.
    let text = two_drives()
        .replace("random = [0, 100]", "random = [100]")
        .replace("sequential-read-2.scaling", "random-read-2.scaling")
        .replace("size = \"4m\"\nruntime = \"200ms\"", "runtime = \"500ms\"");
    let (text, _) = text.split_once("[[finding]]").unwrap();
    file(folder.path(), "small.toml", text);
    let run = |more: &[&str]| {
        drivelab(folder.path(), &[&["study", "small.toml", "--blocks", "1"], more].concat())
    };
    let simulated = run(&["--json", "--out", "simulated"]).json();
    let said = run(&["--json", "--out", "out", "--stage", "emulate"]);
    let text = std::fs::read_to_string(folder.path().join("out/runs.jsonl")).unwrap();
    let runs: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // One group of one block size in two arms: each drive alone, and both.
    assert_eq!(runs.len(), 2 * 3);
    let rate = |job: &Value| job["bytes_per_s"].as_f64().unwrap();
    for run in &runs {
        let (record, both) = (&run["record"], run["task"]["cell"].as_u64().unwrap() % 3 == 2);
        let drives = if both { 2 } else { 1 };
        let target = record["target"].as_str().unwrap();
        assert!(target.contains(&format!("drives={drives}")), "{target}");
        let jobs = record["jobs"].as_array().unwrap();
        assert_eq!((jobs.len(), &record["marks"][0]["id"]), (drives, &"emulated".into()));
        assert!(jobs.iter().all(|job| rate(job) > 0.0), "{record}");
        // No drive is faster than its bus.
        let narrow = run["step"]["arm"] == 0;
        let most = if narrow { 133e6 } else { 2e9 };
        assert!(jobs.iter().map(rate).sum::<f64>() < most, "{record}");
    }
    if said.code == 3 {
        // The answer of a machine that was too busy.
        assert!(said.err.contains("too late"), "{said:?}");
        return;
    }
    assert_eq!(shape(&said.json()), shape(&simulated));
    assert_eq!(names(&said.json()), names(&simulated));
}

#[test]
fn a_matrix_of_one_drive_compares_throughput() {
    let text = two_drives()
        .replace("drives = 2\n", "")
        .replace("sequential-read-2.scaling of", "sequential-read-2.bytes_per_s of")
        .replace("sequential-read-2.scaling", "sequential-read-2.bytes_per_s");
    let said = study(&text, &["--json", "--blocks", "1"]);
    assert_eq!(said.code, 0, "{said:?}");
    let simulated = said.json();
    let of_group = |group: &str| {
        ["bytes_per_s", "worst_bytes_per_s", "best_bytes_per_s"].map(|it| format!("{group}.{it}"))
    };
    let expected = [of_group("sequential-read-2"), of_group("random-read-2")].concat();
    assert_eq!(names(&simulated), expected);
    assert!(simulated["cells"][0]["scaling"].is_null());
    let said = study(&text, &["--blocks", "1"]);
    assert!(said.out.contains("Throughput: geometric mean over block sizes"), "{}", said.out);
    let on_a_file = ["--json", "--blocks", "1", "--stage", "hardware", "--size", "4m"];
    let on_a_file = [&on_a_file[..], &["--target", "file"]].concat();
    study(&text, &on_a_file).failed(2, &["nothing sets `bus` here"]);
    let switched = text.replace("bus = \"pci\"", "apply = \"true\"");
    let switched = switched.replace("bus = \"pcie2x4\"", "apply = \"true\"");
    let said = study(&switched, &on_a_file);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(shape(&said.json()), shape(&simulated));
}

#[test]
fn arms_of_a_matrix_have_drives_of_their_own_in_the_part_that_all_have() {
    let text = two_drives()
        .replace("bus = \"pci\"\nprice_usd = 100", "drive = \"generic-5400\"")
        .replace("name = \"wide\"\nbus = \"pcie2x4\"", "name = \"wide\"")
        .replace("size = \"4m\"\n", "");
    let said = study(&text, &["--json", "--blocks", "1"]);
    assert_eq!(said.code, 0, "{said:?}");
    let result = said.json();
    let rate = |arm: &str| {
        let cells = result["cells"].as_array().unwrap();
        let of_arm = |it: &&Value| it["arm"] == arm && it["random"] == 0;
        cells.iter().find(of_arm).unwrap()["alone_bytes_per_s"][0].as_f64().unwrap()
    };
    assert!(rate("wide") > 1.2 * rate("narrow"), "a desktop drive reads faster");
    assert!(result["notes"].to_string().contains("500107862016 bytes"), "{}", result["notes"]);
}

#[test]
fn arrays_are_drives_like_others() {
    let folder = folder();
    let show = |keys: &str| {
        let spec = format!("seagate-st31000333as,{keys}");
        drivelab(folder.path(), &["drive", "show", &spec, "--json"])
    };
    let capacity = |keys: &str| show(keys).json()["capacity_bytes"].as_u64().unwrap();
    let one = 1_000_204_886_016;
    // Whole chunks of each member count.
    let chunks = one / (512 << 10) * (512 << 10);
    assert_eq!(capacity("drives=5"), 5 * one);
    assert_eq!(capacity("drives=5,raid=0"), 5 * chunks);
    assert_eq!(capacity("drives=2,raid=1"), chunks);
    assert_eq!(capacity("drives=5,raid=5,bus=pci"), 4 * chunks);
    assert_eq!(capacity("drives=6,raid=6"), 4 * chunks);
    assert_eq!(capacity("drives=6,raid=10"), 3 * chunks);
    show("raid=5").failed(2, &["drives=3"]);
    show("drives=3,raid=6").failed(2, &["drives=4"]);
    show("drives=2,raid=0,failed=1").failed(2, &["RAID 0"]);
    show("drives=5,raid=5,failed=5").failed(2, &["count from 0"]);
    show("drives=2,chunk=64k").failed(2, &["raid=0"]);
    let run = |keys: &str| {
        let target = format!("drive:seagate-st31000333as,{keys}");
        let arguments = ["run", &target, "--rw", "randwrite", "--number-ios", "300", "--json"];
        let said = drivelab(folder.path(), &arguments);
        assert_eq!(said.code, 0, "{said:?}");
        said.json()["total"]["lat_ns"]["mean"].as_f64().unwrap()
    };
    // Read-modify-write: a write to RAID 5 waits for a read, one to RAID 0 for nothing.
    let (striped, parity) = (run("drives=5,raid=0"), run("drives=5,raid=5"));
    assert!(parity > 1.5 * striped, "{parity} against {striped}");
}
