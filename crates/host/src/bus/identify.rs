//! The 256 words of an ATA drive's identity, as in `ata_device/devN.M/id`.

use crate::speed::Speed;

/// Words of the serial number, and of the world wide name.
const SERIAL: std::ops::RangeInclusive<usize> = 10..=19;
const WORLD_WIDE_NAME: std::ops::RangeInclusive<usize> = 108..=111;

/// The identity of a drive (ATA8-ACS, IDENTIFY DEVICE).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identify {
    words: [u16; 256],
}

impl Identify {
    /// Reads 256 words in hexadecimal; `None` if they are incomplete.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = [0; 256];
        let mut read = text.split_ascii_whitespace();
        for word in &mut words {
            *word = u16::from_str_radix(read.next()?, 16).ok()?;
        }
        read.next().is_none().then_some(Self { words })
    }

    /// The words as the kernel prints them, eight per line, without the words that identify a
    /// single drive.
    pub(crate) fn redacted(&self) -> String {
        let mut text = String::new();
        for (index, word) in self.words.iter().enumerate() {
            let secret = SERIAL.contains(&index) || WORLD_WIDE_NAME.contains(&index);
            // 0x2020 is two blanks, as a drive without a serial number has them.
            let word = if SERIAL.contains(&index) {
                0x2020
            } else if secret {
                0
            } else {
                *word
            };
            text.push_str(&format!("{word:04x}{}", if index % 8 == 7 { '\n' } else { ' ' }));
        }
        text
    }

    /// Word `index`.
    pub fn word(&self, index: usize) -> u16 {
        self.words.get(index).copied().unwrap_or(0)
    }

    fn bit(&self, index: usize, bit: u32) -> bool {
        debug_assert!(bit < 16, "a word has 16 bits");
        self.word(index) >> bit & 1 == 1
    }

    /// Returns whether it is a SATA drive: in any other drive word 76 is 0 or all ones.
    pub fn is_sata(&self) -> bool {
        !matches!(self.word(76), 0 | 0xffff)
    }

    /// Returns whether it supports native command queuing: word 76, bit 8.
    pub(crate) fn has_ncq(&self) -> bool {
        self.is_sata() && self.bit(76, 8)
    }

    /// Number of commands that it accepts at once: word 75, bits 0 to 4, plus one.
    pub fn queue_depth(&self) -> u32 {
        u32::from(self.word(75) & 0x1f) + 1
    }

    /// The fastest link that it supports: word 76, bits 1 to 3.
    pub(crate) fn max_speed(&self) -> Option<Speed> {
        // Word 76 is reserved in parallel ATA.
        if !self.is_sata() {
            return None;
        }
        // One bit for each generation, of which the highest counts.
        let speeds = [(3, 6000), (2, 3000), (1, 1500)];
        speeds.iter().find(|(bit, _)| self.bit(76, *bit)).map(|(_, mbps)| Speed::mbps(*mbps))
    }

    /// Returns whether its write cache is on: word 85, bit 5; `None` if it has none (word 82, bit
    /// 5).
    pub fn write_cache(&self) -> Option<bool> {
        self.bit(82, 5).then(|| self.bit(85, 5))
    }

    /// Returns whether it reads ahead: word 85, bit 6.
    pub fn look_ahead(&self) -> bool {
        self.bit(85, 6)
    }

    /// Returns whether it supports SMART, and whether SMART is on: words 82 and 85, bit 0.
    pub fn smart(&self) -> (bool, bool) {
        (self.bit(82, 0), self.bit(85, 0))
    }

    /// Revolutions per minute; `Some(0)` for a drive without platters (word 217 is 1), `None` if
    /// not reported.
    pub fn rpm(&self) -> Option<u32> {
        match self.word(217) {
            1 => Some(0),
            // 0x0401 to 0xfffe are rates; the values in between are reserved.
            rpm @ 0x0401..=0xfffe => Some(u32::from(rpm)),
            _ => None,
        }
    }

    /// Bytes of a physical sector: word 106 (valid if bits 15..14 are 01); bits 0 to 3 are the
    /// number of logical sectors in it as a power of two.
    pub fn physical_sector_bytes(&self) -> Option<u64> {
        let sizes = self.word(106);
        (sizes >> 14 == 1 && sizes & 0x2000 != 0).then(|| 512 << (sizes & 0xf))
    }

    /// Its model: words 27 to 46, two characters each.
    pub fn model(&self) -> Option<String> {
        self.string(27..=46)
    }

    /// Its firmware: words 23 to 26.
    pub fn firmware(&self) -> Option<String> {
        self.string(23..=26)
    }

    /// Its serial number: words 10 to 19.
    pub fn serial(&self) -> Option<String> {
        self.string(SERIAL)
    }

    fn string(&self, words: std::ops::RangeInclusive<usize>) -> Option<String> {
        let bytes = self.words[words].iter().flat_map(|word| word.to_be_bytes());
        // The drive controls these bytes: nothing but printable ASCII reaches a terminal.
        let characters =
            bytes.map(|byte| if (32..127).contains(&byte) { char::from(byte) } else { ' ' });
        let text: String = characters.collect();
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(words: &[(usize, u16)]) -> Identify {
        let mut identify = Identify { words: [0; 256] };
        for (index, word) in words {
            identify.words[*index] = *word;
        }
        identify
    }

    #[test]
    fn a_sata_drive_of_2009() {
        // ST31000333AS: 3 Gb/s, NCQ of 32, cache on, 7200 rpm.
        let drive = drive(&[(75, 0x1f), (76, 0x0106), (82, 0x21), (85, 0x61), (217, 7200)]);
        assert!(drive.has_ncq());
        assert_eq!(drive.queue_depth(), 32);
        assert_eq!(drive.max_speed(), Some(Speed::mbps(3000)));
        assert_eq!(drive.write_cache(), Some(true));
        assert_eq!(drive.smart(), (true, true));
        assert_eq!(drive.rpm(), Some(7200));
        assert_eq!(drive.physical_sector_bytes(), None);
    }

    #[test]
    fn what_is_not_said_is_not_known() {
        let parallel = drive(&[(76, 0xffff), (106, 0x6003)]);
        assert!(!parallel.is_sata() && !parallel.has_ncq());
        assert_eq!((parallel.max_speed(), parallel.rpm()), (None, None));
        assert_eq!(parallel.write_cache(), None);
        assert_eq!(parallel.physical_sector_bytes(), Some(4096));
        assert_eq!(drive(&[(106, 0xffff)]).physical_sector_bytes(), None, "bits 15..14 are not 01");
        assert_eq!(drive(&[(217, 1)]).rpm(), Some(0));
    }

    #[test]
    fn redacting_takes_the_serial_number_and_keeps_the_rest() {
        let told = drive(&[(10, 0x5354), (108, 0x5000), (27, 0x5354), (28, 0x3331)]);
        let kept = Identify::parse(&told.redacted()).unwrap();
        assert_eq!((kept.serial(), kept.word(108)), (None, 0));
        assert_eq!(kept.model().as_deref(), Some("ST31"));
    }

    #[test]
    fn half_an_identity_is_none() {
        let whole = drive(&[]).redacted();
        assert!(Identify::parse(&whole).is_some());
        assert!(Identify::parse(&whole[..whole.len() / 2]).is_none());
        assert!(Identify::parse(&format!("{whole} 0000")).is_none());
        assert!(Identify::parse("zzzz").is_none());
    }
}
