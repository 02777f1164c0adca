//! `lab`, and `run --in kernel` where no kernel is there. What takes one is in
//! `scripts/check-kernel`.

use std::path::Path;

use crate::common::{Said, command, file, folder, said};
use crate::tidy::root;

/// Runs the program with a cache of its own.
fn drivelab(folder: &Path, arguments: &[&str]) -> Said {
    let mut command = command(folder, arguments);
    said(command.env("XDG_CACHE_HOME", folder.join("cache")).output().unwrap())
}

#[test]
fn without_a_kernel_the_command_that_builds_one_is_named() {
    let folder = folder();
    let build = "drivelab guest kernel build";
    drivelab(folder.path(), &["guest", "kernel", "where"]).failed(3, &["no kernel", build]);
    let run = ["run", "drive:seagate-st31000333as", "--in", "kernel", "--runtime", "1s"];
    drivelab(folder.path(), &run).failed(3, &["no kernel", build]);
    drivelab(folder.path(), &["guest", "shell"]).failed(3, &["no kernel", build]);
    drivelab(folder.path(), &["guest", "shell", "seagate"]).failed(2, &["unknown drive `seagate`"]);
    let setup = drivelab(folder.path(), &["guest", "setup", "--json"]);
    assert_eq!(setup.code, 3, "{setup:?}");
    let said = setup.json();
    assert_eq!((&said["schema"], &said["ready"]), (&"drivelab.guest/1".into(), &false.into()));
    assert!(said["missing"].is_array() && said["kernel"].is_null(), "{said}");
    assert!(drivelab(folder.path(), &["guest", "setup"]).out.contains(build));
}

#[test]
fn what_is_no_kernel_is_not_imported() {
    let folder = folder();
    let import = |name| drivelab(folder.path(), &["guest", "kernel", "import", name]);
    import("none").failed(2, &["none"]);
    file(folder.path(), "text", "6.12.0");
    import("text").failed(2, &["`text` is not a kernel", "drivelab guest kernel build"]);
    let named = ["guest", "kernel", "import", "text", "--name", "../x"];
    drivelab(folder.path(), &named).failed(2, &["a kernel's name has up to 40 letters"]);
    assert!(!folder.path().join("cache/drivelab/kernels").exists());
}

#[test]
fn kernels_have_names() {
    let cache = folder();
    let guest =
        |words: &[&str]| drivelab(cache.path(), &[&["guest", "kernel"][..], words].concat());
    guest(&["list"]).failed(3, &["no kernel", "drivelab guest kernel build"]);
    assert_eq!(guest(&["list", "--json"]).json()["kernels"], serde_json::json!([]));
    let build = "drivelab guest kernel build --name one-tag";
    guest(&["where", "--name", "one-tag"]).failed(3, &["no kernel `one-tag`", build]);
    guest(&["export", "out.xz", "--name", "one-tag"]).failed(3, &["no kernel `one-tag`"]);
    guest(&["build", "--patch", "x.patch"]).failed(2, &["--name"]);
    guest(&["remove"]).failed(2, &["--objects"]);
    guest(&["remove", "one-tag"]).failed(2, &["no kernel `one-tag`", "drivelab guest kernel list"]);
    // A wrong name ends the call before anything is removed.
    let kept = cache.path().join("cache/drivelab/kernels/named/mine");
    std::fs::create_dir_all(&kept).unwrap();
    guest(&["remove", "mine", "one-tag"]).failed(2, &["no kernel `one-tag`"]);
    let lock = std::fs::File::create(cache.path().join("cache/drivelab/kernels/lock")).unwrap();
    lock.lock().unwrap();
    guest(&["remove", "mine"]).failed(3, &["another process is building", "wait for it to end"]);
    drop(lock);
    assert!(kept.exists());
    assert_eq!(guest(&["remove", "mine"]).out, "removed: kernel mine\n");
    assert!(!kept.exists());
    let removed = guest(&["remove", "--objects", "--json"]).json();
    assert_eq!(removed["removed_objects_bytes"], 0);
    let run = ["run", "drive:seagate-st31000333as", "--in", "kernel", "--kernel", "one-tag"];
    drivelab(cache.path(), &run).failed(3, &["no kernel `one-tag`", build]);
    let study = std::fs::read_to_string(root().join("studies/kernels/one-tag.toml")).unwrap();
    file(cache.path(), "one-tag.toml", &study);
    drivelab(cache.path(), &["study", "one-tag.toml"]).failed(3, &["no kernel"]);
    let simulated = ["study", "one-tag.toml", "--stage", "simulate"];
    drivelab(cache.path(), &simulated).failed(2, &["`kernel`", "--stage kernel"]);
    assert!(!cache.path().join("out.xz").exists());
}

#[test]
fn a_run_in_a_kernel_takes_a_modelled_drive_and_no_option_of_files() {
    let folder = folder();
    let path = file(folder.path(), "data", "").display().to_string();
    drivelab(folder.path(), &["run", &path, "--in", "kernel"]).failed(2, &["modelled drive"]);
    let drive = "drive:seagate-st31000333as";
    for option in ["--verify", "--overwrite", "--hipri"] {
        let said = drivelab(folder.path(), &["run", drive, "--in", "kernel", option]);
        said.failed(2, &["cannot be used with", "--in"]);
    }
    let within = |options: &[&str]| {
        let words = [&["run", drive, "--in", "kernel"][..], options].concat();
        drivelab(folder.path(), &words)
    };
    within(&["--suite", "bonnie"])
        .failed(2, &["no file system", "ext4, ext3, xfs, btrfs or ntfs3"]);
    within(&["--filesystem", "ext4"]).failed(2, &["size of its file"]);
    within(&["--filesystem", "ntfs"]).failed(2, &["`ntfs`", "did you mean `ntfs3`?"]);
    within(&["--mount-options", "noatime"]).failed(2, &["--filesystem"]);
    within(&["--memory", "1M"]).failed(2, &["the memory of a guest"]);
    within(&["--suite", "shape:scan"]).failed(2, &["stage simulate"]);
    for words in [&["--suite", "hdtune"][..], &["--filesystem", "xfs", "--suite", "fsmark,files=9"]]
    {
        within(words).failed(3, &["no kernel"]);
    }
    let said = drivelab(folder.path(), &["run", drive, "--trace", "t"]);
    said.failed(2, &["--in <ENVIRONMENT>"]);
    let said = drivelab(folder.path(), &["run", drive, "--in", "kernel", "--trace", &path]);
    said.failed(3, &["no kernel"]);
    file(folder.path(), "mine", "a letter\n");
    let said = drivelab(folder.path(), &["run", drive, "--in", "kernel", "--trace", "mine"]);
    said.failed(2, &["`mine` exists"]);
}

#[test]
fn a_study_in_a_kernel_refuses_what_a_guest_cannot_have() {
    let folder = folder();
    let study = |metric: &str, arm: &str, workload: &str| {
        let text = format!(
            "title = \"t\"\nprimary = \"w.{metric}\"\n[base]\ndrive = \"seagate-st31000333as\"\n\
             [[arm]]\nname = \"one\"\n[[arm]]\nname = \"two\"\n{arm}\n\
             [[workload]]\nname = \"w\"\n{workload}\n"
        );
        file(folder.path(), "study.toml", &text);
        drivelab(folder.path(), &["study", "study.toml", "--stage", "kernel"])
    };
    let load = "rw = \"randread\"\nruntime = \"1s\"";
    study("iops", "scheduler = \"bioq\"", load)
        .failed(2, &["no elevator `bioq`", "this is arm `two`"]);
    study("iops", "dispatch = \"split\"", load)
        .failed(2, &["no tag dispatch `split`", "arm `two`"]);
    let tree = "suite = \"fsmark\"";
    study("files_51200b", "", tree).failed(2, &["no file system", "workload `w`"]);
    study("files_51200b", "filesystem = \"xfs\"", tree).failed(2, &["arm `one`"]);
    let mounted = "filesystem = \"xfs\"";
    study("iops", "", &format!("{load}\n{mounted}")).failed(2, &["size of its file"]);
    for work in [&format!("{tree}\n{mounted}"), "command = \"true\"\nmemory = \"256M\""] {
        let metric = if work.starts_with("suite") { "files_51200b" } else { "wall_ns" };
        study(metric, "", work).failed(3, &["no kernel"]);
    }
    study("iops", "memory = \"9\"", load).failed(2, &["`memory`", "the memory of a guest"]);
    study("iops", "controller = \"ide\"", load).failed(3, &["no kernel"]);
    study("iops", "scheduler = \"deadline\"", load)
        .failed(3, &["no kernel", "drivelab guest kernel build"]);
    assert!(!folder.path().join("drivelab-results").exists(), "nothing was begun");
}
