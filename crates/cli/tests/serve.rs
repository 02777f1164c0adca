//! `serve`: what it refuses, and why.

use crate::common::{drivelab, file, folder};

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
