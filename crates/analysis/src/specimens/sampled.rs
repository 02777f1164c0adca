//! The drive that each block simulated.

use std::collections::{BTreeMap, BTreeSet};

use drivelab_core::plan::BLOCKS_MIN;
use drivelab_core::record::Specimen;
use drivelab_stats::{
    ALPHA_DEFAULT, Criteria, Forecast, Pair, Unknown, foresee, of_numbers, one_more, unshared,
};

/// The drive of one run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Simulated<'a> {
    /// The target that was asked for, as the record spells it.
    pub target: &'a str,
    pub specimen: &'a Specimen,
}

/// The drives that runs simulated, by workload and arm: one a block.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sampled<'a> {
    /// The names of the arms.
    names: Vec<String>,
    drives: BTreeMap<(usize, usize), Vec<Simulated<'a>>>,
}

/// The prediction for one more drive, with the unknowns it goes back to.
#[derive(Debug, Clone, PartialEq)]
pub struct Foreseen {
    /// The prediction.
    pub forecast: Forecast,
    /// The unknowns, in the order in which the forecast counts them.
    pub unknowns: Vec<Opened>,
}

/// A number that profiles leave open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Its key.
    pub key: String,
    /// The arm whose drives it belongs to, if another arm has an unknown of this key.
    pub arm: Option<String>,
}

impl<'a> Sampled<'a> {
    /// Arms of these names, of which no drives are known.
    pub(crate) fn of(names: impl Iterator<Item = String>) -> Self {
        Self { names: names.collect(), drives: BTreeMap::new() }
    }

    /// Notes the drives of an arm, one a block; nothing where a block does not say it.
    pub(crate) fn note(
        &mut self,
        workload: usize,
        arm: usize,
        drives: impl Iterator<Item = Option<Simulated<'a>>>,
    ) {
        // One block without a specimen leaves unknown how the drives differ.
        if let Some(drives) = drives.collect() {
            self.drives.insert((workload, arm), drives);
        }
    }

    /// True if some arm's blocks simulated different drives.
    pub(crate) fn is_any(&self) -> bool {
        self.drives.values().any(|drives| differ(drives))
    }

    /// True if some arm's blocks all simulated the median of drives that differ.
    pub(crate) fn is_median(&self) -> bool {
        let is_open =
            |it: &Simulated| it.specimen.number.is_none() && !it.specimen.drawn.is_empty();
        self.drives.values().any(|drives| drives.iter().any(is_open))
    }

    /// Predicts the ratio of two arms; nothing where their blocks did not simulate the same,
    /// different drives.
    ///
    /// `effects` are those that arms have on this work: what the model leaves out is no larger.
    pub(crate) fn foresee(
        &self,
        (workload, from, to): (usize, usize, usize),
        (pairs, effects): (&[Pair], &[f64]),
        criteria: &Criteria,
    ) -> Option<Foreseen> {
        let arms = self.of_arms(workload, &[from, to], pairs.len())?;
        let (unknowns, columns) =
            self.unknowns(&[from, to], &arms).into_iter().unzip::<_, _, _, Vec<Unknown>>();
        let sigma = if differ_in_numbers(&arms) {
            let logs = pairs.iter().map(|pair| pair.log_ratio(criteria.better));
            of_numbers(of_model(&arms), &logs.collect::<Vec<f64>>())
        } else {
            unshared(of_model(&arms), effects.iter().copied())
        };
        let forecast = foresee(pairs, &columns, sigma, criteria)?;
        Some(Foreseen { forecast, unknowns })
    }

    /// The 95 % interval of a figure of one more drive, from its logarithm in each block; nothing
    /// where the blocks of these arms did not simulate the same, different drives.
    ///
    /// `effects` are those of [`Self::foresee`]; the figure of a single arm has none. What the
    /// model gets wrong of such a figure it gets wrong `times` over, independently.
    pub(crate) fn one_more(
        &self,
        (workload, at): (usize, &[usize]),
        (logs, effects): (&[f64], &[f64]),
        times: u32,
    ) -> Option<[f64; 2]> {
        let arms = self.of_arms(workload, at, logs.len())?;
        if logs.len() < BLOCKS_MIN as usize {
            return None;
        }
        let columns: Vec<Unknown> =
            self.unknowns(at, &arms).into_iter().map(|(_, it)| it).collect();
        let sigma = match &arms[..] {
            // Without a second arm, the error of the model does not cancel.
            [own] => own.iter().map(|it| it.specimen.model_sigma).fold(0.0, f64::max),
            _ if differ_in_numbers(&arms) => of_numbers(of_model(&arms), logs),
            _ => unshared(of_model(&arms), effects.iter().copied()),
        };
        // Independent errors of the model add up as squares.
        Some(one_more(logs, &columns, sigma * f64::from(times).sqrt(), ALPHA_DEFAULT))
    }

    /// The drives of these arms; `None` unless they were the same in each of `blocks` blocks and
    /// differed from block to block.
    fn of_arms(
        &self,
        workload: usize,
        arms: &[usize],
        blocks: usize,
    ) -> Option<Vec<&[Simulated<'a>]>> {
        let drives = arms.iter().map(|arm| self.drives.get(&(workload, *arm)).map(Vec::as_slice));
        let drives: Vec<&[Simulated]> = drives.collect::<Option<_>>()?;
        // A block pairs the arms only if all of them simulated the same drive in it.
        let first = *drives.first()?;
        let are_paired =
            blocks == first.len() && drives.iter().all(|drives| have_same_numbers(drives, first));
        (are_paired && drives.iter().any(|drives| differ(drives))).then_some(drives)
    }

    /// The unknowns that were drawn, block by block; once where arms drew the same, and by arm
    /// where they did not.
    fn unknowns(&self, at: &[usize], arms: &[&[Simulated<'_>]]) -> Vec<(Opened, Unknown)> {
        let mut found: Vec<(&str, usize, Unknown)> = Vec::new();
        for (arm, drives) in at.iter().zip(arms) {
            let names = drives.first().into_iter().flat_map(|it| &it.specimen.drawn);
            for name in names.map(|drawn| drawn.name.as_str()) {
                let drawn =
                    drives.iter().map(|it| it.specimen.drawn.iter().find(|d| d.name == name));
                let Some(drawn) = drawn.collect::<Option<Vec<_>>>() else { continue };
                let column = Unknown {
                    values: drawn.iter().map(|drawn| drawn.value).collect(),
                    scores: drawn.iter().map(|drawn| drawn.score).collect(),
                };
                if found.iter().all(|(known, _, other)| *known != name || *other != column) {
                    found.push((name, *arm, column));
                }
            }
        }
        // Two arms may have drawn one key apart: then the key alone names neither.
        let keys: Vec<&str> = found.iter().map(|(key, ..)| *key).collect();
        let opened = found.iter().map(|(key, arm, column)| {
            let is_ambiguous = keys.iter().filter(|other| *other == key).count() > 1;
            let arm = is_ambiguous.then(|| self.names.get(*arm).cloned()).flatten();
            (Opened { key: (*key).to_owned(), arm }, column.clone())
        });
        opened.collect()
    }
}

/// True if the arms are asked the same way and have drives with the same mechanisms, whose numbers
/// differ.
fn differ_in_numbers(arms: &[&[Simulated<'_>]]) -> bool {
    let asked = arms.iter().filter_map(|drives| drives.first()).map(Simulated::asked);
    let asked: Vec<(&str, &str)> = asked.collect();
    let is_variant = arms.iter().any(|drives| drives[0].specimen.variant_of.is_some());
    is_variant && asked.iter().all(|it| *it == asked[0])
}

impl<'a> Simulated<'a> {
    /// The profile with its mechanisms, and the options.
    fn asked(&'a self) -> (&'a str, &'a str) {
        let (profile, options) = self.target.split_once(',').unwrap_or((self.target, ""));
        let own = profile.strip_prefix("drive:").unwrap_or(profile);
        (self.specimen.variant_of.as_deref().unwrap_or(own), options)
    }
}

/// The uncertainty that the model adds to the ratio of arms; arms that are asked the same way share
/// all that it gets wrong.
fn of_model(arms: &[&[Simulated<'_>]]) -> f64 {
    // Asked the same way, arms have the same model error, and it cancels in their ratio.
    let is_same = arms.iter().all(|arm| arm[0].target == arms[0][0].target);
    arms.iter()
        .copied()
        .flatten()
        .map(|it| if is_same { 0.0 } else { it.specimen.model_sigma })
        .fold(0.0, f64::max)
}

/// True if all of them are numbered specimens, each another one.
fn differ(drives: &[Simulated]) -> bool {
    let numbers: Option<BTreeSet<u32>> = drives.iter().map(|it| it.specimen.number).collect();
    let is_open = drives.iter().any(|it| !it.specimen.drawn.is_empty());
    is_open && numbers.is_some_and(|numbers| numbers.len() == drives.len())
}

/// True if two arms simulated the same drives, block by block.
fn have_same_numbers(one: &[Simulated], other: &[Simulated]) -> bool {
    let numbers = one.iter().map(|it| it.specimen.number);
    numbers.eq(other.iter().map(|it| it.specimen.number))
}

#[cfg(test)]
mod tests {
    use drivelab_core::record::Drawn;
    use drivelab_stats::Better;

    use super::*;

    /// The specimens of a study in which two numbers are unknown.
    fn specimens(count: u32) -> Vec<Specimen> {
        let drawn = |name: &str, value: f64, score: f64| Drawn { name: name.into(), value, score };
        let one = |number: u32| {
            // Every position once, in two unrelated orders.
            let position = |of: u32| f64::from(of) / f64::from(count - 1) * 4.0 - 2.0;
            let (first, second) = (position(number), position(number * 7 % count));
            Specimen {
                number: Some(number),
                drawn: vec![
                    drawn("guard_growth", libm::exp(0.6 * first), first),
                    drawn("seek_short", 2.3e6 * libm::exp(0.4 * second), second),
                ],
                model_sigma: 0.1,
                variant_of: None,
            }
        };
        (0..count).map(one).collect()
    }

    fn foreseen(from: &[Specimen], to: &[Specimen], targets: [&str; 2]) -> Option<Foreseen> {
        let mut sampled = Sampled::of(["from", "to"].map(str::to_owned).into_iter());
        for (arm, specimens) in [from, to].into_iter().enumerate() {
            let target = targets[arm];
            let drives = specimens.iter().map(|specimen| Some(Simulated { target, specimen }));
            sampled.note(0, arm, drives);
        }
        let effect = |score: f64| Pair::new(1.0, libm::exp(0.3 + 0.05 * score));
        let score = |it: &Specimen| it.drawn.first().map_or(0.0, |drawn| drawn.score);
        let pairs: Vec<Pair> = to.iter().map(|it| effect(score(it))).collect();
        let criteria = Criteria::new(0.03, Better::More, 1).unwrap();
        sampled.foresee((0, 0, 1), (&pairs, &[0.3]), &criteria)
    }

    fn named(foreseen: &Foreseen) -> Vec<String> {
        let unknowns = foreseen.unknowns.iter();
        unknowns
            .map(|Opened { key, arm }| match arm {
                Some(arm) => format!("{key} of {arm}"),
                None => key.clone(),
            })
            .collect()
    }

    fn width_of(from: &[Specimen], to: &[Specimen], targets: [&str; 2]) -> f64 {
        width(&foreseen(from, to, targets).unwrap())
    }

    fn width(foreseen: &Foreseen) -> f64 {
        let [lo, hi] = foreseen.forecast.prediction95;
        libm::log(hi / lo)
    }

    #[test]
    fn blocks_predict_where_both_arms_simulated_the_same_drives_in_each() {
        let all = specimens(20);
        let found = foreseen(&all, &all, ["a", "b"]).unwrap();
        assert_eq!(named(&found), ["guard_growth", "seek_short"]);
        assert_eq!(found.forecast.decides().map(|(index, _)| index), Some(0));
        let other: Vec<Specimen> = all.iter().rev().cloned().collect();
        assert_eq!(foreseen(&all, &other, ["a", "b"]), None);
        let one = vec![all[3].clone(); 20];
        assert_eq!(foreseen(&one, &one, ["a", "b"]), None);
        let mut median = all.clone();
        for it in &mut median {
            it.number = None;
        }
        assert_eq!(foreseen(&median, &median, ["a", "b"]), None);
    }

    #[test]
    fn a_profile_that_leaves_nothing_open_makes_no_specimens() {
        let mut known = specimens(20);
        for it in &mut known {
            it.drawn.clear();
        }
        assert_eq!(foreseen(&known, &known, ["a", "b"]), None);
    }

    #[test]
    fn what_the_model_leaves_out_is_the_larger_of_both_arms_and_cancels_in_equal_ones() {
        let all = specimens(20);
        let mut less = all.clone();
        for it in &mut less {
            it.model_sigma = 0.05;
        }
        let (both, one) = (foreseen(&all, &all, ["a", "b"]), foreseen(&less, &all, ["a", "b"]));
        assert_eq!(both, one);
        let little = width(&foreseen(&less, &less, ["a", "b"]).unwrap());
        let same = width(&foreseen(&all, &all, ["a", "a"]).unwrap());
        assert!(same < little && little < width(&both.unwrap()));
    }

    #[test]
    fn two_drives_have_unknowns_of_their_own() {
        let all = specimens(20);
        let mut other = all.clone();
        for it in &mut other {
            it.drawn.remove(0);
            it.drawn[0].value *= 2.0;
        }
        let found = foreseen(&all, &other, ["a", "b"]).unwrap();
        assert_eq!(named(&found), ["guard_growth", "seek_short of from", "seek_short of to"]);
    }

    #[test]
    fn numbers_of_one_model_share_what_it_gets_wrong_and_mechanisms_do_not() {
        let base = specimens(20);
        let mut variant = base.clone();
        for it in &mut variant {
            it.variant_of = Some("base".into());
        }
        let targets = ["drive:base", "drive:other.toml"];
        let mechanisms = width_of(&base, &base, targets);
        let numbers = width_of(&base, &variant, targets);
        assert!(numbers < 0.9 * mechanisms, "{numbers} {mechanisms}");
        // Either way round, and between two variants.
        let swapped = width_of(&variant, &base, ["drive:other.toml", "drive:base"]);
        let both = width_of(&variant, &variant, ["drive:one.toml", "drive:two.toml"]);
        assert!((swapped - numbers).abs() < 1e-9 && (both - numbers).abs() < 1e-9);
        // Another base, or another controller, is another mechanism.
        let foreign = width_of(&base, &variant, ["drive:foreign", "drive:other.toml"]);
        let attached = width_of(&base, &variant, ["drive:base,ncq=off", "drive:other.toml"]);
        assert!((foreign - mechanisms).abs() < 1e-9 && (attached - mechanisms).abs() < 1e-9);
    }
}
