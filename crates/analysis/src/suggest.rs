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

#[cfg(test)]
mod tests {
    use super::among;

    #[test]
    fn the_nearest_name_is_offered() {
        let known = ["random-read-32.iops", "seq-read.iops"];
        let check = |given, expected: &str| assert_eq!(among(given, &known), expected);
        check("random-read-23.iops", "did you mean `random-read-32.iops`?");
        check("boot", "known: `random-read-32.iops`, `seq-read.iops`");
        assert_eq!(among("x", &[]), "there are none");
    }
}
