/// Bytes as `sha256sum` prints them: two lower-case digits each.
pub fn hexadecimal(bytes: &[u8]) -> String {
    let nibbles = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    nibbles.map(|nibble| char::from_digit(u32::from(nibble), 16).expect("below 16")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_two_digits() {
        assert_eq!(hexadecimal(&[0, 9, 0xa0, 0xff]), "0009a0ff");
        assert_eq!(hexadecimal(&[]), "");
    }
}
