//! Who uses which disk of a captured machine.

use drivelab_core::units::Bytes;
use drivelab_core::usage::{Census as _, DeviceNumber, Identity, Usage};
use drivelab_host::Linux;

use crate::tree::Tree;

/// Two disks, one with an encrypted and a mounted partition, one half of a btrfs; a loop device on
/// a file; two mount namespaces, and a process that has a partition open.
const MACHINE: &str = "\
@ sys/devices/sdx
sys/block/sdx -> ../devices/sdx
./dev = 8:0
./ro = 0
./queue/write_cache = write back
./queue/io_poll = 0
./sdx1/dev = 8:1
./sdx1/partition = 1
./sdx1/start = 2048
./sdx1/size = 4096
./sdx1/ro = 1
./sdx2/dev = 8:2
./sdx2/partition = 2
./sdx2/start = 8192
./sdx2/size = 8
./sdx2/holders/dm-0/dev = 253:0
@ sys/devices/sdy
sys/block/sdy -> ../devices/sdy
./dev = 8:16
./queue/write_cache = write through
sys/fs/btrfs/0123/devices/sdy -> ../../../../devices/sdy
sys/block/dm-0/dev = 253:0
sys/block/dm-0/dm/name = home
sys/block/dm-0/dm/uuid = CRYPT-LUKS2-01
sys/block/md7/dev = 9:7
sys/block/md7/md/level = raid1
sys/block/loop0/dev = 7:0
sys/block/loop0/size = 16
sys/block/loop0/loop/backing_file = /disk.img
sys/block/loop0/loop/offset = 512
sys/block/hidden/size = 1
disk.img = data
swapfile = data
proc/self -> 10
proc/10/comm = drivelab
proc/10/root -> /
proc/10/ns/mnt -> mnt:[1]
proc/10/mountinfo = 27 1 8:1 / /a\\040b rw - ext4 /dev/sdx1 rw\\n28 1 0:44 / /b rw - xfs none rw,logdev=/dev/sdy\\n
proc/20/comm = other
proc/20/root -> /
proc/20/ns/mnt -> mnt:[1]
proc/20/mountinfo = 99 1 8:99 / /never rw - ext4 /dev/never rw\\n
proc/30/comm = guest
proc/30/ns/mnt -> mnt:[2]
proc/30/mountinfo = 29 1 0:45 / /c rw - btrfs /dev/sdy rw\\n
proc/swaps = Filename Type Size Used Priority\\n/swapfile file 1 0 -2\\n/dev/dm-0 partition 1 0 -2\\n
";

fn usage(tree: &Tree) -> Usage {
    Linux::below(tree.folder.path()).usage().unwrap()
}

#[test]
fn devices_are_read_with_their_partitions_and_what_they_are_made_of() {
    let usage = usage(&Tree::of(MACHINE));
    let all: Vec<String> =
        usage.devices.iter().map(|it| format!("{} {}", it.number, it.name)).collect();
    assert_eq!(
        all,
        ["253:0 dm-0", "7:0 loop0", "9:7 md7", "8:0 sdx", "8:1 sdx1", "8:2 sdx2", "8:16 sdy"]
    );
    let named = |name: &str| usage.devices.iter().find(|device| device.name == name).unwrap();
    let part = named("sdx1").part.unwrap();
    let extent = part.extent.unwrap();
    assert_eq!((part.disk, extent.start, extent.length), (named("sdx").number, 1 << 20, 2 << 20));
    assert!(named("sdx1").read_only && !named("sdx").read_only);
    assert!(named("sdx").write_back && !named("sdy").write_back);
    assert_eq!((named("sdx").polled, named("sdy").polled), (Some(false), None));
    assert_eq!(usage.holders(named("sdx2")), ["dm-0 (encrypted volume home)"]);
    assert_eq!(named("md7").volume.as_deref(), Some("md array, raid1"));
    assert_eq!(usage.btrfs, [[named("sdy").number]]);
    let backing = named("loop0").backing.clone().unwrap();
    assert!(matches!(backing.identity, Some(Identity::File { .. })), "{backing:?}");
    assert_eq!(backing.reach, Some(Bytes::new(16 * 512 + 512)));
}

#[test]
fn what_lies_under_a_target_is_read_without_asking_who_uses_the_others() {
    let tree = Tree::of(&format!("{MACHINE}sys/dev/block/8:2 -> ../../devices/sdx/sdx2\n"));
    let (whole, linux) = (usage(&tree), Linux::below(tree.folder.path()));
    let under = |number| linux.under(DeviceNumber::parse(number).unwrap());
    let named = |name: &str| whole.devices.iter().find(|device| device.name == name).unwrap();
    let of_part = under("8:2");
    assert_eq!(of_part.devices, [named("sdx2").clone(), named("sdx").clone()]);
    assert!(of_part.mounts.is_empty());
    // A file system with a number of its own is found by our own mounts.
    let of_none = under("0:44");
    assert_eq!(of_none.devices, whole.devices);
    assert_eq!(of_none.mounts, whole.mounts[..2]);
}

#[test]
fn mounts_of_each_namespace_are_read_once_ours_first() {
    let usage = usage(&Tree::of(MACHINE));
    let device = |text| DeviceNumber::parse(text).map(Identity::Device);
    let told = |at: &str| usage.mounts.iter().find(|mount| mount.at == at).unwrap();
    let places: Vec<&str> = usage.mounts.iter().map(|mount| mount.at.as_str()).collect();
    assert_eq!(places, ["/a b", "/b", "/c"]);
    assert_eq!((told("/a b").source, &told("/a b").seen_by), (device("8:1"), &None));
    assert_eq!((told("/b").source, &told("/b").others[..]), (None, &[device("8:16").unwrap()][..]));
    // Without that process's root, as in a capture, the kernel's name of the device is enough.
    assert_eq!(told("/c").source, device("8:16"));
    assert_eq!(told("/c").seen_by.as_ref().unwrap().to_string(), "process 30 (guest)");
}

#[test]
fn swap_is_read_whether_to_a_file_or_to_a_device() {
    let swaps = usage(&Tree::of(MACHINE)).swaps;
    assert!(matches!(swaps[0], Identity::File { .. }), "{swaps:?}");
    assert_eq!(swaps[1].device(), DeviceNumber::parse("253:0"));
}

#[test]
fn without_our_own_mounts_or_with_a_table_cut_short_nothing_is_said() {
    let tree = Tree::of(MACHINE);
    let refused = |tree: &Tree| Linux::below(tree.folder.path()).usage().unwrap_err().to_string();
    tree.add("proc/10/mountinfo = ").remove("proc/10/mountinfo");
    assert!(refused(&tree).contains("mountinfo"), "{}", refused(&tree));
    let tree = Tree::of(MACHINE);
    std::fs::write(tree.place("proc/swaps"), vec![b'x'; 2 << 20]).unwrap();
    assert!(refused(&tree).contains("is larger than"), "{}", refused(&tree));
}

#[test]
fn a_lock_is_held_by_a_process_that_still_runs() {
    let tree = Tree::of(MACHINE);
    let device = DeviceNumber { major: 0xfe, minor: 1 };
    let holder = |state: &str| {
        tree.add("proc/locks = 1: FLOCK  ADVISORY  WRITE 20 fe:01:4711 0 EOF\\n");
        tree.add(&format!("proc/20/stat = 20 (a) b) {state} 1"));
        Linux::below(tree.folder.path()).lock_holder(Identity::File { device, inode: 4711 })
    };
    assert_eq!(holder("S").unwrap().to_string(), "process 20 (other)");
    assert_eq!(holder("Z"), None);
    let other = Identity::File { device, inode: 471 };
    assert_eq!(Linux::below(tree.folder.path()).lock_holder(other), None);
}

#[test]
fn the_machine_and_what_it_counts_are_read() {
    let tree = Tree::of(
        "proc/meminfo = MemTotal:       24684092 kB\\nMemAvailable: 8 kB\\n\n\
         proc/cpuinfo = processor\\t: 0\\nmodel name : Some CPU @ 2.00GHz\\n\n\
         proc/sys/kernel/ostype = Linux\n\
         proc/sys/kernel/osrelease = 6.12.1\n\
         proc/stat = cpu  1 2 3 4 5 6 7 8 100 100\\n\n\
         proc/self/cgroup = 0::/a\n\
         sys/fs/cgroup/a/cpu.stat = nr_throttled 2\\n\n\
         sys/fs/cgroup/cpu.stat = nr_throttled 3\\n\n\
         sys/devices/system/cpu/cpu0/cpufreq/scaling_governor = powersave\n\
         sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count = 4\n\
         sys/dev/block/8:0/queue/iostats = 0\n\
         sys/dev/block/8:0/stat = 10 0 16 5 20 0 32 9 0 1 2\n",
    );
    let linux = Linux::below(tree.folder.path());
    let machine = linux.machine();
    assert_eq!(machine.memory, Bytes::kib(24_684_092));
    assert_eq!(machine.cpu_governor.as_deref(), Some("powersave"));
    let host = linux.host();
    assert_eq!((host.kernel.as_str(), host.cpu.as_str()), ("Linux 6.12.1", "Some CPU @ 2.00GHz"));
    assert_eq!((host.memory_bytes, host.id.as_str()), (24_684_092 << 10, "unknown"));
    let counters = linux.counters(DeviceNumber::parse("8:0"));
    assert_eq!((counters.throttled, counters.moved_bytes), (9, Some(48 * 512)));
    assert_eq!(counters.is_counted, Some(false));
    assert_eq!(counters.ticks.unwrap().stolen, 8);
    let none = Linux::below("/nowhere");
    assert_eq!((none.machine().memory, none.host().kernel.as_str()), (Bytes::ZERO, "unknown"));
}

#[test]
fn this_machine_tells_who_has_a_device_open() {
    let linux = Linux::below("/");
    assert!(linux.host().kernel.starts_with("Linux "));
    assert!(linux.machine().memory > Bytes::ZERO);
    assert_eq!(linux.openers(&[DeviceNumber { major: 4095, minor: 1 }]).unwrap(), []);
}
