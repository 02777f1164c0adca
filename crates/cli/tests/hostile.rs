//! Texts of others on the terminal: no verb passes on what a terminal acts on.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::common::{Said, command, drivelab, file, folder, said};

/// Sets a title, clears the screen, reverses the direction, breaks the line: C0, C1 and others.
const EVIL: &str =
    "e\u{1b}]0;t\u{7}\u{1b}[2J\u{202e}v\u{9b}31m\u{2066}i\u{7f}\u{200f}\u{85}\u{2028}\u{61c}l";

/// Escape sequences that drivelab writes itself, where colour is wanted.
const OWN: [&str; 8] = [
    "\u{1b}[0m",
    "\u{1b}[1m",
    "\u{1b}[2m",
    "\u{1b}[31m",
    "\u{1b}[32m",
    "\u{1b}[33m",
    "\u{1b}[36m",
    "\u{1b}[4m",
];

/// What a terminal acts on, but line breaks and tabs.
fn is_active(c: char) -> bool {
    let is_direction = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}');
    is_direction || (c.is_control() && !matches!(c, '\n' | '\t'))
}

#[track_caller]
fn check_harmless(words: &[&str], said: &Said) {
    for text in [&said.out, &said.err] {
        let active = text.char_indices().find(|(_, c)| is_active(*c));
        if let Some((at, c)) = active {
            let around: String = text[at..].chars().take(40).collect();
            panic!("{words:?} prints {c:?} in {around:?}");
        }
    }
}

/// Runs it as text, as JSON and in colour; both must be harmless. Returns what it said as text.
#[track_caller]
fn harmless(folder: &Path, words: &[&str]) -> Said {
    let text = drivelab(folder, words);
    check_harmless(words, &text);
    let json = drivelab(folder, &[words, &["--json"]].concat());
    check_harmless(words, &json);
    // `--format` outranks `--json`.
    if json.code == 0 && !json.out.is_empty() && !words.contains(&"--format") {
        assert!(json.json().is_object() || json.json().is_array(), "{json:?}");
    }
    let mut coloured = command(folder, words);
    coloured.env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1");
    let mut coloured = said(coloured.output().unwrap());
    for own in OWN {
        coloured.out = coloured.out.replace(own, "");
        coloured.err = coloured.err.replace(own, "");
    }
    check_harmless(words, &coloured);
    text
}

/// The same for text that must have the hostile words in it, escaped.
#[track_caller]
fn shows(folder: &Path, words: &[&str]) {
    let said = harmless(folder, words);
    let all = said.out.clone() + &said.err;
    assert!(all.contains("\\u{1b}]0;t"), "{words:?} does not show it: {said:?}");
}

#[test]
fn labels_names_and_titles_are_shown_and_not_acted_on() {
    let folder = folder();
    let folder = folder.path();
    let profile = "base = \"seagate-st31000333as\"\n[drive]\nmodel = \"EVIL\"\n";
    let escapes: Vec<String> = EVIL.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    let in_toml = escapes.concat();
    file(folder, "evil.toml", &profile.replace("EVIL", &in_toml));
    let run = ["run", "drive:evil.toml", "--number-ios", "20", "--label", EVIL, "--json"];
    let kept = drivelab(folder, &run);
    assert_eq!(kept.code, 0, "{kept:?}");
    assert_eq!(kept.json()["label"], EVIL, "JSON has the label as it was given");
    check_harmless(&run, &kept);
    file(folder, "run.json", &kept.out);
    let label = format!("label:{EVIL}");
    shows(folder, &["history"]);
    shows(folder, &["history", "--label", EVIL]);
    shows(folder, &["show", &label]);
    shows(folder, &["show", "run.json"]);
    shows(folder, &["drive", "show", "evil.toml"]);
    shows(folder, &["compare", &label, &label]);
    shows(folder, &["report", &label, "--format", "txt"]);
    harmless(folder, &["report", &label, "--format", "md"]);
    harmless(folder, &["import", "run.json"]);
    harmless(folder, &["label", &label, EVIL]);
    harmless(folder, &["archive", "check"]);
    harmless(folder, &["archive", "import", "run.json"]);
    harmless(folder, &["fleet", "outliers"]);
    harmless(folder, &["delete", &label]);
    let study = crate::common::SMALL
        .replace("Does a faster spindle help?", &in_toml)
        .replace("\"ide\"\ncontroller", &format!("\"{in_toml}\"\ncontroller"))
        .replace("10s", "100ms");
    file(folder, "study.toml", &study);
    shows(folder, &["study", "study.toml", "--out", "out"]);
    harmless(folder, &["study", "study.toml", "--out", "lines", "--progress", "lines"]);
    harmless(folder, &["study", "study.toml", "--out", "json", "--progress", "json"]);
    shows(folder, &["report", "out", "--format", "txt"]);
    let pairs = format!("block,arm,value\n1,{EVIL},2\n1,b,3\n2,{EVIL},2\n2,b,3\n");
    file(folder, "pairs.csv", &pairs);
    harmless(folder, &["compare", "--pairs", "pairs.csv"]);
    let sweep = format!(
        "title = \"{in_toml}\"\ndrive = \"evil.toml\"\npoints = 8\n[load]\nrw = \"randread\"\n\
         runtime = \"50ms\"\n[parameter.iodepth]\nvalues = [1, 2]\n"
    );
    file(folder, "sweep.toml", &sweep);
    harmless(folder, &["sweep", "sweep.toml"]);
    harmless(folder, &["crash", "sweep.toml"]);
}

#[test]
fn errors_show_what_was_typed_and_read_and_do_not_act_on_it() {
    let folder = folder();
    let folder = folder.path();
    let target = format!("drive:{EVIL}");
    for words in [
        &["run", &target][..],
        &["run", "data", "--rw", EVIL],
        &["run", "data", "--bs", EVIL],
        &["drive", "show", EVIL],
        &["study", EVIL],
        &["show", EVIL],
        &["import", EVIL],
        &["compare", EVIL, EVIL],
        &["replay", EVIL, "--drive", "seagate-st31000333as"],
        &["inspect", EVIL],
        &["serve", "null", "--nbd", EVIL],
        &["serve", "null", "--nbd", "unix:n", "--fault", EVIL],
        &["durability", EVIL, "--verify"],
        &["archive", "merge", EVIL],
        &["fleet", "collect", EVIL],
        &[EVIL],
        &["run", "data", &format!("--{EVIL}")],
    ] {
        assert_ne!(harmless(folder, words).code, 0, "{words:?}");
    }
    // The readers of files quote them.
    for name in ["evil.toml", "evil.fio", "evil.csv", "evil.json"] {
        file(folder, name, &format!("[{EVIL}]\n{EVIL} = {EVIL}\n\"{EVIL}\"\n"));
    }
    for words in [
        &["study", "evil.toml"][..],
        &["sweep", "evil.toml"],
        &["crash", "evil.toml"],
        &["drive", "show", "evil.toml"],
        &["run", "--job", "evil.fio"],
        &["import", "evil.csv"],
        &["import", "evil.json"],
        &["compare", "--pairs", "evil.csv"],
        &["drive", "fit", "evil.toml", "--out", "fitted.toml"],
    ] {
        assert_ne!(harmless(folder, words).code, 0, "{words:?}");
    }
}

#[test]
fn devices_and_hosts_do_not_reach_the_terminal() {
    let folder = folder();
    let folder = folder.path();
    let disk = folder.join("tree/sys/block/vda");
    std::fs::create_dir_all(disk.join("device")).unwrap();
    std::fs::write(disk.join("size"), "2048\n").unwrap();
    std::fs::write(disk.join("device/model"), format!("{EVIL}\n")).unwrap();
    harmless(folder, &["inspect", "--root", "tree"]);
    harmless(folder, &["advise", "--root", "tree"]);
    let ssh = file(folder, "ssh", &format!("#!/bin/sh\nprintf '%s\\n' '{EVIL}' >&2\nexit 255\n"));
    std::fs::set_permissions(&ssh, std::fs::Permissions::from_mode(0o755)).unwrap();
    let words = ["fleet", "collect", "web1", "--ssh", "./ssh"];
    shows(folder, &words);
}
