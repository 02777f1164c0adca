//! Attributes of a tree: whatever stands in them, an inspection and its copy end without a panic.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use drivelab_host::capture::Capture;
use drivelab_host::{Options, Root, inspect, outline};

const PATHS: [&str; 16] = [
    "proc/cmdline",
    "proc/mounts",
    "proc/self/mountinfo",
    "proc/mdstat",
    "sys/block/sda/size",
    "sys/block/sda/inflight",
    "sys/block/sda/alignment_offset",
    "sys/block/sda/queue/scheduler",
    "sys/block/sda/queue/optimal_io_size",
    "sys/block/sda/queue/read_ahead_kb",
    "sys/block/sda/device/model",
    "sys/block/sda/device/hwmon/hwmon0/temp1_input",
    "sys/block/sda/device/power/runtime_status",
    "sys/block/sda/sda1/start",
    "sys/block/sda/md/degraded",
    "sys/block/sda/loop/backing_file",
];

static TREE: LazyLock<PathBuf> = LazyLock::new(|| {
    let tree = std::env::temp_dir().join(format!("drivelab-fuzz-tree-{}", std::process::id()));
    for path in PATHS {
        let folder = tree.join(path).parent().expect("each has one").to_owned();
        std::fs::create_dir_all(folder).expect("the folder for temporary files can be written");
    }
    tree
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // The parts between zeros are what stands in the files, in this order.
    let parts = bytes.split(|byte| *byte == 0).chain(std::iter::repeat(&b""[..]));
    for (path, part) in PATHS.iter().zip(parts) {
        std::fs::write(TREE.join(path), part).expect("the tree was made");
    }
    let root = Root::recording(&*TREE);
    let options = Options { temperature: true, serials: true, ..Options::default() };
    let found = inspect(&root, &[], &options).expect("nothing was asked for by name");
    outline(&found);
    let capture = Capture { recording: root.into_recording(), log: None, serials: false };
    capture.write(std::io::sink()).expect("a sink takes all");
});
