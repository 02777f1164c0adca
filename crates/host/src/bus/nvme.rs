//! An NVMe controller.

use serde::{Deserialize, Serialize};

use super::{Hop, HopKind};
use crate::root::Node;

/// Facts of an NVMe controller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nvme {
    /// Its name: `nvme0`.
    pub controller: String,
    /// `live` if it works.
    pub state: Option<String>,
    /// `pcie`, `tcp`, `rdma`, `fc`, `loop`.
    pub transport: Option<String>,
    /// Number of queues, including the administration queue.
    pub queue_count: Option<u32>,
    /// Commands in one queue, minus one: a full queue has one free slot.
    pub sqsize: Option<u32>,
}

impl Nvme {
    pub(crate) fn read(node: &Node<'_>) -> Self {
        Self {
            controller: node.name().to_owned(),
            state: node.text("state"),
            transport: node.text("transport"),
            queue_count: node.number("queue_count"),
            sqsize: node.number("sqsize"),
        }
    }

    pub(crate) fn hop(&self) -> Hop {
        // One of them is the administration queue, which takes no reads and writes.
        let queues = self.queue_count.map(|count| count.saturating_sub(1));
        let about = match (queues, self.sqsize) {
            (Some(queues), Some(depth)) => format!("NVMe, {queues} queues of {depth}"),
            _ => "NVMe".into(),
        };
        Hop { kind: HopKind::Nvme, name: self.controller.clone(), about }
    }
}

/// The controller of the namespace `block`: above it in the tree, or with native multipath the
/// first one that its subsystem links to.
pub(crate) fn controller_of<'r>(block: &Node<'r>) -> Option<Node<'r>> {
    if let Some(node) = block.ancestors().skip(1).find(|node| is_controller(node.name())) {
        return Some(node);
    }
    // With native multipath (Linux 4.15) a namespace is below its subsystem, not below a
    // controller.
    let subsystem = block.parent()?;
    if !subsystem.name().starts_with("nvme-subsys") {
        return None;
    }
    let names = subsystem.folders();
    names.iter().filter(|name| is_controller(name)).find_map(|name| subsystem.child(name))
}

/// True for `nvme0`, but not for `nvme0n1` or `nvme`.
fn is_controller(name: &str) -> bool {
    let number = name.strip_prefix("nvme").unwrap_or("");
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}
