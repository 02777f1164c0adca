//! Known and unknown numbers of a profile, and its specimens.

use drivelab_core::Invalid;
use drivelab_core::record::Drawn;
use drivelab_stats::distribution::normal;

use super::raw::{KEYS, Raw};

use crate::unknown::{Nature, OUTERMOST, Posterior, Prior, Value, score};

/// A number that a profile leaves open.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Unknown {
    /// The key of the profile.
    pub name: &'static str,
    /// Description of its distribution.
    pub kind: String,
    /// The value of the median drive, as in a profile.
    pub median: String,
    /// The middle 95 % of drives.
    pub range95: [String; 2],
    /// Source of the distribution.
    pub source: String,
    /// The file that leaves it open: profiles that inherit it from one file share the unknown.
    #[serde(skip)]
    pub origin: String,
}

/// A number that a profile knows.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Known {
    /// The key of the profile.
    pub name: &'static str,
    /// The value, as in the profile.
    pub value: String,
    /// Its comment.
    pub source: String,
    /// Reliability, from the comment's mark; `None` without a mark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
}

/// The origin of a number, from the mark at the start of its comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// `[P]`.
    Published,
    /// `[F]`: chosen so that the model meets published figures.
    Fitted,
    /// `[M]`: the maker's figure, quoted from memory.
    Quoted,
    /// `[E]`.
    Estimated,
}

const MARKS: [(&str, Basis, &str); 4] = [
    ("[P]", Basis::Published, "published"),
    ("[F]", Basis::Fitted, "fitted"),
    ("[M]", Basis::Quoted, "maker's figure"),
    ("[E]", Basis::Estimated, "estimated"),
];

impl Known {
    /// The comment with its mark spelled out.
    pub fn source_in_words(&self) -> String {
        let Some((mark, _, word)) = MARKS.iter().find(|(_, basis, _)| Some(*basis) == self.basis)
        else {
            return self.source.clone();
        };
        match self.source.trim_start_matches(mark).trim_start_matches(';').trim() {
            "" => (*word).to_owned(),
            rest => format!("{word}: {rest}"),
        }
    }
}

fn basis(remark: &str) -> Option<Basis> {
    MARKS.iter().find(|(mark, ..)| remark.starts_with(mark)).map(|(_, basis, _)| *basis)
}

/// Identification of a specimen.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Which {
    /// Its number; `None` for the median drive.
    pub(super) number: Option<u32>,
    pub(super) drawn: Vec<Drawn>,
}

/// The source of an open key's values.
enum Open<'a> {
    Prior(&'a Prior),
    Posterior(&'a Posterior, Nature),
}

/// Keys that identify a drive and have no number.
const NAMES: [&str; 4] = ["base", "kind", "model", "leaves_out"];
/// Maximum halvings of the scores before the median drive replaces a contradictory specimen.
const HALVINGS: i32 = 6;

impl Raw {
    /// The open keys, in the order of the reference.
    fn open(&self) -> impl Iterator<Item = (&'static str, Open<'_>)> {
        KEYS.iter().filter_map(|key| {
            let mut posteriors = self.posteriors.iter();
            if let Some(posterior) = posteriors.find(|it| it.keys().any(|name| name == *key)) {
                let (key, nature) = Self::may_be_open(key)?;
                return Some((key, Open::Posterior(posterior, nature)));
            }
            Some((*key, Open::Prior(self.priors.get(key)?)))
        })
    }

    pub(super) fn unknowns(&self) -> Vec<Unknown> {
        self.open().map(|(name, open)| self.unknown(name, &open)).collect()
    }

    fn unknown(&self, name: &'static str, open: &Open<'_>) -> Unknown {
        let (nature, kind, source, origin) = match open {
            Open::Prior(prior) => {
                let words = prior.distribution.in_words(prior.nature);
                (prior.nature, words, &prior.source, &prior.origin)
            }
            Open::Posterior(posterior, nature) => {
                (*nature, posterior.in_words(), &posterior.source, &posterior.origin)
            }
        };
        let median = self.median_value(name, open);
        let range95 = [0.025, 0.975].map(|share| marginal(name, open, share));
        Unknown {
            name,
            kind,
            median: value_in_words(median, nature),
            range95: range95.map(|value| value_in_words(value, nature)),
            source: source.clone(),
            origin: origin.clone(),
        }
    }

    pub(super) fn known(&self) -> Vec<Known> {
        let open: Vec<&str> = self.open().map(|(key, _)| key).collect();
        let mut known = Vec::new();
        for key in KEYS.iter().filter(|key| !open.contains(*key) && !NAMES.contains(*key)) {
            let Some(stated) = self.stated.get(key) else { continue };
            let (value, source) = (stated.value.clone(), stated.remark.clone());
            known.push(Known { name: key, value, basis: basis(&source), source });
        }
        known
    }

    /// The value of the median drive: the number next to a posterior, if there is one.
    fn median_value(&self, key: &'static str, open: &Open<'_>) -> Value {
        if let (Open::Posterior(_, nature), Some(stated)) = (open, self.stated.get(key))
            && let Ok(number) = nature.number(&stated.value)
        {
            return Value { text: stated.value.clone(), number };
        }
        marginal(key, open, 0.5)
    }

    /// The open numbers of the median drive.
    pub(super) fn of_median(&self) -> Vec<Drawn> {
        self.open()
            .map(|(key, open)| Drawn {
                name: key.to_owned(),
                value: self.median_value(key, &open).number,
                score: 0.0,
            })
            .collect()
    }

    /// The specimen at `quantiles`, one for each unknown; missing ones count as 0.5.
    ///
    /// Contradictory values are moved towards the median drive, which can always be built.
    pub(super) fn specimen<T>(
        &self,
        quantiles: &[f64],
        build: impl Fn(&Self) -> Result<T, Invalid>,
    ) -> (Option<T>, Vec<Drawn>) {
        // Clipped to four deviations: beyond them a prior is no longer based on any drive.
        let clipped = quantiles.iter().map(|share| share.clamp(OUTERMOST[0], OUTERMOST[1]));
        let scores: Vec<f64> = clipped.map(normal::quantile).collect();
        for halving in 0..HALVINGS {
            // Halving is exact in binary, so an unhalved score keeps its digits.
            let nearer = scores.iter().map(|score| score * libm::pow(0.5, f64::from(halving)));
            let shares: Vec<f64> = nearer.map(normal::cdf).collect();
            let (raw, drawn) = self.at(&shares);
            if let Ok(built) = build(&raw) {
                return (Some(built), drawn);
            }
        }
        (None, self.of_median())
    }

    fn at(&self, shares: &[f64]) -> (Self, Vec<Drawn>) {
        let mut raw = self.clone();
        let keys: Vec<&str> = self.open().map(|(key, _)| key).collect();
        let mut drawn = Vec::with_capacity(keys.len());
        for (index, (key, open)) in self.open().enumerate() {
            let (value, score) = match open {
                Open::Prior(prior) => {
                    let share = shares.get(index).copied().unwrap_or(0.5);
                    let score = normal::quantile(share);
                    (prior.distribution.at(share, prior.nature), score)
                }
                Open::Posterior(posterior, _) => {
                    // One share picks all unknowns of a joint draw.
                    let first = keys.iter().position(|key| posterior.keys().any(|it| it == *key));
                    let share = shares.get(first.expect("it has a key")).copied();
                    let picked = posterior.at(key, share.unwrap_or(0.5));
                    let (value, rank) = picked.expect("it is of this key");
                    (value, score(rank))
                }
            };
            raw.set(key, &value.text).expect("the outermost values were checked");
            // A specimen has no unknowns left; its comment marks the drawn values.
            if let Some(stated) = raw.stated.get_mut(key) {
                stated.value.clone_from(&value.text);
                "drawn".clone_into(&mut stated.remark);
            }
            drawn.push(Drawn { name: key.to_owned(), value: value.number, score });
        }
        (raw.priors, raw.posteriors) = Default::default();
        raw.make_consistent();
        (raw, drawn)
    }

    /// Checks drives that differ from the median one in a single outermost number that `file`
    /// leaves open; returns the first contradiction. Unknowns of a base may contradict an
    /// overridden number; specimens then move towards the median drive.
    pub(super) fn check_outermost(
        &self,
        file: &str,
        build: impl Fn(&Self) -> Result<(), Invalid>,
    ) -> Result<(), Invalid> {
        for (key, open) in self.open() {
            // The values of a joint draw belong together; single outermost ones need not fit the
            // median.
            let Open::Prior(prior) = open else { continue };
            if prior.origin != file {
                continue;
            }
            let nature = prior.nature;
            for text in prior.distribution.extremes(nature) {
                let mut raw = self.clone();
                raw.set(key, &text).expect("it was checked when it was read");
                raw.make_consistent();
                build(&raw).map_err(|wrong| {
                    let word = nature.number(&text).map(|number| nature.in_words(number));
                    format!("`{key}` drawn as `{}`: {wrong}", word.unwrap_or(text))
                })?;
            }
        }
        Ok(())
    }

    /// Limits drawn numbers by others: a step to the next track is no longer than a settled seek
    /// to it, and a drive has no more channels than dies.
    fn make_consistent(&mut self) {
        if let (Some(dies), Some(channels)) = (self.dies, &mut self.channels) {
            channels.0 = channels.0.min(dies.0);
        }
        if let (Some(track), Some(short)) = (self.seek_track, self.seek_short)
            && short.0 < track.0
        {
            self.seek_track = self.seek_short;
        }
    }
}

fn value_in_words(Value { text, number }: Value, nature: Nature) -> String {
    match nature {
        Nature::Name => text,
        _ => nature.in_words(number),
    }
}

fn marginal(key: &str, open: &Open<'_>, share: f64) -> Value {
    match open {
        Open::Prior(prior) => prior.distribution.at(share, prior.nature),
        Open::Posterior(posterior, _) => posterior.marginal(key, share).expect("it is of this key"),
    }
}
