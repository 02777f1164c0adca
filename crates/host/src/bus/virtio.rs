//! A virtio device: a disk that the host provides.

use serde::{Deserialize, Serialize};

use super::{Hop, HopKind, in_brackets};
use crate::root::Node;

/// Number of the feature `VIRTIO_BLK_F_FLUSH` (virtio 1.2, 5.2.3).
const FLUSH: usize = 9;

/// Facts of a virtio device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Virtio {
    /// Its name: `virtio1`.
    pub name: String,
    /// Its driver: `virtio_blk`, `virtio_scsi`.
    pub driver: Option<String>,
    /// True if it supports flushes; only for a block device.
    pub flush: Option<bool>,
}

impl Virtio {
    pub(crate) fn read(device: &Node<'_>) -> Option<Self> {
        let node = device.ancestors().find(|node| is_virtio(node.name()))?;
        let driver = node.link_name("driver");
        // The number of a feature depends on the kind of device.
        let block = driver.as_deref() == Some("virtio_blk");
        // One character per feature, number 0 first (`drivers/virtio/virtio.c`).
        let features = node.text("features").filter(|_| block);
        let flush = features.and_then(|text| text.as_bytes().get(FLUSH).map(|bit| *bit == b'1'));
        Some(Self { name: node.name().to_owned(), driver, flush })
    }

    pub(crate) fn hop(&self) -> Hop {
        let driver = self.driver.as_deref().map(in_brackets).unwrap_or_default();
        let about = format!("virtio{driver}; the medium behind it belongs to the host");
        Hop { kind: HopKind::Virtual, name: self.name.clone(), about }
    }
}

fn is_virtio(name: &str) -> bool {
    let number = name.strip_prefix("virtio").unwrap_or("");
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}
