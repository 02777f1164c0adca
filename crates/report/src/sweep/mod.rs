//! A sweep: which factor matters, and the best points.

mod page;
mod picture;

pub use page::page;
pub use picture::picture;

use std::collections::BTreeMap;

use drivelab_analysis::metric;
use drivelab_core::counted;
use drivelab_stats::{MAIN_EFFECTS_MIN, MainEffect, MainEffects, main_effects};
use serde_json::{Value, json};

use crate::publish::quoted;
use crate::text::{Align, BOLD, DOUBT, Look, Table};

/// The name of the JSON document.
pub const SWEEP_SCHEMA: &str = "drivelab.sweep/1";
/// Points that are listed.
const BEST: usize = 5;
/// Points with one flaw that are listed.
const FLAWED_MAX: usize = 5;
/// Values of a factor that are listed one by one.
const LEVELS_MAX: usize = 16;
/// Ranges into which more values are gathered.
const RANGES: usize = 8;

/// A sweep as far as its points are made.
#[derive(Debug, Clone, PartialEq)]
pub struct Swept {
    /// The question.
    pub title: String,
    /// The modelled drive.
    pub drive: String,
    /// The arrangement of the points.
    pub design: &'static str,
    /// The figure that is asked about.
    pub figure: &'static str,
    /// The number of points in the sweep.
    pub points: u32,
    /// The factors that vary.
    pub factors: Vec<Factor>,
    /// Number and figure of each point that is made and counts.
    pub made: Vec<(u32, f64)>,
    /// The flaws of each of these, with which it still counts, as clauses; mostly none.
    pub remarks: Vec<String>,
    /// Points that are made and do not count.
    pub flawed: Vec<Flawed>,
    /// The hash of all rows, sorted by point.
    pub rows_sha256: String,
}

/// A property that varies between points.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// True if it is a number that the profile leaves open.
    pub is_unknown: bool,
    /// For each point that is made: the value, or its index in a list.
    pub values: Vec<f64>,
    /// The same as it is written.
    pub words: Vec<String>,
}

/// A point whose figure is not that of its settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Flawed {
    /// Its number.
    pub point: u32,
    /// The flaws of its run, as clauses.
    pub why: String,
    /// The figure all the same.
    pub value: f64,
    /// The value of each factor, in their order.
    pub words: Vec<String>,
}

/// The points that share a value of a factor.
struct Level {
    /// The value, or the range of values.
    word: String,
    n: u32,
    /// The geometric mean of the figure.
    mean: f64,
}

impl Swept {
    /// The number of points still to be made.
    pub fn missing(&self) -> u32 {
        let made = self.made.len() + self.flawed.len();
        self.points.saturating_sub(u32::try_from(made).unwrap_or(u32::MAX))
    }

    /// `1 of 211 points is missing`; `None` where none is.
    fn missing_words(&self) -> Option<String> {
        let (missing, points) = (self.missing(), counted(u64::from(self.points), "point"));
        let verb = if missing == 1 { "is" } else { "are" };
        (missing > 0).then(|| format!("{missing} of {points} {verb} missing"))
    }

    /// Splits the variance of the figure's logarithm among the factors.
    fn effects(&self) -> Option<MainEffects> {
        // A figure of 0 has no logarithm.
        if self.made.iter().any(|(_, value)| *value <= 0.0) {
            return None;
        }
        // Factors multiply a figure: their effects on its logarithm add up, as the split assumes.
        let response: Vec<f64> = self.made.iter().map(|(_, value)| libm::log(*value)).collect();
        let columns: Vec<Vec<f64>> =
            self.factors.iter().map(|factor| factor.values.clone()).collect();
        main_effects(&response, &columns)
    }

    /// Factors with their shares, the largest first.
    fn ranked(&self, effects: &MainEffects) -> Vec<(&Factor, MainEffect)> {
        let mut ranked: Vec<_> = self.factors.iter().zip(effects.factors.iter().copied()).collect();
        ranked.sort_by(|a, b| b.1.share.total_cmp(&a.1.share));
        ranked
    }

    /// Indexes of the points that are listed.
    fn best(&self) -> Vec<usize> {
        self.best_of(BEST)
    }

    /// Indexes of the `count` best points, the best first.
    pub fn best_of(&self, count: usize) -> Vec<usize> {
        let mut indexes: Vec<usize> = (0..self.made.len()).collect();
        let is_less = metric::is_time(self.figure, "");
        indexes.sort_by(|a, b| {
            let order = self.made[*b].1.total_cmp(&self.made[*a].1);
            let order = if is_less { order.reverse() } else { order };
            // Equal figures keep the order of points: the same rows give the same list.
            order.then(a.cmp(b))
        });
        indexes.truncate(count);
        indexes
    }

    /// For scripts.
    pub fn json(&self) -> Value {
        let effects = self.effects();
        let factors: Option<Vec<Value>> = effects.as_ref().map(|effects| {
            self.ranked(effects)
                .into_iter()
                .map(|(factor, effect)| {
                    json!({
                        "name": factor.name,
                        "kind": if factor.is_unknown { "unknown" } else { "parameter" },
                        "share": effect.share,
                        "ci95": effect.ci95,
                    })
                })
                .collect()
        });
        let best = |index: usize| {
            let named = self.factors.iter().map(|it| (it.name.clone(), it.words[index].clone()));
            let (point, value) = self.made[index];
            json!({
                "point": point,
                "value": value,
                "factors": named.collect::<BTreeMap<String, String>>(),
            })
        };
        json!({
            "schema": SWEEP_SCHEMA,
            "title": self.title,
            "drive": self.drive,
            "design": self.design,
            "figure": self.figure,
            "points": self.points,
            "missing": self.missing(),
            "rows_sha256": self.rows_sha256,
            "factors": factors,
            "rest": effects.map(|effects| effects.rest),
            "flawed": self.flawed.iter().map(|it| self.flawed_json(it)).collect::<Vec<_>>(),
            "best": self.best().into_iter().map(best).collect::<Vec<_>>(),
        })
    }

    /// The parameters of a point with their values.
    fn settings<'a>(&'a self, flawed: &'a Flawed) -> impl Iterator<Item = (&'a str, &'a str)> {
        let factors = self.factors.iter().zip(&flawed.words).filter(|(it, _)| !it.is_unknown);
        factors.map(|(factor, word)| (factor.name.as_str(), word.as_str()))
    }

    fn flawed_json(&self, flawed: &Flawed) -> Value {
        let named: BTreeMap<&str, &str> = self.settings(flawed).collect();
        json!({"point": flawed.point, "why": flawed.why, "factors": named})
    }

    /// A sentence on each kind of flaw and the points that have it.
    fn flaws(&self) -> Vec<String> {
        let mut kinds: Vec<(&str, Vec<&Flawed>)> = Vec::new();
        for it in &self.flawed {
            match kinds.iter_mut().find(|(why, _)| *why == it.why) {
                Some((_, points)) => points.push(it),
                None => kinds.push((&it.why, vec![it])),
            }
        }
        let named = |it: &Flawed| {
            let pairs = self.settings(it).map(|(name, value)| format!("{name} = {value}"));
            let pairs: Vec<String> = pairs.collect();
            // Points may differ in their drives alone.
            let settings = if pairs.is_empty() { "" } else { &format!(" ({})", pairs.join(", ")) };
            format!("{}{settings}", it.point)
        };
        kinds
            .into_iter()
            .map(|(why, points)| {
                let shown: Vec<String> =
                    points.iter().take(FLAWED_MAX).map(|it| named(it)).collect();
                let more = match points.len() - shown.len() {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                let noun = if points.len() == 1 { "point" } else { "points" };
                format!("{why}: {noun} {}{more}.", shown.join(", "))
            })
            .collect()
    }

    /// For people.
    pub fn text(&self, look: Look) -> String {
        let mut text = look.paint(&self.title, BOLD) + "\n";
        text += &match self.effects() {
            Some(effects) => self.shares(&effects, look),
            None => look.wrap(&self.why_no_shares(), 2) + "\n",
        };
        text += "\n";
        text += &self.best_table(look);
        text += &look.each("Left out of the ranking:", DOUBT, &self.flaws());
        if let Some(missing) = self.missing_words() {
            let lead = format!("{missing}:");
            let body = "repeat the command to make them; with --shard, in each shard.";
            text += &(look.led(&lead, DOUBT, body, 2) + "\n");
        }
        let made = format!(
            "{} on {} ({} design), one run each in virtual time: no real device was involved. \
             Rows: sha256 {}.",
            counted((self.made.len() + self.flawed.len()) as u64, "point"),
            self.drive,
            self.design,
            self.rows_sha256
        );
        text + &look.wrap(&made, 2) + "\n"
    }

    fn why_no_shares(&self) -> String {
        if self.made.len() < MAIN_EFFECTS_MIN {
            let (verb, points) = match self.made.len() {
                1 => ("is", "1 point".to_owned()),
                count => ("are", format!("{count} points")),
            };
            return format!(
                "{points} {verb} too few to say which factor matters: it takes {MAIN_EFFECTS_MIN}."
            );
        }
        format!("{} is the same at all points, or nothing at some.", metric::label(self.figure))
    }

    /// The answer in a sentence.
    fn lead(&self, effects: &MainEffects) -> String {
        let name = metric::label(self.figure);
        match self.ranked(effects).first() {
            Some((factor, effect)) if effect.ci95[0] > 0.0 => format!(
                "`{}` matters most: by itself it explains {} of how much {name} varies ({} to {}).",
                factor.name,
                percent(effect.share),
                percent(effect.ci95[0]),
                percent(effect.ci95[1])
            ),
            _ => format!("No factor by itself explains how much {name} varies."),
        }
    }

    /// The geometric mean of the figure at each value of a factor, in the order of its values; of
    /// numbers with more than [`LEVELS_MAX`] values, in ranges of about equally many points.
    /// Nothing for more words than that, or with a figure of 0.
    fn levels(&self, factor: &Factor) -> Option<Vec<Level>> {
        let mut order: Vec<usize> = (0..self.made.len()).collect();
        order.sort_by(|a, b| factor.values[*a].total_cmp(&factor.values[*b]));
        let is_same =
            |a: &usize, b: &usize| factor.values[*a].total_cmp(&factor.values[*b]).is_eq();
        let groups: Vec<&[usize]> = order.chunk_by(is_same).collect();
        if self.made.iter().any(|(_, figure)| *figure <= 0.0) {
            return None;
        }
        let word = |point: &usize| factor.words[*point].as_str();
        if groups.len() <= LEVELS_MAX {
            return Some(
                groups
                    .iter()
                    .map(|points| self.level(points, word(&points[0]).to_owned()))
                    .collect(),
            );
        }
        if factor.words.iter().any(|word| !word.starts_with(|c: char| c.is_ascii_digit())) {
            return None;
        }
        let mut ranges: Vec<Vec<usize>> = vec![Vec::new()];
        for points in groups {
            let last = ranges.last_mut().expect("there is one range at least");
            // Equal values stay in one range, which may thus become larger than its share.
            if last.len() * RANGES >= order.len() {
                ranges.push(points.to_vec());
            } else {
                last.extend(points);
            }
        }
        ranges
            .iter()
            .map(|points| {
                let [first, last] = [points.first()?, points.last()?].map(word);
                let word =
                    if first == last { first.to_owned() } else { format!("{first} to {last}") };
                Some(self.level(points, word))
            })
            .collect()
    }

    fn level(&self, points: &[usize], word: String) -> Level {
        let logs: f64 = points.iter().map(|point| libm::log(self.made[*point].1)).sum();
        let n = u32::try_from(points.len()).expect("points are counted in 32 bits");
        debug_assert!(n > 0, "a level has a point");
        Level { word, n, mean: libm::exp(logs / f64::from(n)) }
    }

    fn shares(&self, effects: &MainEffects, look: Look) -> String {
        let ranked = self.ranked(effects);
        let text = self.lead(effects);
        let mut table = Table::new(&[
            ("factor", Align::Left, 0),
            ("share", Align::Right, 0),
            ("95 % within", Align::Right, 0),
            ("", Align::Left, 0),
        ]);
        let unknown =
            |factor: &Factor| if factor.is_unknown { "left open by the profile" } else { "" };
        for (factor, effect) in &ranked {
            table.row(row(&factor.name, *effect, unknown(factor)));
        }
        table.row(row("several together, and chance", effects.rest, ""));
        look.wrap(&text, 2) + "\n\n" + &table.render(look) + "\n"
    }

    fn best_table(&self, look: Look) -> String {
        // Only parameters can be chosen; the page also has the unknowns.
        let shown: Vec<&Factor> = self.factors.iter().filter(|it| !it.is_unknown).collect();
        let mut columns = vec![("best points", Align::Right, 0), (self.figure, Align::Right, 0)];
        columns.extend(shown.iter().map(|factor| (factor.name.as_str(), Align::Right, 0)));
        let mut table = Table::new(&columns);
        for index in self.best() {
            let (point, value) = self.made[index];
            let mut cells = vec![point.to_string(), metric::show(self.figure, value)];
            cells.extend(shown.iter().map(|factor| factor.words[index].clone()));
            table.row(cells);
        }
        table.render(look) + "\n"
    }

    /// One line a point that is made, for other programs; those with flaws say so.
    pub fn csv(&self) -> String {
        debug_assert_eq!(self.made.len(), self.remarks.len(), "a remark for each point");
        let made = self.made.iter().zip(&self.remarks).enumerate();
        let made = made.map(|(index, ((point, value), remark))| {
            let words = joined(self.factors.iter().map(|factor| &factor.words[index]));
            (*point, format!("{point},{words},{value},{}\r\n", quoted(remark)))
        });
        let flawed = self.flawed.iter().map(|Flawed { point, why, value, words }| {
            debug_assert_eq!(words.len(), self.factors.len(), "a word for each factor");
            (*point, format!("{point},{},{value},{}\r\n", joined(words.iter()), quoted(why)))
        });
        let lines: BTreeMap<u32, String> = made.chain(flawed).collect();
        let names = joined(self.factors.iter().map(|factor| &factor.name));
        let head = format!("sweep_point,{names},{},flaws\r\n", self.figure);
        lines.into_values().fold(head, |text, line| text + &line)
    }
}

/// Words as the columns of a line.
fn joined<'a>(words: impl Iterator<Item = &'a String>) -> String {
    words.map(|word| quoted(word)).collect::<Vec<_>>().join(",")
}

fn row(name: &str, effect: MainEffect, remark: &str) -> [String; 4] {
    let [low, high] = effect.ci95;
    let range = format!("{} to {}", percent(low), percent(high));
    [name.to_owned(), percent(effect.share), range, remark.to_owned()]
}

/// A share in whole percent.
fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

#[cfg(test)]
mod tests;
