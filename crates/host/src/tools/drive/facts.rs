//! Facts of one output about one drive.

use super::health::Health;
use crate::device::Kind;
use crate::speed::Speed;

/// Facts about one drive. Absent ones are not in the output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// The tool: `smartctl`.
    pub tool: String,
    /// The name of the device: `sda`, `nvme0`, `nvme0n1`.
    pub node: Option<String>,
    /// The kind, where the output shows it.
    pub kind: Option<Kind>,
    /// The way to an NVMe drive: `pcie`, `tcp`.
    pub transport: Option<String>,
    /// The address of the PCI function.
    pub address: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The serial number.
    pub serial: Option<String>,
    /// The firmware.
    pub firmware: Option<String>,
    /// The size.
    pub capacity_bytes: Option<u64>,
    /// Revolutions per minute; 0 without platters.
    pub rpm: Option<u32>,
    /// The logical and physical sector.
    pub sectors: (Option<u64>, Option<u64>),
    /// The present rate of the link, and the drive's own.
    pub link: (Option<Speed>, Option<Speed>),
    /// The number of commands that the drive accepts at once.
    pub queue_depth: Option<u32>,
    /// True if the drive has native command queuing.
    pub ncq: Option<bool>,
    /// True if the write cache is on.
    pub write_cache: Option<bool>,
    /// True if the drive reads ahead.
    pub look_ahead: Option<bool>,
    /// The transfer mode of a parallel drive: `UDMA/100`.
    pub transfer_mode: Option<String>,
    /// The present temperature, and the limit of the drive.
    pub celsius: (Option<i32>, Option<i32>),
    /// True if self-monitoring is there, and on.
    pub smart: (Option<bool>, Option<bool>),
    /// The record of the drive.
    pub health: Option<Health>,
}

impl Facts {
    /// Returns whether it says anything beyond a name.
    pub(in crate::tools) fn says_anything(&self) -> bool {
        self.model.is_some()
            || self.serial.is_some()
            || self.capacity_bytes.is_some()
            || self.health.is_some()
            || self.kind.is_some()
    }
}

/// The name in `/dev/sda`, `/dev/nvme0n1`, `sda [SAT]`; `None` for what is no name.
pub(in crate::tools) fn node_of(text: &str) -> Option<String> {
    let word = text.split_whitespace().next()?.trim_start_matches("/dev/");
    let word = word.trim_end_matches(&[':', ',', ';', '.', ')'][..]);
    let good = (2..=32).contains(&word.len())
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        && word.starts_with(|c: char| c.is_ascii_lowercase());
    good.then(|| word.to_owned())
}

/// The first whole number of a text, with separators of thousands: `36,580,058 [18.7 TB]`.
pub(in crate::tools) fn count(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let text = text.strip_prefix("0x").map_or((text, 10), |hex| (hex, 16));
    let (text, base) = text;
    let mut digits = String::new();
    for (at, sign) in text.char_indices() {
        let next = text[at + sign.len_utf8()..].chars().next();
        let separates = matches!(sign, ',' | '.' | '\'' | '\u{a0}' | '\u{202f}' | ' ')
            && is_group(&text[at + sign.len_utf8()..])
            && !digits.is_empty();
        if sign.is_digit(base) {
            digits.push(sign);
        } else if !(separates && base == 10 && next.is_some_and(|c| c.is_ascii_digit())) {
            break;
        }
    }
    u64::from_str_radix(&digits, base).ok()
}

/// Three digits, and no fourth.
fn is_group(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    digits == 3
}

/// A text, unless it is empty.
pub(in crate::tools) fn some(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

/// A line `key: value`, both trimmed.
pub(in crate::tools) fn pair(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    Some((key.trim(), value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_separators_of_any_country() {
        let cases = [
            ("36,580,058 [18.7 TB]", Some(36_580_058)),
            ("36.580.058 [18,7 TB]", Some(36_580_058)),
            ("512", Some(512)),
            ("0x04", Some(4)),
            ("1.5", Some(1)),
            ("19 (Min/Max 13/19)", Some(19)),
            ("100%", Some(100)),
            ("-", None),
            ("99999999999999999999", None),
        ];
        for (text, expected) in cases {
            assert_eq!(count(text), expected, "{text}");
        }
    }

    #[test]
    fn names_are_told_from_words() {
        let cases = [
            ("/dev/sda [SAT]", Some("sda")),
            ("/dev/nvme0n1:", Some("nvme0n1")),
            ("/dev/../x", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(node_of(text).as_deref(), expected, "{text}");
        }
    }
}
