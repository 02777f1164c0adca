//! Documents as they lie in a file: JSON, its distributions as columns of numbers, deflated.

mod columns;

use std::io::{Read as _, Write as _};

use drivelab_core::{Invalid, invalid};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

/// The first byte of a text with columns; JSON begins otherwise.
const WITH_COLUMNS: u8 = 2;

/// Deflates `text`.
pub(crate) fn pack(text: &str) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    let written = match columns::split(text) {
        Some(split) if split.len() < text.len() => {
            encoder.write_all(&[WITH_COLUMNS]).and_then(|()| encoder.write_all(&split))
        }
        _ => encoder.write_all(text.as_bytes()),
    };
    written.expect("a Vec takes everything");
    encoder.finish().expect("a Vec takes everything")
}

/// The text of `bytes`, which is `length` bytes long; what claims to be shorter than it is does not
/// grow beyond that.
pub(crate) fn unpack(bytes: &[u8], length: u64) -> Result<String, Invalid> {
    let found = inflated(bytes, length)?;
    let text = match found.split_first() {
        Some((&WITH_COLUMNS, split)) => columns::join(split, length)?,
        _ => String::from_utf8(found).map_err(Invalid::new)?,
    };
    if text.len() as u64 != length {
        return Err(invalid!("{} bytes where {length} were kept", text.len()));
    }
    Ok(text)
}

/// The same with an empty list instead of each distribution: what is left of a record is
/// small, and most of the time of a reader goes to them.
pub(crate) fn unpack_head(bytes: &[u8], length: u64) -> Result<String, Invalid> {
    refuse_long(length)?;
    let mut decoder = DeflateDecoder::new(bytes).take(length + 1);
    let mut found = Vec::with_capacity(HEAD_BYTES);
    let first = (&mut decoder).take(HEAD_BYTES as u64).read_to_end(&mut found);
    first.map_err(Invalid::new)?;
    // The distributions stand behind the text.
    let rest = match found.split_first() {
        Some((&WITH_COLUMNS, split)) => columns::left_from(split).saturating_sub(found.len() - 1),
        _ => usize::MAX,
    };
    decoder.take(rest as u64).read_to_end(&mut found).map_err(Invalid::new)?;
    match found.split_first() {
        Some((&WITH_COLUMNS, split)) => columns::head(split),
        _ => String::from_utf8(found).map_err(Invalid::new),
    }
}

/// Bytes that are inflated first of a record of which only the head is read.
const HEAD_BYTES: usize = 4096;

/// The longest document: as long as the longest file of results that is read.
pub(crate) const DOCUMENT_BYTES_MAX: u64 = 128 << 20;

fn refuse_long(length: u64) -> Result<(), Invalid> {
    if length > DOCUMENT_BYTES_MAX {
        return Err(invalid!(
            "it claims {length} bytes, more than the {DOCUMENT_BYTES_MAX} that a record may have"
        ));
    }
    Ok(())
}

fn inflated(bytes: &[u8], length: u64) -> Result<Vec<u8>, Invalid> {
    refuse_long(length)?;
    let mut found = Vec::new();
    // One byte more shows that the text is longer than it claims.
    let read = DeflateDecoder::new(bytes).take(length + 1).read_to_end(&mut found);
    read.map_err(Invalid::new)?;
    Ok(found)
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

    #[test]
    fn distributions_are_columns_and_come_back_to_the_byte() {
        let second = "[[65536,3],[69632,1],[131072,12]]";
        let seconds = vec![second; 60].join(",");
        let text = format!(
            "{{\"s\":{{\"buckets_ns\":[{seconds}]}},\"h\":{{\"buckets_ns\":[[1,2],[3,4]]}}}}"
        );
        let packed = pack(&text);
        assert!(packed.len() < 150, "{}", packed.len());
        assert_eq!(unpack(&packed, text.len() as u64).as_deref(), Ok(text.as_str()));
    }

    #[test]
    fn a_head_is_the_text_without_distributions_however_long_it_is() {
        for length in [10, HEAD_BYTES - 60, HEAD_BYTES, 5 * HEAD_BYTES] {
            let other = "x".repeat(length);
            let buckets = vec!["[65536,3]"; 500].join(",");
            let text = |buckets: &str| format!("{{\"o\":\"{other}\",\"buckets\":[{buckets}]}}");
            let packed = pack(&text(&buckets));
            let found = unpack_head(&packed, text(&buckets).len() as u64);
            assert_eq!(found, Ok(text("")), "{length}");
            unpack_head(&packed[..packed.len() / 4], text(&buckets).len() as u64).unwrap_err();
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_comes_back(
            parts in proptest::collection::vec("[\\[\\],0-9]{0,12}|\"buckets_ns\":|.{0,6}", 0..20)
        ) {
            // As every document does.
            let text = format!("{{{}", parts.concat());
            proptest::prop_assert_eq!(unpack(&pack(&text), text.len() as u64), Ok(text));
        }

        #[test]
        fn no_damage_panics_or_grows(bytes: Vec<u8>, at in 0..200_usize, to: u8) {
            let _ = unpack(&bytes, 1000);
            let pair = "[[65536,3],[69632,1]]";
            let text = format!("{{\"buckets_ns\":[{}]}}", vec![pair; 40].join(","));
            let mut packed = pack(&text);
            let at = at % packed.len();
            packed[at] = to;
            if let Ok(found) = unpack(&packed, text.len() as u64) {
                proptest::prop_assert_eq!(found.len(), text.len());
            }
            // The same behind the compression, where no checksum of the format stands in the way.
            let mut split = columns::split(&text).unwrap();
            let at = at % split.len();
            split[at] = to;
            let _ = columns::join(&split, text.len() as u64);
        }
    }
}
