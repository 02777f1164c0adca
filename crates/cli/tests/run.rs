//! `run`: one measurement.

use std::process::Command;

use crate::common::{PROGRAM, begin, drivelab, file, folder, said, starter};

#[test]
fn figures_are_printed_before_a_page_that_cannot_be_written() {
    let folder = folder();
    let run = ["run", "drive:generic-5400", "--number-ios", "20", "--report", "/dev/full"];
    let said = drivelab(folder.path(), &run);
    said.failed(3, &["/dev/full"]);
    assert!(said.out.contains("IOPS"), "{said:?}");
    let job = "[a]\nfilename=drive:generic-5400\nnumber_ios=20\nrw=randread\n";
    file(folder.path(), "job.fio", job);
    let run = ["run", "--job", "job.fio", "--report", "/dev/full"];
    let said = drivelab(folder.path(), &run);
    said.failed(3, &["/dev/full"]);
    assert!(said.out.contains("IOPS"), "{said:?}");
}

#[test]
fn a_file_is_laid_out_measured_and_reported_as_the_contract_says() {
    let folder = folder();
    let arguments = [
        "run",
        "data",
        "--size",
        "16M",
        "--rw",
        "randread",
        "--bs",
        "4k",
        "--iodepth",
        "32",
        "--runtime",
        "200ms",
        "--label",
        "first",
        "--direct",
        "0",
        "--json",
    ];
    let said = drivelab(folder.path(), &arguments);
    assert_eq!(said.code, 0, "{said:?}");
    let run = said.json();
    assert_eq!(run["schema"], "drivelab.run/1");
    assert_eq!(run["label"], "first");
    assert_eq!(run["config"]["direct"], false);
    let total = &run["total"];
    for key in ["ios", "iops", "bytes_per_s", "errors", "cpu_ns_per_io"] {
        assert!(total[key].is_number(), "{key} in {total}");
    }
    for latency in ["lat_ns", "service_ns", "late_ns"] {
        for key in ["min", "mean", "p50", "p90", "p99", "p99_9", "p99_99", "max", "n"] {
            assert!(total[latency][key].is_u64(), "{latency}.{key} in {total}");
        }
    }
    assert!(total["lat_ns"]["min"].as_u64() >= total["service_ns"]["min"].as_u64());
    assert_eq!(total["stamp"], "io");
    assert!(total["seconds"].is_array());
    assert_eq!(run["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(std::fs::metadata(folder.path().join("data")).unwrap().len(), 16 << 20);
}

#[test]
fn stamps_of_a_batch_leave_the_counts_exact_and_are_named_in_the_result() {
    let folder = folder();
    for ioengine in ["null", "io_uring"] {
        let said = drivelab(
            folder.path(),
            &["run", "data", "--size=1M", "--iodepth=8", "--number-ios=1000", "--direct=0"]
                .into_iter()
                .chain(["--stamp=batch", "--json", "--ioengine", ioengine])
                .collect::<Vec<_>>(),
        );
        assert_eq!(said.code, 0, "{said:?}");
        let total = &said.json()["total"];
        assert_eq!(total["stamp"], "batch");
        assert_eq!((&total["ios"], &total["lat_ns"]["n"]), (&1000.into(), &1000.into()));
    }
    let said = drivelab(folder.path(), &["run", "data", "--stamp=bach"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("did you mean `batch`?"), "{said:?}");
}

#[test]
fn somebodys_data_is_not_overwritten() {
    let folder = folder();
    let text = "precious".repeat(4096);
    let path = file(folder.path(), "precious", &text);
    let write = |more: &[&str]| {
        let mut arguments = vec!["run", "precious", "--rw", "randwrite", "--number-ios", "4"];
        arguments.extend(more);
        drivelab(folder.path(), &arguments)
    };
    write(&[]).failed(2, &["precious", "--overwrite"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    let allowed = write(&["--overwrite"]);
    assert_eq!(allowed.code, 0, "{allowed:?}");
    assert_ne!(std::fs::read(&path).unwrap(), text.as_bytes());
}

#[test]
fn what_cannot_be_measured_is_refused_with_a_reason() {
    let folder = folder();
    file(folder.path(), "empty", "");
    let check = |arguments: &[&str], code: i32, words: &[&str]| {
        let all: Vec<&str> = ["run"].iter().chain(arguments).copied().collect();
        drivelab(folder.path(), &all).failed(code, words);
    };
    check(&["missing"], 2, &["missing", "--size"]);
    check(&["empty"], 2, &["empty"]);
    check(&["."], 2, &["directory"]);
    check(&["/dev/null"], 2, &["/dev/null"]);
    check(&["drive:generic-5400", "--bs", "0"], 2, &["bs"]);
    check(&["drive:generic-5400", "--bs", "513"], 2, &["512"]);
    check(&["drive:generic-5400", "--iodepth", "0"], 2, &["iodepth"]);
    check(&["drive:generic-5400", "--offset", "1P"], 2, &["past the end"]);
    check(&["drive:generic-5400", "--runtime", "0"], 2, &["runtime"]);
    check(&["drive:generic-5400", "--rw", "radnread"], 2, &["randread"]);
    check(&["x", "--size", "99999P"], 2, &["size"]);
}

#[test]
fn block_devices_are_not_written_unless_their_name_is_repeated() {
    let folder = folder();
    let mut mknod = Command::new("mknod");
    mknod.args(["disk", "b", "7", "200"]).current_dir(folder.path());
    let made = mknod.output().is_ok_and(|output| output.status.success());
    assert!(made || std::env::var_os("CI").is_none(), "CI runs as root and can make a node");
    if made {
        let arguments = ["run", "disk", "--rw", "randwrite", "--number-ios", "1"];
        drivelab(folder.path(), &arguments)
            .failed(2, &["block device", "--allow-destructive disk"]);
    }
}

#[test]
fn modelled_drives_run_under_the_same_options() {
    let folder = folder();
    let iops = |target: &str, depth: &str| {
        let arguments =
            ["run", target, "--iodepth", depth, "--number-ios", "5000", "--json", "--seed", "3"];
        let said = drivelab(folder.path(), &arguments);
        assert_eq!(said.code, 0, "{said:?}");
        assert_eq!(said.out, drivelab(folder.path(), &arguments).out, "one seed, one answer");
        said.json()["total"]["iops"].as_f64().unwrap()
    };
    let deep = iops("drive:seagate-st31000333as,controller=ahci", "32");
    assert!(deep > 1.3 * iops("drive:seagate-st31000333as,controller=ide", "32"));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = folder();
    let script = "\"$0\" run drive:generic-5400 --number-ios 50 --json | head -c 10";
    let output = starter(folder.path(), "bash")
        .args(["-c", &format!("set -o pipefail; {script}"), PROGRAM])
        .output()
        .unwrap();
    let said = said(output);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
}

#[test]
fn every_run_says_how_its_target_was_attached() {
    let folder = folder();
    let model = ["run", "drive:generic-5400,controller=ide", "--number-ios", "10", "--json"];
    let json = drivelab(folder.path(), &model).json();
    let device = &json["attached"]["devices"][0];
    assert_eq!((&device["kind"], &device["name"]), (&"model".into(), &"generic-5400".into()));
    assert_eq!(device["facts"]["queue_depth"], 1);
    assert_eq!(device["facts"]["ncq"], false);

    let file = ["run", "data", "--size", "1M", "--number-ios", "10", "--direct", "0"];
    let json = drivelab(folder.path(), &[&file[..], &["--json"]].concat()).json();
    let attached = &json["attached"];
    // A folder in memory or of a container is on no device, and says so.
    let devices = attached["devices"].as_array().expect("a list");
    assert!(!devices.is_empty() || attached["unseen"].is_string(), "{attached}");
    for finding in devices.iter().flat_map(|d| d["findings"].as_array().expect("a list")) {
        assert!(finding["id"].is_string() && finding["severity"].is_string(), "{finding}");
    }
    assert!(!attached.to_string().contains("serial"), "{attached}");
    let text = drivelab(folder.path(), &file).out;
    assert!(text.contains("Attached: "), "{text}");
}

#[test]
fn a_block_device_is_no_place_for_a_file() {
    let folder = folder();
    let mut mknod = Command::new("mknod");
    mknod.args(["disk", "b", "7", "201"]).current_dir(folder.path());
    let made = mknod.output().is_ok_and(|output| output.status.success());
    assert!(made || std::env::var_os("CI").is_none(), "CI runs as root and can make a node");
    if !made {
        return;
    }
    let words = ["`disk` is a block device", "name a file"];
    let check = |arguments: &[&str]| drivelab(folder.path(), arguments).failed(2, &words);
    check(&["durability", "pages", "--ledger", "disk", "--runtime", "1s"]);
    check(&["serve", "null", "--size", "1M", "--image", "disk", "--nbd", "unix:socket"]);
    check(&["inspect", "--capture", "disk"]);
    file(folder.path(), "trace", "0.0 0 0 8 1\n");
    check(&["replay", "trace", "--drive", "generic-5400", "--times", "disk"]);
}

#[test]
fn what_a_job_file_or_a_matrix_says_itself_is_refused_beside_it() {
    let folder = folder();
    file(folder.path(), "test.fio", "[a]\nrw=read\nsize=1m\n");
    file(folder.path(), "test.toml", "targets = [\"a\"]\n");
    for (kind, name) in [("--job", "test.fio"), ("--matrix", "test.toml")] {
        for more in [["--verify", "--overwrite"], ["--runtime", "5s"], ["--numjobs", "2"]] {
            let said = drivelab(folder.path(), &["run", kind, name, more[0], more[1]]);
            assert_eq!(said.code, 2, "{said:?}");
            assert!(said.err.contains("cannot be used with"), "{said:?}");
        }
    }
}

#[test]
fn a_run_in_which_every_request_fails_is_no_success() {
    let folder = folder();
    let lay_out = ["run", "data", "--size", "64k", "--direct", "0", "--number-ios", "1"];
    assert_eq!(drivelab(folder.path(), &lay_out).code, 0);
    file(folder.path(), "w.fio", "[w]\nfilename=data\nrw=randwrite\nsize=64k\n");
    let run = |arguments: &str| {
        // Nothing may be written to files any more, and the signal that says so is not heard.
        let script = format!("trap '' XFSZ; ulimit -f 0; exec {PROGRAM} run {arguments}");
        let mut shell = starter(folder.path(), "sh");
        said(shell.args(["-c", &script]).output().unwrap())
    };
    for arguments in ["data --rw randwrite --direct 0 --number-ios 16", "--job w.fio"] {
        let failed = run(arguments);
        assert_eq!(failed.code, 3, "{failed:?}");
        assert!(failed.out.contains("16 of 16 requests failed"), "{failed:?}");
    }
}

#[test]
fn runs_that_begin_at_once_lay_one_file_out_together() {
    let folder = folder();
    let arguments =
        ["run", "data", "--size", "16M", "--direct=0", "--rw", "randwrite", "--number-ios", "10"];
    let children: Vec<_> = (0..8).map(|_| begin(folder.path(), &arguments)).collect();
    for child in children {
        let said = said(child.wait_with_output().unwrap());
        assert_eq!(said.code, 0, "{said:?}");
    }
    let mut names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
    names.sort();
    // Beside the archive of the test.
    assert_eq!(names, [".kept", "data"]);
}

#[test]
fn what_a_killed_layout_left_is_laid_out_anew_and_a_file_of_others_is_not() {
    let folder = folder();
    let arguments = ["run", "data", "--size", "1M", "--direct=0", "--number-ios", "10"];
    assert_eq!(drivelab(folder.path(), &arguments).code, 0);
    let (data, begun) = (folder.path().join("data"), folder.path().join("data.unfinished"));
    let whole = std::fs::read(&data).unwrap();
    std::fs::remove_file(&data).unwrap();
    std::fs::write(&begun, &whole[..300_000]).unwrap();
    assert_eq!(drivelab(folder.path(), &arguments).code, 0);
    assert_eq!(data.metadata().unwrap().len(), 1 << 20);
    assert!(!begun.exists());
    std::fs::remove_file(&data).unwrap();
    std::fs::write(&begun, "a poem").unwrap();
    drivelab(folder.path(), &arguments).failed(2, &["data.unfinished", "did not write"]);
    assert_eq!(std::fs::read(&begun).unwrap(), b"a poem");
}

#[test]
fn a_file_of_ours_that_was_trimmed_is_still_ours() {
    let folder = folder();
    let trim = ["run", "data", "--size", "1M", "--direct=0", "--rw", "trim", "--bs", "4k"];
    let arguments = [&trim[..], &["--number-ios", "256"]].concat();
    for _ in 0..2 {
        let said = drivelab(folder.path(), &arguments);
        assert_eq!(said.code, 0, "{said:?}");
    }
    // What somebody else put there since is not.
    let path = folder.path().join("data");
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"a poem", 700_000).unwrap();
    drivelab(folder.path(), &arguments).failed(2, &["drivelab did not write"]);
}
