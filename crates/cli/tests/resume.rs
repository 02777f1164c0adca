//! Studies and matrices that were killed, damaged or begun twice: nothing that was finished is
//! lost, and what goes on ends as if nothing had happened.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};

use crate::common::{PROGRAM, SMALL, Said, WRITING, drivelab, file, folder, said, starter};

/// A study of one drive in virtual time with a curve, so that every kind of run is kept.
fn modelled() -> String {
    drawn().replace("as\"", "as,specimen=1\"")
}

/// The same with another drive in each block.
fn drawn() -> String {
    let curve = "\n[curve]\niodepth = [1, 4]\nrw = \"randread\"\nruntime = \"1s\"\n";
    SMALL.replace("iodepth = 32", "iodepth = 8").replace("10s", "2s") + curve
}

/// Runs of the study above: 6 blocks of 2 arms, with one workload and two depths each.
const RUNS: usize = 36;

/// The results of a study that nobody disturbed, in `whole` below the folder.
fn undisturbed(folder: &Path) -> PathBuf {
    file(folder, "study.toml", &modelled());
    let said = drivelab(folder, &["study", "study.toml", "--out", "whole"]);
    assert!([0, 1, 4].contains(&said.code), "{said:?}");
    folder.join("whole")
}

/// A copy of `whole` as it would be before its result, with another journal.
fn copy_with(whole: &Path, name: &str, journal: &[u8]) -> PathBuf {
    let copy = whole.with_file_name(name);
    fs::create_dir(&copy).unwrap();
    for name in ["study.toml", "plan.json"] {
        fs::copy(whole.join(name), copy.join(name)).unwrap();
    }
    fs::write(copy.join("runs.jsonl"), journal).unwrap();
    copy
}

fn resume(out: &Path) -> Said {
    let (folder, name) = (out.parent().unwrap(), out.file_name().unwrap().to_str().unwrap());
    drivelab(folder, &["study", "study.toml", "--out", name, "--resume"])
}

/// Checks that two results folders hold the same result, byte by byte.
fn same(one: &Path, other: &Path, what: &str) {
    for name in ["result.json", "report.html"] {
        let read = |folder: &Path| fs::read(folder.join(name)).unwrap();
        assert!(read(one) == read(other), "{what}: {name} differs");
    }
}

#[test]
fn a_resumed_study_ends_with_the_bytes_of_an_undisturbed_one() {
    let folder = folder();
    let whole = undisturbed(folder.path());
    let journal = fs::read(whole.join("runs.jsonl")).unwrap();
    let lines: Vec<&[u8]> = journal.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(lines.len(), RUNS);
    for kept in [0, 1, 17, 35, 36] {
        let copy = copy_with(&whole, &format!("cut-{kept}"), &lines[..kept].concat());
        let said = resume(&copy);
        assert!([0, 1, 4].contains(&said.code), "{said:?}");
        same(&whole, &copy, &format!("{kept} runs kept"));
        assert!(fs::read(copy.join("runs.jsonl")).unwrap() == journal, "{kept} runs kept");
    }
}

#[test]
fn a_study_remembers_its_scale_and_refuses_another_one() {
    let folder = folder();
    file(folder.path(), "study.toml", &(modelled() + "\n[workload.full]\nruntime = \"1s\"\n"));
    let study = |more: &[&str]| {
        let words = ["study", "study.toml", "--json", "--no-archive", "--out", "it"];
        drivelab(folder.path(), &[&words[..], more].concat())
    };
    let first = study(&["--scale", "full"]);
    assert!([0, 1, 4].contains(&first.code), "{first:?}");
    let json = first.json();
    assert_eq!(json["scale"], "full");
    let again = json["reproduce"].as_str().unwrap();
    assert!(again.contains("--scale full"), "{again}");
    study(&["--resume", "--scale", "stated"])
        .failed(2, &["was started with --scale full, not stated", "--resume remembers it"]);
    assert_eq!(study(&["--resume"]).json()["scale"], "full");
    file(folder.path(), "plain.toml", &modelled());
    drivelab(folder.path(), &["study", "plain.toml", "--scale", "full"])
        .failed(2, &["no workload of stage simulate has a `full`", "omit --scale"]);
    drivelab(folder.path(), &["articles", "--stage", "simulate", "--scale", "full"])
        .failed(2, &["none of these studies has a full scale"]);
}

#[test]
fn a_resumed_study_draws_the_drives_that_were_missing() {
    let folder = folder();
    file(folder.path(), "study.toml", &drawn());
    let arguments = ["study", "study.toml", "--out", "whole", "--specimens", "8"];
    let said = drivelab(folder.path(), &arguments);
    assert!([0, 1, 4].contains(&said.code), "{said:?}");
    let whole = folder.path().join("whole");
    let journal = fs::read(whole.join("runs.jsonl")).unwrap();
    let lines: Vec<&[u8]> = journal.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(lines.len(), 48);
    let copy = copy_with(&whole, "cut", &lines[..19].concat());
    let said = resume(&copy);
    assert!([0, 1, 4].contains(&said.code), "{said:?}");
    same(&whole, &copy, "8 specimens");
    assert!(fs::read(copy.join("runs.jsonl")).unwrap() == journal);
    // A study of one drive is not continued with many, nor the other way round.
    let arguments = ["study", "study.toml", "--out", "cut", "--resume", "--specimens", "1"];
    drivelab(folder.path(), &arguments).failed(2, &["a specimen a block"]);
}

#[test]
fn numbers_are_read_as_they_were_written() {
    let folder = folder();
    let study = |more: &[&str]| {
        let arguments = ["study", "ahci-or-ide", "--blocks", "2", "--out", "whole"];
        drivelab(folder.path(), &[&arguments[..], more].concat())
    };
    study(&[]);
    let whole = folder.path().join("whole");
    let journal = fs::read(whole.join("runs.jsonl")).unwrap();
    let copy = copy_with(&whole, "copy", &journal);
    fs::rename(&whole, folder.path().join("first")).unwrap();
    fs::rename(&copy, &whole).unwrap();
    study(&["--resume"]);
    same(&folder.path().join("first"), &whole, "every run read again");
}

#[test]
fn damaged_lines_are_named_and_what_stands_behind_them_is_kept() {
    let folder = folder();
    let whole = undisturbed(folder.path());
    let journal = fs::read(whole.join("runs.jsonl")).unwrap();
    let second = journal.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut damaged = journal.clone();
    damaged[second] = b'X';
    let copy = copy_with(&whole, "damaged", &damaged);
    let said = resume(&copy);
    assert!([0, 1, 4].contains(&said.code), "{said:?}");
    assert!(said.err.contains("runs.jsonl:2 is damaged"), "{said:?}");
    same(&whole, &copy, "a damaged line");
    let now = fs::read(copy.join("runs.jsonl")).unwrap();
    assert!(now.starts_with(&damaged), "finished runs were thrown away");
    let added = &now[damaged.len()..];
    assert_eq!(added.split_inclusive(|byte| *byte == b'\n').count(), 1, "one run is made again");
}

#[test]
fn a_flipped_bit_is_named_and_never_taken_for_data() {
    let folder = folder();
    let whole = undisturbed(folder.path());
    let journal = fs::read(whole.join("runs.jsonl")).unwrap();
    // Places spread over the whole file by a prime, each with another bit; and its last byte.
    let places = (0..24_usize).map(|number| number * 7919 * 131 % journal.len());
    for (number, place) in places.chain([journal.len() - 1]).enumerate() {
        let mut flipped = journal.clone();
        flipped[place] ^= 1 << (number % 8);
        let copy = copy_with(&whole, &format!("flip-{number}"), &flipped);
        let said = resume(&copy);
        let what = format!("bit {} of byte {place}", number % 8);
        assert!(said.err.contains("runs.jsonl:"), "{what} is not named: {said:?}");
        same(&whole, &copy, &what);
    }
}

#[test]
fn a_damaged_plan_or_study_is_named_and_the_runs_are_kept() {
    let folder = folder();
    let whole = undisturbed(folder.path());
    let journal = fs::read(whole.join("runs.jsonl")).unwrap();
    for (name, place) in [("plan.json", 300), ("plan.json", 5), ("study.toml", 30)] {
        let copy = copy_with(&whole, &format!("{name}-{place}"), &journal);
        let mut content = fs::read(copy.join(name)).unwrap();
        content[place] ^= 2;
        fs::write(copy.join(name), content).unwrap();
        let said = resume(&copy);
        assert!([0, 1, 4].contains(&said.code), "{name}: {said:?}");
        assert!(said.err.contains(&format!("{name}` is damaged")), "{said:?}");
        same(&whole, &copy, name);
    }
}

#[test]
fn a_line_that_is_there_twice_counts_once() {
    let folder = folder();
    let whole = undisturbed(folder.path());
    let journal = fs::read(whole.join("runs.jsonl")).unwrap();
    for number in [0, 4, 20] {
        let line = journal.split_inclusive(|byte| *byte == b'\n').nth(number).unwrap();
        let copy = copy_with(&whole, &format!("twice-{number}"), &[&journal, line].concat());
        resume(&copy);
        same(&whole, &copy, &format!("line {number} twice"));
    }
}

#[test]
fn folders_of_the_released_layout_are_read() {
    let folder = folder();
    let whole = undisturbed(folder.path());
    // As it was written before lines had checksums: records and plan alone.
    let without = |text: &str| match text.rfind(",\"crc32\":\"") {
        Some(at) => format!("{}}}", &text[..at]),
        None => text.to_owned(),
    };
    let journal = fs::read_to_string(whole.join("runs.jsonl")).unwrap();
    let journal: String = journal.lines().take(20).map(|line| without(line) + "\n").collect();
    let copy = copy_with(&whole, "released", journal.as_bytes());
    let text = fs::read_to_string(copy.join("plan.json")).unwrap();
    let mut plan: serde_json::Value = serde_json::from_str(&text).unwrap();
    let fields = plan.as_object_mut().unwrap();
    fields.retain(|key, _| ["schema", "target", "stage", "seed", "plan"].contains(&key.as_str()));
    fields["schema"] = "drivelab.plan/1".into();
    fs::write(copy.join("plan.json"), serde_json::to_string_pretty(&plan).unwrap()).unwrap();
    let said = resume(&copy);
    assert!([0, 1, 4].contains(&said.code), "{said:?}");
    same(&whole, &copy, "the released layout");
    let now = fs::read_to_string(copy.join("runs.jsonl")).unwrap();
    assert!(now.starts_with(&journal), "finished runs were thrown away");
    assert_eq!(now.lines().count(), RUNS);
}

#[test]
fn one_folder_is_used_by_one_process() {
    let folder = folder();
    let whole = undisturbed(folder.path());
    let held = File::options().append(true).open(whole.join("runs.jsonl")).unwrap();
    held.lock().unwrap();
    for more in [&["--resume"][..], &[]] {
        let arguments = [&["study", "study.toml", "--out", "whole"][..], more].concat();
        drivelab(folder.path(), &arguments).failed(2, &["another drivelab", "whole"]);
    }
    drop(held);
    assert!([0, 1, 4].contains(&resume(&whole).code));
}

/// Runs the program with files limited to `kib` KiB, which kills it at the write beyond.
fn limited(folder: &Path, kib: usize, arguments: &[&str]) -> Said {
    let mut shell = starter(folder, "bash");
    shell.args(["-c", &format!("ulimit -c 0; ulimit -f {kib}; exec \"$0\" \"$@\""), PROGRAM]);
    shell.args(arguments);
    let output = shell.output().unwrap();
    assert_eq!(output.status.signal(), Some(25), "no SIGXFSZ: {:?}", said(output.clone()));
    said(output)
}

#[test]
fn a_study_that_was_killed_goes_on_to_the_bytes_of_an_undisturbed_one() {
    let folder = folder();
    let whole = undisturbed(folder.path());
    let journal = fs::read(whole.join("runs.jsonl")).unwrap();
    let length = journal.len() / 1024;
    for part in [2, 5, 9] {
        let out = format!("killed-{part}");
        let arguments = ["study", "study.toml", "--out", &out];
        limited(folder.path(), length * part / 10, &arguments);
        let killed = folder.path().join(&out);
        let before = fs::read(killed.join("runs.jsonl")).unwrap();
        assert!(before.len() > 1024 && before.len() < journal.len());
        let resumed = resume(&killed);
        assert!([0, 1, 4].contains(&resumed.code), "{resumed:?}");
        same(&whole, &killed, &out);
        assert!(fs::read(killed.join("runs.jsonl")).unwrap() == journal, "{out}");
    }
}

const CELLS: &str = r#"
targets = ["data"]
read = [100]
random = [0, 100]
threads = [1, 2]
bs = ["4k", "64k"]
runtime = "10ms"
size = "256k"
blocks = 4
"#;

#[test]
fn a_matrix_that_was_killed_goes_on_and_keeps_its_cells() {
    let folder = folder();
    file(folder.path(), "data", &"x".repeat(256 << 10));
    file(folder.path(), "cells.toml", CELLS);
    let arguments = ["run", "--matrix", "cells.toml", "--out", "out", "--json"];
    let out = folder.path().join("out");
    let mut before = Vec::new();
    for kib in [16, 48] {
        limited(folder.path(), kib, &arguments);
        let now = fs::read(out.join("runs.jsonl")).unwrap();
        let whole = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        assert!(now.starts_with(&before[..whole]), "finished cells stay");
        assert!(now.len() > before.len());
        before = now;
    }
    let first = drivelab(folder.path(), &arguments);
    assert_eq!(first.code, 0, "{first:?}");
    assert_eq!(first.json()["cells"].as_array().unwrap().len(), 32);
    let results = fs::read(out.join("result.json")).unwrap();
    let page = fs::read(out.join("report.html")).unwrap();
    // A cell that is damaged is measured again, in its place; all others keep their bytes.
    let cells = fs::read_to_string(out.join("runs.jsonl")).unwrap();
    assert_eq!(cells.lines().count(), 32);
    let again = drivelab(folder.path(), &arguments);
    assert_eq!(again.out, first.out);
    assert!(results == fs::read(out.join("result.json")).unwrap());
    assert!(page == fs::read(out.join("report.html")).unwrap());
    fs::write(out.join("runs.jsonl"), cells.replacen("\"iops\":", "\"iops\":9", 1)).unwrap();
    let mended = drivelab(folder.path(), &arguments);
    assert!(mended.err.contains("runs.jsonl:1 is damaged"), "{mended:?}");
    let order = |said: &Said| -> Vec<String> {
        let cells = said.json()["cells"].as_array().unwrap().clone();
        cells.iter().map(|cell| cell["cell"].to_string()).collect()
    };
    assert_eq!(order(&mended), order(&first));
}

#[test]
fn a_matrix_whose_plan_is_damaged_keeps_its_cells() {
    let folder = folder();
    file(folder.path(), "data", &"x".repeat(256 << 10));
    file(folder.path(), "cells.toml", CELLS);
    let arguments = ["run", "--matrix", "cells.toml", "--out", "out", "--json"];
    let first = drivelab(folder.path(), &arguments);
    assert_eq!(first.code, 0, "{first:?}");
    let (plan, path) = (folder.path().join("out/plan.json"), folder.path().join("out/runs.jsonl"));
    let (whole, cells) = (fs::read(&plan).unwrap(), fs::read(&path).unwrap());
    let mut damaged = whole.clone();
    damaged[10] ^= 1;
    fs::write(&plan, &damaged).unwrap();
    let again = drivelab(folder.path(), &arguments);
    assert!(again.err.contains("plan.json` is damaged"), "{again:?}");
    assert_eq!(again.out, first.out);
    assert!(fs::read(&path).unwrap() == cells && fs::read(&plan).unwrap() == whole);
    // Of another matrix nothing is taken, whatever became of the file that names it.
    file(folder.path(), "cells.toml", &CELLS.replace("10ms", "20ms"));
    drivelab(folder.path(), &arguments).failed(2, &["another study or matrix file", "--out"]);
    fs::write(&plan, &damaged).unwrap();
    drivelab(folder.path(), &arguments).failed(2, &["plan.json` is damaged", "--out"]);
    assert!(fs::read(&path).unwrap() == cells);
}

#[test]
fn an_interruption_before_the_first_block_is_one() {
    for signal in ["INT", "TERM"] {
        let folder = folder();
        let study = WRITING.replace("DO", &format!("kill -{signal} $PPID"));
        file(folder.path(), "real.toml", &study);
        let arguments = ["study", "real.toml", "--target", "data", "--size", "1M"];
        let said = drivelab(folder.path(), &arguments);
        said.failed(130, &["interrupted", "--resume"]);
        let kept = folder.path().join("drivelab-results/real");
        assert!(kept.join("plan.json").exists() && !kept.join("result.json").exists());
    }
}

#[test]
fn a_command_that_takes_its_time_is_interrupted_and_undone() {
    let folder = folder();
    let study = WRITING.replace("DO", "kill -INT $PPID; sleep 20; touch slept");
    let study = study.replace("revert = \"true\"", "revert = \"touch undone\"");
    file(folder.path(), "real.toml", &study);
    let arguments = ["study", "real.toml", "--target", "data", "--size", "1M"];
    drivelab(folder.path(), &arguments).failed(130, &["interrupted"]);
    assert!(!folder.path().join("slept").exists(), "the command went on to its end");
    assert!(folder.path().join("undone").exists());
}

#[test]
fn a_refused_resume_changes_nothing() {
    let folder = folder();
    file(folder.path(), "real.toml", &WRITING.replace("DO", "test ! -e stop"));
    let arguments = ["study", "real.toml", "--target", "data", "--size", "1M"];
    assert!([0, 1, 4].contains(&drivelab(folder.path(), &arguments).code));
    let kept = folder.path().join("drivelab-results/real/runs.jsonl");
    let journal = fs::read(&kept).unwrap();
    let torn = &journal[..journal.len() - 20];
    fs::write(&kept, torn).unwrap();
    let refused = [&arguments[..], &["--resume", "--seed", "7"]].concat();
    drivelab(folder.path(), &refused).failed(2, &["seed"]);
    file(folder.path(), "stop", "");
    let refused = [&arguments[..], &["--resume"]].concat();
    drivelab(folder.path(), &refused).failed(3, &["test ! -e stop"]);
    assert!(fs::read(&kept).unwrap() == torn, "the journal was changed");
}

#[test]
fn a_finished_study_is_never_replaced() {
    let folder = folder();
    file(folder.path(), "study.toml", &modelled());
    let run = |more: &[&str]| drivelab(folder.path(), &[&["study", "study.toml"], more].concat());
    let results = folder.path().join("drivelab-results");
    run(&[]);
    let first = fs::read(results.join("study/runs.jsonl")).unwrap();
    let second = run(&["--seed", "2"]);
    assert!(second.err.contains("drivelab-results/study-2"), "{second:?}");
    assert!(second.err.contains("contains a finished study"), "{second:?}");
    assert!(fs::read(results.join("study/runs.jsonl")).unwrap() == first);
    assert!(fs::read(results.join("study-2/runs.jsonl")).unwrap() != first);
    let out = "drivelab-results/study";
    run(&["--out", out]).failed(2, &["contains a finished study", "--resume", "--out"]);
    // What goes on without a folder's name is the last of that name.
    run(&["--resume", "--blocks", "7"]).failed(2, &["drivelab-results/study-2", "6 blocks"]);
    assert!(fs::read(results.join("study/runs.jsonl")).unwrap() == first);
}

#[test]
fn what_an_unfinished_study_left_is_not_shown_beside_another_plan() {
    let folder = folder();
    let whole = undisturbed(folder.path());
    fs::remove_file(whole.join("result.json")).unwrap();
    limited(folder.path(), 8, &["study", "study.toml", "--out", "whole", "--seed", "9"]);
    assert!(!whole.join("report.html").exists());
}

#[test]
fn a_journal_is_believed_only_where_its_lines_belong_to_its_study() {
    let folder = folder();
    let whole = undisturbed(folder.path());
    let journal = fs::read_to_string(whole.join("runs.jsonl")).unwrap();
    let refused = |name: &str, words: &[&str]| {
        for verb in [
            &["report", name][..],
            &["show", name],
            &["import", name],
            &["compare", name, "whole"],
            &["export", name, "--format", "csv"],
            &["archive", "import", name],
        ] {
            drivelab(folder.path(), verb).failed(2, words);
        }
    };
    let line = journal.lines().nth(2).unwrap();
    let edited = line.replacen("\"iops\":", "\"iops\":1", 1);
    assert_ne!(line, edited);
    copy_with(&whole, "edited", journal.replacen(line, &edited, 1).as_bytes());
    refused("edited", &["runs.jsonl`: line 3 is damaged", "no verdict", "--resume --out edited"]);
    copy_with(&whole, "zeros", (journal.clone() + "\0\0\0\n").as_bytes());
    refused("zeros", &[&format!("runs.jsonl`: line {} is damaged", RUNS + 1)]);
    // The lines of another study, whole as they are.
    let other = copy_with(&whole, "other", journal.as_bytes());
    let text = fs::read_to_string(other.join("study.toml")).unwrap();
    fs::write(other.join("study.toml"), text.replace("title = \"Does", "title = \"Did")).unwrap();
    refused("other", &["lines 1, 2, 3, 4, 5 and 31 more are damaged or belong to another study"]);
    let plan = copy_with(&whole, "plan", journal.as_bytes()).join("plan.json");
    let text = fs::read_to_string(&plan).unwrap();
    fs::write(&plan, text.replace("\"block\":5", "\"block\":4")).unwrap();
    refused("plan", &["plan.json` is damaged", "--resume --out plan"]);
    // What a kill cut off is the end of a session.
    copy_with(&whole, "killed", &journal.as_bytes()[..journal.len() - 10]);
    let report = drivelab(folder.path(), &["report", "killed", "--format", "txt"]);
    assert_eq!(report.code, 0, "{report:?}");
    assert_eq!(drivelab(folder.path(), &["archive", "import", "whole"]).code, 0);
}
