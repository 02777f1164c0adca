//! The probability of what measurements of the drives themselves show, under each hypothesis.

use std::collections::BTreeSet;

use super::suspect::{About, Shows, Suspect};
use crate::signs::{Confidence, Sign};

// Our estimates: a sign is wrong less often than its bounds allow on drives that are in between.
/// The probability that a certain sign has the value of the drive.
const CERTAIN: f64 = 0.95;
/// The probability that a likely one has.
const LIKELY: f64 = 0.8;
/// The probability of a value that the hypothesis leaves open.
const OPEN: f64 = 0.5;

/// Signs of both arms, and the suspects that change them.
pub(super) struct Shown<'a> {
    pub signs: &'a [Vec<Sign>; 2],
    pub suspects: &'a [Suspect],
    /// The suspects that some figure would show.
    pub seen: &'a BTreeSet<usize>,
}

impl Shown<'_> {
    /// The probability of all signs under a hypothesis.
    pub(super) fn likelihood(&self, about: &About) -> f64 {
        let arms = self.signs.iter().enumerate();
        let each = arms.flat_map(|(arm, signs)| signs.iter().map(move |sign| (arm, sign)));
        each.map(|(arm, sign)| self.of_sign(arm, sign, about)).product()
    }

    fn of_sign(&self, arm: usize, sign: &Sign, about: &About) -> f64 {
        let Some(value) = sign.value else { return 1.0 };
        let right = match sign.confidence {
            Confidence::CannotTell => return 1.0,
            Confidence::Likely => LIKELY,
            Confidence::Certain => CERTAIN,
        };
        if let About::Causes(acting) = about {
            let mut given = acting[arm].iter().filter_map(|it| self.suspects[*it].shows(sign.id));
            if let Some(given) = given.next() {
                return match given.value == value {
                    true => right,
                    false if given.always => 1.0 - right,
                    false => OPEN,
                };
            }
        }
        let mut changing = (0..self.suspects.len())
            .filter(|it| self.suspects[*it].shows(sign.id).is_some_and(|it| it.value == value))
            .peekable();
        // What both arms show is how the drive is, and no difference.
        let is_as_expected = changing.peek().is_none() || self.both_show(sign.id, value);
        let is_hidden = changing.any(|it| !self.seen.contains(&it));
        match about {
            _ if is_as_expected => right,
            About::Unknown => OPEN,
            // A suspect that no figure shows may act in addition.
            _ if is_hidden => OPEN,
            _ => 1.0 - right,
        }
    }

    fn both_show(&self, id: &str, value: &str) -> bool {
        self.signs.iter().all(|signs| signs.iter().any(|it| it.id == id && it.value == Some(value)))
    }
}

impl Suspect {
    fn shows(&self, sign: &str) -> Option<&Shows> {
        self.shows.iter().find(|it| it.sign == sign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(id: &'static str, value: &'static str) -> Sign {
        Sign {
            id,
            value: Some(value),
            words: String::new(),
            evidence: String::new(),
            confidence: Confidence::Certain,
        }
    }

    fn suspect(sign: &str, value: &str, always: bool) -> Suspect {
        Suspect {
            id: value.into(),
            words: String::new(),
            look: String::new(),
            prior: 1.0,
            excludes: Vec::new(),
            shows: vec![Shows { sign: sign.into(), value: value.into(), always }],
        }
    }

    /// The probabilities of signs if nothing differs, if the cache is off in the first arm, if it
    /// is off in the second, and for an unknown cause; as bits, which are in the same order.
    fn likelihoods(signs: &[Vec<Sign>; 2], seen: &[usize]) -> [u64; 4] {
        let suspects =
            [suspect("write-cache", "waits", true), suspect("queue", "one-at-a-time", false)];
        let seen = seen.iter().copied().collect();
        let shown = Shown { signs, suspects: &suspects, seen: &seen };
        let [first, second] = [[vec![0], Vec::new()], [Vec::new(), vec![0]]].map(About::Causes);
        [About::Chance, first, second, About::Unknown]
            .map(|about| shown.likelihood(&about).to_bits())
    }

    #[test]
    fn a_sign_speaks_for_the_cause_that_gives_it_and_in_its_arm() {
        let signs = [vec![sign("write-cache", "waits")], Vec::new()];
        let [chance, first, second, unknown] = likelihoods(&signs, &[0, 1]);
        assert!(first > unknown && unknown > chance, "{first} {unknown} {chance}");
        assert_eq!(chance, second);
        let signs = [vec![sign("write-cache", "acknowledges-early")], Vec::new()];
        let [chance, first, second, unknown] = likelihoods(&signs, &[0, 1]);
        assert!(first < chance && chance == second && chance == unknown);
    }

    #[test]
    fn what_both_arms_show_is_no_difference() {
        let both = [(); 2].map(|()| vec![sign("write-cache", "waits")]);
        let [chance, first, second, unknown] = likelihoods(&both, &[0, 1]);
        assert_eq!([first, second, unknown], [chance; 3]);
    }

    #[test]
    fn a_sign_of_a_cause_that_no_figure_shows_leaves_chance_open() {
        let signs = [vec![sign("queue", "one-at-a-time")], Vec::new()];
        let [chance, ..] = likelihoods(&signs, &[0]);
        assert_eq!(chance, OPEN.to_bits());
        // Nothing is known from a sign that has no value.
        let none = Sign { value: None, ..sign("queue", "") };
        assert_eq!(likelihoods(&[vec![none], Vec::new()], &[0]), [1.0_f64.to_bits(); 4]);
    }
}
