//! `fleet`: hosts that a program in the place of ssh reaches, and what differs among them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use crate::common::{PROGRAM, Said, command, drivelab, file, folder, said};

/// Stands for ssh and for drivelab on each host: `down` has no connection, `bare` no drivelab, `odd`
/// prints something else, and `slow` has a drive with two thirds of the rate. Every host inspects a
/// tree of its own, and its runs have a seed of its own.
const SSH: &str = r#"#!/bin/sh
while [ $# -gt 2 ]; do shift; done
host=$1
case $host in
  down) echo "ssh: connect to host down port 22: Connection refused" >&2; exit 255 ;;
  bare) echo "sh: 1: drivelab: not found" >&2; exit 127 ;;
  odd) echo "Welcome to odd"; exit 0 ;;
esac
drivelab() {
  case $1 in
    inspect) shift; PROGRAM inspect --root "trees/$host" "$@" ;;
    *)
      seed=$(printf %s "$host" | cksum | cut -d' ' -f1)
      shift
      PROGRAM run --seed "$seed" "$@" > "ran-$host" || exit
      case $host in
        slow) sed -E 's/("iops": )[0-9.]+/\135.0/' "ran-$host" ;;
        *) cat "ran-$host" ;;
      esac ;;
  esac
}
eval "$2"
"#;

/// A folder with that program, and a tree for each host.
fn fleet(hosts: &[&str]) -> tempfile::TempDir {
    let folder = folder();
    let ssh = file(folder.path(), "ssh", &SSH.replace("PROGRAM", PROGRAM));
    std::fs::set_permissions(&ssh, std::fs::Permissions::from_mode(0o755)).unwrap();
    for host in hosts {
        let scheduler = if *host == "web3" { "[none]" } else { "none [mq-deadline]" };
        tree(&folder.path().join("trees").join(host), scheduler);
    }
    folder
}

fn tree(root: &Path, scheduler: &str) {
    let disk = root.join("sys/block/vda");
    std::fs::create_dir_all(disk.join("queue")).unwrap();
    std::fs::create_dir_all(disk.join("device")).unwrap();
    std::fs::write(disk.join("queue/scheduler"), format!("{scheduler}\n")).unwrap();
    std::fs::write(disk.join("size"), "2048\n").unwrap();
    std::fs::write(disk.join("device/model"), "VIRT 1000\n").unwrap();
}

/// Runs drivelab with that program on its path.
fn with_ssh(folder: &Path, words: &[&str]) -> Said {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = command(folder, words);
    command.env("PATH", format!("{}:{path}", folder.display()));
    said(command.output().unwrap())
}

const RUN: [&str; 6] = ["--", "--rw", "randread", "--runtime", "20s", "--direct=1"];

fn kept(folder: &Path) -> Vec<Value> {
    let list = ["history", "--last", "0", "--json", "--archive", "runs.db"];
    drivelab(folder, &list).json()["runs"].as_array().unwrap().clone()
}

#[test]
fn hosts_that_fail_are_named_and_the_others_kept() {
    let folder = fleet(&["web1", "web2"]);
    let folder = folder.path();
    file(folder, "hosts.txt", "# a rack\nweb1\nweb2  # again\n\nbare\nodd\n");
    let collect = ["fleet", "collect", "web2", "down", "--hosts", "hosts.txt", "--at-once", "2"];
    let words = [&collect[..], &["--archive", "runs.db", "--label", "rack", "--json"]].concat();
    let said = with_ssh(folder, &words);
    assert_eq!(said.code, 5, "{said:?}");
    let json = said.json();
    let names: Vec<&str> =
        json["hosts"].as_array().unwrap().iter().map(|it| it["host"].as_str().unwrap()).collect();
    assert_eq!(names, ["web2", "down", "web1", "bare", "odd"]);
    assert_eq!(json["lost"], serde_json::json!(["down", "bare", "odd"]));
    let why = |place: usize| json["hosts"][place]["why"].as_str().unwrap().to_owned();
    assert!(why(1).contains("cannot be reached: ssh: connect to host down port 22"), "{json}");
    assert!(why(3).contains("not installed") && why(4).contains("cannot be read"), "{json}");
    let kept = kept(folder);
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert!(kept.iter().all(|it| it["origin"] == "fleet" && it["label"] == "rack"), "{kept:?}");
    let id = json["hosts"][0]["id"].as_str().unwrap();
    let shown = drivelab(folder, &["show", id, "--archive", "runs.db"]);
    assert!(shown.out.starts_with("web2\n") && shown.out.contains("vda"), "{shown:?}");
    let text = with_ssh(folder, &["fleet", "collect", "web1", "down", "--archive", "runs.db"]);
    assert!(text.out.contains("Lost: down: cannot be reached"), "{text:?}");
    assert!(text.out.contains("kept: 1 of 2 hosts, 1 disk, 0 runs"), "{text:?}");
}

#[test]
fn a_slow_drive_and_a_setting_of_one_host_are_found_among_its_peers() {
    let names: Vec<String> = (1..=15).map(|number| format!("web{number}")).collect();
    let mut hosts: Vec<&str> = names.iter().map(String::as_str).collect();
    hosts.push("slow");
    let folder = fleet(&hosts);
    let folder = folder.path();
    let target = ["--target", "drive:generic-5400", "--archive", "runs.db"];
    let words = [&["fleet", "collect"], &hosts[..], &target, &RUN].concat();
    let said = with_ssh(folder, &words);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("kept: 16 of 16 hosts, 16 disks, 16 runs"), "{said:?}");
    assert_eq!(kept(folder).len(), 16);
    let outliers = ["fleet", "outliers", "--archive", "runs.db"];
    let found = drivelab(folder, &[&outliers[..], &["--json"]].concat());
    assert_eq!(found.code, 0, "{found:?}");
    let json = found.json();
    assert_eq!(json["schema"], "drivelab.fleet-outliers/1");
    assert_eq!((&json["hosts"], &json["judged"]), (&16.into(), &16.into()));
    let disks: Vec<&Value> = json["outliers"].as_array().unwrap().iter().collect();
    assert_eq!(disks.len(), 1, "{json}");
    assert_eq!((&disks[0]["host"], &disks[0]["worse"]), (&"slow".into(), &true.into()));
    assert!(disks[0]["q"].as_f64().unwrap() < 0.05 && disks[0]["peers"]["n"] == 15, "{json}");
    let drifted = json["drifted"].as_array().unwrap();
    let scheduler = drifted.iter().find(|it| it["setting"] == "scheduler").unwrap();
    assert_eq!(scheduler["values"][1]["disks"][0]["host"], "web3", "{scheduler}");
    // With --strict the exit code says so.
    let strict = drivelab(folder, &[&outliers[..], &["--strict"]].concat());
    assert!(strict.code == 1 && strict.out.contains("generic-5400 of slow"), "{strict:?}");
    assert_eq!(drivelab(folder, &[&outliers[..], &["--out", "found"]].concat()).code, 0);
    let index = std::fs::read_to_string(folder.join("found/index.html")).unwrap();
    assert!(index.contains("href=\"1-slow-generic-5400.html\""), "{index}");
    let page = std::fs::read_to_string(folder.join("found/1-slow-generic-5400.html")).unwrap();
    assert!(page.contains("drivelab fleet outliers --margin 5% --fdr 5% --since 30d"), "{page}");
    for name in ["a.html", "a.md", "a.csv", "a.json", "a.txt"] {
        assert_eq!(drivelab(folder, &[&outliers[..], &["--out", name]].concat()).code, 0, "{name}");
    }
    assert_eq!(drivelab(folder, &[&outliers[..], &["--out", "a.csv"]].concat()).code, 0);
    let csv = drivelab(folder, &[&outliers[..], &["--format", "csv"]].concat());
    assert!(csv.out.starts_with("fleet_host,device,"), "{csv:?}");
    drivelab(folder, &[&outliers[..], &["--out", "a.svg"]].concat()).failed(2, &["--format html"]);
}

#[test]
fn a_run_that_fails_on_one_target_is_named_and_the_host_kept() {
    let folder = fleet(&["web1"]);
    let folder = folder.path();
    let targets = ["--target", "drive:generic-5400", "--target", "drive:none-such"];
    let words =
        [&["fleet", "collect", "web1", "--archive", "runs.db"], &targets[..], &RUN].concat();
    let said = with_ssh(folder, &words);
    assert_eq!(said.code, 5, "{said:?}");
    assert!(said.out.contains("Failed: drive:none-such of web1"), "{said:?}");
    let kept = kept(folder);
    assert_eq!((kept.len(), &kept[0]["parts"]), (1, &1.into()), "{kept:?}");
}

#[test]
fn this_machine_collects_for_itself() {
    let folder = folder();
    let folder = folder.path();
    let target = ["--target", "drive:generic-5400", "--archive", "runs.db", "--name", "here"];
    let run = ["--", "--rw", "randread", "--runtime", "1s"];
    let said = drivelab(folder, &[&["fleet", "collect"], &target[..], &run].concat());
    if said.code == 5 {
        // Where there is no /sys/block, nothing is inspected, and that is said.
        assert!(said.out.contains("Lost: here: drivelab ended with 3"), "{said:?}");
        return;
    }
    assert_eq!(said.code, 0, "{said:?}");
    let kept = kept(folder);
    assert_eq!((&kept[0]["target"], &kept[0]["parts"]), (&"here".into(), &1.into()), "{kept:?}");
    let id = kept[0]["id"].as_str().unwrap();
    let whole = drivelab(folder, &["show", id, "--json", "--archive", "runs.db"]).json();
    assert_eq!(whole["inspection"]["schema"], "drivelab.inspect/1");
    assert_eq!(whole["inspection"]["host"]["id"], kept[0]["host"], "{whole}");
}

#[test]
fn what_cannot_be_collected_or_judged_is_refused() {
    let folder = folder();
    let folder = folder.path();
    let refused = |words: &[&str], said: &[&str]| {
        let words = [&["fleet"], words, &["--archive", "runs.db"]].concat();
        // Options of the run come last.
        let end = words.iter().position(|word| *word == "--").unwrap_or(words.len() - 2);
        let (first, run) = words[..words.len() - 2].split_at(end.min(words.len() - 2));
        let words = [first, &words[words.len() - 2..], run].concat();
        drivelab(folder, &words).failed(2, said);
    };
    refused(&["collect", "-oProxyCommand=x"], &["unexpected argument"]);
    refused(&["collect", "--hosts", "none.txt"], &["none.txt"]);
    file(folder, "empty.txt", "# nobody\n");
    refused(&["collect", "--hosts", "empty.txt"], &["names no host"]);
    file(folder, "odd.txt", "web1\n-oProxyCommand=reboot\n");
    refused(&["collect", "--hosts", "odd.txt"], &["-oProxyCommand=reboot", "not the name"]);
    refused(&["collect", "web1", "--target", "/dev/sda"], &["--target without a run"]);
    refused(&["collect", "web1", "--", "--iodpeth", "1"], &["--iodpeth"]);
    let destroys = ["collect", "web1", "--", "--rw", "write", "--allow-destructive", "/dev/sda"];
    refused(&destroys, &["no disk of a fleet is overwritten"]);
    refused(&["outliers", "--fdr", "50%"], &["at most 20%"]);
    drivelab(folder, &["run", "drive:generic-5400", "--number-ios", "9", "--archive", "runs.db"]);
    refused(&["outliers"], &["nothing was collected", "fleet collect"]);
}

#[test]
fn the_timer_starts_what_the_command_line_knows() {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages");
    let unit = std::fs::read_to_string(packages.join("drivelab-fleet.service")).unwrap();
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/drivelab "));
    let words: Vec<&str> = start.unwrap().split(' ').filter(|word| *word != "$OPTIONS").collect();
    let help = drivelab(folder().path(), &[&words[..], &["--help"]].concat());
    assert!(help.code == 0 && help.out.contains("this machine, as its timer does"), "{help:?}");
    let options = unit.lines().find_map(|line| line.strip_prefix("#   OPTIONS=")).unwrap();
    let options: Vec<&str> = options.split(' ').collect();
    // The options of the comment are those of a run: one that is none is refused before anything.
    let folder = fleet(&["web1"]);
    let target = ["web1", "--target", "drive:generic-5400", "--archive", "runs.db"];
    let said = with_ssh(folder.path(), &[&words[..], &target, &options].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let timer = std::fs::read_to_string(packages.join("drivelab-fleet.timer")).unwrap();
    assert!(timer.contains("RandomizedDelaySec=") && timer.contains("Persistent="), "{timer}");
}
