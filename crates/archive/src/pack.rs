//! Records as they lie in a file: JSON, deflated.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

/// Deflates `text`.
pub(crate) fn pack(text: &str) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).expect("a Vec takes everything");
    encoder.finish().expect("a Vec takes everything")
}

/// The text of `bytes`, which is `length` bytes long; what claims to be shorter than it is does not
/// grow beyond that.
pub(crate) fn unpack(bytes: &[u8], length: u64) -> Result<String, String> {
    let mut text = String::new();
    let read = DeflateDecoder::new(bytes).take(length + 1).read_to_string(&mut text);
    match read {
        Ok(found) if found as u64 == length => Ok(text),
        Ok(found) => Err(format!("{found} bytes where {length} were kept")),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked_and_nothing_else() {
        let text = "a record, a record, a record".repeat(100);
        let (packed, length) = (pack(&text), text.len() as u64);
        assert!(packed.len() < text.len() / 20, "{}", packed.len());
        assert_eq!(unpack(&packed, length).as_deref(), Ok(text.as_str()));
        unpack(&packed, length - 1).unwrap_err();
        unpack(&packed, length + 1).unwrap_err();
        unpack(&packed[..packed.len() / 2], length).unwrap_err();
        unpack(&[0xff; 8], length).unwrap_err();
    }
}
