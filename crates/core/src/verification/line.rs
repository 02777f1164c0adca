//! Lines of an account, each with its checksum: a flipped bit in an account would accuse the drive,
//! or excuse it.

/// The checksum of the contents of an account: CRC-32 as in gzip (ISO 3309).
pub fn checksum(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// A line with the text `words`.
pub fn sealed(words: &str) -> String {
    format!("{words} {:08x}\n", checksum(words.as_bytes()))
}

/// The text of a line, without its end; `None` if the checksum is wrong.
pub fn unsealed(line: &str) -> Option<&str> {
    // The last blank, as the words may hold others.
    let (words, sum) = line.rsplit_once(' ')?;
    (sum == format!("{:08x}", checksum(words.as_bytes()))).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_back_and_no_flipped_bit_is() {
        // The check value of CRC-32, over the digits 1 to 9.
        assert_eq!(sealed("123456789"), "123456789 cbf43926\n");
        let line = sealed("kept 7 31 1234567");
        assert_eq!(unsealed(line.trim_end()), Some("kept 7 31 1234567"));
        for bit in 0..(line.len() - 1) * 8 {
            let mut bytes = line.trim_end().as_bytes().to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let flipped = String::from_utf8(bytes).unwrap_or_default();
            assert_eq!(unsealed(&flipped), None, "bit {bit}");
        }
        assert_eq!(unsealed("kept"), None);
    }
}
