//! Studies whose workloads are commands.

use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::common::{Said, begin, drivelab, file, folder, left_out, said};

/// A study of two arms of which `keys` say what is run.
fn study(keys: &str) -> String {
    format!(
        "title = \"Is it quicker?\"\nprimary = \"bench.tps\"\nblocks = 6\n[[arm]]\nname = \"100\"\n\
         [[arm]]\nname = \"200\"\n[[workload]]\nname = \"bench\"\n{keys}\n"
    )
}

const TPS: &str =
    "[workload.metrics]\ntps = { regex = \"tps = ([0-9.]+)\", unit = \"1/s\", better = \"more\" }";

fn run(folder: &Path, keys: &str, options: &[&str]) -> Said {
    file(folder, "bench.toml", &study(keys));
    drivelab(folder, &[&["study", "bench.toml", "--out", "out", "--json"], options].concat())
}

/// The runs of the journal.
fn runs(folder: &Path) -> Vec<serde_json::Value> {
    let journal = std::fs::read_to_string(folder.join("out/runs.jsonl")).unwrap();
    journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn numbers_that_a_command_prints_are_compared_and_its_output_is_kept() {
    let folder = folder();
    let keys = format!(
        "command = \"echo tps = {{arm}}; echo $((1)) {{seed}} >&2\"\nprepare = \"echo p >> log\"\n\
         check = \"true\"\nreset = \"echo r >> log\"\n{TPS}"
    );
    let said = run(folder.path(), &keys, &[]);
    assert_eq!(said.code, 0, "{said:?}");
    let json = said.json();
    assert_eq!(
        (json["stage"].as_str(), json["verdict"].as_str()),
        (Some("hardware"), Some("faster"))
    );
    let names: Vec<&str> =
        json["metrics"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["bench.tps", "bench.wall_ns", "bench.cpu_ns"]);
    let ratio = json["metrics"][0]["ratio"].as_f64().unwrap();
    assert!((ratio - 2.0).abs() < 1e-9, "{ratio}");
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert_eq!(log, "p\nr\n".repeat(12), "before and after each run");
    let record = &runs(folder.path())[0]["record"];
    let arm = record["config"]["command"].as_str().unwrap();
    let kept = std::fs::read_to_string(folder.path().join("out/output/run-0001.txt")).unwrap();
    assert!(kept.contains(&format!("== command: {arm}")), "{kept}");
    let seed = record["config"]["seed"].to_string();
    assert!(kept.contains(&format!("-- stderr\n1 {seed}\n")), "{kept}");
    assert_eq!(std::fs::read_dir(folder.path().join("out/output")).unwrap().count(), 12);
}

#[test]
fn commands_alone_are_a_study_of_wall_time() {
    let folder = folder();
    let arguments =
        ["study", "--command", "true", "--command", "exit 0", "--prepare", "echo p >> log"];
    let said = drivelab(folder.path(), &[&arguments[..], &["--blocks", "6", "--json"]].concat());
    let json = said.json();
    assert!([0, 1, 4].contains(&said.code), "{said:?}");
    assert_eq!(json["primary"], "command.wall_ns");
    let arms: Vec<&str> =
        json["arms"].as_array().unwrap().iter().map(|arm| arm["name"].as_str().unwrap()).collect();
    assert_eq!(arms, ["true", "exit 0"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("log")).unwrap(), "p\n".repeat(12));
    // The results folder holds the study as a file: nothing else is needed to show it again.
    let again = drivelab(folder.path(), &[&arguments[..], &["--resume", "--json"]].concat());
    assert_eq!((again.json(), again.code), (json, said.code));
    drivelab(folder.path(), &["study", "--command", "true"]).failed(2, &["needs two commands"]);
}

#[test]
fn a_command_that_never_worked_stops_the_study_and_says_what_it_printed() {
    let folder = folder();
    let keys = format!(
        "command = \"test -e ready || {{ echo not ready >&2; exit 7; }}; echo tps = {{arm}}\"\n{TPS}"
    );
    let said = run(folder.path(), &keys, &[]);
    said.failed(3, &["failed with exit status 7", "it printed: not ready"]);
    let kept = std::fs::read_to_string(folder.path().join("out/output/run-0001.txt")).unwrap();
    assert!(kept.contains("not ready"), "{kept}");
    file(folder.path(), "ready", "");
    assert_eq!(run(folder.path(), &keys, &["--resume"]).code, 0);
    let silent = keys.replace("echo tps", "echo tsp");
    let other = crate::common::folder();
    file(other.path(), "ready", "");
    run(other.path(), &silent, &[])
        .failed(3, &["nothing that it printed matches", "it printed: tsp"]);
    let late = format!("command = \"sleep 1000 & sleep 1000\"\ntimeout = \"200ms\"\n{TPS}");
    run(crate::common::folder().path(), &late, &[]).failed(3, &["longer than its `timeout`"]);
}

#[test]
fn a_run_that_fails_among_others_has_no_figures_and_its_verdict_is_withheld() {
    let folder = folder();
    // The ninth run fails.
    let keys = format!(
        "command = \"echo x >> count; test $(wc -l < count) -ne 9 || exit 5; echo tps = {{arm}}\"\n{TPS}"
    );
    let said = run(folder.path(), &keys, &["--blocks", "8"]);
    assert_eq!(said.code, 4, "{said:?}");
    let failed: Vec<serde_json::Value> = runs(folder.path())
        .into_iter()
        .filter(|run| run["record"]["marks"].to_string().contains("\"failed\""))
        .collect();
    assert_eq!(failed.len(), 1);
    assert!(failed[0]["record"].get("phases").is_none(), "{failed:?}");
    let text = said.json().to_string();
    assert!(text.contains("The command of `bench` failed"), "{text}");
    assert!(text.contains("the verdict is withheld"), "{text}");
}

#[test]
fn an_interrupted_study_kills_its_command_and_all_that_it_started() {
    let folder = folder();
    let keys = "command = \"sh -c 'echo $$ > pid; sleep 1000' & wait\"\nreset = \"echo r > log\"";
    file(folder.path(), "bench.toml", &study(keys).replace("bench.tps", "bench.wall_ns"));
    let child = begin(folder.path(), &["study", "bench.toml", "--out", "out"]);
    let pid = loop {
        let text = std::fs::read_to_string(folder.path().join("pid")).unwrap_or_default();
        if let Some(pid) = text.strip_suffix('\n').and_then(|text| text.parse().ok()) {
            break Pid::from_raw(pid).unwrap();
        }
        std::thread::yield_now();
    };
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let said = said(child.wait_with_output().unwrap());
    said.failed(130, &["0 finished runs are kept"]);
    let stat = format!("/proc/{}/stat", pid.as_raw_nonzero());
    let is_zombie = || std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") Z "));
    // A signal is not answered at once.
    while test_kill_process(pid).is_ok() && !is_zombie() {
        std::thread::yield_now();
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("log")).unwrap(), "r\n");
}

#[test]
fn a_command_is_refused_where_it_cannot_run() {
    let folder = folder();
    let keys = format!("command = \"echo tps = 1\"\n{TPS}");
    run(folder.path(), &keys, &["--stage", "simulate"])
        .failed(2, &["virtual time", "--stage emulate"]);
    let target = keys.replace("= 1\"", "= 1 {target}\"");
    run(folder.path(), &target, &[]).failed(2, &["needs a target", "--target FILE"]);
    let unknown = keys.replace("= 1\"", "= 1 {traget}\"");
    run(folder.path(), &unknown, &[])
        .failed(2, &["`{traget}` is not a placeholder", "bench.toml:10"]);
}

#[test]
fn a_study_of_fio_reads_its_figures() {
    if let Err(error) = Command::new("fio").arg("--version").output() {
        return left_out("a study of fio", error);
    }
    let folder = folder();
    let text = "title = \"Do larger blocks move more?\"\nprimary = \"fio.bytes_per_s\"\n\
                blocks = 6\n[[arm]]\nname = \"4k\"\n[[arm]]\nname = \"64k\"\n[[workload]]\nname = \
                \"fio\"\nformat = \"fio\"\ncommand = \"fio --name=fio --rw=randread --size=1M \
                --bs={arm} --randseed=1 --filename={target} --output-format=json\"\n";
    file(folder.path(), "fio.toml", text);
    let study = ["study", "fio.toml", "--target", "data", "--out", "out", "--json"];
    let said = drivelab(folder.path(), &study);
    assert!([0, 1, 4].contains(&said.code), "{said:?}");
    let json = said.json();
    let metrics = json["metrics"].as_array().unwrap();
    assert_eq!(json["primary"], "fio.bytes_per_s");
    assert!(metrics.iter().any(|metric| metric["name"] == "fio.bytes_per_s"), "{metrics:?}");
    // What is compared is what fio printed.
    let run = &runs(folder.path())[0];
    let kept = std::fs::read_to_string(folder.path().join("out/output/run-0001.txt")).unwrap();
    let printed = &kept[kept.find("\n{").unwrap()..=kept.rfind('}').unwrap()];
    let printed: serde_json::Value = serde_json::from_str(printed).unwrap();
    let figures = run["record"]["phases"].to_string();
    let expected = printed["jobs"][0]["read"]["bw_bytes"].as_f64().unwrap();
    assert!(figures.contains(&format!("{expected:?}")), "{expected} in {figures}");
    let wrong = text.replace("fio.bytes_per_s", "fio.write_bytes_per_s");
    file(folder.path(), "wrong.toml", &wrong);
    let wrong = drivelab(folder.path(), &["study", "wrong.toml", "--target", "data", "--out", "w"]);
    wrong.failed(3, &["has no metric", "bytes_per_s"]);
}

#[test]
fn a_value_inside_quotes_is_never_run() {
    let folder = folder();
    let keys = format!("command = \"X='-c sync={{arm}}' sh -c 'echo tps = 2'\"\n{TPS}");
    assert_eq!(run(folder.path(), &keys, &[]).json()["verdict"], "no-practical-difference");
    // The value would end the assignment, and `true` would run in place of the command.
    let text = study(&keys).replace("\"200\"", "\"off true\"");
    file(folder.path(), "bench.toml", &text);
    let said = drivelab(folder.path(), &["study", "bench.toml", "--out", "other"]);
    said.failed(
        2,
        &["workload `bench`: `{arm}` is inside quotes", "could read `off true` as code"],
    );
    said.failed(2, &["export X={arm}"]);
    assert!(!folder.path().join("other").exists(), "{said:?}");
}

#[test]
fn a_target_is_never_run() {
    let folder = folder();
    let target = "a;touch PWN;#";
    file(folder.path(), target, "twelve bytes");
    for quotes in ["", "'", "\\\""] {
        let command = format!("cat {quotes}{{target}}{quotes} | wc -c | sed 's/^/tps = /'");
        let keys = format!("command = \"{command}\"\n{TPS}");
        file(folder.path(), "bench.toml", &study(&keys));
        let study = ["study", "bench.toml", "--target", target, "--out", "out", "--json"];
        let said = drivelab(folder.path(), &study);
        assert_eq!(said.json()["verdict"], "no-practical-difference", "{said:?}");
        let figures = runs(folder.path())[0]["record"]["phases"][0]["figures"].to_string();
        assert!(figures.contains("12.0"), "{figures}");
        std::fs::remove_dir_all(folder.path().join("out")).unwrap();
    }
    let keys = format!("command = \"sh -c 'cat {{target}}' | sed 's/^/tps = /'\"\n{TPS}");
    file(folder.path(), "bench.toml", &study(&keys));
    let said = drivelab(folder.path(), &["study", "bench.toml", "--target", target]);
    said.failed(2, &["`{target}` is inside quotes", "could read"]);
    assert!(!folder.path().join("PWN").exists());
}

#[test]
fn a_decimal_comma_is_never_dropped() {
    let folder = folder();
    let keys = |more: &str| {
        format!(
            "command = \"if test {{arm}} = 100; then echo copied, 9,95 s; else echo copied, 10,1 s; \
             fi\"\n[workload.metrics]\ntps = {{ regex = \"copied, (.+) s\", better = \"less\"{more} \
             }}"
        )
    };
    let said = run(folder.path(), &keys(""), &[]);
    said.failed(3, &["the comma in `", "`comma = \"decimal\"` or `comma = \"thousands\"`"]);
    let folder = crate::common::folder();
    let said = run(folder.path(), &keys(", comma = \"decimal\""), &[]);
    let ratio = said.json()["metrics"][0]["ratio"].as_f64().unwrap();
    assert!((ratio - 9.95 / 10.1).abs() < 1e-9, "{ratio}");
    // An expression without commas would take a part of the number.
    let cut = keys("").replace("(.+)", "([0-9.]+)").replace(" s\", better", "\", better");
    let folder = crate::common::folder();
    run(folder.path(), &cut, &[]).failed(3, &["from the middle of a number"]);
}

#[test]
fn commands_run_in_a_locale_whose_numbers_have_a_point() {
    let folder = folder();
    let keys = format!(
        "command = \"echo $LC_ALL >> log; LC_ALL=de_DE.UTF-8; echo $LC_ALL >> log; echo tps = 1\"\n\
         {TPS}"
    );
    assert_eq!(run(folder.path(), &keys, &[]).code, 0);
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert_eq!(log, "C.UTF-8\nde_DE.UTF-8\n".repeat(12));
}

#[test]
fn a_parent_that_ignores_how_its_children_end_changes_nothing() {
    let folder = folder();
    let keys = format!(
        "command = \"echo tps = {{arm}}\"\nprepare = \"echo p >> log\"\nreset = \"echo r >> log\"\n\
         {TPS}"
    );
    file(folder.path(), "bench.toml", &study(&keys));
    let mut perl = crate::common::starter(folder.path(), "perl");
    perl.args(["-e", "$SIG{CHLD} = 'IGNORE'; exec @ARGV", crate::common::PROGRAM]);
    perl.args(["study", "bench.toml", "--out", "out", "--json"]);
    let said = match perl.output() {
        Err(error) => return left_out("a parent that ignores SIGCHLD", error),
        Ok(output) => said(output),
    };
    assert_eq!(said.json()["verdict"], "faster", "{said:?}");
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert_eq!(log, "p\nr\n".repeat(12));
}
