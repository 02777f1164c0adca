//! Numbers of things.

/// `1 block`, `2 blocks`: for nouns whose plural ends in `s`.
pub fn counted(count: impl Into<u64>, noun: &str) -> String {
    match count.into() {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        assert_eq!(counted(0_u64, "job"), "0 jobs");
        assert_eq!(counted(1_u32, "job"), "1 job");
        assert_eq!(counted(2_u64, "job"), "2 jobs");
    }
}
