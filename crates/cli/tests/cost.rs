//! `cost` where it ends before a guest is booted. What takes a kernel is in `scripts/check-kernel`
//! and `scripts/cost-pairs`.

use std::path::Path;

use crate::common::{Said, command, file, folder, said};
use crate::tidy::{read, root};

/// Runs the program with an empty cache, which has no kernel.
fn cost(folder: &Path, options: &[&str]) -> Said {
    let mut command = command(folder, &[&["cost"], options].concat());
    said(command.env("XDG_CACHE_HOME", folder.join("cache")).output().unwrap())
}

#[test]
fn what_is_wrong_is_said_before_anything_is_run() {
    let folder = folder();
    file(folder.path(), "least.toml", "command = \"true\"\n");
    file(folder.path(), "odd.toml", "command = \"true\"\n[limits]\nflush = 3\n");
    file(folder.path(), "empty.toml", "");
    file(folder.path(), "run.json", "{\"schema\": \"drivelab.run/1\"}");
    let check = |options: &[&str], code: i32, words: &[&str]| {
        cost(folder.path(), options).failed(code, words);
    };
    check(&["true"], 3, &["no kernel", "drivelab guest kernel build"]);
    check(&["--", "cat", "-n", "x"], 3, &["no kernel"]);
    check(&["least.toml"], 3, &["no kernel"]);
    check(&[], 2, &["COMMAND"]);
    check(&["empty.toml"], 2, &["lacks `command`"]);
    check(&[" "], 2, &["the command is empty"]);
    check(&["odd.toml"], 2, &["`flush` is not one of", "flushes"]);
    check(&["none.toml"], 2, &["none.toml"]);
    check(&["--limit", "flushes", "true"], 2, &["METRIC=N"]);
    check(&["--limit", "flushes=many", "true"], 2, &["`many` is not a number"]);
    check(&["--limit", "write_bytes=1M", "true"], 3, &["no kernel"]);
    check(&["--tolerance", "1", "true"], 2, &["such as `0.5%`"]);
    check(&["--per-hour", "0", "true"], 2, &["above 0"]);
    check(&["--against", "run.json", "true"], 2, &["not a bill", "--json"]);
    check(&["--drive", "ssd", "true"], 2, &["unknown drive `ssd`", "nvme-consumer"]);
    check(&["--drives", "hdd,ssd", "true"], 2, &["unknown drive `ssd`", "nvme-consumer"]);
    check(&["--drives", "hdd", "--drive", "hdd", "true"], 2, &["cannot be used with"]);
    check(&["--filesystem", "fat", "true"], 2, &["`ext4`, `ext3`, `xfs`, `btrfs`"]);
    check(&["--filesystem", "ext3", "true"], 2, &["no bills on ext3", "ext4, xfs or btrfs"]);
    check(&["--vary", "filesystem=ext4|ntfs3", "true"], 2, &["no bills on ntfs3"]);
    check(&["--mount-options", "a;b", "true"], 2, &["mount options"]);
    check(&["--size", "1M", "true"], 2, &["300M"]);
    check(&["--memory", "1M", "true"], 2, &["memory of a guest"]);
    check(&["--files", "a=b", "true"], 2, &["`a` is not an absolute path"]);
    check(&["--vary", "filesystem=ext4", "true"], 2, &["two values"]);
    check(&["--vary", "filesystem=ext4|fat", "true"], 2, &["`ext4`, `ext3`, `xfs`, `btrfs`"]);
    check(&["--vary", "level=1|2", "true"], 2, &["`level`", "write `{level}`"]);
    check(&["--vary", "level=1|2", "echo {level}"], 3, &["no kernel"]);
    check(&["--vary", "size=1G|2G", "--limit", "flushes=1", "true"], 2, &["cannot be used with"]);
    check(&["--report", "run.json", "true"], 2, &["exists and is not a report"]);
}

#[test]
fn the_help_has_every_key_and_every_metric() {
    let help = command(folder().path(), &["cost", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let is_word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let has = |word: &str| help.split(is_word).any(|found| found == word);
    let reader = read(&root().join("crates/study/src/cost/file.rs"));
    let reader = reader.split("#[cfg(test)]").next().unwrap();
    let mut keys = 0;
    for call in ["take(", "require(", "list(", "words("] {
        for rest in reader.split(&format!(".{call}\"")).skip(1) {
            let key = rest.split('"').next().unwrap();
            assert!(has(key), "`{key}` is missing: {help}");
            keys += 1;
        }
    }
    assert!(keys >= 14, "{keys} keys were found");
    for metric in drivelab_analysis::cost::METRICS {
        assert!(has(metric.name), "`{}` is missing: {help}", metric.name);
    }
}
