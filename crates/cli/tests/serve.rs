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
    drivelab(folder.path(), &["serve", "null", "--ublk"]).failed(3, &["ublk", "--fuse"]);
}
