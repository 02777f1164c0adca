//! `serve`: what it refuses, and why.

use std::io::{BufRead as _, BufReader};

use crate::common::{begin, drivelab, file, folder};

#[test]
fn a_drive_faster_than_this_host_wakes_up_is_refused_with_the_floor() {
    let folder = folder();
    // No timer of any host rings within a microsecond.
    let text = "base = \"fixed\"\n[fixed]\nservice = \"1us\"\n";
    file(folder.path(), "fast.toml", text);
    drivelab(folder.path(), &["serve", "fast.toml", "--nbd", "unix:sock"])
        .failed(3, &["this host cannot be", "within 1us", "floor", "drivelab run"]);
    // Not sleeping at all helps, but sending an answer takes its time too.
    drivelab(folder.path(), &["serve", "fast.toml", "--nbd", "unix:sock", "--spin", "1s"])
        .failed(3, &["floor here", "15us"]);
    assert!(!folder.path().join("sock").exists());
}

#[test]
fn a_drive_that_nobody_could_reach_is_refused() {
    let folder = folder();
    drivelab(folder.path(), &["serve", "null"]).failed(2, &["nobody could reach", "--nbd"]);
    drivelab(folder.path(), &["serve", "null", "--nbd", "0.0.0.0:10809"])
        .failed(2, &["other machines"]);
}

#[test]
#[cfg(not(feature = "ublk"))]
fn a_build_without_ublk_names_the_one_with_it() {
    let folder = folder();
    let said = drivelab(folder.path(), &["serve", "null", "--ublk"]);
    said.failed(3, &["no ublk", "--features ublk", "--nbd", "--fuse"]);
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
    .failed(2, &["holds 1048576 bytes", "another image"]);
}

#[test]
fn options_that_would_change_nothing_are_refused() {
    let folder = folder();
    let modelled = ["serve", "seagate-st250dm000", "--nbd", "unix:sock", "--size", "1G"];
    drivelab(folder.path(), &modelled).failed(2, &["size of its profile", "serve null"]);
    let dispatch = ["serve", "seagate-st250dm000", "--nbd", "unix:sock", "--dispatch", "split"];
    drivelab(folder.path(), &dispatch).failed(2, &["--dispatch", "cannot be used with"]);
    let fault = ["serve", "null", "--nbd", "unix:sock", "--fault", r#"{"kind": "stall"}"#];
    drivelab(folder.path(), &fault).failed(2, &["duration_ms"]);
    drivelab(folder.path(), &["serve", "--backing", "no", "--nbd", "unix:sock"])
        .failed(2, &["no", "truncate -s 1G no"]);
}
