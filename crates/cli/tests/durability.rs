//! `durability`: promises, and who keeps them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::Child;

use crate::common::{begin, drivelab, folder, said};

/// A keeper of notes, in the file `kept`, and where it listens.
fn keeper(folder: &Path) -> (Child, String) {
    let mut keeper = begin(folder, &["durability", "--listen", "127.0.0.1:0", "--ledger", "kept"]);
    let mut words = BufReader::new(keeper.stderr.take().unwrap());
    let mut line = String::new();
    words.read_line(&mut line).unwrap();
    keeper.stderr = Some(words.into_inner());
    let address = line.split(' ').find(|word| word.starts_with("127.0.0.1:")).unwrap();
    (keeper, address.trim_end_matches(';').to_owned())
}

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
    let (keeper, address) = keeper(folder.path());
    let arguments =
        ["durability", "pages", "--size", "64k", "--runtime", "300ms", "--server", &address];
    let wrote = drivelab(folder.path(), &arguments);
    assert_eq!(wrote.code, 0, "{wrote:?}");
    let kept = said(keeper.wait_with_output().unwrap());
    assert!(kept.code == 0 && kept.out.contains("notes are in kept"), "{kept:?}");
    let verified =
        drivelab(folder.path(), &["durability", "pages", "--verify", "--ledger", "kept"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    assert!(verified.out.contains("every promise was kept"), "{verified:?}");
    drivelab(folder.path(), &["durability", "pages", "--server", &address])
        .failed(3, &["nobody keeps at", "--listen"]);
}

#[test]
fn data_of_others_is_not_written_over() {
    let folder = folder();
    let path = folder.path().join("precious");
    std::fs::write(&path, "letters of a lifetime").unwrap();
    let write = ["durability", "precious", "--size", "64k", "--runtime", "50ms", "--ledger", "l"];
    drivelab(folder.path(), &write)
        .failed(2, &["holds data that drivelab did not write", "--overwrite"]);
    assert_eq!(std::fs::read(&path).unwrap(), b"letters of a lifetime");
    let allowed = [&write[..], &["--overwrite"]].concat();
    assert_eq!(drivelab(folder.path(), &allowed).code, 0);
    // What drivelab wrote may be written again.
    assert_eq!(drivelab(folder.path(), &write).code, 0);
}

#[test]
fn a_lie_is_seen_when_the_pages_are_looked_at_too() {
    let folder = folder();
    let write = ["durability", "pages", "--size", "64k", "--runtime", "300ms", "--ledger", "l"];
    assert_eq!(drivelab(folder.path(), &write).code, 0);
    // No file is synced less often than once in two minutes.
    let verify = ["durability", "pages", "--verify", "--ledger", "l", "--json", "--rpm", "1"];
    let seen = drivelab(folder.path(), &verify);
    assert_eq!(seen.code, 1, "{seen:?}");
    let json = seen.json();
    assert_eq!(json["syncs_beyond_the_medium"], true, "{json}");
    assert!(json["took_ns"].as_u64() > Some(0) && json["went_away"].is_null(), "{json}");
}

#[test]
fn a_modelled_disk_knows_how_often_it_comes_round() {
    let folder = folder();
    let drive = "drive:seagate-st31000333as";
    let honest = drivelab(folder.path(), &["durability", drive, "--runtime", "2s", "--json"]);
    assert_eq!(honest.code, 0, "{honest:?}");
    assert_eq!(honest.json()["syncs_beyond_the_medium"], false);
    let lying = r#"{"kind": "lying-flush"}"#;
    let arguments = ["durability", drive, "--runtime", "2s", "--json", "--fault", lying];
    let lying = drivelab(folder.path(), &arguments);
    assert_eq!(lying.code, 1, "{lying:?}");
    assert_eq!(lying.json()["syncs_beyond_the_medium"], true);
}

#[test]
fn a_keeper_that_is_interrupted_says_what_it_has() {
    let folder = folder();
    let (keeper, address) = keeper(folder.path());
    // A writer that was cut off in the middle of a line, and whose machine says nothing more.
    let mut silent = std::net::TcpStream::connect(&address).unwrap();
    silent.write_all(b"drivelab-durability 1 7 4\nbegun 1 1 10\nkep").unwrap();
    let mut answer = [0; 3];
    std::io::Read::read_exact(&mut silent, &mut answer).unwrap();
    assert_eq!(&answer, b"ok\n");
    let id = keeper.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let kept = said(keeper.wait_with_output().unwrap());
    assert!(kept.code == 0 && kept.out.contains("1 notes are in kept"), "{kept:?}");
    let ledger = std::fs::read_to_string(folder.path().join("kept")).unwrap();
    assert_eq!(ledger, "drivelab-durability 1 7 4\nbegun 1 1 10\n");
}

#[test]
fn a_keeper_does_not_listen_to_a_line_without_end() {
    let folder = folder();
    let (keeper, address) = keeper(folder.path());
    let mut flood = std::net::TcpStream::connect(&address).unwrap();
    // It hangs up at some point, which then is where writing fails.
    while flood.write_all(&[b'7'; 4096]).is_ok() {}
    let ended = said(keeper.wait_with_output().unwrap());
    assert!(ended.code != 0 && ended.err.contains("this is no writer of pages"), "{ended:?}");
}
