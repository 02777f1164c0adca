//! What the program says of itself.

use crate::common::{drivelab, folder};

#[test]
fn the_first_help_shows_every_verb_with_examples() {
    let folder = folder();
    insta::assert_snapshot!(drivelab(folder.path(), &["--help"]).out);
}

#[test]
fn completions_and_man_pages_are_generated() {
    let folder = folder();
    for shell in ["bash", "zsh", "fish"] {
        let said = drivelab(folder.path(), &["completions", shell]);
        assert!(said.code == 0 && said.out.contains("ahci") | said.out.contains("study"));
    }
    let page = drivelab(folder.path(), &["man"]);
    assert!(page.code == 0 && page.out.contains(".TH drivelab"), "{page:?}");
    assert_eq!(drivelab(folder.path(), &["man", "--out", "pages"]).code, 0);
    for name in ["drivelab.1", "drivelab-study.1", "drivelab-run.1", "drivelab-compare.1"] {
        assert!(folder.path().join("pages").join(name).exists(), "{name}");
    }
}

#[test]
fn unknown_words_are_bad_requests_with_a_suggestion() {
    let folder = folder();
    drivelab(folder.path(), &["studdy"]).failed(2, &["study"]);
    drivelab(folder.path(), &["run", "x", "--iodpeth", "1"]).failed(2, &["--iodepth"]);
    drivelab(folder.path(), &[]).failed(2, &["Usage"]);
}

#[test]
fn a_line_break_in_a_value_begins_no_message_of_its_own() {
    let folder = crate::common::folder();
    let said = drivelab(folder.path(), &["run", "drive:fixed", "--size", "1\nerror: forged"]);
    said.failed(2, &["1\\nerror: forged"]);
    assert!(!said.err.contains("\nerror: forged"), "{said:?}");
}
