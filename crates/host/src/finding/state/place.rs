//! The disk's place in the machine: memory nodes, swap space, encryption in front of it.

use drivelab_core::outline::Severity;

use super::super::context::{Context, Findings};
use crate::device::{Device, Kind};
use crate::found::FindingId;
use crate::log::disk_of;

/// The first kernel whose encryption can do without queues (`drivers/md/dm-crypt.c`).
const QUEUES_OPTIONAL: (u32, u32) = (5, 9);

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    numa_node(context, findings);
    swap(context, findings);
    encrypted(context, findings);
}

fn numa_node(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    let nodes = context.machine.memory_nodes;
    let Some(node) = device.controller.numa_node.filter(|_| nodes > 1) else { return };
    if device.kind != Kind::Nvme || !device.is_physical() {
        return;
    }
    let address = device.controller.address.as_deref().unwrap_or("PCI function");
    findings
        .add(FindingId::NumaNode, Severity::Info)
        .says(format!(
            "the drive is attached to memory node {node} of {nodes}: requests of other processors \
             take a longer way"
        ))
        .seen(vec![format!("{address}/numa_node: {node}")])
        .fix(format!(
            "run on its node in all arms of a comparison (`numactl --cpunodebind={node} \
             --membind={node} COMMAND`); there is nothing to undo"
        ));
}

fn swap(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    let names = device.partitions.iter().map(|part| part.name.as_str());
    let names = names.chain([device.name.as_str()]);
    for name in names {
        let used = context.machine.volumes.swapped(name).filter(|bytes| *bytes > 0);
        let Some(used) = used.map(|bytes| bytes >> 20) else { continue };
        findings
            .add(FindingId::SwapOnDisk, Severity::Info)
            .says(format!(
                "the machine has swapped {used} MiB to {name}, and may read them at any time"
            ))
            .seen(vec![format!("/proc/swaps: /dev/{name}")])
            .fix(format!(
                "while you measure, `sudo swapoff /dev/{name}`, if that much memory is free (undo: \
                 `sudo swapon /dev/{name}`)"
            ));
    }
}

fn encrypted(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    let old = context.machine.kernel.is_some_and(|version| version < QUEUES_OPTIONAL);
    if device.kind != Kind::Luks || old {
        return;
    }
    let disks = device.slaves.iter().filter_map(|name| context.all.get(disk_of(name)));
    if !disks.into_iter().any(|disk| disk.kind == Kind::Nvme) {
        return;
    }
    let name = mapped(device);
    findings
        .add(FindingId::CryptQueues, Severity::Info)
        .says(
            "each request to the encrypted disk passes through queues of the kernel, unless that is \
             turned off; on an NVMe drive they cost latency",
        )
        .seen(vec![format!("{name} is on {}", device.slaves.join(", "))])
        .fix(format!(
            "`sudo dmsetup table {name}` shows no_read_workqueue and no_write_workqueue where they \
             are off; `sudo cryptsetup refresh --perf-no_read_workqueue --perf-no_write_workqueue \
             {name}` turns them off (undo: `sudo cryptsetup refresh {name}`)"
        ));
}

/// The name below `/dev/mapper`.
fn mapped(device: &Device) -> &str {
    device.dm.as_ref().and_then(|dm| dm.name.as_deref()).unwrap_or(&device.name)
}
