//! Input without an end, without a writer, or larger than anything that makes sense.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{PROGRAM, Said, command, drivelab, file, folder, said, starter};

/// Every verb that reads a file of the user's, the file called IN.
const READERS: [&[&str]; 9] = [
    &["study", "IN"],
    &["compare", "IN"],
    &["compare", "--pairs", "IN"],
    &["run", "--matrix", "IN"],
    &["run", "--job", "IN"],
    &["replay", "IN", "--drive", "generic-10k"],
    &["drive", "fit", "IN", "--out", "out.toml"],
    &["drive", "show", "IN"],
    &["inspect", "--dmesg", "IN", "--root", "."],
];

/// Runs the verb on `input`; a verb that does not end by itself is ended by `timeout`, with 124.
fn on(folder: &Path, verb: &[&str], input: &str) -> Said {
    let input = if verb == ["drive", "show", "IN"] { "IN.toml" } else { input };
    let mut bounded = starter(folder, "timeout");
    bounded.args(["--kill-after=1", "20", "prlimit", "--as=2000000000", PROGRAM]);
    bounded.args(verb.iter().map(|word| if *word == "IN" { input } else { word }));
    said(bounded.output().expect("timeout and prlimit are there"))
}

#[test]
fn input_without_an_end_is_refused_with_the_limit() {
    let folder = folder();
    for device in ["/dev/zero", "/dev/full"] {
        let link = folder.path().join("IN.toml");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(device, link).unwrap();
        for verb in READERS {
            let said = on(folder.path(), verb, device);
            assert_eq!(said.code, 2, "{verb:?} {device}: {said:?}");
            assert!(said.err.len() < 2000, "{verb:?} {device}: {said:?}");
            // A log is read as far as its limit, and zeros are no log.
            if verb[0] != "inspect" {
                assert!(said.err.contains("larger than") || said.err.contains("longer than"));
            }
        }
    }
}

#[test]
fn a_pipe_that_nobody_writes_to_is_named() {
    let folder = folder();
    for name in ["IN", "IN.toml"] {
        let made = Command::new("mkfifo").arg(name).current_dir(folder.path()).status();
        assert!(made.unwrap().success());
    }
    for verb in READERS {
        let said = on(folder.path(), verb, "IN");
        assert_eq!(said.code, 2, "{verb:?}: {said:?}");
        assert!(said.err.contains("no process writes to"), "{verb:?}: {said:?}");
    }
}

#[test]
fn a_pipe_with_a_writer_is_read_however_late_it_writes() {
    let folder = folder();
    file(folder.path(), "t.trace", "R Hit 0 8 900 100\nR Hit 8 8 900 100\n");
    file(
        folder.path(),
        "go.sh",
        "#!/bin/bash\nexec \"$1\" replay <(cat t.trace) --drive generic-10k\n",
    );
    let mut bash = starter(folder.path(), "bash");
    bash.args(["go.sh", PROGRAM]);
    let read = said(bash.output().unwrap());
    assert_eq!(read.code, 0, "{read:?}");
    // A writer that holds the pipe and waits for what the reader does first is no dead end: the
    // file below is made while the reader waits.
    let made = Command::new("mkfifo").arg("IN").current_dir(folder.path()).status();
    assert!(made.unwrap().success());
    let reader = command(folder.path(), &["replay", "IN", "--drive", "generic-10k"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Opening waits for the reader; what is written afterwards comes when it comes.
    let mut writer =
        std::fs::OpenOptions::new().write(true).open(folder.path().join("IN")).unwrap();
    std::io::Write::write_all(&mut writer, b"R Hit 0 8 900 100\nR Hit 8 8 900 100\n").unwrap();
    drop(writer);
    assert!(reader.wait_with_output().unwrap().status.success());
}

#[test]
fn folders_and_disks_are_no_input() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("IN.toml")).unwrap();
    for verb in READERS {
        let said = on(folder.path(), verb, "IN.toml");
        assert_eq!(said.code, 2, "{verb:?}: {said:?}");
        assert!(said.err.contains("irectory"), "{verb:?}: {said:?}");
        assert!(said.err.contains("\nhint: "), "{verb:?}: {said:?}");
    }
}

#[test]
fn a_name_that_does_not_exist_is_an_error_that_says_what_to_type() {
    let folder = folder();
    for verb in READERS {
        let said = on(folder.path(), verb, "none/IN.toml");
        assert_eq!(said.code, 2, "{verb:?}: {said:?}");
        assert!(said.err.contains("\nhint: "), "{verb:?}: {said:?}");
    }
    drivelab(
        folder.path(),
        &["drive", "fit", "IN", "--out", "o", "--rpm", "1", "--capacity", "1G"],
    )
    .failed(2, &["hint: "]);
    drivelab(folder.path(), &["run", "none/data", "--size", "1M"])
        .failed(2, &["hint: create it first: `mkdir -p none`"]);
    drivelab(folder.path(), &["durability", "pages", "--verify"])
        .failed(2, &["durability.ledger", "hint: ", "--ledger FILE"]);
}

#[test]
fn a_standard_output_that_takes_nothing_is_named() {
    let folder = folder();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut list = command(folder.path(), &["drive", "list"]);
    let said = said(list.stdout(full).output().unwrap());
    said.failed(3, &["cannot write to standard output", "No space left", "hint: free space"]);
}

#[test]
fn zero_is_refused_where_it_answers_nothing() {
    let folder = folder();
    let on = |arguments: &str| drivelab(folder.path(), &arguments.split(' ').collect::<Vec<_>>());
    // A disk that does not turn would make a lie of every sync.
    on("durability drive:generic-5400 --rpm 0").failed(2, &["--rpm"]);
    on("serve null --size 0 --nbd unix:socket").failed(2, &["--size", "hint: "]);
    for verb in ["run drive:generic-5400", "run data", "drive predict generic-5400"] {
        on(&format!("{verb} --runtime 0")).failed(2, &["`runtime`", "\nhint: ", "`--runtime=30s`"]);
    }
    on("run data --size 1M --iodepth 0").failed(2, &["`iodepth`", "\nhint: ", "`--iodepth=32`"]);
    on("run data --size 1M --numjobs 0").failed(2, &["`numjobs`", "\nhint: ", "`--numjobs=1`"]);
}

#[test]
fn a_study_without_arms_and_a_trace_of_another_format_say_what_to_type() {
    let folder = folder();
    file(folder.path(), "empty", "");
    file(folder.path(), "table.csv", "time;iops\n1;2\n");
    file(folder.path(), "bad.trace", "R Hit 0 8 900 100\nX Hit 0 8 900 100\n");
    let on = |arguments: &str| drivelab(folder.path(), &arguments.split(' ').collect::<Vec<_>>());
    on("study empty").failed(2, &["empty:1:1: ", "two arms", "\nhint: add `[[arm]]` tables"]);
    on("replay table.csv --drive generic-10k").failed(
        2,
        &["table.csv, line 1", "unknown trace format", "\nhint: ", "`--format disksim`"],
    );
    on("replay bad.trace --drive generic-10k")
        .failed(2, &["line 2", "\nhint: correct the line", "not `disksim`", "`--format`"]);
}

#[test]
fn what_is_not_a_drive_profile_says_how_to_name_one() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("profiles")).unwrap();
    file(folder.path(), "mine", "");
    file(folder.path(), "mine.toml", "");
    let check = |drive: &str, words: &[&str]| {
        drivelab(folder.path(), &["drive", "predict", drive]).failed(2, words);
        let target = format!("drive:{drive}");
        drivelab(folder.path(), &["run", &target]).failed(2, words);
    };
    check("missing", &["unknown drive `missing`", "\nhint: `drivelab drive list`"]);
    check("none/missing.toml", &["`none/missing.toml`", "No such file", "\nhint: "]);
    let named = "\nhint: name a profile in it, for example `profiles/NAME.toml`";
    check("profiles/", &["`profiles/` is a folder", named, "drive list"]);
    check("mine", &["`mine`", "does not end in `.toml`", "\nhint: ", "`mv mine mine.toml`"]);
    check("mine.toml", &["mine.toml: `model` is missing", "\nhint: ", "base = "]);
}

#[test]
fn a_line_of_a_trace_has_a_limit_and_the_trace_has_none() {
    let folder = folder();
    let line = format!("R Hit 0 8 900 {}\n", " ".repeat(5000));
    file(folder.path(), "long.trace", &line);
    let long = drivelab(folder.path(), &["replay", "long.trace", "--drive", "generic-10k"]);
    long.failed(2, &["line 1", "longer than 4096"]);
    // Larger than what is read whole may be.
    let many = "R Hit 0 8 900 100\n".repeat(70_000);
    file(folder.path(), "many.trace", &many);
    let many =
        drivelab(folder.path(), &["replay", "many.trace", "--drive", "generic-10k", "--json"]);
    assert_eq!(many.json()["requests"], 70_000);
}

#[test]
fn a_bad_value_is_shown_as_far_as_it_helps() {
    let folder = folder();
    let value = format!("zoned:{}", "5/".repeat(20_000));
    let asked = ["run", "drive:generic-10k", "--random-distribution", &value, "--number-ios", "1"];
    let said = drivelab(folder.path(), &asked);
    assert_eq!(said.code, 2);
    assert!(said.err.len() < 2000 && said.err.contains("zoned:5/5/"), "{}", said.err.len());
    file(folder.path(), "s.toml", &format!("{} = 1\n", "k".repeat(40_000)));
    let said = drivelab(folder.path(), &["study", "s.toml"]);
    assert!(said.code == 2 && said.err.len() < 2000, "{}", said.err.len());
}

/// A study with so many of each.
fn study(arms: usize, workloads: usize, depths: usize, blocks: u32) -> String {
    let mut text = format!("title = \"t\"\nprimary = \"w0.iops\"\nblocks = {blocks}\n");
    if depths > 0 {
        let list = vec!["1"; depths].join(", ");
        text += &format!("[curve]\niodepth = [{list}]\nnumber_ios = 1\n");
    }
    text += "[base]\ndrive = \"generic-10k\"\n";
    for arm in 0..arms {
        text += &format!("[[arm]]\nname = \"a{arm}\"\n");
    }
    for workload in 0..workloads {
        text += &format!("[[workload]]\nname = \"w{workload}\"\nnumber_ios = 1\n");
    }
    text
}

#[test]
fn a_study_is_counted_before_it_is_planned() {
    let folder = folder();
    let check = |text: String, word: &str| {
        file(folder.path(), "s.toml", &text);
        let said = on(folder.path(), &["study", "IN", "--out", "o"], "s.toml");
        assert_eq!(said.code, 2, "{word}: {said:?}");
        assert!(said.err.contains(word) && said.err.contains("s.toml:"), "{word}: {said:?}");
    };
    check(study(20_000, 1, 0, 1), "`arm`");
    check(study(2, 10_000, 0, 1), "`workload`");
    check(study(2, 1, 100_000, 1), "`iodepth`");
    check(study(100, 256, 0, 10_000), "runs");
}

#[test]
fn a_folder_is_not_made_by_the_name_of_a_modelled_drive() {
    let folder = folder();
    let out = ["--out", "drive:generic-5400"];
    for verb in [&["man"][..], &["study", "ahci-or-ide"]] {
        drivelab(folder.path(), &[verb, &out].concat()).failed(
            2,
            &["names a modelled drive", "hint: for a folder of that name write `./drive:"],
        );
    }
    assert!(!folder.path().join(out[1]).exists());
}
