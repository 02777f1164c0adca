//! `durability`: promises, and who keeps them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::Child;

use drivelab_core::verification::sealed;

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
    assert!(kept.code == 0 && kept.out.contains("ledger entries to kept"), "{kept:?}");
    let verified =
        drivelab(folder.path(), &["durability", "pages", "--verify", "--ledger", "kept"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    assert!(verified.out.contains("all acknowledged pages are intact"), "{verified:?}");
    drivelab(folder.path(), &["durability", "pages", "--server", &address])
        .failed(3, &["no ledger at", "--listen"]);
}

#[test]
fn data_of_others_is_not_written_over() {
    let folder = folder();
    let path = folder.path().join("precious");
    std::fs::write(&path, "letters of a lifetime").unwrap();
    let write = ["durability", "precious", "--size", "64k", "--runtime", "50ms", "--ledger", "l"];
    drivelab(folder.path(), &write)
        .failed(2, &["contains data that drivelab did not write", "--overwrite"]);
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
    let lines =
        [sealed("drivelab-durability 3 7 4 \"\""), sealed("begun 1 1 10"), "kep".into()].concat();
    silent.write_all(lines.as_bytes()).unwrap();
    let mut answer = [0; 3];
    std::io::Read::read_exact(&mut silent, &mut answer).unwrap();
    assert_eq!(&answer, b"ok\n");
    interrupt(&keeper);
    let kept = said(keeper.wait_with_output().unwrap());
    assert!(kept.code == 130 && kept.out.contains("1 ledger entries to kept"), "{kept:?}");
    let ledger = std::fs::read_to_string(folder.path().join("kept")).unwrap();
    let lines: Vec<&str> = ledger.lines().collect();
    assert_eq!(
        lines,
        [sealed("drivelab-durability 3 7 4 \"\"").trim_end(), sealed("begun 1 1 10").trim_end()]
    );
}

#[test]
fn a_keeper_does_not_listen_to_a_line_without_end() {
    let folder = folder();
    let (keeper, address) = keeper(folder.path());
    let mut flood = std::net::TcpStream::connect(&address).unwrap();
    // It hangs up at some point, which then is where writing fails.
    while flood.write_all(&[b'7'; 4096]).is_ok() {}
    let ended = said(keeper.wait_with_output().unwrap());
    assert!(ended.code != 0 && ended.err.contains("the client is not `durability`"), "{ended:?}");
}

#[test]
fn a_file_is_never_made_shorter_and_zeros_are_not_ours() {
    let folder = folder();
    let path = folder.path().join("image");
    let size = ["--size", "64k", "--runtime", "50ms", "--ledger", "l"];
    let write = [&["durability", "image"][..], &size].concat();
    let allowed = [&write[..], &["--overwrite"]].concat();
    // A fresh disk image: all zeros, and as large as somebody wants it.
    let zeros = vec![0; 1 << 20];
    std::fs::write(&path, &zeros).unwrap();
    drivelab(folder.path(), &write).failed(2, &["drivelab did not write", "--overwrite"]);
    assert!(std::fs::read(&path).unwrap() == zeros, "a refused file was changed");
    // The same without a single block of its own.
    let sparse = std::fs::File::create(&path).unwrap();
    sparse.set_len(1 << 20).unwrap();
    drivelab(folder.path(), &write).failed(2, &["drivelab did not write", "--overwrite"]);
    // What is beyond --size stays, even where the data may go.
    std::fs::write(&path, vec![7; 1 << 20]).unwrap();
    assert_eq!(drivelab(folder.path(), &allowed).code, 0);
    let after = std::fs::read(&path).unwrap();
    assert_eq!(after.len(), 1 << 20);
    assert!(after[64 << 10..].iter().all(|byte| *byte == 7), "data beyond --size was changed");
    drivelab(folder.path(), &write).failed(2, &["drivelab did not write"]);
}

#[test]
fn a_larger_file_of_ours_keeps_its_length_and_a_smaller_one_grows() {
    let folder = folder();
    let path = folder.path().join("pages");
    for (size, length) in [("256k", 256 << 10), ("64k", 256 << 10), ("512k", 512 << 10)] {
        let arguments =
            ["durability", "pages", "--size", size, "--runtime", "50ms", "--ledger", "l"];
        let wrote = drivelab(folder.path(), &arguments);
        assert_eq!(wrote.code, 0, "{wrote:?}");
        assert_eq!(path.metadata().unwrap().len(), length);
        let verify = ["durability", "pages", "--verify", "--ledger", "l"];
        assert_eq!(drivelab(folder.path(), &verify).code, 0);
    }
}

#[test]
fn files_of_run_are_taken_for_ours_and_the_reverse() {
    let folder = folder();
    let durability = |name: &str| {
        let ledger = format!("{name}.ledger");
        let fixed = ["durability", name, "--size", "64k", "--runtime", "50ms"];
        let arguments = [&fixed[..], &["--ledger", &ledger]].concat();
        let said = drivelab(folder.path(), &arguments);
        assert_eq!(said.code, 0, "{said:?}");
    };
    let run = |name: &str, more: &[&str]| {
        let fixed = ["run", name, "--size", "64k", "--direct=0", "--rw", "write"];
        let arguments = [&fixed[..], &["--number-ios", "16"], more].concat();
        let said = drivelab(folder.path(), &arguments);
        assert_eq!(said.code, 0, "{said:?}");
    };
    run("plain", &[]);
    durability("plain");
    run("verified", &["--verify"]);
    durability("verified");
    run("verified", &["--verify"]);
    durability("pages");
    run("pages", &[]);
}

#[test]
fn where_nothing_was_promised_nothing_is_known() {
    let folder = folder();
    let check = |arguments: &[&str]| {
        let said = drivelab(folder.path(), &[&["durability"], arguments].concat());
        assert_eq!(said.code, 4, "{said:?}");
        assert!(said.out.contains("no page was acknowledged"), "{said:?}");
        assert!(!said.out.contains("all acknowledged pages are intact"), "{said:?}");
    };
    let drive = "drive:generic-10k";
    check(&[drive, "--runtime", "0"]);
    check(&["pages", "--size", "64k", "--runtime", "0"]);
    check(&["pages", "--verify"]);
    let json = drivelab(folder.path(), &["durability", drive, "--runtime", "0", "--json"]);
    assert_eq!((json.code, &json.json()["promises"]), (4, &serde_json::json!(0)));
}

#[test]
fn a_drive_is_not_asked_for_more_than_it_holds() {
    let folder = folder();
    for size in ["1T", "9223372036854775808", "18446744073709551615"] {
        let arguments = ["durability", "drive:generic-10k", "--size", size, "--runtime", "100ms"];
        drivelab(folder.path(), &arguments).failed(2, &["generic-10k", "holds", "--size"]);
    }
}

#[test]
fn a_ledger_takes_no_other_files_place() {
    let folder = folder();
    let letters = folder.path().join("letters");
    std::fs::write(&letters, "of a lifetime").unwrap();
    let write = ["durability", "pages", "--size", "64k", "--runtime", "50ms", "--ledger"];
    let with = |ledger: &str| drivelab(folder.path(), &[&write[..], &[ledger]].concat());
    with("letters").failed(2, &["letters", "not a ledger", "--ledger"]);
    assert_eq!(std::fs::read(&letters).unwrap(), b"of a lifetime");
    with("pages").failed(2, &["pages", "--ledger"]);
    assert_eq!(with("l").code, 0);
    std::fs::hard_link(folder.path().join("pages"), folder.path().join("other")).unwrap();
    with("other").failed(2, &["other", "--ledger"]);
    assert_eq!(with("l").code, 0, "a ledger of ours is begun anew");
    let listen = ["durability", "--listen", "127.0.0.1:0", "--ledger", "letters"];
    drivelab(folder.path(), &listen).failed(2, &["letters", "not a ledger"]);
}

#[test]
fn a_size_below_a_page_is_a_bad_request() {
    let folder = folder();
    for target in ["pages", "drive:seagate-st31000333as"] {
        for size in ["0", "4095"] {
            let said = drivelab(folder.path(), &["durability", target, "--size", size]);
            said.failed(2, &["--size", "smaller than a page", "hint:"]);
            assert_eq!(said.out, "", "{said:?}");
        }
    }
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn ledgers_that_claim_too_much_are_refused_by_name() {
    let folder = folder();
    let arguments = ["durability", "pages", "--size", "64k", "--runtime", "50ms", "--ledger", "l"];
    assert_eq!(drivelab(folder.path(), &arguments).code, 0);
    let check = |text: &str, words: &[&str]| {
        std::fs::write(folder.path().join("claim"), text).unwrap();
        let verify = ["durability", "pages", "--verify", "--ledger", "claim"];
        drivelab(folder.path(), &verify).failed(2, words);
    };
    let pages = u64::MAX;
    check(&sealed(&format!("drivelab-durability 3 7 {pages} \"\"")), &["claim", "pages", "line 1"]);
    let head = sealed("drivelab-durability 3 7 4 \"\"");
    check(&[head.clone(), sealed("kept 4 1 1")].concat(), &["claim", "page 4", "line 2"]);
    let endless = "7".repeat(1 << 20);
    check(&format!("drivelab-durability 3 7 4{endless}\n"), &["not a ledger"]);
    check(&format!("{head}kept 1 1 {endless}\n"), &["claim", "line 2"]);
    check(&[head, sealed("kept one 1 1"), sealed("begun 1 1 1")].concat(), &["claim", "line 2"]);
}

#[test]
fn a_ledger_is_of_one_file_as_long_as_that_file_exists() {
    let folder = folder();
    let write = |pages: &str, ledger: &str| {
        let fixed = ["durability", pages, "--size", "64k", "--runtime", "50ms"];
        drivelab(folder.path(), &[&fixed[..], &["--ledger", ledger]].concat())
    };
    let verify =
        |pages: &str| drivelab(folder.path(), &["durability", pages, "--verify", "--ledger", "l"]);
    assert_eq!(write("pages", "l").code, 0);
    assert_eq!(write("other", "m").code, 0);
    verify("other").failed(2, &["l is the ledger of", "pages", "not of other", "--ledger"]);
    let kept = std::fs::read(folder.path().join("l")).unwrap();
    write("other", "l").failed(2, &["ledger of", "pages", "--ledger"]);
    write("new", "l").failed(2, &["ledger of", "pages", "--ledger"]);
    assert!(!folder.path().join("new").exists(), "refused before the target is touched");
    assert_eq!(std::fs::read(folder.path().join("l")).unwrap(), kept);
    // Under another name it is the same file, and what is gone is needed no more.
    std::fs::hard_link(folder.path().join("pages"), folder.path().join("link")).unwrap();
    assert_eq!(verify("link").code, 0);
    std::fs::remove_file(folder.path().join("pages")).unwrap();
    assert_eq!(verify("link").code, 0, "as after a restart with other names");
    assert_eq!(write("other", "l").code, 0);
}

fn interrupt(child: &Child) {
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
}

#[test]
fn writing_ends_when_it_is_interrupted_and_keeps_what_it_has() {
    let folder = folder();
    let arguments = ["durability", "pages", "--size", "64k", "--runtime", "20s", "--ledger", "l"];
    let child = begin(folder.path(), &arguments);
    let ledger = folder.path().join("l");
    while !std::fs::read_to_string(&ledger).is_ok_and(|text| text.contains("kept")) {
        std::thread::yield_now();
    }
    interrupt(&child);
    let said = said(child.wait_with_output().unwrap());
    assert!(said.code == 130 && said.out.contains("writes acknowledged"), "{said:?}");
    let verify = ["durability", "pages", "--verify", "--ledger", "l"];
    assert_eq!(drivelab(folder.path(), &verify).code, 0);
}

#[test]
fn waiting_for_a_keeper_ends_when_it_is_interrupted() {
    let folder = folder();
    // Takes the connection and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let arguments = ["durability", "pages", "--size", "64k", "--server", &address];
    let child = begin(folder.path(), &arguments);
    let (mut stream, _) = silent.accept().unwrap();
    let mut head = [0; 20];
    std::io::Read::read_exact(&mut stream, &mut head).unwrap();
    interrupt(&child);
    let ended = said(child.wait_with_output().unwrap());
    assert_eq!(ended.code, 130, "{ended:?}");
}

#[test]
fn waiting_for_a_ledger_ends_when_it_is_interrupted() {
    use std::os::unix::fs::OpenOptionsExt as _;
    let folder = folder();
    let ledger = folder.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&ledger).status().unwrap().success());
    std::fs::write(folder.path().join("pages"), "").unwrap();
    let verify = ["durability", "pages", "--verify", "--ledger", "fifo"];
    let child = begin(folder.path(), &verify);
    let mut options = std::fs::OpenOptions::new();
    // Refused (ENXIO) until somebody reads.
    let nonblock = 0o4000;
    let writer = loop {
        if let Ok(writer) = options.write(true).custom_flags(nonblock).open(&ledger) {
            break writer;
        }
        std::thread::yield_now();
    };
    interrupt(&child);
    let ended = said(child.wait_with_output().unwrap());
    assert_eq!(ended.code, 130, "{ended:?}");
    drop(writer);
}

#[test]
fn who_cannot_see_all_processes_is_told() {
    use std::os::unix::process::CommandExt as _;
    let folder = folder();
    let arguments = ["durability", "none/pages", "--allow-destructive", "none/pages"];
    let mut command = crate::common::command(folder.path(), &arguments);
    // A user without rights, where we have the right to become one.
    let root =
        std::os::unix::fs::MetadataExt::uid(&Path::new("/proc/self").metadata().unwrap()) == 0;
    if root {
        use std::os::unix::fs::PermissionsExt as _;
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.path(), open).unwrap();
        command.uid(65534);
    }
    let said = said(command.output().unwrap());
    assert!(said.err.contains("visible to root only"), "{said:?}");
}
