//! Warnings of many comparisons, each told once.

use super::Outcome;

/// Names listed before the rest is only counted.
const NAMES_MAX: usize = 3;

/// Every different warning with the comparisons it is about, in order of first appearance.
pub(crate) fn gather<'a>(outcomes: impl Iterator<Item = (&'a str, &'a Outcome)>) -> Vec<String> {
    let mut gathered: Vec<(String, Vec<&str>)> = Vec::new();
    for (name, outcome) in outcomes {
        for warning in &outcome.adjusted.comparison.warnings {
            let advice = String::from(warning.clone());
            match gathered.iter_mut().find(|(known, _)| *known == advice) {
                Some((_, names)) if names.contains(&name) => {}
                Some((_, names)) => names.push(name),
                None => gathered.push((advice, vec![name])),
            }
        }
    }
    gathered.into_iter().map(|(advice, names)| format!("{advice} ({})", listed(&names))).collect()
}

fn listed(names: &[&str]) -> String {
    let shown = names[..names.len().min(NAMES_MAX)].join(", ");
    match names.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn long_lists_are_counted() {
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b", "c"]), "a, b, c");
        assert_eq!(listed(&["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
    }
}
