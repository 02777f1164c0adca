//! The answer of an ATA drive to IDENTIFY DEVICE (ATA8-ACS, section 7.16).

use drivelab_core::Sectors;

/// The properties of an ATA drive that its host can read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtaConfig {
    /// The model; 40 characters of it are shown.
    pub model: String,
    /// Addressable sectors.
    pub capacity: Sectors,
    /// The physical sector: a power of two.
    pub physical_sector: Sectors,
    /// Revolutions per minute; 1 for a drive that does not rotate, 0 if not reported.
    pub rpm: u16,
    /// Commands that may be queued: 1 to 32.
    pub queue_depth: u8,
    /// True if it takes lists of sectors that are no longer needed.
    pub trims: bool,
    /// True if the drive has a volatile write cache.
    pub has_write_cache: bool,
    /// True if the write cache is on.
    pub write_cache: bool,
    /// The generation of the link: 1 (1.5 Gb/s), 2 (3 Gb/s) or 3 (6 Gb/s).
    pub link: u8,
}

/// Maximum number of blocks in a list of sectors to trim.
pub(super) const TRIM_BLOCKS_MAX: u16 = 8;

const WORDS: usize = 256;
const SECTOR_BYTES: usize = 512;
/// 28 bits of address reach this far.
const LBA28_MAX: u64 = 0x0FFF_FFFF;

/// The serial number, which no real drive has.
const SERIAL: &str = "drivelab";
const FIRMWARE: &str = "1.0";

/// The answer to IDENTIFY DEVICE.
pub(in crate::machine) fn identify(
    config: &AtaConfig,
    write_cache: bool,
    smart: bool,
) -> [u8; SECTOR_BYTES] {
    let mut words = [0_u16; WORDS];
    describe(&mut words, config);
    features(&mut words, config, write_cache, smart);
    let mut bytes = [0; SECTOR_BYTES];
    // Words are little-endian on the wire.
    for (at, word) in bytes.chunks_exact_mut(2).zip(words) {
        at.copy_from_slice(&word.to_le_bytes());
    }
    // The signature of the checksum in the last byte (word 255).
    bytes[510] = 0xA5;
    with_checksum(bytes)
}

fn describe(words: &mut [u16; WORDS], config: &AtaConfig) {
    // A fixed device. The geometry is that of every drive above 8 GB.
    words[0] = 0x0040;
    (words[1], words[3], words[6]) = (16_383, 16, 63);
    put_text(&mut words[10..20], SERIAL);
    put_text(&mut words[23..27], FIRMWARE);
    put_text(&mut words[27..47], &config.model);
    let capacity = config.capacity.get();
    put_number(&mut words[60..62], capacity.min(LBA28_MAX));
    put_number(&mut words[100..104], capacity);
    // Word 106 holds the exponent of logical sectors in a physical one.
    let exponent = config.physical_sector.get().max(1).ilog2();
    let exponent = u16::try_from(exponent).expect("at most 63");
    // Valid; several logical sectors in a physical one.
    words[106] = 0x4000 | if exponent > 0 { 0x2000 | exponent } else { 0 };
    if config.trims {
        (words[105], words[169]) = (TRIM_BLOCKS_MAX, 1);
    }
    words[217] = config.rpm;
    // Serial ATA, as of ATA8-AST.
    words[222] = 0x101F;
}

fn features(words: &mut [u16; WORDS], config: &AtaConfig, write_cache: bool, smart: bool) {
    let (in_use, present, watched) =
        (u16::from(write_cache), u16::from(config.has_write_cache), u16::from(smart));
    // DMA and LBA; a cycle takes 120 ns at least, in the obsolete multiword DMA and PIO modes.
    (words[47], words[49], words[50], words[53]) = (0x8010, 0x0F00, 0x4000, 0x0007);
    (words[63], words[64]) = (0x0007, 0x0003);
    words[65..69].fill(120);
    words[75] = u16::from(config.queue_depth.clamp(1, 32)) - 1;
    let speeds = (1..=u16::from(config.link.clamp(1, 3))).fold(0, |bits, speed| bits | 1 << speed);
    let queuing = u16::from(config.queue_depth > 1) << 8;
    words[76] = speeds | queuing;
    // ATA-4 to ATA8-ACS.
    words[80] = 0x01F0;
    let look_ahead = 1 << 6;
    // SMART, power management, write cache; FLUSH CACHE in both lengths and 48 bits of address;
    // general purpose logs and WRITE DMA FUA EXT. Reaction the same, as far as it is in use.
    (words[82], words[83], words[84]) = (1 | 1 << 3 | present << 5 | look_ahead, 0x7400, 0x4060);
    (words[85], words[86], words[87]) =
        (watched | 1 << 3 | in_use << 5 | look_ahead, 0x3400, 0x4060);
    // Ultra DMA up to mode 6, which is chosen.
    words[88] = 0x407F;
}

/// Writes a text: two characters per word, the first in the upper byte, padded with spaces.
fn put_text(words: &mut [u16], text: &str) {
    let mut characters = text.chars();
    for word in words {
        let [first, second] = [characters.next(), characters.next()].map(|c| match c {
            Some(c) if (' '..='~').contains(&c) => c as u8,
            Some(_) => b'?',
            None => b' ',
        });
        *word = u16::from_be_bytes([first, second]);
    }
}

fn put_number(words: &mut [u16], number: u64) {
    // The lowest word first.
    for (index, word) in words.iter_mut().enumerate() {
        *word = u16::try_from(number >> (16 * index) & 0xFFFF).expect("sixteen bits");
    }
}

/// The data of SMART: no attributes, no self-test in progress.
pub(in crate::machine) fn smart_data() -> [u8; SECTOR_BYTES] {
    with_checksum([0; SECTOR_BYTES])
}

/// Sets the last byte so that the sum of all is zero.
pub(in crate::machine) fn with_checksum(mut bytes: [u8; SECTOR_BYTES]) -> [u8; SECTOR_BYTES] {
    let sum = bytes[..SECTOR_BYTES - 1].iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    bytes[SECTOR_BYTES - 1] = sum.wrapping_neg();
    debug_assert_eq!(bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)), 0);
    bytes
}

#[cfg(test)]
impl AtaConfig {
    pub(crate) fn for_tests(capacity: Sectors) -> Self {
        Self {
            model: "Test drive".into(),
            capacity,
            physical_sector: Sectors::new(8),
            rpm: 7200,
            queue_depth: 32,
            trims: true,
            has_write_cache: true,
            write_cache: true,
            link: 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(config: &AtaConfig) -> Vec<u16> {
        let bytes = identify(config, config.write_cache, true);
        assert_eq!(bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)), 0);
        bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect()
    }

    #[test]
    fn words_are_where_the_standard_has_them() {
        let config = AtaConfig::for_tests(Sectors::new(0x0001_2345_6789));
        let words = words(&config);
        assert_eq!(words[27].to_be_bytes(), *b"Te");
        assert_eq!(words[46].to_be_bytes(), *b"  ");
        assert_eq!((words[60], words[61]), (0xFFFF, 0x0FFF), "28 bits are not enough");
        assert_eq!(words[100..104], [0x6789, 0x2345, 1, 0]);
        assert_eq!((words[75], words[76]), (31, 0x0106), "32 commands, 3 Gb/s");
        assert_eq!((words[106], words[217]), (0x6003, 7200));
        assert_eq!((words[105], words[169]), (8, 1), "trim");
        assert_eq!(words[85] & 1 << 5, 1 << 5, "the write cache is on");
    }

    #[test]
    fn a_drive_with_one_command_has_no_queuing() {
        let capacity = Sectors::new(1000);
        let config =
            AtaConfig { queue_depth: 1, write_cache: false, ..AtaConfig::for_tests(capacity) };
        let words = words(&config);
        assert_eq!((words[75], words[76] & 1 << 8, words[85] & 1 << 5), (0, 0, 0));
    }
}
