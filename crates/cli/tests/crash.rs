//! `crash` where it ends before a guest is booted. What takes a kernel is in
//! `scripts/check-kernel`.

use std::path::Path;

use crate::common::{Said, command, file, folder, said};
use crate::tidy::{files, read, root};

const LEAST: &str = "title = \"t\"\ndrive = \"seagate-st31000333as\"\nworkload = \"true\"\n\
                     check = \"true\"\n";

/// Runs the program with a cache of its own, in which there is no kernel.
fn crash(folder: &Path, text: &str, options: &[&str]) -> Said {
    file(folder, "test.toml", text);
    let mut command = command(folder, &[&["crash", "test.toml"], options].concat());
    said(command.env("XDG_CACHE_HOME", folder.join("cache")).output().unwrap())
}

#[test]
fn what_is_wrong_with_a_test_is_said_before_anything_is_run() {
    let folder = folder();
    let check = |text: &str, options: &[&str], code: i32, words: &[&str]| {
        crash(folder.path(), text, options).failed(code, words);
    };
    check(LEAST, &[], 3, &["no kernel", "drivelab lab kernel build"]);
    check("title = \"t\"", &[], 2, &["test.toml:1:1", "lacks `drive`"]);
    check(&format!("{LEAST}cuts = 0"), &[], 2, &["test.toml:5:", "from 1 to"]);
    check(&format!("{LEAST}promises = 1"), &[], 2, &["unknown key `promises`"]);
    check(LEAST, &["--cuts", "0"], 2, &["--cuts"]);
    check(LEAST, &["--replay", "7"], 2, &["SEED@INSTANT"]);
    check(LEAST, &["--replay", "7@1s", "--cuts", "3"], 2, &["cannot be used with"]);
    check(&LEAST.replace("seagate-st31000333as", "seagate"), &[], 2, &["unknown drive `seagate`"]);
    check(&format!("{LEAST}fault = [\"x\"]"), &[], 2, &["JSON"]);
    let rot = format!("{LEAST}fault = ['{{\"kind\": \"bit-rot\"}}']");
    check(&rot, &[], 2, &["`bit-rot`", "`lying-flush`"]);
}

#[test]
fn the_ready_tests_can_be_read() {
    let tests = files(&root().join("studies/crash"), &[".toml"]);
    assert!(tests.len() >= 6, "{tests:?}");
    let folder = folder();
    for path in tests {
        crash(folder.path(), &read(&path), &[]).failed(3, &["no kernel"]);
    }
}
