//! The features and configuration space of a virtio block device (Virtual I/O Device 1.2, section
//! 5.2).

use drivelab_core::Sectors;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{Immutable, IntoBytes};

/// A virtio feature, by its bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Feature {
    /// `VIRTIO_BLK_F_SEG_MAX`: the number of segments of a request is limited.
    SegmentsMax = 2,
    /// `VIRTIO_BLK_F_BLK_SIZE`.
    BlockSize = 6,
    /// `VIRTIO_BLK_F_FLUSH`.
    Flush = 9,
    /// `VIRTIO_BLK_F_TOPOLOGY`: the physical sector.
    Topology = 10,
    /// `VIRTIO_BLK_F_CONFIG_WCE`: the guest may switch the write cache.
    ConfigWce = 11,
    /// `VIRTIO_BLK_F_DISCARD`.
    Discard = 13,
    /// `VIRTIO_BLK_F_WRITE_ZEROES`.
    WriteZeroes = 14,
    /// `VIRTIO_RING_F_INDIRECT_DESC`.
    Indirect = 28,
    /// `VHOST_USER_F_PROTOCOL_FEATURES`.
    ProtocolFeatures = 30,
    /// `VIRTIO_F_VERSION_1`.
    Version1 = 32,
}

impl Feature {
    /// Features of every device.
    pub const OF_ALL: [Self; 3] = [Self::Indirect, Self::ProtocolFeatures, Self::Version1];

    /// Features of a block device.
    pub const OF_BLOCK: [Self; 10] = [
        Self::SegmentsMax,
        Self::BlockSize,
        Self::Flush,
        Self::Topology,
        Self::ConfigWce,
        Self::Discard,
        Self::WriteZeroes,
        Self::Indirect,
        Self::ProtocolFeatures,
        Self::Version1,
    ];

    /// The bits of `features`.
    pub fn offered(features: &[Self]) -> u64 {
        features.iter().fold(0, |bits, feature| bits | 1 << (*feature as u8))
    }
}

/// The size of the configuration space.
pub(crate) const CONFIG_BYTES: usize = size_of::<Raw>();
/// Offset of the switch of the write cache in it.
pub(crate) const WRITE_CACHE_AT: usize = 32;
/// Largest trim, in sectors: 2 GiB. The largest transfer of Linux without limits from the device is
/// 1280 KiB; a trim may be larger.
const TRIM_SECTORS_MAX: u32 = 1 << 22;
const ZEROES_SECTORS_MAX: u32 = 1 << 16;
/// The value of QEMU.
const SEGMENTS_MAX: u32 = 126;

/// `struct virtio_blk_config`, up to the fields of write zeroes.
#[derive(IntoBytes, Immutable)]
#[repr(C)]
struct Raw {
    capacity: U64,
    size_max: U32,
    seg_max: U32,
    geometry: [u8; 4],
    block_size: U32,
    physical_block_exponent: u8,
    alignment_offset: u8,
    minimum_io_blocks: U16,
    optimal_io_blocks: U32,
    write_cache: u8,
    reserved: u8,
    queues: U16,
    discard_sectors_max: U32,
    discard_segments_max: U32,
    discard_alignment_sectors: U32,
    zeroes_sectors_max: U32,
    zeroes_segments_max: U32,
    zeroes_may_unmap: u8,
    padding: [u8; 3],
}

/// The properties of the drive that a guest can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockConfig {
    /// Addressable sectors.
    pub capacity: Sectors,
    /// The physical sector: a power of two.
    pub physical_sector: Sectors,
    /// True if acknowledged data can be lost until it is flushed.
    pub write_cache: bool,
}

impl BlockConfig {
    /// The configuration space.
    pub(crate) fn to_bytes(self) -> [u8; CONFIG_BYTES] {
        debug_assert!(self.physical_sector.get().is_power_of_two(), "the exponent is exact");
        let exponent = self.physical_sector.get().max(1).ilog2();
        let alignment = u32::try_from(self.physical_sector.get().max(1)).unwrap_or(1);
        zerocopy::transmute!(Raw {
            capacity: self.capacity.get().into(),
            size_max: 0.into(),
            seg_max: SEGMENTS_MAX.into(),
            geometry: [0; 4],
            block_size: 512.into(),
            physical_block_exponent: u8::try_from(exponent).expect("at most 63"),
            alignment_offset: 0,
            minimum_io_blocks: 0.into(),
            optimal_io_blocks: 0.into(),
            write_cache: u8::from(self.write_cache),
            reserved: 0,
            queues: 1.into(),
            discard_sectors_max: TRIM_SECTORS_MAX.into(),
            discard_segments_max: 1.into(),
            discard_alignment_sectors: alignment.into(),
            zeroes_sectors_max: ZEROES_SECTORS_MAX.into(),
            zeroes_segments_max: 1.into(),
            zeroes_may_unmap: 0,
            padding: [0; 3],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_where_the_specification_puts_them() {
        let (capacity, physical_sector) = (Sectors::new(0x1234), Sectors::new(8));
        let config = BlockConfig { capacity, physical_sector, write_cache: true }.to_bytes();
        let word = |at: usize| u32::from_le_bytes(config[at..at + 4].try_into().unwrap());
        assert_eq!(config[..8], 0x1234_u64.to_le_bytes());
        assert_eq!((word(12), word(20), config[24]), (126, 512, 3), "seg_max, blk_size, 4096");
        assert_eq!(config[WRITE_CACHE_AT], 1);
        assert_eq!((word(36), word(40), word(44)), (1 << 22, 1, 8), "discard");
        assert_eq!((word(48), word(52), config[56]), (1 << 16, 1, 0), "write zeroes");
        assert_eq!(config.len(), 60);
        assert_eq!(Feature::offered(&Feature::OF_BLOCK), 0x1_5000_6e44);
        assert_eq!(Feature::offered(&Feature::OF_ALL), 0x1_5000_0000);
    }
}
