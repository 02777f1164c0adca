//! `crash` where it ends before a guest is booted. What takes a kernel is in
//! `scripts/check-kernel`.

use std::path::Path;

use crate::common::{Said, command, file, folder, said};
use crate::tidy::{check, files, read, root};

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
    check(LEAST, &[], 3, &["no kernel", "drivelab guest kernel build"]);
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
    check(LEAST, &["--filesystem", "xfs"], 3, &["no kernel"]);
    check(LEAST, &["--filesystem", "fat"], 2, &["--filesystem", "fat"]);
    let data = format!("{LEAST}[file_system]\nmount = \"data=journal\"");
    check(&data, &["--filesystem", "xfs"], 2, &["options of ext4", "--filesystem"]);
    check(&data, &["--filesystem", "ext4"], 3, &["no kernel"]);
}

#[test]
fn the_help_has_every_key_of_the_file() {
    let help = command(folder().path(), &["crash", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let reader = read(&root().join("crates/study/src/crash/file.rs"));
    let reader = reader.split("#[cfg(test)]").next().unwrap();
    let mut keys = 0;
    for call in ["take(", "take_with(", "require(", "list(", "section(", "words("] {
        for rest in reader.split(&format!(".{call}\"")).skip(1) {
            let key = rest.split('"').next().unwrap();
            let is_word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
            assert!(help.split(is_word).any(|word| word == key), "`{key}` is missing: {help}");
            keys += 1;
        }
    }
    assert!(keys >= 20, "{keys} keys were found");
}

#[test]
fn the_ready_tests_can_be_read() {
    let mut tests = files(&root().join("studies/crash"), &[".toml"]);
    // That of the stores' programs is cargo's.
    tests.retain(|path| !path.ends_with("stores/Cargo.toml"));
    assert!(tests.len() >= 40, "{tests:?}");
    let folder = folder();
    for path in tests {
        crash(folder.path(), &read(&path), &[]).failed(3, &["no kernel"]);
    }
}

#[test]
fn the_table_of_stores_shows_every_result() {
    let text = read(&root().join("docs/crash/results.json"));
    let results: serde_json::Value = serde_json::from_str(&text).unwrap();
    let page = read(&root().join("docs/crash/README.md"));
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| [")).collect();
    let mut stores = std::collections::BTreeSet::new();
    for entry in results["results"].as_array().unwrap() {
        let row = entry["row"].as_str().unwrap();
        stores.insert(row.split('/').next().unwrap());
        let counts = ["whole", "lost", "corrupt"].map(|key| entry[key].as_u64().unwrap());
        assert_eq!(counts.iter().sum::<u64>(), entry["cuts"].as_u64().unwrap(), "{row}");
        // Thousands are set apart on the page.
        let counts = counts.map(|count| count.to_string()).join(" / ") + ": ";
        let shown = rows.iter().find(|line| line.contains(&format!("/stores/{row}.toml"))).unwrap();
        assert!(shown.replace(',', "").contains(&counts), "{row}: {counts} is not in {shown}");
        for failure in entry["first"].as_array().unwrap() {
            let cut = failure["replay"].as_str().unwrap();
            assert!(page.contains(&format!("{row}.toml --filesystem")), "{row}");
            assert!(page.contains(&format!("--replay {cut} ")), "{row}: {cut}");
        }
    }
    assert!(stores.len() >= 10, "{stores:?}");
}

#[test]
fn each_row_of_the_table_names_what_its_store_promises() {
    let mut rows = files(&root().join("studies/crash/stores"), &[".toml"]);
    rows.retain(|path| !path.ends_with("Cargo.toml"));
    let mut offenders = Vec::new();
    for path in rows {
        let text = read(&path);
        let allowed = ["nothing", "lost", "corrupt"].map(|what| format!("# Allows: {what}\n"));
        let allows = allowed.iter().any(|line| text.contains(line));
        let named = text.starts_with("# Promise: ") && text.contains("\n# Reference: http");
        if !(allows && named) {
            offenders.push(path.display().to_string());
        }
    }
    check("a row has `# Promise:`, `# Allows:` and `# Reference:`", &offenders);
}
