//! `durability`: promises, and who keeps them.

use std::io::{BufRead as _, BufReader};

use crate::common::{begin, drivelab, folder, said};

#[test]
fn promises_of_a_plain_file_are_kept_and_a_lost_page_is_found() {
    let folder = folder();
    let arguments =
        ["durability", "pages", "--size", "64k", "--runtime", "300ms", "--json", "--ledger", "l"];
    let wrote = drivelab(folder.path(), &arguments);
    assert_eq!(wrote.code, 0, "{wrote:?}");
    assert!(wrote.json()["promises"].as_u64() > Some(0), "{wrote:?}");
    let verify =
        || drivelab(folder.path(), &["durability", "pages", "--verify", "--ledger", "l", "--json"]);
    let kept = verify();
    assert_eq!(kept.code, 0, "{kept:?}");
    assert_eq!(kept.json()["pages"]["lost"], 0);
    // What a drive does that forgets a part of its first page, and then all of it.
    let path = folder.path().join("pages");
    for (forgotten, what) in [(4096, "torn"), (16384, "lost")] {
        let mut pages = std::fs::read(&path).unwrap();
        pages[..forgotten].fill(0);
        std::fs::write(&path, pages).unwrap();
        let broken = verify();
        assert_eq!(broken.code, 1, "{broken:?}");
        assert_eq!(broken.json()["pages"][what], 1, "{broken:?}");
    }
}

#[test]
fn another_machine_keeps_the_promises() {
    let folder = folder();
    let mut keeper =
        begin(folder.path(), &["durability", "--listen", "127.0.0.1:0", "--ledger", "kept"]);
    let mut words = BufReader::new(keeper.stderr.take().unwrap());
    let mut line = String::new();
    words.read_line(&mut line).unwrap();
    let address = line.split(' ').find(|word| word.starts_with("127.0.0.1:")).unwrap();
    let arguments =
        ["durability", "pages", "--size", "64k", "--runtime", "300ms", "--server", address];
    let wrote = drivelab(folder.path(), &arguments);
    assert_eq!(wrote.code, 0, "{wrote:?}");
    let kept = said(keeper.wait_with_output().unwrap());
    assert!(kept.code == 0 && kept.out.contains("notes are in kept"), "{kept:?}");
    let verified =
        drivelab(folder.path(), &["durability", "pages", "--verify", "--ledger", "kept"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    assert!(verified.out.contains("every promise was kept"), "{verified:?}");
    drivelab(folder.path(), &["durability", "pages", "--server", address])
        .failed(3, &["nobody keeps at", "--listen"]);
}
