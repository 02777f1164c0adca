//! Characters from bytes.

use super::changes::Changes;

/// The beginnings of files that are not text: archives, images, programs, databases.
const MAGIC: [&[u8]; 10] = [
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ",
    b"\x28\xb5\x2f\xfd",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"\x7fELF",
    b"SQLite format",
    b"%PDF",
];
/// Bytes that are looked at to recognise an encoding.
const SAMPLE: usize = 4096;
/// Text has fewer control characters than one byte in this number.
const CONTROLS_PER: usize = 50;

#[derive(Clone, Copy)]
enum Order {
    Little,
    Big,
}

/// Bytes that are not text, as far as they can be shown.
pub(super) struct Binary(pub String);

/// The text; as an error, bytes that are none.
pub(super) fn decode(bytes: Vec<u8>, changes: &mut Changes) -> Result<String, Binary> {
    if let Some((order, begin)) = utf_16(&bytes) {
        changes.encoding = Some("UTF-16");
        return Ok(from_utf_16(&bytes[begin..], order, changes));
    }
    if is_binary(&bytes) {
        // With its marks it may pass for text when it is cleaned again, and a carriage return for
        // the end of a line.
        return Err(Binary(String::from_utf8_lossy(&bytes).replace('\r', "\u{fffd}")));
    }
    // Text is not copied: it may have 100 MB.
    let text = String::from_utf8(bytes).unwrap_or_else(|error| {
        let mut text = String::with_capacity(error.as_bytes().len());
        for chunk in error.as_bytes().utf8_chunks() {
            text.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                changes.damaged += 1;
                text.push('?');
            }
        }
        text
    });
    // The readers take its replacement character for binary data, and so does a pasted one.
    let marks = text.matches('\u{fffd}').count();
    changes.lost += marks as u64;
    Ok(if marks > 0 { text.replace('\u{fffd}', "?") } else { text })
}

fn is_binary(bytes: &[u8]) -> bool {
    let sample = &bytes[..bytes.len().min(SAMPLE)];
    let controls = sample.iter().filter(|byte| matches!(byte, 0..=6 | 14..=26 | 28..=31)).count();
    MAGIC.iter().any(|magic| bytes.starts_with(magic)) || controls * CONTROLS_PER > sample.len()
}

/// The order of the bytes of UTF-16, and where its text begins. Without a mark, every other byte of
/// plain text is zero.
fn utf_16(bytes: &[u8]) -> Option<(Order, usize)> {
    match bytes {
        [0xff, 0xfe, ..] => return Some((Order::Little, 2)),
        [0xfe, 0xff, ..] => return Some((Order::Big, 2)),
        _ => {}
    }
    let (mut first, mut second, mut pairs) = (0_usize, 0_usize, 0_usize);
    for pair in bytes[..bytes.len().min(SAMPLE)].chunks_exact(2) {
        pairs += 1;
        first += usize::from(pair[0] == 0);
        second += usize::from(pair[1] == 0);
    }
    match (first, second) {
        (0, zeros) if pairs > 1 && zeros * 5 >= pairs * 4 => Some((Order::Little, 0)),
        (zeros, 0) if pairs > 1 && zeros * 5 >= pairs * 4 => Some((Order::Big, 0)),
        _ => None,
    }
}

fn from_utf_16(bytes: &[u8], order: Order, changes: &mut Changes) -> String {
    let units = bytes.chunks_exact(2).map(|pair| {
        let pair = [pair[0], pair[1]];
        match order {
            Order::Little => u16::from_le_bytes(pair),
            Order::Big => u16::from_be_bytes(pair),
        }
    });
    let mut text = String::with_capacity(bytes.len() / 2);
    for unit in char::decode_utf16(units) {
        text.push(unit.unwrap_or_else(|_| {
            changes.damaged += 1;
            '?'
        }));
    }
    // A file that was cut within a character.
    changes.damaged += (bytes.len() % 2) as u64;
    text
}
