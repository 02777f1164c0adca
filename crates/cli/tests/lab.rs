//! `lab`, and `run --in kernel` where no kernel is there. What takes one is in
//! `scripts/check-kernel`.

use std::path::Path;

use crate::common::{Said, command, file, folder, said};

/// Runs the program with a cache of its own.
fn drivelab(folder: &Path, arguments: &[&str]) -> Said {
    let mut command = command(folder, arguments);
    said(command.env("XDG_CACHE_HOME", folder.join("cache")).output().unwrap())
}

#[test]
fn without_a_kernel_the_command_that_builds_one_is_named() {
    let folder = folder();
    let build = "drivelab lab kernel build";
    drivelab(folder.path(), &["lab", "kernel", "where"]).failed(3, &["no kernel", build]);
    let run = ["run", "drive:seagate-st31000333as", "--in", "kernel", "--runtime", "1s"];
    drivelab(folder.path(), &run).failed(3, &["no kernel", build]);
    let setup = drivelab(folder.path(), &["lab", "setup", "--json"]);
    assert_eq!(setup.code, 3, "{setup:?}");
    let said = setup.json();
    assert_eq!((&said["schema"], &said["ready"]), (&"drivelab.lab/1".into(), &false.into()));
    assert!(said["missing"].is_array() && said["kernel"].is_null(), "{said}");
    assert!(drivelab(folder.path(), &["lab", "setup"]).out.contains(build));
}

#[test]
fn what_is_no_kernel_is_not_imported() {
    let folder = folder();
    let import = |name| drivelab(folder.path(), &["lab", "kernel", "import", name]);
    import("none").failed(2, &["none"]);
    file(folder.path(), "text", "6.12.0");
    import("text").failed(2, &["`text` is not a kernel", "drivelab lab kernel build"]);
    assert!(!folder.path().join("cache/drivelab/kernels").exists());
}

#[test]
fn a_run_in_a_kernel_takes_a_modelled_drive_and_no_option_of_files() {
    let folder = folder();
    let path = file(folder.path(), "data", "").display().to_string();
    drivelab(folder.path(), &["run", &path, "--in", "kernel"]).failed(2, &["modelled drive"]);
    let drive = "drive:seagate-st31000333as";
    for option in ["--verify", "--overwrite", "--hipri", "--suite=hdtune"] {
        let said = drivelab(folder.path(), &["run", drive, "--in", "kernel", option]);
        said.failed(2, &["cannot be used with", "--in"]);
    }
    let said = drivelab(folder.path(), &["run", drive, "--trace", "t"]);
    said.failed(2, &["--in <PLACE>"]);
    let said = drivelab(folder.path(), &["run", drive, "--in", "kernel", "--trace", &path]);
    said.failed(3, &["no kernel"]);
    file(folder.path(), "mine", "a letter\n");
    let said = drivelab(folder.path(), &["run", drive, "--in", "kernel", "--trace", "mine"]);
    said.failed(2, &["`mine` exists"]);
}
