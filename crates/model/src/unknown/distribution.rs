//! Distributions of the values of an unknown.

use drivelab_core::config::{ConfigError, Section};
use drivelab_core::{Invalid, invalid};
use drivelab_stats::distribution::normal;

use super::nature::Nature;

/// The distribution of an unknown's values over drives.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Distribution {
    form: Form,
    /// Bounds; values outside count as the bound.
    min: Option<f64>,
    max: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
enum Form {
    LogNormal { median: f64, sigma: f64 },
    Normal { mean: f64, sd: f64 },
    Uniform { low: f64, high: f64 },
    Choice { names: Vec<String>, odds: Vec<f64> },
    Mixture { parts: Vec<Distribution>, odds: Vec<f64> },
}

/// A drawn value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Value {
    /// The text in a profile.
    pub(crate) text: String,
    /// The number; for a choice its index.
    pub(crate) number: f64,
}

/// The hint for a table that is no distribution.
const FORMS: &str = "write `{ median = ..., sigma = ... }` (log-normal), `{ mean = ..., sd = ... }` \
                     (normal), `{ low = ..., high = ... }` (uniform), `{ choice = [...], odds = \
                     [...] }` or `{ mixture = [{...}, {...}], odds = [...] }`";

/// Maximum deviation of a logarithm; with it the middle 95 % span a factor of 10^5.
const SIGMA_MAX: f64 = 3.0;
/// The standard deviation of a uniform number, as a share of its range.
const UNIFORM_SD: f64 = 0.288_675_134_594_812_9;
/// Maximum parts of a mixture, and names of a choice.
const PARTS_MAX: usize = 64;

impl Distribution {
    /// Reads the distribution of a key of this nature from its table.
    pub(crate) fn read(table: &mut Section, nature: Nature) -> Result<Self, ConfigError> {
        table.at_most("choice", PARTS_MAX)?;
        table.at_most("mixture", PARTS_MAX)?;
        let [median, mean, sd, low, high, min, max] = read_numbers(table, nature)?;
        let sigma = table.take::<f64>("sigma")?;
        let names = table.list::<String>("choice")?;
        let odds = table.list::<f64>("odds")?;
        let parts = Self::read_parts(table, nature)?;
        let numbers = [median, sigma, mean, sd, low, high].iter().flatten().count();
        let has_odds = odds.is_some();
        // Without odds all values are equally likely.
        let count = names.as_ref().map_or(0, Vec::len).max(parts.as_ref().map_or(0, Vec::len));
        let odds = odds.unwrap_or_else(|| vec![1.0; count]);
        let forms = [
            median.zip(sigma).map(|(median, sigma)| Form::LogNormal { median, sigma }),
            mean.zip(sd).map(|(mean, sd)| Form::Normal { mean, sd }),
            low.zip(high).map(|(low, high)| Form::Uniform { low, high }),
            names.map(|names| Form::Choice { odds: odds.clone(), names }),
            parts.map(|parts| Form::Mixture { odds, parts }),
        ];
        let mut forms: Vec<Form> = forms.into_iter().flatten().collect();
        // A form is complete with its two numbers; any other combination of keys is an error.
        let is_one = match &forms[..] {
            [Form::Choice { .. } | Form::Mixture { .. }] => numbers == 0,
            [_] => numbers == 2 && !has_odds,
            _ => false,
        };
        let form = forms.pop().filter(|_| is_one);
        let checked = match form {
            None => Err("this table is none of the distributions".into()),
            Some(form) => {
                let read = Self { form, min, max };
                read.check(nature).map(|()| read)
            }
        };
        checked.map_err(|wrong| ConfigError { hint: Some(FORMS.to_owned()), ..table.error(wrong) })
    }

    fn read_parts(table: &mut Section, nature: Nature) -> Result<Option<Vec<Self>>, ConfigError> {
        let mut parts = Vec::new();
        for mut section in table.sections("mixture")? {
            let part = Self::read(&mut section, nature)?;
            if matches!(part.form, Form::Choice { .. }) {
                return Err(section.error("a mixture is of numbers: a choice cannot be part of it"));
            }
            section.finish()?;
            parts.push(part);
        }
        Ok(Some(parts).filter(|parts| !parts.is_empty()))
    }

    fn check(&self, nature: Nature) -> Result<(), Invalid> {
        match &self.form {
            Form::Choice { names, odds } => {
                let distinct =
                    (1..names.len()).all(|index| !names[..index].contains(&names[index]));
                if names.len() < 2 || !distinct {
                    return Err("a choice needs two different values or more".into());
                }
                check_odds(odds, names.len())
            }
            _ if nature == Nature::Name => {
                Err("the values are names: only a `choice` can be made of them".into())
            }
            Form::Mixture { parts, odds } => {
                if parts.len() < 2 {
                    return Err("a mixture needs two parts or more".into());
                }
                check_odds(odds, parts.len())
            }
            Form::LogNormal { median, sigma } => {
                if *median <= 0.0 {
                    return Err("the median of a log-normal must be above zero".into());
                }
                if !(*sigma > 0.0 && *sigma <= SIGMA_MAX) {
                    return Err(invalid!(
                        "`sigma`, the deviation of the logarithm, is {sigma}: it must lie above 0 \
                         and be at most {SIGMA_MAX}"
                    ));
                }
                self.check_bounds(*median)
            }
            Form::Normal { sd, .. } if *sd <= 0.0 => Err("`sd` must be above zero".into()),
            Form::Normal { mean, .. } => self.check_bounds(*mean),
            Form::Uniform { low, high } if low >= high => Err("`low` must be below `high`".into()),
            Form::Uniform { low, high } => self.check_bounds(f64::midpoint(*low, *high)),
        }
    }

    fn check_bounds(&self, middle: f64) -> Result<(), Invalid> {
        let (min, max) = self.bounds();
        // Bounds on one side of the middle would move the median away from the stated one.
        if min >= max || !(min..=max).contains(&middle) {
            return Err("`min` and `max` must lie on either side of the middle".into());
        }
        Ok(())
    }

    fn bounds(&self) -> (f64, f64) {
        (self.min.unwrap_or(f64::NEG_INFINITY), self.max.unwrap_or(f64::INFINITY))
    }

    /// The quantile of `share`; monotonic in the share.
    pub(crate) fn at(&self, share: f64, nature: Nature) -> Value {
        if let Form::Choice { names, odds } = &self.form {
            let index = choice_at(odds, share);
            #[expect(clippy::cast_precision_loss, reason = "a choice of few")]
            return Value { text: names[index].clone(), number: index as f64 };
        }
        let text = nature.spelled(self.quantile(share));
        // Read back, so that the number equals the rounded value that the drive gets.
        let number = nature.number(&text).unwrap_or_else(|_| self.quantile(share));
        Value { text, number }
    }

    /// The value at a standard normal deviate, exact in the far tails, too.
    pub(crate) fn at_score(&self, score: f64) -> f64 {
        let (min, max) = self.bounds();
        match &self.form {
            Form::LogNormal { median, sigma } => {
                (median * libm::exp(sigma * score)).clamp(min, max)
            }
            Form::Normal { mean, sd } => (mean + sd * score).clamp(min, max),
            _ => self.quantile(normal::cdf(score)),
        }
    }

    /// The deviate at which [`Self::at_score`] returns `value`, disregarding the bounds.
    pub(crate) fn score_of(&self, value: f64) -> f64 {
        match &self.form {
            Form::LogNormal { median, sigma } => libm::log(value / median) / sigma,
            Form::Normal { mean, sd } => (value - mean) / sd,
            // Away from 0 and 1, where the deviate is infinite.
            _ => normal::quantile(self.share_below(value).clamp(1e-9, 1.0 - 1e-9)),
        }
    }

    /// A regressor of deviation 1 for figures of a drive, closer to linear than the deviate:
    /// clipped to the bounds, and proportional to a uniform value.
    pub(crate) fn even(&self, score: f64) -> f64 {
        match &self.form {
            Form::Uniform { .. } => (normal::cdf(score) - 0.5) / UNIFORM_SD,
            Form::LogNormal { median, sigma } => {
                let (min, max) = self.bounds();
                let [low, high] =
                    [min, max].map(|bound| libm::log(bound.max(1e-9) / median) / sigma);
                score.clamp(low, high)
            }
            _ => score,
        }
    }

    fn quantile(&self, share: f64) -> f64 {
        let (min, max) = self.bounds();
        let free = match &self.form {
            Form::LogNormal { .. } | Form::Normal { .. } => {
                return self.at_score(normal::quantile(share));
            }
            Form::Uniform { low, high } => low + (high - low) * share,
            // The quantile of a mixture has no closed form, but lies between those of its parts.
            Form::Mixture { parts, .. } => {
                let ends = parts.iter().map(|part| part.quantile(share));
                let (low, high) = ends
                    .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| {
                        (low.min(x), high.max(x))
                    });
                self.bisected(share, low, high)
            }
            Form::Choice { odds, .. } => {
                #[expect(clippy::cast_precision_loss, reason = "a choice of few")]
                return choice_at(odds, share) as f64;
            }
        };
        free.clamp(min, max)
    }

    /// The quantile of a mixture, which is between the extreme quantiles of its parts.
    fn bisected(&self, share: f64, mut low: f64, mut high: f64) -> f64 {
        // 100 halvings make any two floats meet.
        for _ in 0..100 {
            let middle = f64::midpoint(low, high);
            if self.share_below(middle) < share { low = middle } else { high = middle }
        }
        high
    }

    /// The share of drives with values of at most `x`.
    fn share_below(&self, x: f64) -> f64 {
        let (min, max) = self.bounds();
        if x < min {
            return 0.0;
        }
        if x >= max {
            return 1.0;
        }
        match &self.form {
            Form::LogNormal { .. } if x <= 0.0 => 0.0,
            Form::LogNormal { median, sigma } => normal::cdf(libm::log(x / median) / sigma),
            Form::Normal { mean, sd } => normal::cdf((x - mean) / sd),
            Form::Uniform { low, high } => ((x - low) / (high - low)).clamp(0.0, 1.0),
            Form::Mixture { parts, odds } => {
                let all: f64 = odds.iter().sum();
                let parts = parts.iter().zip(odds);
                parts.map(|(part, odds)| odds / all * part.share_below(x)).sum()
            }
            Form::Choice { .. } => 1.0,
        }
    }

    /// The values to check for a key that must accept all: the outermost, or each of a choice.
    pub(crate) fn extremes(&self, nature: Nature) -> Vec<String> {
        match &self.form {
            Form::Choice { names, .. } => names.clone(),
            _ => super::OUTERMOST.map(|share| self.at(share, nature).text).to_vec(),
        }
    }

    /// A description for people.
    pub(crate) fn in_words(&self, nature: Nature) -> String {
        let form = match &self.form {
            Form::LogNormal { median, sigma } => {
                format!("log-normal, median {}, sigma {sigma}", nature.in_words(*median))
            }
            Form::Normal { mean, sd } => {
                format!("normal, {} +- {}", nature.in_words(*mean), nature.in_words(*sd))
            }
            Form::Uniform { low, high } => {
                format!("uniform, {} to {}", nature.in_words(*low), nature.in_words(*high))
            }
            Form::Choice { names, odds } => {
                let each = names.iter().zip(percentages(odds));
                let each: Vec<String> =
                    each.map(|(name, percent)| format!("{name} {percent}")).collect();
                each.join(", ")
            }
            Form::Mixture { parts, odds } => {
                let each = parts.iter().zip(percentages(odds));
                let each: Vec<String> = each
                    .map(|(part, percent)| format!("{percent} of {}", part.in_words(nature)))
                    .collect();
                format!("a mixture: {}", each.join("; "))
            }
        };
        let mut words = form;
        if let Some(min) = self.min {
            words += &format!(", at least {}", nature.in_words(min));
        }
        if let Some(max) = self.max {
            words += &format!(", at most {}", nature.in_words(max));
        }
        words
    }
}

/// Reads the numbers of all forms, and the bounds.
fn read_numbers(table: &mut Section, nature: Nature) -> Result<[Option<f64>; 7], ConfigError> {
    let mut numbers = [None; 7];
    let keys = ["median", "mean", "sd", "low", "high", "min", "max"];
    for (number, key) in numbers.iter_mut().zip(keys) {
        *number = table.take_with(key, |text| nature.number(text))?;
    }
    Ok(numbers)
}

fn percentages(odds: &[f64]) -> impl Iterator<Item = String> {
    let sum: f64 = odds.iter().sum();
    odds.iter().map(move |odds| format!("{:.0} %", 100.0 * odds / sum))
}

fn check_odds(odds: &[f64], parts: usize) -> Result<(), Invalid> {
    if odds.len() != parts {
        return Err(invalid!("there are {} odds for {parts} values", odds.len()));
    }
    match odds.iter().find(|odds| **odds <= 0.0) {
        Some(odds) => Err(invalid!("odds of {odds}: leave out what cannot be")),
        None => Ok(()),
    }
}

/// The index of the first value whose cumulative odds exceed `share`.
fn choice_at(odds: &[f64], share: f64) -> usize {
    debug_assert!(!odds.is_empty(), "a choice without values");
    let all: f64 = odds.iter().sum();
    let mut reached = 0.0;
    let found = odds.iter().position(|odds| {
        reached += odds / all;
        reached > share
    });
    found.unwrap_or(odds.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, nature: Nature) -> Result<Distribution, ConfigError> {
        let mut top = Section::parse("d.toml", &format!("x = {text}\n")).unwrap();
        let mut table = top.section("x").unwrap().unwrap();
        let read = Distribution::read(&mut table, nature)?;
        table.finish()?;
        Ok(read)
    }

    #[test]
    fn quantiles_are_those_of_the_distribution_and_stay_within_its_bounds() {
        let check = |text: &str, nature, quantiles: [&str; 3]| {
            let read = parse(text, nature).unwrap();
            let found = [0.025, 0.5, 0.975].map(|share| nature.in_words(read.quantile(share)));
            assert_eq!(found, quantiles, "{text}");
        };
        let short = "{ median = \"2.3ms\", sigma = 0.45, min = \"0.7ms\", max = \"5ms\" }";
        check(short, Nature::Time, ["952us", "2.3ms", "5ms"]);
        check("{ mean = \"9.6ms\", sd = \"0.3ms\" }", Nature::Time, ["9.01ms", "9.6ms", "10.2ms"]);
        check("{ low = 0.8, high = 1.3 }", Nature::Number, ["0.813", "1.05", "1.29"]);
        let mixture =
            "{ mixture = [{ low = 1, high = 2 }, { low = 10, high = 11 }], odds = [1, 3] }";
        check(mixture, Nature::Number, ["1.1", "10.3", "11"]);
    }

    #[test]
    fn a_choice_goes_by_its_odds_and_its_middle_is_its_median() {
        let read = parse("{ choice = [\"fifo\", \"sptf\"], odds = [1, 1] }", Nature::Name).unwrap();
        let drawn = [0.2, 0.49, 0.5, 0.9].map(|share| read.at(share, Nature::Name));
        let drawn = drawn.map(|value| (value.text, value.number));
        let [fifo, sptf] = [("fifo".to_owned(), 0.0), ("sptf".to_owned(), 1.0)];
        assert_eq!(drawn, [fifo.clone(), fifo, sptf.clone(), sptf]);
    }

    #[test]
    fn a_mixture_of_overlapping_parts_has_their_share_below_each_quantile() {
        let text =
            "{ mixture = [{ median = 1, sigma = 0.5 }, { mean = 1.5, sd = 0.4, min = 0.5 }] }";
        let read = parse(text, Nature::Number).unwrap();
        for share in [0.01, 0.2, 0.5, 0.77, 0.999] {
            let back = read.share_below(read.quantile(share));
            assert!((back - share).abs() < 1e-9, "{share}: {back}");
        }
    }

    #[test]
    fn what_is_no_distribution_is_refused_with_what_would_be_one() {
        let check = |text: &str, nature, expected: &str| {
            let error = parse(text, nature).expect_err(text);
            let message = format!("{error}; {}", error.hint.clone().unwrap_or_default());
            assert!(message.starts_with("d.toml:1:"), "{message}");
            assert!(message.contains(expected), "{text}: {message}");
        };
        check("{ median = 1 }", Nature::Number, "none of the distributions; write `{ median");
        check("{ median = 1, sd = 1 }", Nature::Number, "none of the distributions");
        check("{ median = 1, sigma = 1, low = 1, high = 2 }", Nature::Number, "none of the");
        check("{ medain = 1, sigma = 1 }", Nature::Number, "none of the distributions");
        check("{ median = 1, sigma = 0 }", Nature::Number, "`sigma`");
        check("{ median = 1, sigma = 9 }", Nature::Number, "at most 3");
        check("{ median = -1, sigma = 1 }", Nature::Number, "above zero");
        check("{ median = \"soon\", sigma = 1 }", Nature::Time, "`soon` is not a duration");
        check("{ mean = 1, sd = -1 }", Nature::Number, "`sd`");
        check("{ low = 2, high = 1 }", Nature::Number, "`low` must be below `high`");
        check("{ low = 1, high = 2, min = 1.8, max = 1.9 }", Nature::Number, "either side");
        check("{ low = 1, high = 2, sorce = \"x\" }", Nature::Number, "unknown key `sorce`");
        check("{ choice = [\"fifo\"] }", Nature::Name, "two different values");
        check("{ choice = [\"fifo\", \"fifo\"] }", Nature::Name, "two different values");
        check("{ choice = [\"a\", \"b\"], odds = [1] }", Nature::Name, "1 odds for 2 values");
        check("{ choice = [\"a\", \"b\"], odds = [1, 0] }", Nature::Name, "leave out");
        check("{ low = \"a\", high = \"b\" }", Nature::Name, "`a` is a name");
        check("{ mixture = [{ low = 1, high = 2 }] }", Nature::Number, "two parts");
        let nested = "{ mixture = [{ low = 1, high = 2 }, { choice = [\"1\", \"2\"] }] }";
        check(nested, Nature::Number, "cannot be part");
        check("{ mixture = [{ low = 1, high = 2 }, 3] }", Nature::Number, "list of tables");
    }
}
