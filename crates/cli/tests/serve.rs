//! `serve`: what it refuses, and why.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command};

use crate::common::{PROGRAM, begin, drivelab, file, folder, starter};

#[test]
fn a_drive_faster_than_this_host_wakes_up_is_refused_with_the_floor() {
    let folder = folder();
    // No timer of any host rings within a microsecond.
    let text = "base = \"fixed\"\n[fixed]\nservice = \"1us\"\n";
    file(folder.path(), "fast.toml", text);
    drivelab(folder.path(), &["serve", "fast.toml", "--nbd", "unix:sock"])
        .failed(3, &["this host is too slow to be", "within 1us", "wakeup takes", "drivelab run"]);
    // Not sleeping at all helps, but sending an answer takes its time too.
    drivelab(folder.path(), &["serve", "fast.toml", "--nbd", "unix:sock", "--spin", "1s"])
        .failed(3, &["too slow to be", "15us"]);
    assert!(!folder.path().join("sock").exists());
}

#[test]
fn a_drive_of_which_the_way_is_a_share_is_refused_unless_its_times_do_not_matter() {
    let folder = folder();
    drivelab(folder.path(), &["serve", "samsung-850evo", "--nbd", "unix:sock"]).failed(
        3,
        &[
            "too slow to be drive:samsung-850evo",
            "takes 15us or more",
            "% of the",
            "--lateness-bound",
        ],
    );
    assert!(!folder.path().join("sock").exists());
    let arguments = ["serve", "samsung-850evo", "--nbd", "unix:sock", "--lateness-bound", "1s"];
    let mut served = begin(folder.path(), &arguments);
    let mut said = BufReader::new(served.stderr.take().unwrap());
    let mut words = String::new();
    said.read_line(&mut words).unwrap();
    assert!(words.starts_with("serving samsung-850evo"), "{words}");
    signal("TERM", &served);
    said.read_to_string(&mut words).unwrap();
    assert!(words.contains("a client measures less than the drive"), "{words}");
    assert!(served.wait().unwrap().success());
}

#[test]
fn a_drive_that_nobody_could_reach_is_refused() {
    let folder = folder();
    drivelab(folder.path(), &["serve", "null"]).failed(2, &["no export given", "--nbd"]);
    drivelab(folder.path(), &["serve", "null", "--nbd", "0.0.0.0:10809"])
        .failed(2, &["other machines"]);
}

#[test]
#[cfg(not(feature = "ublk"))]
fn a_build_without_ublk_names_the_one_with_it() {
    let folder = folder();
    let said = drivelab(folder.path(), &["serve", "null", "--ublk"]);
    said.failed(3, &["built without ublk", "--features ublk", "--nbd", "--fuse"]);
}

#[test]
#[cfg(feature = "ublk")]
#[expect(clippy::print_stderr, reason = "what is left out is said")]
fn a_kernel_without_ublk_is_named_with_what_to_load() {
    let folder = folder();
    if std::path::Path::new("/dev/ublk-control").exists() {
        eprintln!("LEFT OUT: this kernel has ublk, which scripts/check-ublk tries in a machine");
        return;
    }
    let said = drivelab(folder.path(), &["serve", "null", "--ublk", "--nbd", "unix:sock"]);
    said.failed(3, &["/dev/ublk-control", "modprobe ublk_drv", "--fuse"]);
    assert!(!folder.path().join("sock").exists());
}

#[test]
fn a_size_that_no_client_can_read_is_refused() {
    let folder = folder();
    for size in ["0", "1000", "65T", "9223372036854775807", "18446744073709551615"] {
        drivelab(folder.path(), &["serve", "null", "--nbd", "unix:sock", "--size", size])
            .failed(2, &["--size", "multiple of 512", "such as 1G"]);
    }
}

#[test]
fn what_another_server_has_is_not_taken_from_it() {
    let folder = folder();
    let mut first = begin(
        folder.path(),
        &["serve", "null", "--size", "1M", "--image", "image", "--nbd", "unix:sock"],
    );
    let mut line = String::new();
    BufReader::new(first.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("serving null, seed 1"), "{line}");
    let other = ["serve", "null", "--size", "1M", "--nbd"];
    drivelab(folder.path(), &[&other[..], &["unix:sock"]].concat())
        .failed(3, &["cannot listen at unix:sock", "another server listens there"]);
    drivelab(folder.path(), &[&other[..], &["unix:two", "--image", "image"]].concat())
        .failed(3, &["another server has it open"]);
    first.kill().unwrap();
    first.wait().unwrap();
    // What it left behind is in nobody's way.
    drivelab(
        folder.path(),
        &["serve", "null", "--size", "2M", "--nbd", "unix:sock", "--image", "image"],
    )
    .failed(2, &["has 1048576 bytes", "another image"]);
}

/// A server that is ready, and the rest of what it says; `None` where this host has no FUSE.
#[expect(clippy::print_stderr, reason = "what is left out is said")]
fn serve_file(folder: &Path, more: &[&str]) -> Option<(Child, impl BufRead + use<>)> {
    let arguments = ["serve", "null", "--size", "1M", "--fuse", "drive", "--control", "unix:c"];
    let mut server = begin(folder, &[&arguments[..], more].concat());
    let mut said = BufReader::new(server.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    if line.starts_with("serving null") {
        while !line.contains("control") {
            said.read_line(&mut line).unwrap();
        }
        return Some((server, said));
    }
    eprintln!("LEFT OUT: this host does not let us mount: {line}");
    server.wait().unwrap();
    None
}

fn signal(name: &str, server: &Child) {
    let kill = format!("kill -{name} {}", server.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

#[test]
fn what_a_killed_server_left_mounted_is_cleared_by_the_next() {
    let folder = folder();
    let Some((mut first, _)) = serve_file(folder.path(), &[]) else { return };
    first.kill().unwrap();
    first.wait().unwrap();
    let dead = std::fs::metadata(folder.path().join("drive")).unwrap_err();
    assert_eq!(dead.kind(), std::io::ErrorKind::NotConnected);
    let (mut second, _) = serve_file(folder.path(), &[]).expect("it was possible before");
    let size = std::fs::metadata(folder.path().join("drive")).unwrap().len();
    assert_eq!(size, 1 << 20);
    // The drive of a living server is not buried under another.
    let third = ["serve", "null", "--size", "1M", "--fuse", "drive"];
    drivelab(folder.path(), &third).failed(3, &["cannot mount", "another server", "another path"]);
    signal("TERM", &second);
    assert!(second.wait().unwrap().success());
    assert!(!std::fs::metadata(folder.path().join("drive")).is_ok_and(|meta| meta.len() > 0));
}

#[test]
fn a_drive_that_somebody_has_open_is_not_taken_away_without_a_word() {
    let folder = folder();
    let Some((mut server, mut said)) = serve_file(folder.path(), &["--grace", "50ms"]) else {
        return;
    };
    let open = std::fs::File::open(folder.path().join("drive")).unwrap();
    signal("INT", &server);
    let mut words = String::new();
    said.read_to_string(&mut words).unwrap();
    let here = format!("({})", std::process::id());
    for word in ["has the drive open", &here, "went away", "Ctrl-C"] {
        assert!(words.contains(word), "`{word}` is missing: {words}");
    }
    drop(open);
    // Whether the kernel was done by then is not in our hands; what is said of it must be true.
    let lost = words.contains("may be lost");
    assert_eq!(server.wait().unwrap().code(), Some(if lost { 130 } else { 0 }), "{words}");
}

#[test]
fn a_server_ends_at_once_when_what_it_waited_for_is_closed() {
    let folder = folder();
    // Without the closing it would wait for an hour.
    let Some((mut server, mut said)) = serve_file(folder.path(), &["--grace", "1h"]) else {
        return;
    };
    let open = std::fs::File::open(folder.path().join("drive")).unwrap();
    signal("TERM", &server);
    let mut words = String::new();
    said.read_line(&mut words).unwrap();
    drop(open);
    said.read_to_string(&mut words).unwrap();
    assert!(words.contains("has the drive open") && !words.contains("taken away"), "{words}");
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

#[test]
fn a_file_where_the_socket_is_to_be_is_no_server() {
    let folder = folder();
    file(folder.path(), "plain", "data");
    drivelab(folder.path(), &["serve", "null", "--nbd", "unix:plain"])
        .failed(3, &["cannot listen at unix:plain", "not a socket", "name another"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("plain")).unwrap(), "data");
}

#[test]
fn a_server_without_descriptors_left_serves_again_when_there_are_some() {
    let folder = folder();
    let mut limited = starter(folder.path(), "sh");
    let line = format!("ulimit -n 20; exec {PROGRAM} serve null --nbd unix:n --control unix:c");
    limited.args(["-c", &line]).stderr(std::process::Stdio::piped());
    let mut server = limited.spawn().unwrap();
    let mut said = BufReader::new(server.stderr.take().unwrap());
    let mut words = String::new();
    while !words.contains("control") {
        said.read_line(&mut words).unwrap();
    }
    let idle: Vec<UnixStream> =
        (0..40).map(|_| UnixStream::connect(folder.path().join("n")).unwrap()).collect();
    drop(idle);
    let mut control = UnixStream::connect(folder.path().join("c")).unwrap();
    control.write_all(b"GET /stats HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    control.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    signal("TERM", &server);
    assert!(server.wait().unwrap().success());
}

#[test]
fn lateness_is_judged_by_what_the_drive_takes_or_by_what_is_asked_for() {
    let folder = folder();
    let bound = |more: &[&str]| {
        let arguments = ["serve", "seagate-st31000333as", "--nbd", "unix:n", "--control", "unix:c"];
        let mut server = begin(folder.path(), &[&arguments[..], more].concat());
        let mut said = BufReader::new(server.stderr.take().unwrap());
        let mut words = String::new();
        while !words.contains("control") {
            said.read_line(&mut words).unwrap();
        }
        let mut control = UnixStream::connect(folder.path().join("c")).unwrap();
        control.write_all(b"GET /stats HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut answer = String::new();
        control.read_to_string(&mut answer).unwrap();
        signal("TERM", &server);
        assert!(server.wait().unwrap().success());
        let body = answer.split("\r\n\r\n").nth(1).unwrap();
        let stats: serde_json::Value = serde_json::from_str(body).unwrap();
        stats["lateness_bound_ns"].as_u64().unwrap()
    };
    // A twentieth of some 14 ms.
    assert!((650_000..750_000).contains(&bound(&[])));
    assert_eq!(bound(&["--lateness-bound", "5ms"]), 5_000_000);
}

#[test]
fn a_server_without_a_descriptor_for_a_client_does_not_begin() {
    let folder = folder();
    let serve =
        format!("exec {PROGRAM} serve null --size 1M --nbd unix:nbd --control unix:control");
    // With fewer than it needs itself it cannot begin either: some number below sixteen leaves
    // nothing for a client, and every number up to that must be refused.
    let begins = |limit: u32| {
        let shell = format!("ulimit -n {limit}; {serve}");
        let mut child = starter(folder.path(), "sh")
            .args(["-c", &shell])
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        let mut said = std::io::BufReader::new(child.stderr.take().unwrap());
        std::io::BufRead::read_line(&mut said, &mut first).unwrap();
        let serves = first.starts_with("serving ");
        if serves {
            let stream = std::os::unix::net::UnixStream::connect(folder.path().join("control"));
            let mut stream = stream.unwrap();
            stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
            let head = "GET /stats HTTP/1.1\r\nHost: localhost\r\n\r\n";
            std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
            let mut answer = [0; 12];
            std::io::Read::read_exact(&mut stream, &mut answer).unwrap();
            assert_eq!(&answer, b"HTTP/1.1 200", "with {limit} descriptors");
            child.kill().unwrap();
        }
        child.wait().unwrap();
        for name in ["nbd", "control"] {
            let _ = std::fs::remove_file(folder.path().join(name));
        }
        serves
    };
    let serving: Vec<u32> = (4..16).filter(|limit| begins(*limit)).collect();
    assert!(!serving.is_empty() && !serving.contains(&4), "{serving:?}");
}

#[test]
fn options_that_would_change_nothing_are_refused() {
    let folder = folder();
    let modelled = ["serve", "seagate-st250dm000", "--nbd", "unix:sock", "--size", "1G"];
    drivelab(folder.path(), &modelled).failed(2, &["profile determines the size", "serve null"]);
    let dispatch = ["serve", "seagate-st250dm000", "--nbd", "unix:sock", "--dispatch", "split"];
    drivelab(folder.path(), &dispatch).failed(2, &["--dispatch", "cannot be used with"]);
    let fault = ["serve", "null", "--nbd", "unix:sock", "--fault", r#"{"kind": "stall"}"#];
    drivelab(folder.path(), &fault).failed(2, &["duration_ms"]);
    let fault = r#"{"kind": "slow", "factor": 2, "duration_ms": 1000}"#;
    drivelab(folder.path(), &["serve", "null", "--nbd", "unix:sock", "--fault", fault])
        .failed(2, &["`duration_ms` means nothing for `slow`", "until it is removed"]);
    drivelab(folder.path(), &["serve", "--backing", "no", "--nbd", "unix:sock"])
        .failed(2, &["no", "truncate -s 1G no"]);
}
