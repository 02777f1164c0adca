//! What a profile knows and what it leaves open; one drive out of all that fit it.

use drivelab_core::record::Drawn;

use super::raw::{KEYS, Raw};
use crate::unknown::{Nature, OUTERMOST, Posterior, Prior, Value, normal, score};

/// A number that a profile leaves open.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Unknown {
    /// The key of the profile.
    pub name: &'static str,
    /// How its values are spread, in words.
    pub kind: String,
    /// The value of the median drive, as a profile writes it.
    pub median: String,
    /// Between these lie 95 drives of 100.
    pub range95: [String; 2],
    /// Where the spread comes from.
    pub source: String,
    /// The file that leaves it open: what two profiles inherit from one file is one unknown.
    #[serde(skip)]
    pub origin: String,
}

/// A number that a profile knows.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Known {
    /// The key of the profile.
    pub name: &'static str,
    /// The value as the profile writes it.
    pub value: String,
    /// The comment beside it.
    pub source: String,
    /// How far the comment's mark says the number may be trusted; `None` without a mark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
}

/// Where a number of a profile comes from, as the mark at the start of its comment says.
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

/// Which of all drives that fit a profile.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Which {
    /// Its number; `None` for the median drive.
    pub(super) number: Option<u32>,
    pub(super) drawn: Vec<Drawn>,
}

enum Open<'a> {
    Alone(&'a Prior),
    Together(&'a Posterior, Nature),
}

/// Keys that name a drive, and say no number of it.
const NAMES: [&str; 4] = ["base", "kind", "model", "leaves_out"];
/// How often scores are halved before the median drive is taken instead.
const HALVINGS: i32 = 6;

impl Raw {
    /// What is open, in the order of the reference.
    fn open(&self) -> impl Iterator<Item = (&'static str, Open<'_>)> {
        KEYS.iter().filter_map(|key| {
            let of = |known: &&Posterior| known.keys().any(|of| of == *key);
            if let Some(posterior) = self.posteriors.iter().find(of) {
                let (key, nature) = Self::may_be_open(key)?;
                return Some((key, Open::Together(posterior, nature)));
            }
            Some((*key, Open::Alone(self.priors.get(key)?)))
        })
    }

    pub(super) fn unknowns(&self) -> Vec<Unknown> {
        let unknown = |(name, open): (&'static str, Open<'_>)| {
            let (nature, kind, source, origin) = match &open {
                Open::Alone(prior) => {
                    let words = prior.distribution.in_words(prior.nature);
                    (prior.nature, words, &prior.source, &prior.origin)
                }
                Open::Together(posterior, nature) => {
                    (*nature, posterior.in_words(), &posterior.source, &posterior.origin)
                }
            };
            let word = |Value { text, number }| match nature {
                Nature::Name => text,
                _ => nature.in_words(number),
            };
            Unknown {
                name,
                kind,
                median: word(self.middle(name, &open)),
                range95: [0.025, 0.975].map(|share| word(alone(name, &open, share))),
                source: source.clone(),
                origin: origin.clone(),
            }
        };
        self.open().map(unknown).collect()
    }

    pub(super) fn known(&self) -> Vec<Known> {
        let open: Vec<&str> = self.open().map(|(key, _)| key).collect();
        let known = |key: &&'static str| {
            let told = open.contains(key) || NAMES.contains(key);
            let stated = self.stated.get(key).filter(|_| !told)?;
            let (value, source) = (stated.value.clone(), stated.remark.clone());
            Some(Known { name: key, value, basis: basis(&source), source })
        };
        KEYS.iter().filter_map(known).collect()
    }

    /// The value of the median drive: a number that stands beside a posterior is meant to be it.
    fn middle(&self, key: &'static str, open: &Open<'_>) -> Value {
        if let (Open::Together(_, nature), Some(stated)) = (open, self.stated.get(key))
            && let Ok(number) = nature.number(&stated.value)
        {
            return Value { text: stated.value.clone(), number };
        }
        alone(key, open, 0.5)
    }

    /// The open numbers of the median drive.
    pub(super) fn of_median(&self) -> Vec<Drawn> {
        let drawn = |(key, open): (&'static str, Open<'_>)| Drawn {
            name: key.to_owned(),
            value: self.middle(key, &open).number,
            score: 0.0,
        };
        self.open().map(drawn).collect()
    }

    /// The drive at these quantiles, one for each unknown; what is missing is the median.
    ///
    /// Numbers that cannot stand together are moved towards the median drive, which can be built.
    pub(super) fn specimen<T>(
        &self,
        quantiles: &[f64],
        build: impl Fn(&Self) -> Result<T, String>,
    ) -> (Option<T>, Vec<Drawn>) {
        let clipped = quantiles.iter().map(|share| share.clamp(OUTERMOST[0], OUTERMOST[1]));
        let scores: Vec<f64> = clipped.map(normal::quantile).collect();
        for halving in 0..HALVINGS {
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
        let share = |key: &str| {
            let place = keys.iter().position(|known| *known == key);
            place.and_then(|place| shares.get(place)).copied().unwrap_or(0.5)
        };
        let mut drawn = Vec::with_capacity(keys.len());
        for (key, open) in self.open() {
            let (value, score) = match open {
                Open::Alone(prior) => {
                    let share = share(key);
                    let score = normal::quantile(share);
                    (prior.distribution.at(share, prior.nature), score)
                }
                Open::Together(posterior, _) => {
                    // One share picks all of them.
                    let first = keys.iter().find(|key| posterior.keys().any(|of| of == **key));
                    let picked = posterior.at(key, share(first.expect("it is of some key")));
                    let (value, rank) = picked.expect("it is of this key");
                    (value, score(rank))
                }
            };
            raw.set(key, &value.text).expect("the outermost values were checked");
            if let Some(stated) = raw.stated.get_mut(key) {
                stated.value.clone_from(&value.text);
                "drawn".clone_into(&mut stated.remark);
            }
            drawn.push(Drawn { name: key.to_owned(), value: value.number, score });
        }
        (raw.priors, raw.posteriors) = Default::default();
        raw.settle();
        (raw, drawn)
    }

    /// What is wrong with a drive that differs from the median one in a single outermost number
    /// that `file` leaves open. What a base leaves open may not go with a number that was
    /// overridden, and is moved towards the median drive then.
    pub(super) fn check_outermost(
        &self,
        file: &str,
        build: impl Fn(&Self) -> Result<(), String>,
    ) -> Result<(), String> {
        for (key, open) in self.open() {
            let Open::Alone(prior) = open else { continue };
            if prior.origin != file {
                continue;
            }
            let nature = prior.nature;
            for text in prior.distribution.extremes(nature) {
                let mut raw = self.clone();
                raw.set(key, &text).expect("it was checked when it was read");
                raw.settle();
                build(&raw).map_err(|wrong| {
                    let word = nature.number(&text).map(|number| nature.in_words(number));
                    format!("`{key}` drawn as `{}`: {wrong}", word.unwrap_or(text))
                })?;
            }
        }
        Ok(())
    }

    /// What one drawn number says of another: a step to the next track is no longer than a settled
    /// seek to it, and a drive has no more channels than dies.
    fn settle(&mut self) {
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

fn alone(key: &str, open: &Open<'_>, share: f64) -> Value {
    match open {
        Open::Alone(prior) => prior.distribution.at(share, prior.nature),
        Open::Together(posterior, _) => posterior.alone(key, share).expect("it is of this key"),
    }
}
