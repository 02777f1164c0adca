//! Verdicts that hold together, and the words for them.

use drivelab_stats::Role;

use super::Outcome;

/// The number of comparisons in each part, contrasts included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Together {
    /// Of the primary metric: one an arm.
    pub(crate) gates: usize,
    /// Of all other metrics.
    pub(crate) others: usize,
}

impl Together {
    /// Counts the comparisons of each part.
    pub(crate) fn of(outcomes: &[Outcome]) -> Self {
        let gates = outcomes.iter().filter(|it| it.adjusted.role == Role::Gate).count();
        Self { gates, others: outcomes.len() - gates }
    }

    /// Returns a sentence on the adjustment: which comparisons share it, and what it promises.
    pub fn words(self) -> String {
        let Self { gates, others } = self;
        let groups = match (gates, others) {
            (_, 0 | 1) if gates < 2 => return "no verdict needs an adjustment".into(),
            (1, _) => format!(
                "the primary metric decides and is not adjusted, the other {others} comparisons are \
                 adjusted for one another"
            ),
            (_, 0 | 1) => format!(
                "the {gates} comparisons of the primary metric are adjusted for one another"
            ),
            _ => format!(
                "the {gates} comparisons of the primary metric are adjusted for one another, and so \
                 are the other {others}"
            ),
        };
        format!(
            "{groups}: the chance that any of these wrongly says faster, slower or different is at \
             most 5 %, and so is the chance of wrongly saying no practical difference"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Together;

    #[test]
    fn the_words_name_what_is_adjusted() {
        let check = |gates, others, expected: &str| {
            let words = Together { gates, others }.words();
            assert!(words.starts_with(expected), "{gates} {others}: {words}");
        };
        check(1, 0, "no verdict needs");
        check(1, 1, "no verdict needs");
        check(1, 97, "the primary metric decides and is not adjusted, the other 97 comparisons");
        check(3, 1, "the 3 comparisons of the primary metric are adjusted for one another: the");
        check(3, 109, "the 3 comparisons of the primary metric are adjusted for one another, and");
    }
}
