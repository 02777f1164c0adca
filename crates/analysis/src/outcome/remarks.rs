//! Warnings of many comparisons, each given once.

use drivelab_stats::{Warning, WarningId};

use super::Outcome;

/// Names listed before the rest is only counted.
const NAMES_MAX: usize = 3;

/// Every different warning with the comparisons it is about, in order of first appearance.
///
/// Claims that do not hold together share one warning: each has a separate p, which stands with
/// the comparison. `said` are those that are given elsewhere.
pub fn gather<'a>(
    outcomes: impl Iterator<Item = (&'a str, &'a Outcome)>,
    said: &[WarningId],
) -> Vec<String> {
    let mut gathered: Vec<(&Warning, Vec<&str>)> = Vec::new();
    for (name, outcome) in outcomes {
        // The dependence on the drive is the verdict already, so it needs no warning.
        let warnings = outcome.adjusted.comparison.warnings.iter();
        let warnings = warnings.filter(|warning| warning.id != WarningId::Depends);
        for warning in warnings.filter(|warning| !said.contains(&warning.id)) {
            match gathered.iter_mut().find(|(known, _)| is_same(known, warning)) {
                Some((_, names)) if names.contains(&name) => {}
                Some((_, names)) => names.push(name),
                None => gathered.push((warning, vec![name])),
            }
        }
    }
    gathered.into_iter().map(|(warning, names)| told(warning, &names)).collect()
}

fn told(warning: &Warning, names: &[&str]) -> String {
    if warning.id == WarningId::Multiplicity && names.len() > 1 {
        return format!(
            "{}: multiplicity: taken alone, each would support a stronger verdict, but not after \
             adjusting for all comparisons; to decide by one of them, declare it primary and run \
             again",
            listed(names)
        );
    }
    // What it is about comes first: a verdict that is withheld is not always the study's.
    format!("{}: {}", listed(names), String::from(warning.clone()))
}

fn listed(names: &[&str]) -> String {
    let shown = format!("`{}`", names[..names.len().min(NAMES_MAX)].join("`, `"));
    match names.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// True if two warnings share a sentence: advice on multiplicity differs only in its numbers.
fn is_same(one: &Warning, other: &Warning) -> bool {
    one.id == other.id && (one.id == WarningId::Multiplicity || one.advice == other.advice)
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn long_lists_are_counted() {
        assert_eq!(listed(&["a"]), "`a`");
        assert_eq!(listed(&["a", "b", "c"]), "`a`, `b`, `c`");
        assert_eq!(listed(&["a", "b", "c", "d", "e"]), "`a`, `b`, `c` and 2 more");
    }
}
