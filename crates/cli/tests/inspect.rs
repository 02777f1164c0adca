//! `inspect`: how disks are attached, and what is wrong with them.

use crate::common::{drivelab, file, folder};

const DOWNSHIFT: &str = "[    2.1] ata2.00: limiting SATA link speed to 1.5 Gbps\n\
                         [    2.2] ata2.01: limiting SATA link speed to 1.5 Gbps\n";
const HEALTHY: &str = "[    0.3] pci 0000:00:02.0: [1af4:1042] type 00 class 0x018000\n";

#[test]
fn a_log_alone_gives_findings_and_strict_fails_on_them() {
    let folder = folder();
    file(folder.path(), "dmesg.txt", DOWNSHIFT);
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let base = ["inspect", "--root", "empty", "--dmesg", "dmesg.txt"];
    let said = drivelab(folder.path(), &base);
    assert_eq!(said.code, 0, "{said:?}");
    for word in ["ide-emulation", "link-downshift", "ata2.01"] {
        assert!(said.out.contains(word), "{said:?}");
    }
    let strict = drivelab(folder.path(), &[&base[..], &["--strict", "--json"]].concat());
    assert_eq!(strict.code, 1, "{strict:?}");
    let json = strict.json();
    assert_eq!(json["schema"], "drivelab.inspect/1");
    let device = &json["devices"][0];
    assert_eq!((&device["name"], &device["kind"]), (&"ata2.00".into(), &"ata".into()));
    assert_eq!(device["findings"][0]["id"], "ide-emulation");
    assert_eq!(device["findings"][0]["severity"], "error");
}

#[test]
fn every_key_of_the_contract_is_there_for_every_device() {
    let folder = folder();
    let block = folder.path().join("tree/sys/block/vda");
    std::fs::create_dir_all(block.join("queue")).unwrap();
    std::fs::write(block.join("queue/scheduler"), "[none]\n").unwrap();
    let json = drivelab(folder.path(), &["inspect", "--root", "tree", "vda", "--json"]).json();
    let device = &json["devices"][0];
    let keys = [
        "name",
        "kind",
        "controller",
        "link",
        "queue_depth",
        "ncq",
        "write_cache",
        "scheduler",
        "findings",
    ];
    for key in keys {
        assert!(device.get(key).is_some(), "{key}: {device}");
    }
    for key in ["pci_class", "prog_if", "vendor_device", "driver", "mode"] {
        assert!(device["controller"].get(key).is_some(), "{key}: {device}");
    }
    assert!(device["link"].get("speed_gbps").is_some() && device["link"].get("max_gbps").is_some());
    assert!(device["write_cache"].get("device").is_some());
    assert_eq!(device["scheduler"], "none");
}

#[test]
fn a_capture_reads_as_what_was_captured() {
    let folder = folder();
    std::fs::create_dir_all(folder.path().join("tree/sys/block/vda/queue")).unwrap();
    let arguments = ["inspect", "--root", "tree", "--capture", "here.tar"];
    let said = drivelab(folder.path(), &arguments);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("without serial numbers"), "{said:?}");
    assert!(folder.path().join("here.tar").exists());
}

#[test]
fn bad_requests_say_what_to_do() {
    let folder = folder();
    std::fs::create_dir_all(folder.path().join("tree/sys/block/vda")).unwrap();
    let missing = drivelab(folder.path(), &["inspect", "--root", "tree", "sda"]);
    missing.failed(2, &["no block device `sda`", "vda", "hint"]);
    drivelab(folder.path(), &["inspect", "--root", "nowhere"]).failed(2, &["nowhere"]);
    drivelab(folder.path(), &["inspect", "--dmesg", "nowhere"]).failed(2, &["nowhere"]);
    drivelab(folder.path(), &["inspect", "--watch", "--root", "tree"]).failed(2, &["--root"]);
}

#[test]
fn what_was_meant_as_a_file_is_said_to_be_missing_or_empty() {
    let home = folder();
    file(home.path(), "empty", "");
    file(home.path(), "notes.bin", "\0\0");
    std::fs::create_dir(home.path().join("logs")).unwrap();
    let check = |name: &str, words: &[&str]| {
        drivelab(home.path(), &["inspect", name]).failed(2, words);
    };
    check("./none", &["there is no file `./none`", "check the path"]);
    check("/nowhere/none", &["there is no file"]);
    check("logs/none", &["there is no file"]);
    check("empty", &["`empty` is empty", "drivelab inspect ./"]);
    check("./empty", &["is empty", "drivelab inspect ."]);
    check("logs", &["`logs` is a folder"]);
    check("notes.bin", &["`notes.bin` does not describe a machine"]);
    check("/dev/none", &["no block device `/dev/none`"]);
}

#[test]
fn without_a_tree_of_devices_nothing_is_wrong_or_right() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let asked = drivelab(folder.path(), &["inspect", "--root", "empty", "vda"]);
    asked.failed(3, &["sys/block is missing", "hint"]);
    let all = drivelab(folder.path(), &["inspect", "--root", "empty"]);
    all.failed(3, &["sys/block is missing", "hint"]);
    assert!(!all.out.contains("no problems"), "{all:?}");
    file(folder.path(), "dmesg.txt", HEALTHY);
    let logged = drivelab(folder.path(), &["inspect", "--root", "empty", "--dmesg", "dmesg.txt"]);
    assert!(logged.out.contains("no disk could be inspected"), "{logged:?}");
    assert!(!logged.out.contains("no problems"), "{logged:?}");
}

#[test]
fn a_log_that_is_no_text_is_none() {
    let folder = folder();
    drivelab(folder.path(), &["inspect", "--dmesg", "/dev/zero"]).failed(2, &["binary data"]);
}

#[test]
fn advice_names_the_traps_and_ends_as_inspect_does() {
    let folder = folder();
    file(folder.path(), "dmesg.txt", DOWNSHIFT);
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let base = ["advise", "--root", "empty", "--dmesg", "dmesg.txt"];
    let said = drivelab(folder.path(), &base);
    assert_eq!(said.code, 0, "{said:?}");
    for word in ["link-speed", "drivelab study bios-modes", "Nothing was changed"] {
        assert!(said.out.contains(word), "{said:?}");
    }
    let strict = drivelab(folder.path(), &[&base[..], &["--strict", "--json"]].concat());
    assert_eq!(strict.code, 1, "{strict:?}");
    let json = strict.json();
    assert_eq!(json["schema"], "drivelab.advise/1");
    let trap = json["traps"].as_array().unwrap().iter().find(|trap| trap["id"] == "link-speed");
    let trap = trap.unwrap();
    assert_eq!((&trap["state"], &trap["articles"][0]), (&"applies".into(), &1.into()));
    std::fs::create_dir_all(folder.path().join("tree/sys/block/vda/queue")).unwrap();
    let healthy = drivelab(folder.path(), &["advise", "--root", "tree", "--strict"]);
    assert_eq!(healthy.code, 0, "{healthy:?}");
    drivelab(folder.path(), &["advise", "--root", "tree", "sda"]).failed(2, &["no block device"]);
    drivelab(folder.path(), &["advise", "--root", "empty"]).failed(3, &["sys/block is missing"]);
}

#[test]
fn what_is_no_kernel_log_is_said_to_be_none() {
    let folder = folder();
    let check = |name: &str, content: &str, expected: &str| {
        file(folder.path(), name, content);
        let said = drivelab(folder.path(), &["inspect", "--dmesg", name]);
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.err.contains(expected) && said.err.contains("dmesg"), "{said:?}");
        assert!(!said.err.contains("sysfs") && said.out.is_empty(), "{said:?}");
    };
    check("empty", "", "is not a kernel log: it is empty");
    check("json", "{\"blockdevices\":[{\"name\":\"sda\"}]}\n", "is not a kernel log");
    check("text", "a letter\nwith two lines\n", "is not a kernel log");
    // A log of other things is one, but says nothing about disks.
    file(folder.path(), "other", "[    1.0] Linux agpgart interface v0.103\n");
    let said = drivelab(folder.path(), &["inspect", "--dmesg", "other"]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.err.contains("nothing can be said"), "{said:?}");
    // From the kernel's first line on it shows a machine that has no disk.
    file(folder.path(), "boot", "[    0.0] Linux version 6.12.0 (b) #1 SMP\n[    1.0] random: a\n");
    let said = drivelab(folder.path(), &["inspect", "--dmesg", "boot", "--strict"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("no disks were found"), "{said:?}");
}

#[test]
fn a_file_that_describes_nothing_is_never_taken_for_a_healthy_machine() {
    let folder = folder();
    file(folder.path(), "other", "[    1.0] audit: type=1400\n[    1.1] eth0: Link is Up\n");
    let said = drivelab(folder.path(), &["inspect", "other"]);
    assert_eq!((said.code, said.out.as_str()), (2, ""), "{said:?}");
    assert!(said.err.contains("no line of it names a disk"), "{said:?}");
    // An excerpt without stamps is of the machine that it names.
    file(folder.path(), "thread", "It says\nI/O error, dev sdzz, sector 8 op 0x0:(READ)\n");
    let said = drivelab(folder.path(), &["inspect", "thread", "--strict"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.contains("sdzz") && said.out.contains("io-errors"), "{said:?}");
}

#[test]
fn a_text_that_is_not_recognised_is_not_taken_for_a_file_on_a_disk() {
    let folder = folder();
    file(folder.path(), "notes.txt", "a letter\nwith two lines\n");
    let said = drivelab(folder.path(), &["inspect", "./notes.txt"]);
    assert_eq!((said.code, said.out.as_str()), (2, ""), "{said:?}");
    assert!(said.err.contains("was recognised") && said.err.contains("smartctl"), "{said:?}");
    assert!(said.err.contains("drivelab inspect ."), "{said:?}");
    // The hint is followed: the folder that one is in has no slash in its name.
    let [dot, slash] =
        [".", "./"].map(|path| drivelab(folder.path(), &["inspect", path, "--json"]));
    assert_eq!((dot.code, dot.out.len()), (slash.code, slash.out.len()), "{dot:?}");
    file(folder.path(), "bsd", "(ada0:ahcich0:0:0:0): CAM status: Command timeout\n");
    let said = drivelab(folder.path(), &["inspect", "./bsd"]);
    assert_eq!((said.code, said.out.as_str()), (2, ""), "{said:?}");
    assert!(said.err.contains("FreeBSD") && said.err.contains("smartctl -x"), "{said:?}");
}

#[test]
fn files_that_describe_nothing_are_named_and_the_others_are_read() {
    let folder = folder();
    file(folder.path(), "dmesg.txt", DOWNSHIFT);
    file(folder.path(), "notes.txt", "a letter\nwith two lines\n");
    file(folder.path(), "pool.txt", "  pool: tank\n state: ONLINE\n");
    file(folder.path(), "bsd", "(ada0:ahcich0:0:0:0): CAM status: Command timeout\n");
    file(folder.path(), "nothing", "");
    file(folder.path(), "picture.png", "\u{1}\0\0");
    let others = ["notes.txt", "pool.txt", "bsd", "nothing", "picture.png"];
    let said = drivelab(folder.path(), &[&["inspect", "dmesg.txt"], &others[..]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let shown = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["5 files not read", "link-downshift", "zpool status", "FreeBSD", "binary data"] {
        assert!(shown.contains(part), "{part}: {said:?}");
    }
    let json =
        drivelab(folder.path(), &[&["inspect", "--json", "dmesg.txt"], &others[..]].concat());
    let problems = json.json()["problems"].as_array().unwrap().clone();
    for name in others {
        assert!(problems.iter().any(|it| it["path"] == name), "{name}: {problems:?}");
    }
    let strict = ["inspect", "--strict", "notes.txt", "dmesg.txt"];
    assert_eq!(drivelab(folder.path(), &strict).code, 1);
    let said = drivelab(folder.path(), &["inspect", "notes.txt", "pool.txt"]);
    assert_eq!((said.code, said.out.as_str()), (2, ""), "{said:?}");
}
