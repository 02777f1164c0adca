//! Block devices, with the facts that show which of them are used.

use drivelab_core::units::Bytes;
use drivelab_core::usage::{Backing, BlockDevice, DeviceNumber, Extent, Part};

use crate::device::Mapped;
use crate::root::{Node, Root};

/// Every disk, each followed by its partitions.
pub(super) fn devices(root: &Root) -> Vec<BlockDevice> {
    let Some(blocks) = root.block_devices() else { return Vec::new() };
    let disks = blocks.folders().into_iter().filter_map(|name| blocks.child(&name));
    // The class lists partitions too.
    let disks = disks.filter(|node| node.text("partition").is_none());
    disks.flat_map(|node| disk(&node)).collect()
}

/// The device with this number and, for a partition, its disk.
pub(super) fn device_at(root: &Root, number: DeviceNumber) -> Vec<BlockDevice> {
    let Some(node) = root.node(&format!("sys/dev/block/{number}")) else { return Vec::new() };
    let disk = node.text("partition").and_then(|_| device(&node.parent()?, None));
    let own = device(&node, disk.as_ref().map(|disk| disk.number));
    own.into_iter().chain(disk).collect()
}

fn disk(node: &Node<'_>) -> Vec<BlockDevice> {
    let Some(disk) = device(node, None) else { return Vec::new() };
    let names = node.folders().into_iter().filter(|name| name.starts_with(node.name()));
    let parts = names.filter_map(|name| node.child(&name));
    let parts = parts.filter(|part| part.text("partition").is_some());
    let number = disk.number;
    let parts: Vec<_> = parts.filter_map(|part| device(&part, Some(number))).collect();
    std::iter::once(disk).chain(parts).collect()
}

/// The device in this folder; `None` if it has no number, like the single paths of a multipath
/// disk.
fn device(node: &Node<'_>, disk: Option<DeviceNumber>) -> Option<BlockDevice> {
    let number = DeviceNumber::parse(&node.text("dev")?)?;
    let holders = node.child("holders").map(|holders| holders.folders());
    Some(BlockDevice {
        part: disk.map(|disk| Part { disk, extent: extent(node) }),
        read_only: node.text("ro").is_some_and(|switch| switch == "1"),
        holders: holders.unwrap_or_default(),
        volume: volume(node),
        backing: backing(node),
        write_back: node.text("queue/write_cache").is_some_and(|cache| cache == "write back"),
        polled: node.text("queue/io_poll").map(|switch| switch == "1"),
        ..BlockDevice::new(number, node.name())
    })
}

/// Reads a number of sectors: sysfs counts in 512 bytes, regardless of the disk's sector size.
fn sectors(node: &Node<'_>, name: &str) -> Option<u64> {
    node.number::<u64>(name)?.checked_mul(512)
}

fn extent(node: &Node<'_>) -> Option<Extent> {
    Some(Extent { start: sectors(node, "start")?, length: sectors(node, "size")? })
}

fn volume(node: &Node<'_>) -> Option<String> {
    let Some(mapped) = node.child("dm").map(|node| Mapped::read(&node)) else {
        let level = node.text("md/level")?;
        return Some(format!("md array, {level}"));
    };
    let kind = match mapped.owner.as_deref().and_then(|owner| owner.split('-').next()) {
        Some("LVM") => "LVM volume",
        Some("CRYPT") => "encrypted volume",
        Some("mpath") => "multipath device",
        _ => "device-mapper volume",
    };
    Some(format!("{kind} {}", mapped.name?))
}

fn backing(node: &Node<'_>) -> Option<Backing> {
    let path = node.text("loop/backing_file")?;
    let root = node.root();
    let reach = sectors(node, "size").zip(node.number::<u64>("loop/offset"));
    let reach = reach.and_then(|(size, offset)| size.checked_add(offset)).map(Bytes::new);
    Some(Backing {
        identity: root.identity(path.trim_start_matches('/')),
        path: path.into(),
        reach,
    })
}
