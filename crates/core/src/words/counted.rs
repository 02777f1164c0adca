//! Numbers of things.

use std::fmt::Display;

/// `1 block`, `2 blocks`: for nouns whose plural ends in `s`.
pub fn counted(count: impl Display, noun: &str) -> String {
    match count.to_string() {
        one if one == "1" => format!("1 {noun}"),
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
