//! Each finding has its page, and each page its finding.

use std::fs;
use std::path::Path;

use drivelab_host::FindingId;

#[test]
fn each_finding_has_a_page() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/findings");
    let mut pages: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .filter(|name| name != "README")
        .collect();
    let mut findings: Vec<String> = FindingId::ALL.iter().map(ToString::to_string).collect();
    pages.sort();
    findings.sort();
    assert_eq!(pages, findings);
}

#[test]
fn the_list_of_pages_is_whole() {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/findings/README.md");
    let list = fs::read_to_string(list).unwrap();
    for id in FindingId::ALL {
        assert!(list.contains(&format!("[{id}]({id}.md)")), "{id} is not in the list");
    }
}
