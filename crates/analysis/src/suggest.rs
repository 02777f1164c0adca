//! Hints for misspelled names.

use drivelab_core::config::nearest;

/// A hint for a name that is none of `known`: the nearest, or all.
pub fn among(given: &str, known: &[&str]) -> String {
    match nearest(given, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => "there are none".to_owned(),
        None => {
            let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            format!("known: {}", names.join(", "))
        }
    }
}

/// Returns whether two names differ in at most two letters that follow one another.
pub fn is_slip(given: &str, known: &str) -> bool {
    let (given, known) = (given.as_bytes(), known.as_bytes());
    let start = given.iter().zip(known).take_while(|(one, other)| one == other).count();
    let rest = given[start..].iter().rev().zip(known[start..].iter().rev());
    let end = rest.take_while(|(one, other)| one == other).count();
    debug_assert!(start + end <= given.len().min(known.len()), "no letter counts twice");
    start + end + 2 >= given.len().max(known.len())
}

#[cfg(test)]
mod tests {
    use super::{among, is_slip};

    #[test]
    fn a_letter_or_two_are_a_slip() {
        for (given, known) in [("w.iopss", "w.iops"), ("w.ipos", "w.iops"), ("w.iops", "w.iops")] {
            assert!(is_slip(given, known) && is_slip(known, given), "{given}");
        }
        assert!(!is_slip("w.putc_latency", "w.put_block_latency"));
        assert!(!is_slip("w.create_latency", "w.create"));
        assert!(!is_slip("", "abc"));
    }

    #[test]
    fn the_nearest_name_is_offered() {
        let known = ["random-read-32.iops", "seq-read.iops"];
        let check = |given, expected: &str| assert_eq!(among(given, &known), expected);
        check("random-read-23.iops", "did you mean `random-read-32.iops`?");
        check("boot", "known: `random-read-32.iops`, `seq-read.iops`");
        assert_eq!(among("x", &[]), "there are none");
    }
}
