//! Names the commit of the sources in the version of a release build.

use std::path::Path;
use std::process::Command;

fn main() {
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    // Tests are not built again for each commit.
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = is_release.then(commit).flatten().map(|commit| format!(" ({commit})"));
    println!("cargo::rustc-env=DRIVELAB_VERSION={version}{}", commit.unwrap_or_default());
    println!("cargo::rerun-if-changed=build.rs");
}

/// The commit, `-dirty` where files differ from it; `None` for sources that git does not know.
fn commit() -> Option<String> {
    // Sources unpacked inside another repository must not get the commit of that one.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", name])?;
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    // An edited source makes it `-dirty` without a change of HEAD.
    println!("cargo::rerun-if-changed=..");
    // No tag matches, so that the output is a hash even at a release.
    git(&["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
