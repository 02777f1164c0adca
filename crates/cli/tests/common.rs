//! Running the program as a user would.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// A study small enough to be run many times; two drives of which one spins 3 % faster.
pub(crate) const SMALL: &str = r#"
title = "Does a faster spindle help?"
primary = "read.iops"
blocks = 6

[base]
drive = "seagate-st31000333as"

[[arm]]
name = "ide"
controller = "ide"

[[arm]]
name = "ahci"
controller = "ahci"

[[workload]]
name = "read"
rw = "randread"
iodepth = 32
runtime = "10s"
"#;

/// A study of a real file that writes; arm `two` does what stands for `DO`.
pub(crate) const WRITING: &str = r#"
title = "Does it matter?"
primary = "write.iops"
margin = "50%"
blocks = 6

[[arm]]
name = "one"

[[arm]]
name = "two"
apply = "DO"
revert = "true"
run = { ioengine = "psync" }

[[workload]]
name = "write"
rw = "randwrite"
iodepth = 1
number_ios = 20
"#;

/// What a finished command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// Standard output as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// Checks how it ended and that what it complained of holds each of the words.
    pub(crate) fn failed(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "`{word}` is missing: {self:?}");
        }
    }
}

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_drivelab");

/// A program that starts drivelab in `folder`, as a shell does; runs stay in an archive there.
pub(crate) fn starter(folder: &Path, program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null()).env("NO_COLOR", "1");
    command.env("XDG_DATA_HOME", folder.join(".kept")).env_remove("DRIVELAB_ARCHIVE");
    // The width of a page does not depend on who runs the tests.
    command.env_remove("COLUMNS");
    command
}

/// A command, ready to be changed and run in `folder`.
pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = starter(folder, PROGRAM);
    command.args(arguments);
    command
}

/// Runs the program in `folder`.
pub(crate) fn drivelab(folder: &Path, arguments: &[&str]) -> Said {
    said(command(folder, arguments).output().expect("the program starts"))
}

/// Begins to run the program in `folder`.
pub(crate) fn begin(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = command(folder, arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

/// What a finished process said.
pub(crate) fn said(output: Output) -> Said {
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).expect("output is UTF-8"),
        err: String::from_utf8(output.stderr).expect("messages are UTF-8"),
    }
}

/// Writes a file into `folder` and returns its path.
pub(crate) fn file(folder: &Path, name: &str, content: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).expect("the folder can be written");
    path
}

/// An empty folder of its own for a test.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Says which part of a test this machine cannot do, and why.
pub(crate) fn left_out(what: &str, why: impl std::fmt::Display) {
    use std::io::Write as _;
    // Straight to the stream: the test runner would keep a passing test's output to itself.
    let _ = writeln!(std::io::stderr(), "left out: {what}: {why}");
}
