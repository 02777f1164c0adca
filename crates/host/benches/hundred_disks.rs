//! What an inspection of a hundred disks costs: at most 50 ms.
//!
//! `cargo bench -p drivelab-host --bench hundred_disks`

use std::io::Write as _;
use std::time::{Duration, Instant};

use drivelab_host::{Options, Root, inspect};
use rustix::time::{ClockId, clock_gettime};

#[path = "../tests/tree.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "shared with the tests, which use more of it")]
mod tree;

/// Disks of the machine.
const DISKS: usize = 100;
const ROUNDS: usize = 31;

fn main() {
    let one =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trees/ich8-ahci.tree"));
    let one = one.expect("the tree is in the repository");
    let tree = tree::Tree::of("");
    for disk in 0..DISKS {
        let port = disk + 1;
        let text = one
            .replace("ata1", &format!("ata{port}"))
            .replace("link1", &format!("link{port}"))
            .replace("dev1.0", &format!("dev{port}.0"))
            .replace("host0", &format!("host{disk}"))
            .replace("target0:0:0", &format!("target{disk}:0:0"))
            .replace("0:0:0:0", &format!("{disk}:0:0:0"))
            .replace("/sda", &format!("/sd{disk}x"))
            .replace("8:", &format!("{}:", 8 + disk));
        tree.add(&text);
    }
    let (mut walls, mut processors) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (wall, processor) = (Instant::now(), processor_time());
        let root = Root::new(tree.folder.path());
        let found = inspect(&root, &[], &Options::default()).expect("all devices are there");
        assert_eq!(found.devices.len(), DISKS);
        walls.push(wall.elapsed());
        processors.push(processor_time().saturating_sub(processor));
    }
    walls.sort();
    processors.sort();
    let text = format!(
        "{DISKS} disks: median {:.1?}, fastest {:.1?}; on the processor {:.1?}, {:.1?}\n",
        walls[ROUNDS / 2],
        walls[0],
        processors[ROUNDS / 2],
        processors[0],
    );
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Time on the processor, user and system: what a busy machine does not lengthen.
fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(now).expect("the time of a process is not negative")
}
