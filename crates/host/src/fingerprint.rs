//! Fingerprints of identities.

/// Sixteen digits that distinguish machines, disks or boots without revealing the identity itself;
/// nothing for an empty one.
///
/// FNV-1a, 64 bits (Fowler, Noll and Vo). Of 128 random bits it keeps 64, so 2^64 identities share
/// a fingerprint and none can be derived from it; a serial number has fewer bits, and anyone who
/// knows it can compute its fingerprint. The prefix distinguishes it from other programs' hashes of
/// the same identity.
pub(crate) fn fingerprint(identity: &str) -> Option<String> {
    let identity = identity.trim();
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    for byte in b"drivelab".iter().chain(identity.as_bytes()) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
    }
    (!identity.is_empty()).then(|| format!("{hash:016x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_distinguishes_identities_and_is_always_the_same() {
        let one = fingerprint("0123456789abcdef0123456789abcdef\n");
        assert_eq!(one, fingerprint("0123456789abcdef0123456789abcdef"));
        assert_ne!(one, fingerprint("0123456789abcdef0123456789abcdee"));
        assert_eq!(one.unwrap().len(), 16);
        assert_eq!(fingerprint(" \n"), None);
    }
}
