//! The answer to an article in a sentence or two: what holds, what does not, and why.

use super::{Repeated, settled};

/// Claims of one answer that are named; the others are counted.
const NAMED_MAX: usize = 3;

/// The answer to an article.
pub(super) fn answer(stages: &[Repeated]) -> String {
    let claims = settled(stages);
    let kinds = [
        ("holds", "What holds"),
        ("does-not-hold", "What does not"),
        ("consistent", "Consistent"),
        ("no-evidence", "No evidence"),
    ];
    let mut text = String::new();
    for (verdict, word) in kinds {
        let of = claims.iter().filter(|(_, found)| *found == verdict);
        let names: Vec<&str> = of.map(|(claim, _)| claim.name.as_str()).collect();
        if let Some(list) = listed(&names) {
            text += &format!("{word}: {list}. ");
        }
    }
    text + "Why: " + &stages[0].article.cause
}

/// The first names, and how many more there are.
fn listed(names: &[&str]) -> Option<String> {
    // One that begins so continues the claim before it.
    let whole = names.iter().filter(|name| !name.starts_with("...")).take(NAMED_MAX);
    let mut parts: Vec<String> = whole.map(|name| format!("\"{name}\"")).collect();
    let more = names.len() - parts.len();
    if more > 0 {
        parts.push(if parts.is_empty() { more.to_string() } else { format!("{more} more") });
    }
    let (last, first) = parts.split_last()?;
    Some(if first.is_empty() { last.clone() } else { format!("{} and {last}", first.join(", ")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_are_named_and_the_others_counted() {
        let check = |names: &[&str], expected: Option<&str>| {
            assert_eq!(listed(names).as_deref(), expected);
        };
        check(&[], None);
        check(&["a"], Some("\"a\""));
        check(&["a", "... b"], Some("\"a\" and 1 more"));
        check(&["... b"], Some("1"));
        let four = "\"a\", \"b\", \"c\" and 1 more";
        check(&["a", "b", "c", "d"], Some(four));
    }
}
