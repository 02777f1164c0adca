//! Trees of real machines and of single faults, against the table of what is found in them.
//!
//! The trees are not in the repository: `../shared/data/real/hosts.tar.xz` beside it.

#![expect(
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "`tar` unpacks; a test may print"
)]

mod covered;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use drivelab_host::{Options, Root, Severity, inspect};

const TABLE: &str = include_str!("real-hosts.tsv");

/// The archive in a folder `shared` beside a checkout, or beside the folder of one.
fn archive() -> Option<PathBuf> {
    let start = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = start.ancestors().map(|it| it.join("shared/data/real/hosts.tar.xz"));
    folders.find(|path| path.exists())
}

/// The rows: a tree, and its findings as `sda:error:medium-errors`.
fn rows() -> BTreeMap<&'static str, Vec<&'static str>> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let rows = lines.map(|line| {
        let (tree, findings) = line.split_once('\t').expect("a tree and its findings");
        (tree, findings.split(' ').filter(|it| *it != "-").collect())
    });
    rows.collect()
}

fn found(tree: &Path) -> Vec<String> {
    let found = inspect(&Root::new(tree), &[], &Options::default()).unwrap();
    let findings = found.devices.iter().flat_map(|device| {
        device.findings.iter().map(|finding| {
            let severity = match finding.severity {
                Severity::Error => "error",
                Severity::Warn => "warn",
                Severity::Info => "info",
            };
            format!("{}:{severity}:{}", device.name, finding.id)
        })
    });
    findings.collect()
}

#[test]
fn trees_of_real_hosts_have_the_findings_of_the_table() {
    let Some(archive) = archive() else {
        // Nothing was checked, and the output of the test says so.
        println!("shared/data/real/hosts.tar.xz is absent: no tree was checked");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let arguments = [Path::new("-xf"), &archive, Path::new("-C"), folder.path()];
    let unpacked = Command::new("tar").args(arguments).status();
    assert!(unpacked.unwrap().success(), "{}", archive.display());
    let mut wrong = Vec::new();
    for (tree, expected) in rows() {
        let path = folder.path().join("t").join(tree);
        assert!(path.is_dir(), "no tree {tree}");
        let found = found(&path);
        if found != expected {
            wrong.push(format!("{tree}: {found:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let trees = fs::read_dir(folder.path().join("t")).unwrap().count();
    assert_eq!(trees, rows().len(), "each tree has a row");
}
